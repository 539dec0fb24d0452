"""The private last stage of `ldp` between processes: `vfxgb train` makes it, `vfxgb predict` uses it, one knows it."""

import json

import numpy as np

from processes import COLUMNS, at_rest, joined, last_run
from vfxgb.data.table import Table
from vfxgb.predict.joint import predict_margin

GIVEN = {"epsilon": 1000.0}


def test_a_process_trains_keeps_and_predicts_with_it(world, addresses, vfxgb, tmp_path) -> None:
    protocol = {"name": "ldp", "params": GIVEN, "local": {"private_stage_trees": 5}}
    config = world.active({"shop": addresses["shop"]}, protocol=protocol)
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config)
    model = joined(world, run.read().run, ("bank", "shop"))
    stage = model.active_share.private_stage
    assert stage is not None
    assert stage.n_rounds == 5
    assert stage.records.features == (*COLUMNS["bank"], "joint score")
    assert any("rounds of its own" in note for note in json.loads(run.ledger_file.read_text())["notes"])
    # The shop was asked for noisy labels, and has no file that knows of the stage.
    at_rest(world.folder / "shop-folder")
    of_shop = [path for path in (world.folder / "shop-folder").rglob("*") if path.is_file()]
    assert of_shop
    assert not any(word in path.read_bytes() for path in of_shop for word in (b"private_stage", b"joint score"))
    output = tmp_path / "scores.csv"
    assert vfxgb("predict", config, world.folder / "bank.csv", output) == 0
    lines = [line.split(",") for line in output.read_text().splitlines()[1:]]
    found = {line[0]: float(line[1]) for line in lines if line[1]}
    rows = np.array([row for row, name in enumerate(world.ids) if name in found])
    tables = {
        party: Table.read({name: world.values[name][rows] for name in COLUMNS[party]}, party=party)
        for party in ("bank", "shop")
    }
    margins = predict_margin(model.active_share, model.passive_shares, tables)[:, 0]
    np.testing.assert_allclose([found[name] for name in world.ids[rows]], 1 / (1 + np.exp(-margins)), rtol=1e-6)
    joint = predict_margin(model.active_share.joint, model.passive_shares, tables)[:, 0]
    assert not np.allclose(joint, margins)


def test_it_is_nothing_to_ask_of_others(world, addresses, vfxgb, capsys) -> None:
    protocol = {"name": "ldp", "params": {**GIVEN, "private_stage_trees": 5}}
    config = world.active({"shop": addresses["shop"]}, protocol=protocol)
    assert vfxgb("train", config, "--quiet") != 0
    assert "[protocol.local]" in capsys.readouterr().err
