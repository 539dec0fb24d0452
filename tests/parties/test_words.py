"""What the commands say of a run and of its model: early stopping, single classes, rows that nobody shares, folders."""

import csv
import json
import re

import numpy as np
import pytest

from processes import SIZES, at_rest, joined, last_run
from vfxgb.curves import eval_curves
from vfxgb.data.table import Table
from vfxgb.model.pooled import PooledModel
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.party.config import load_config
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.predict import load_active
from vfxgb.party.train import Trainer
from vfxgb.train.callbacks import TrainingCallback

STOPPING = {**SIZES, "n_estimators": 60, "early_stopping_rounds": 3, "learning_rate": 0.3}
EMPTY_SCORE = re.compile(r"^[^,]+,$")


@pytest.fixture(scope="module")
def tables(world):
    """The bank's rows for training and for validation."""
    lines = (world.folder / "bank.csv").read_text().splitlines()
    for name, rows in (("words-train", lines[1:150]), ("words-valid", lines[150:])):
        (world.folder / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")


@pytest.fixture
def stopping(world, addresses, tables):
    """A configuration whose runs stop early."""
    return world.active(
        {"shop": addresses["shop"]},
        name="stopping",
        folder="stopping-folder",
        data={"train": "words-train.csv", "valid": "words-valid.csv"},
        train=STOPPING,
    )


def test_early_stopping_is_told_and_numbers_are_of_the_best_round(stopping, vfxgb, tmp_path, capsys):
    assert vfxgb("train", stopping, "--quiet") == 0
    said = capsys.readouterr().out
    run = last_run(stopping)
    record = run.read()
    best, values = record.best_iteration, record.evals["valid"]["logloss"]
    assert record.rounds == best + 1 + 3 < 60
    assert values[best] == min(values) != values[-1]
    assert best > 0
    assert (
        f"stopped early after {record.rounds} of 60 rounds: valid logloss was best after {best + 1} rounds "
        f"({values[best]:.6g}), and predictions use these" in said
    )
    assert f"  valid: logloss {values[best]:.5f}" in said
    assert f"  train: logloss {record.evals['train']['logloss'][best]:.5f}" in said
    assert vfxgb("report", run.path) == 0
    report = capsys.readouterr().out
    assert f"the model, after round {best}, the best: " in report
    assert f"valid logloss {values[best]:.6g}" in report.split("the best: ")[1].splitlines()[0]
    assert f"stopped early after {record.rounds} of 60 rounds" in report
    assert vfxgb("report", run.path, "-o", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text()
    assert f"after round {best}, the best" in page
    assert "after the last round" not in page
    assert f"After round {best}, the best, with which predictions end." in page


def _curves_of(world, run, best):
    """The curves of the model's predictions after the best round, computed anew from its shares."""
    share = load_active(run)
    names = {"bank": ("a0", "a1", "a2"), "shop": ("p0", "p1", "p2")}
    model = joined(world, run.run, ("bank", "shop"))
    pooled = PooledModel(model.active_share, model.passive_shares)
    with (world.folder / "words-valid.csv").open() as file:
        ids = [line["id"] for line in csv.DictReader(file)]
    places = {name: place for place, name in enumerate(world.ids)}
    rows = np.array([places[name] for name in ids if world.has["shop"][places[name]]])
    columns = [name for party in pooled.parties for name in names[party]]
    table = Table.read({name: world.values[name][rows] for name in columns})
    margins = pooled.margins(table.matrix(), best + 1)
    assert share.best_iteration == best
    params = TrainParams.from_dict(dict(STOPPING, objective="binary:logistic"))
    labels = world.labels["binary"][rows]
    margins = np.asarray(margins, dtype=np.float32).reshape(len(rows), -1)
    return eval_curves(make_objective(params), [("valid", slice(0, len(rows)))], margins, labels, None)["valid"]


class Interrupt(TrainingCallback):
    """Ends the process's part of a run in its first round, as ctrl-C does."""

    def after_iteration(self, state):
        raise KeyboardInterrupt


class Stop(TrainingCallback):
    """The same some rounds after the best one."""

    def __init__(self, rounds):
        self.rounds = rounds

    def after_iteration(self, state):
        if state.best_iteration is not None and state.iteration - state.best_iteration == self.rounds:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize("interrupted", [False, True])
def test_curves_are_of_the_best_round_also_after_a_resume(world, stopping, vfxgb, interrupted):
    trainer = Trainer(load_config(stopping, {}), Log(None))
    if interrupted:
        trainer.callbacks = [Stop(1)]
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
        trainer = Trainer(load_config(stopping, {}), Log(None), trainer.run_id)
    record = trainer.run()
    assert record.curves_round == record.best_iteration < record.rounds - 1
    found, wanted = record.curves["valid"], _curves_of(world, trainer.folder, record.best_iteration)
    assert found["roc"]["auc"] == pytest.approx(wanted["roc"]["auc"], abs=1e-12)
    assert found["calibration"]["predicted"] == pytest.approx(wanted["calibration"]["predicted"], abs=1e-6)


def test_merge_counts_the_trees_of_the_file(world, stopping, vfxgb, tmp_path, capsys):
    assert vfxgb("train", stopping, "--quiet") == 0
    run = last_run(stopping).run
    best = last_run(stopping).read().best_iteration
    files = []
    for party, folder in (("bank", "stopping-folder"), ("shop", "shop-folder")):
        share = world.folder / folder / "runs" / run / "share.json"
        consent = tmp_path / f"{party}.consent.json"
        key, certificate = world.folder / f"{party}.key", world.folder / f"{party}.pem"
        assert vfxgb("merge", "--consent", share, "--key", key, "--certificate", certificate, "-o", consent) == 0
        files += [share, consent]
    capsys.readouterr()
    certificates = [word for party in ("bank", "shop") for word in ("--certificate", world.folder / f"{party}.pem")]
    assert vfxgb("merge", *files, *certificates, "-o", tmp_path / "model.json") == 0
    booster = json.loads((tmp_path / "model.json").read_text())["learner"]["gradient_booster"]["model"]
    assert len(booster["trees"]) == best + 1
    said = capsys.readouterr().out
    assert f"{best + 1} trees (of {best + 4} trained: those up to the best round)" in said


def _with_labels(world, name, labels):
    """The bank's table with another label for each row."""
    with (world.folder / "bank.csv").open() as file:
        lines = list(csv.DictReader(file))
    with (world.folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        for line in lines:
            writer.writerow({**line, "binary": labels(line)})


def test_a_single_class_is_refused_before_anybody_is_dialled(world, vfxgb, capsys):
    _with_labels(world, "single", lambda line: 1)
    config = world.active({"shop": "127.0.0.1:1"}, name="single", folder="single-folder", data={"train": "single.csv"})
    assert vfxgb("train", config, "--quiet") == 2
    said = capsys.readouterr().err
    assert "reading labels of party 'bank': found 1 class, 1.0, in " in said
    assert "wanted at least two classes; check label in [data], and train on rows that have both" in said
    assert vfxgb("check", config) == 2
    assert "found 1 class" in capsys.readouterr().out


def test_a_single_class_among_the_common_rows_is_refused(world, addresses, vfxgb, capsys):
    common = set(world.ids[world.common(("bank", "shop"))])
    _with_labels(world, "common", lambda line: 0 if line["id"] in common else 1)
    config = world.active(
        {"shop": addresses["shop"]}, name="common", folder="common-folder", data={"train": "common.csv"}
    )
    assert vfxgb("train", config, "--quiet") == 2
    said = capsys.readouterr().err
    assert f"found 1 class, 0.0, in the {len(common)} rows that all parties have" in said
    assert "--resume" not in said
    assert last_run(config).read().state == "failed"
    # The shop is told no label.
    log = [event["text"] for event in at_rest(world.folder / "shop-folder")]
    assert any("bank cannot use its labels or weights for this run" in text for text in log)
    assert not any("found 1 class" in text for text in log)


@pytest.mark.parametrize("how", ["psi", "lookup"])
def test_no_common_row_is_a_file_without_scores(world, addresses, vfxgb, tmp_path, capsys, how):
    config = world.active({"shop": addresses["shop"]}, name="strangers", folder="strangers-folder")
    assert vfxgb("train", config, "--quiet") == 0
    lines = (world.folder / "bank.csv").read_text().splitlines()
    strangers = [re.sub("^person", "stranger", line) for line in lines]
    (tmp_path / "in.csv").write_text("\n".join(strangers) + "\n")
    capsys.readouterr()
    more = ["--lookup"] if how == "lookup" else []
    assert vfxgb("predict", config, tmp_path / "in.csv", tmp_path / "out.csv", *more) == 0
    said = capsys.readouterr()
    header, *scores = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "id,score"
    assert len(scores) == len(lines) - 1
    assert all(EMPTY_SCORE.match(line) for line in scores)
    assert f"scored 0 of {len(scores)} rows" in said.out
    assert "is at all of bank, shop, so every score is empty" in said.err
    # The shop has not counted rows that it did not answer, and serves on.
    at_rest(world.folder / "shop-folder")
    counts = world.folder / "shop-folder" / "queries.json"
    assert not counts.exists() or last_run(config).run not in json.loads(counts.read_text())
    assert vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "out.csv", "--quiet", *more) == 0


def test_inspect_takes_the_folder_of_a_run_or_of_a_party(world, addresses, vfxgb, capsys):
    config = world.active({"shop": addresses["shop"]}, name="looked", folder="looked-folder")
    folder = PartyFolder(world.folder / "looked-folder").make()
    assert vfxgb("inspect", folder.path) == 2
    assert "none of its 0 runs has one; train one first" in capsys.readouterr().err
    for _ in range(2):
        assert vfxgb("train", config, "--quiet") == 0
    trainer = Trainer(load_config(config, {}), Log(None))
    trainer.callbacks = [Interrupt()]
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    stopped, latest, first = (run.run for run in folder.runs())
    capsys.readouterr()
    assert vfxgb("inspect", folder.path) == 0
    said = capsys.readouterr().out
    listed = re.findall(r"^  ([0-9a-f]{8})  (\w+) +(\d+) of 3 rounds .*plain with shop  (.*)$", said, re.MULTILINE)
    assert listed == [
        (stopped[:8], "stopped", "0", "no model"),
        (latest[:8], "finished", "3", "has a model"),
        (first[:8], "finished", "3", "has a model"),
    ]
    assert f"run {latest}, share of bank, which holds the trees" in said
    assert vfxgb("inspect", folder.run(first).path) == 0
    assert f"run {first}, share of bank" in capsys.readouterr().out
    assert vfxgb("inspect", folder.run(stopped).path) == 2
    assert "the run is stopped after 0 of 3 rounds and has none; resume it" in capsys.readouterr().err
    assert vfxgb("inspect", world.folder) == 2
    assert "there is neither a share nor a folder runs/ in it" in capsys.readouterr().err


def test_a_damaged_run_leaves_the_others_to_be_used(world, addresses, vfxgb, tmp_path, capsys):
    """Listed, resumed and predicted with; the damaged one is named."""
    config = world.active({"shop": addresses["shop"]}, name="damaged-run", folder="damaged-run-folder")
    folder = PartyFolder(world.folder / "damaged-run-folder")
    for _ in range(2):
        assert vfxgb("train", config, "--quiet") == 0
    trainer = Trainer(load_config(config, {}), Log(None))
    trainer.callbacks = [Interrupt()]
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    stopped, latest, first = (run.run for run in folder.runs())
    record = folder.run(latest).run_file
    record.write_bytes(record.read_bytes().replace(b"shop", b"sh\xffp", 1))
    share = folder.run(latest).share_file
    share.write_bytes(share.read_bytes().replace(b"plain", b"plaim", 1)[:-20])
    capsys.readouterr()
    assert vfxgb("inspect", folder.path) == 0
    said = capsys.readouterr()
    assert f"run {first}, share of bank" in said.out
    assert f"run {latest[:8]} is passed over: " in said.err
    assert vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "out.csv", "--model", first) == 0
    assert f"run {latest[:8]} is passed over: " in capsys.readouterr().err
    assert vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "out.csv", "--model", latest) == 2
    assert f"{latest}/run.json" in capsys.readouterr().err
    assert vfxgb("train", config, "--quiet", "--resume", stopped) == 0
    assert vfxgb("report", folder.path) == 0
