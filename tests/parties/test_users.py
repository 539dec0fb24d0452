"""A server and its users as processes: the commands, and who is killed."""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from processes import DEADLINE, events, start, to_toml, wait_until
from user_files import NAMES, USERS, Users
from vfxgb.cli import main
from vfxgb.errors import ConsentError, MessageError, VfxgbError
from vfxgb.estimator.users import FedXGBClassifier
from vfxgb.horizontal.handshake import Invites
from vfxgb.model.dataframe import to_columns
from vfxgb.model.drawing import describe
from vfxgb.model.file import load_share
from vfxgb.model.importance import importance
from vfxgb.model.pooled import PooledModel
from vfxgb.model.xgboost_json import xgboost_json
from vfxgb.party.config import load_config, tomllib
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.logs import Log
from vfxgb.party.user import UserParty
from vfxgb.party.users_server import UsersServer
from vfxgb.train.callbacks import TrainingCallback, TrainingState

LISTENING = r"listening at (\S+)\s"


class Started:
    """Processes of a server and users."""

    def __init__(self, users: Users, **train: Any) -> None:
        self.users = users
        self.processes: list[subprocess.Popen[bytes]] = []
        self.server_log = users.folder / "server.out"
        self.server = self._start("train", users.server(**train), self.server_log)
        wait_until(lambda: re.search(LISTENING, self.server_log.read_text()) or self.server.poll() is not None)
        found = re.search(LISTENING, self.server_log.read_text())
        assert found is not None, self.server_log.read_text()
        self.address = found[1]
        self.logs = [users.folder / f"user-{number}.out" for number in range(USERS)]
        self.people = [
            self._start("serve", users.user(number, self.address), self.logs[number]) for number in range(USERS)
        ]

    def _start(self, command: str, config: Path, log: Path) -> "subprocess.Popen[bytes]":
        process = start(command, config, log=log)
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(DEADLINE)


@pytest.fixture(scope="module")
def users(tmp_path_factory) -> Users:
    return Users(tmp_path_factory.mktemp("users"))


def test_the_model_of_one_process(users) -> None:
    """By their configurations, in threads."""
    lines: list[str] = []
    begun: list[RunFolder] = []
    server = UsersServer(load_config(users.server(n_estimators=2), {}), Log(None), lines.append)
    server.begun = begun.append
    own, theirs = users.run(server)
    assert [one.rounds for one in (own, *theirs)] == [2] * (USERS + 1)
    assert [one.run for one in begun] == [own.run]
    person = UserParty(load_config(users.user(1, "127.0.0.1:1"), {}), Log(None))
    assert "as user 1 of 3 with 60 rows and 2 columns" in person.describe()
    assert lines[-1] == "3 of 3 users are there"
    assert server.total_bytes() > 0
    runs = [PartyFolder(users.folder / f"{name}-folder").find("latest") for name in ("server", "user-0", "user-2")]
    assert len({one.run for one in runs}) == 1
    assert all(one.read().state == "finished" for one in runs)
    record = runs[0].read()
    assert record.rows == {"train": 60 * USERS, "valid": 60}
    assert [len(totals) for totals in record.pace.values()] == [2, 2]
    # The server's own rows; of the users' it has no labels.
    assert list(record.curves) == ["valid"]
    assert not runs[0].draft_file.exists()
    model = PooledModel(load_share(runs[0].share_file), {})
    reference = FedXGBClassifier(n_estimators=2, max_depth=2, max_bin=8, threshold=2, n_jobs=1)
    reference.fit([users.tables[f"user-{number}"] for number in range(USERS)])
    wanted = reference.model_.pooled
    assert model.feature_names == NAMES
    assert model.threshold.tolist() == pytest.approx(wanted.threshold.tolist(), nan_ok=True)
    assert model.value.tolist() == wanted.value.tolist()
    X = users.tables["valid"][0].astype(np.float32)
    for one in runs[1:]:
        np.testing.assert_array_equal(PooledModel(load_share(one.share_file), {}).margins(X), model.margins(X))
    assert xgboost_json(model)


def test_a_run_that_ends_before_its_first_tree_leaves_a_record(users) -> None:
    class Stop(TrainingCallback):
        def before_training(self, state: TrainingState) -> None:
            raise ValueError("enough")

    server = UsersServer(load_config(users.server(n_estimators=2), {}), Log(None))
    begun: list[RunFolder] = []
    server.callbacks, server.begun = [Stop()], begun.append
    with pytest.raises((ValueError, VfxgbError)):
        users.run(server)
    record = begun[0].read()
    assert (record.state, record.rounds, record.error) == ("failed", 0, "ValueError: enough")
    assert record.curves == record.pace == {}
    assert begun[0].ledger_file.exists()
    assert not begun[0].share_file.exists()


def test_who_is_killed(users) -> None:
    """A killed user is left out; when the server is killed, the other users end and say so."""
    started = Started(users, n_estimators=9000)
    folder = load_config(users.folder / "server.toml", {}).folder

    def left_out() -> bool:
        told = [event["text"] for event in events(folder) if event.get("peer") == "user-1"]
        return any("its connection has ended" in text for text in told)

    try:
        wait_until(lambda: "round 1/" in started.server_log.read_text() or started.server.poll() is not None)
        assert not left_out()
        started.people[1].kill()
        wait_until(lambda: left_out() or started.server.poll() is not None)
        assert started.server.poll() is None
        started.server.kill()
        for number in (0, 2):
            assert started.people[number].wait(DEADLINE) == 3
            assert "the server is gone and this run has ended for this user" in started.logs[number].read_text()
            assert "Traceback" not in started.logs[number].read_text()
    finally:
        started.end()


MISTAKES = {
    "train = {sampling_method": ("server", {"train": {"sampling_method": "goss"}}, "GOSS keeps the largest gradients"),
    "missing": ("server", {"train": {"missing_strategy": "mean"}}, "impute at the users"),
    "columns": ("server", {"data": {"label": "y"}}, "needs features"),
    "no label": ("server", {"data": {"valid": "valid.csv"}}, "names no label"),
    "directory": ("server", {"users": {"directory": "nothing.json"}}, "certs --users"),
    "unknown key": ("server", {"users": {"directory": "certs/users.json", "agregator": "x"}}, "'aggregator'"),
    "key centre": (
        "server",
        {"users": {"directory": "certs/users.json", "stage_seconds": 0}},
        "wanted a number above 0",
    ),
    "threshold": (
        "server",
        {"users": {"directory": "certs/users.json", "params": {"threshold": 9}}},
        "asks for 9 of 3",
    ),
    "team": ("server", {"users": {"directory": "certs/users.json", "users_per_round": 7}}, "from 2 to 3"),
    "ranges": ("server", {"users": {"directory": "certs/users.json", "ranges": {"z": [0, 1]}}}, "no column 'z'"),
    "no table": ("user", {"data": {"label": "y"}}, "has no train"),
    "features": ("user", {"consent": {"features": ["z"]}}, "offers none"),
    "identity": (
        "user",
        {"users": {"directory": "certs/users.json", "identity": "certs/user-1.identity"}},
        "not the key",
    ),
    "role": (
        "user",
        {"role": "passive", "listen": "127.0.0.1:0", "users": None, "data": {"train": "x"}},
        "role 'passive'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_configurations(users, mistake: str) -> None:
    role, changes, says = MISTAKES[mistake]
    path = users.server() if role == "server" else users.user(0, "127.0.0.1:1")
    values = tomllib.loads(path.read_text())
    values = {key: value for key, value in (values | changes).items() if value is not None}
    path.write_text(to_toml(values))
    with pytest.raises(VfxgbError, match=re.escape(says)):
        (UsersServer if role == "server" else UserParty)(load_config(path, {}), Log(None))


def test_what_a_user_agrees_to(users) -> None:
    invitation = Invites(
        bytes(16), 0, "ads", "masks", {}, {"n_estimators": 3, "num_class": 2, "max_depth": 4}, [], False, b""
    )
    for consent, says in (
        ({"max_trees": 5}, "6 trees, wanted at most 5"),
        ({"max_depth": 3}, "4 levels of a tree, wanted at most 3"),
        ({"purposes": ["research"]}, "the purpose 'ads'"),
    ):
        user = UserParty(load_config(users.user(0, "127.0.0.1:1", **consent), {}), Log(None))
        with pytest.raises(ConsentError, match=says):
            user._accept(invitation)
    UserParty(load_config(users.user(0, "127.0.0.1:1"), {}), Log(None))._accept(invitation)


def test_a_model_that_is_none(users, tmp_path) -> None:
    user = UserParty(load_config(users.user(0, "127.0.0.1:1"), {}), Log(None))
    file = tmp_path / "share.json"
    file.write_text("{}")
    with pytest.raises(MessageError, match="the model that the server sent"):
        user._check_model(file, "")
    assert not file.exists()


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Users:
    """Users that have been through a run, with the metrics of their rows."""
    users = Users(tmp_path_factory.mktemp("trained"))
    path = users.server(n_estimators=2, eval_metric=["auc", "logloss"])
    values = tomllib.loads(path.read_text())
    values["users"]["eval_users"] = True
    path.write_text(to_toml(values))
    users.run(UsersServer(load_config(path, {}), Log(None)))
    return users


def _share(users: Users, party: str) -> Path:
    return PartyFolder(users.folder / f"{party}-folder").find("latest").share_file


def test_metrics_of_the_users_rows(trained) -> None:
    record = PartyFolder(trained.folder / "server-folder").find("latest").read()
    assert [list(record.evals["train"]), list(record.evals["valid"])] == [["logloss"], ["auc", "logloss"]]
    model = PooledModel(load_share(_share(trained, "user-1")), {})
    X, y = (np.concatenate([trained.tables[f"user-{user}"][part] for user in range(USERS)]) for part in (0, 1))
    p = 1 / (1 + np.exp(-model.margins(X.astype(np.float32))[:, 0]))
    assert record.evals["train"]["logloss"][-1] == pytest.approx(-np.log(np.where(y, p, 1 - p)).mean(), rel=1e-5)


@pytest.mark.parametrize("party", ["user-1", "server"])
def test_users_and_the_server_predict_alone(trained, tmp_path, party: str, capsys) -> None:
    """Nobody listens: they have the whole model."""
    config = trained.folder / f"{party}.toml"
    out = tmp_path / "scores.csv"
    table = trained.folder / "valid.csv"
    assert main(["predict", str(config), str(table), str(out), "--dry-run"]) == 0
    assert "would score 60 rows with the model of run" in capsys.readouterr().out
    assert main(["predict", str(config), str(table), str(out)]) == 0
    assert f"scored 60 rows: {out}" in capsys.readouterr().out
    header, *lines = out.read_text().splitlines()
    assert header == "row,score"
    X = trained.tables["valid"][0].astype(np.float32)
    margins = PooledModel(load_share(_share(trained, party)), {}).margins(X)[:, 0]
    found = [tuple(map(float, line.split(","))) for line in lines]
    assert [row for row, _ in found] == list(range(60))
    assert [score for _, score in found] == pytest.approx((1 / (1 + np.exp(-margins))).tolist(), rel=1e-6)


def test_rows_with_names_keep_them(trained, tmp_path) -> None:
    named = tmp_path / "named.csv"
    named.write_text("id,a,b\nann,0.5,0.1\nbob,-0.5,0.2\n")
    assert main(["predict", str(trained.folder / "user-0.toml"), str(named), str(tmp_path / "out.csv")]) == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", "ann", "bob"]


def test_mistakes_in_predicting_alone(trained, tmp_path, capsys) -> None:
    config, table = str(trained.folder / "user-0.toml"), str(trained.folder / "valid.csv")
    out = str(tmp_path / "out.csv")
    narrow = tmp_path / "narrow.csv"
    narrow.write_text("a\n1\n")
    for arguments, says in (
        ([config, table, out, "--lookup"], "--lookup is about other parties, and role user has the whole model"),
        ([config, table, out, "--hidden"], "--hidden is about other parties, and role user has the whole model"),
        ([config, table, out, "--model", "ffff"], "looking for run 'ffff'"),
        ([config, str(narrow), out], "'b'"),
        ([config, str(tmp_path / "nothing.csv"), out], "there is no file"),
        ([config, "--serve"], "has role 'user', wanted 'active'"),
    ):
        assert main(["predict", *arguments]) != 0
        told = capsys.readouterr().err
        assert says in told
        assert "Traceback" not in told


def test_merging_what_everybody_has(trained, tmp_path, capsys) -> None:
    """A user's copy is the model; XGBoost predicts the same with it."""
    for party, gains in (("user-2", True), ("server", False)):
        out = tmp_path / f"{party}.json"
        assert main(["merge", str(_share(trained, party)), "-o", str(out)]) == 0
        told = capsys.readouterr().out
        assert "is the whole model, which everybody who trained it has: no consent is needed" in told
        assert ("gains and covers are not shared with users" in told) == gains
        assert out.read_text().startswith("{")
    certificate = str(trained.folder / "certs" / "server.pem")
    assert main(["merge", str(_share(trained, "server")), "--certificate", certificate, "-o", str(out)]) != 0
    assert "leave them out" in capsys.readouterr().err


def test_gains_that_are_not_shared(trained, capsys) -> None:
    assert main(["inspect", str(_share(trained, "user-0"))]) == 0
    text = capsys.readouterr().out
    assert "splits  gain not shared" in text
    assert "[gain not shared, cover not shared]" in text
    assert "features of server, by splits:" in text
    assert main(["inspect", str(_share(trained, "server"))]) == 0
    assert "not shared" not in capsys.readouterr().out
    user, server = (PooledModel(load_share(_share(trained, party)), {}) for party in ("user-0", "server"))
    columns = to_columns(user)
    leaf = np.array(columns["Feature"]) == "Leaf"
    assert np.isnan(columns["Gain"][~leaf]).all()
    assert np.isnan(columns["Cover"]).all()
    assert columns["Gain"][leaf].tolist() == to_columns(server)["Gain"][leaf].tolist()
    assert np.isnan(importance(user, "gain")).all()
    assert importance(user, "weight").tolist() == importance(server, "weight").tolist()
    assert describe(load_share(_share(trained, "user-0")), {})["importance"]["parties"]["server"]["total_gain"] is None
