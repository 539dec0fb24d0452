"""Ways to treat missing values that a configuration names, between processes: trained, kept, predicted, refused."""

import csv
import json
from typing import Any

import numpy as np
import pytest

from processes import COLUMNS, at_rest, last_run
from vfxgb.data.table import Table
from vfxgb.model.file import load_share
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.train import Trainer
from vfxgb.predict.joint import predict_margin
from vfxgb.predict.sides import values_of

PARTIES = ("bank", "shop", "mill")


@pytest.mark.parametrize(("strategy", "kept"), [("regression", "regressions"), ("conditional", "leanings")])
def test_scores_are_those_of_the_shares_on_disk(
    world: Any, served: Any, addresses: Any, vfxgb: Any, tmp_path: Any, capsys: Any, strategy: str, kept: str
) -> None:
    changes = {"folder": f"{strategy}-folder", "train": {"missing_strategy": strategy}}
    config = world.active(addresses, name=f"missing-{strategy}", **changes)
    Trainer(load_config(config, {}), Log(None)).run()
    run = last_run(config)
    active = load_share(run.share_file)
    folders = {party: served[party].folder / "runs" / run.run for party in PARTIES[1:]}
    passive = {party: load_share(folder / "share.json") for party, folder in folders.items()}
    for share in (active, *passive.values()):
        assert getattr(share.records, kept) is not None

    output = tmp_path / "scores.csv"
    assert vfxgb("predict", config, world.folder / "bank.csv", output) == 0
    with output.open() as file:
        scored = {row["id"]: row["score"] for row in csv.DictReader(file)}
    rows = world.common(PARTIES)
    tables = {
        party: Table.read({name: world.values[name][rows] for name in COLUMNS[party]}, party=party) for party in PARTIES
    }
    assert np.isnan(tables["shop"].matrix()).any()
    expected = values_of(active, predict_margin(active, passive, tables))
    found = np.array([float(scored[world.ids[row]]) for row in rows])
    assert np.allclose(found, expected, rtol=1e-6)

    at_rest(served["shop"].folder)
    told = json.loads((folders["shop"] / "predictions.json").read_text())
    messages = {entry["message"]: entry["amount"] for entry in told["entries"]}
    assert (messages.get("leaned", 0) > 0) == (strategy == "conditional")
    capsys.readouterr()
    code = vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "hidden.csv", "--hidden")
    if strategy == "regression":
        assert code == 0
        assert (tmp_path / "hidden.csv").read_bytes() == output.read_bytes()
    else:
        assert code != 0
        assert "'conditional'" in capsys.readouterr().err
        assert not (tmp_path / "hidden.csv").exists()
