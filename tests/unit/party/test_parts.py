"""Parts of a party that need no peer: patience, estimates, tables, scores, the first words."""

import csv
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from network_runs import made_days_ago
from vfxgb.cli.train_progress import Lines, make_progress
from vfxgb.errors import ColumnNameError, ConfigError, LabelError, MessageError, PeerError, TableError
from vfxgb.params import TrainParams
from vfxgb.party.check import check, duration
from vfxgb.party.config import load_config
from vfxgb.party.dialling import FIRST_WAIT, LONGEST_WAIT, Patience
from vfxgb.party.estimate import COSTS, Shape, estimate, terms
from vfxgb.party.folder import PartyFolder
from vfxgb.party.messages import TALK_VERSION, Hello, TrainRequest
from vfxgb.party.predict import Scores, check_output, find_model, write_scores
from vfxgb.party.record import RunRecord
from vfxgb.party.session import check_talk, hello, need_role, need_train, welcome
from vfxgb.party.tables import agreed, column_names, read_table
from vfxgb.party.training_input import read_params, secret_box, training_request
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.callbacks import TrainingState
from vfxgb.train.plan import RunPlan
from vfxgb.train.wire_estimate import estimate_line
from vfxgb.transport.line import KnownLine
from vfxgb.transport.messages import Catalogue, encode
from vfxgb.transport.network.certificates import describe, issue, make_authority
from vfxgb.transport.rows import rows_digest


def test_patience_doubles_and_ends():
    clock = [0.0]
    patience = Patience(100.0, lambda: clock[0])
    waits = []
    while (wait := patience.next(PeerError("gone"))) is not None:
        waits.append(wait)
        clock[0] += wait
    assert waits[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert max(waits) == LONGEST_WAIT
    assert sum(waits) == pytest.approx(100.0)
    assert Patience(100.0, lambda: clock[0]).next(PeerError("gone")) == FIRST_WAIT
    assert Patience(0.0).next(PeerError("gone")) is None


def test_patience_is_not_for_a_peer_that_failed_for_good():
    error = PeerError("failed")
    error.kind = "AlignmentError"
    assert Patience(100.0).next(error) is None
    error.kind = "KeyboardInterrupt"
    assert Patience(100.0).next(error) is not None


def estimated(protocol, given, shape):
    params = TrainParams(n_estimators=shape.trees, max_depth=shape.depth, max_bin=shape.bins)
    plan = RunPlan.resolve("bank", ("bank", "shop"), "", params, protocol, given)
    line = estimate_line(plan, shape.rows, {"bank": shape.own, "shop": shape.others}, KnownLine())
    return estimate(protocol, plan.protocol_params, shape, line)


def test_every_protocol_has_an_estimate_that_grows_with_the_run():
    assert set(COSTS) == set(shipped_protocols())
    small, large = Shape(1000, 5, 5, 32, 4, 10), Shape(2000, 5, 10, 64, 5, 20)
    for name in shipped_protocols():
        spec = protocol_by_name(name)
        given = {"epsilon": 1.0} if name in ("ldp", "federboost") else {}
        if "insecure" in spec.params.__struct_fields__:
            given["insecure"] = True
        less, more = estimated(name, given, small), estimated(name, given, large)
        assert 0 < less.seconds < more.seconds
        assert 0 < less.bytes < more.bytes
        assert 0 < less.memory < more.memory
    assert estimate("unheard of", None, small, None) is None
    assert terms(Shape(3, 1, 2, 10, 3, 1)) == (1.0, 3.0, 27.0, 36.0, 6.0)
    assert (duration(0.1), duration(600), duration(7200)) == ("1 s", "10 min", "2.0 h")


def test_a_larger_key_takes_longer():
    shape = Shape(1000, 5, 5, 32, 4, 10)
    normal = estimated("batch_he", {"key_bits": 2048}, shape)
    large = estimated("batch_he", {"key_bits": 4096}, shape)
    assert large.seconds == pytest.approx(4 * normal.seconds)


@pytest.fixture
def bank(write, tmp_path):
    with (tmp_path / "bank.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "a", "y", "b"])
        writer.writerows([[f"p{n}", n, n % 2, n / 2 if n else ""] for n in range(6)])
    return lambda **changes: load_config(write(**changes), {})


def test_columns_of_a_table(bank, tmp_path):
    config = bank()
    held = read_table(config, config.data.train, "train", labelled=True)
    assert held.table.names == ("a", "b")
    assert held.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert len(held.ids) == 6
    chosen = bank(data={"train": "bank.csv", "label": "y", "weight": "a", "features": ["b"]})
    with pytest.raises(LabelError, match="row 0 has no label"):
        read_table(bank(data={"train": "bank.csv", "label": "b"}), config.data.train, "train", labelled=True)
    assert read_table(chosen, config.data.train, "train", labelled=True).weights.tolist() == [0, 1, 2, 3, 4, 5]


def test_columns_that_are_not_there(bank):
    for features, said in ((["a", "c"], "names 'c', which the table lacks"), (["y"], "the id, label or weight")):
        config = bank(data={"train": "bank.csv", "label": "y", "features": features})
        with pytest.raises(ColumnNameError, match=said):
            read_table(config, config.data.train, "train", labelled=True)
    with pytest.raises(ConfigError, match="has no valid"):
        read_table(bank(), None, "valid")


def test_names_of_columns_in_any_kind_of_file(tmp_path):
    table = pa.table({"id": ["x"], "a": [1.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("\ufeffid,a\nx,1\n")
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("id,a\nx,1\n")
    for name in ("t.parquet", "t.csv", "t.csv.gz"):
        assert column_names(tmp_path / name, "here") == ["id", "a"]
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.csv.gz").write_text("id\n")
    (tmp_path / "bad.parquet").write_text("id\n")
    for name in ("empty.csv", "bad.csv.gz", "bad.parquet", "none.csv"):
        with pytest.raises(TableError, match="here"):
            column_names(tmp_path / name, "here")


def test_agreed_rows_are_marked_by_their_digest(bank):
    config = bank()
    table = read_table(config, config.data.train, "train").table
    taken = agreed([(table, np.array([4, 0]))], b"d" * 32)
    assert taken.column("a").tolist() == [4.0, 0.0]
    assert rows_digest(taken.ids) == rows_digest(agreed([(table, np.array([1, 2]))], b"d" * 32).ids)
    assert rows_digest(taken.ids) != rows_digest(agreed([(table, np.array([4, 0]))], b"e" * 32).ids)


def test_parameters_that_cannot_be_between_parties(bank):
    cases = {
        "early_stopping_rounds": ({"early_stopping_rounds": 3}, "needs valid"),
        "monotone_constraints": ({"monotone_constraints": [1, 0]}, "a table of this party's columns"),
    }
    for given, said in cases.values():
        with pytest.raises(ConfigError, match=said):
            read_params(bank(train=given))
    config = bank(protocol={"name": "ot_shares", "params": {"setup_dir": "x"}})
    with pytest.raises(ConfigError, match=r"write it under \[protocol.local\]"):
        training_request(config, read_params(config), resume=False)


def test_keys_are_sealed_only_if_the_configuration_says_how(bank, tmp_path, monkeypatch):
    folder = PartyFolder(tmp_path / "f").make().run("aa")
    assert secret_box(bank(), folder) is None
    config = bank(resume={"passphrase_env": "SOME_PASSPHRASE"})
    with pytest.raises(ConfigError, match="the environment has no SOME_PASSPHRASE"):
        secret_box(config, folder)
    monkeypatch.setenv("SOME_PASSPHRASE", "correct horse battery")
    assert "horse" not in repr(secret_box(config, folder))


def test_roles_and_first_words(bank):
    with pytest.raises(ConfigError, match="role 'active', wanted 'passive'"):
        need_role(bank(), "serve", "passive")
    check_talk("bank", "shop", TALK_VERSION, "1.0")
    with pytest.raises(MessageError, match=r"vfxgb 9\.9"):
        check_talk("bank", "shop", TALK_VERSION + 1, "9.9")
    with pytest.raises(MessageError, match="names no run"):
        need_train(hello("train"))
    assert welcome(3, 5, 7).rounds == 3


@pytest.mark.parametrize("run", ["../../etc/passwd", "AB" * 16, "ab" * 15, "ab" * 16 + "\n", "ab" * 16 + "/x"])
def test_a_run_id_that_is_none_is_refused_when_it_comes(run):
    catalogue = Catalogue((Hello,))
    good = hello("train", "ab" * 16, train=TrainRequest("plain", {}, 1, 1, 1, ("bank", "shop")))
    assert catalogue.decode("hello", encode(good), "bank") == good
    with pytest.raises(Exception, match="malformed"):
        catalogue.decode("hello", encode(hello("train", run)), "bank")


def test_scores_in_both_kinds_of_file(tmp_path):
    values = np.array([[0.25, 0.75], [np.nan, np.nan]])
    scores = Scores(["a, b", "c"], values, Ledger(), 10)
    assert scores.missing == 1
    write_scores(tmp_path / "s.csv", scores, "id")
    assert list(csv.reader((tmp_path / "s.csv").read_text().splitlines())) == [
        ["id", "score_0", "score_1"],
        ["a, b", "0.25", "0.75"],
        ["c", "", ""],
    ]
    write_scores(tmp_path / "s.parquet", scores, "id")
    assert pq.read_table(tmp_path / "s.parquet").to_pydict() == {
        "id": ["a, b", "c"],
        "score_0": [0.25, None],
        "score_1": [0.75, None],
    }
    for name in ("s.txt", "nowhere/s.csv"):
        with pytest.raises(TableError):
            check_output(tmp_path / name)


def test_a_model_is_found_by_its_run(tmp_path):
    folder = PartyFolder(tmp_path / "bank").make()
    with pytest.raises(ConfigError, match="train one first"):
        find_model(folder, "latest")
    for number, run in enumerate(("aa", "bb", "cc")):
        made = folder.run(run).make()
        made.write(RunRecord(run=run, party="bank", role="active", state="running", started=float(number)))
        if run != "cc":
            made.share_file.touch()
        else:
            made.checkpoint_file.touch()
    folder.run("dd").make().run_file.write_text("damaged")
    assert find_model(folder, "latest").run == "bb"
    assert find_model(folder, "aa").run == "aa"
    assert [run_folder.run for run_folder in folder.unfinished()] == ["cc"]


def test_lines_of_progress(capsys):
    lines = make_progress(lambda: 3_000_000)
    assert isinstance(lines, Lines)
    state = TrainingState(n_estimators=2, learning_rate=0.3)
    lines.before_training(state)
    state.evals_log = {"train": {"logloss": [0.5]}}
    lines.after_iteration(state)
    assert "round 1/2  train-logloss 0.50000" in (said := capsys.readouterr().err)
    assert "3.0 MB" in said
    lines.stop()


def test_two_certificates_of_a_peer_of_which_one_has_expired(write, tmp_path, monkeypatch) -> None:
    authority = make_authority(tmp_path)
    issue(authority, "bank", (), 100, tmp_path)
    new = issue(authority, "shop", (), 100, tmp_path / "new")
    with monkeypatch.context() as then:
        made_days_ago(40, then)
        issue(authority, "shop", (), 30, tmp_path)
    pins = ["shop.pem", "new/shop.pem"]
    config = load_config(write(peers={"shop": {"certificate": pins, "address": "localhost:1"}}), {})
    findings = [finding for finding in check(config) if finding.subject == "certificate of shop"]
    assert [finding.verdict for finding in findings] == ["warning", "good"]
    assert "expired" in findings[0].text
    assert "the other certificate of shop can be used" in findings[0].text
    assert findings[1].text.endswith(f"SHA-256 {describe(new.certificate).fingerprint}")
    alone = load_config(write(), {})
    assert [finding.verdict for finding in check(alone) if finding.subject == "certificate of shop"] == ["bad"]
