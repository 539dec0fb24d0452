"""Training between processes over mutual TLS gives the model that one process makes of the same rows."""

import json

import numpy as np
import pytest

from processes import SIZES, exported, joined, last_run
from vfxgb.model.pooled import PooledModel
from vfxgb.model.seal import check_together
from vfxgb.protocols import protocol_by_name, protocol_names


def _protocol(name):
    return {"name": name, "params": dict(protocol_by_name(name).quick_params)}


@pytest.fixture(scope="module")
def references(world, tmp_path_factory):
    """(parties, task) -> the exported model of one process, made once."""
    made = {}

    def reference(parties, task):
        if (parties, task) not in made:
            made[parties, task] = exported(world.reference(parties, task), tmp_path_factory.mktemp("reference"))
        return made[parties, task]

    return reference


CASES = [
    *((name, "binary", ("bank", "shop")) for name in protocol_names()),
    ("ot_shares", "multiclass", ("bank", "shop")),
    ("batch_he", "multiclass", ("bank", "shop")),
    ("ot_shares", "regression", ("bank", "shop")),
    ("batch_he", "regression", ("bank", "shop", "mill")),
    ("ot_shares", "binary", ("bank", "shop", "mill")),
    ("plain", "multiclass", ("bank", "shop", "mill")),
]


@pytest.mark.parametrize(("protocol", "task", "parties"), CASES)
def test_the_model_is_the_one_of_a_single_process(
    world, addresses, vfxgb, references, tmp_path, protocol, task, parties
):
    taking_part = {party: addresses[party] for party in parties[1:]}
    config = world.active(taking_part, task, protocol=_protocol(protocol))
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config)
    record = run.read()
    assert record.state == "finished"
    assert record.rounds == SIZES["n_estimators"]
    assert record.rows["train"] == len(world.common(parties))
    assert not run.checkpoint_file.exists()
    model = joined(world, record.run, parties)
    check_together(model.active_share, model.passive_shares)
    if protocol_by_name(protocol).exact:
        assert exported(model, tmp_path) == references(parties, task)


def test_scores_are_those_of_the_model_in_the_order_of_the_file(world, addresses, vfxgb, tmp_path, capsys):
    config = world.active({"shop": addresses["shop"]}, protocol=_protocol("ot_shares"))
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config).run
    model = joined(world, run, ("bank", "shop"))
    for how in ((), ("--lookup",)):
        output = tmp_path / "scores.csv"
        assert vfxgb("predict", config, world.folder / "bank.csv", output, *how) == 0
        lines = [line.split(",") for line in output.read_text().splitlines()]
        given = [line.split(",")[0] for line in (world.folder / "bank.csv").read_text().splitlines()]
        assert [line[0] for line in lines] == given
        place = {name: row for row, name in enumerate(world.ids)}
        rows = np.array([place[name] for name in given[1:]])
        columns = PooledModel(model.active_share, model.passive_shares)
        matrix = np.column_stack([world.values[name][rows] for name in columns.feature_names]).astype(np.float32)
        wanted = 1 / (1 + np.exp(-columns.margins(matrix)[:, 0]))
        has = world.has["shop"][rows]
        assert [line[1] == "" for line in lines[1:]] == (~has).tolist()
        found = np.array([float(line[1]) for line in lines[1:] if line[1]])
        np.testing.assert_allclose(found, wanted[has], rtol=1e-6)
        assert f"{int((~has).sum())} rows are not at all parties" in capsys.readouterr().err


def test_a_run_folder_tells_what_happened_and_its_owner_alone_can_read_it(world, addresses, vfxgb):
    config = world.active({"shop": addresses["shop"]})
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config)
    for party in ("bank", "shop"):
        folder = world.folder / f"{party}-folder"
        for path in (folder, *folder.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path
        ledger = json.loads((folder / "runs" / run.run / "ledger.json").read_text())
        assert {entry["message"] for entry in ledger["entries"]} >= {"hello", "welcome", "setup", "sealed"}
        events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        assert any(event["event"] == "trained" and event["run"] == run.run for event in events)
    record = run.read()
    assert len(record.evals["train"]["logloss"]) == SIZES["n_estimators"]
    assert record.traffic["shop"].wire_sent_bytes > 0
    assert record.versions["vfxgb"]
