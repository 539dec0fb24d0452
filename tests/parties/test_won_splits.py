"""Limits of consent on what may be won under `sealed`, between processes: told before, counted over runs."""

import json
from collections.abc import Iterator

import pytest

from processes import Served, at_rest, last_run
from vfxgb.protocols.sealed.kept import read_wins

SEALED = {"name": "sealed", "params": {"group_bits": 768, "insecure": True}}
TREES = {"n_estimators": 2, "max_depth": 3, "max_bin": 8}


@pytest.fixture
def shop(world) -> Iterator[Served]:
    """A shop that tells the rows of five winning splits."""
    served = Served(world.passive("shop", name="wary", folder="wary-folder", consent={"max_wins": 5, "max_runs": 2}))
    yield served
    if served.process.poll() is None:
        served.stop()


def test_wins_beyond_consent_are_withheld_and_runs_go_on(world, shop, vfxgb, capsys):
    config = world.active({"shop": shop.address}, name="eager", folder="eager-folder", train=TREES, protocol=SEALED)
    assert vfxgb("check", config, "--json", "-") == 0
    said = {finding["subject"]: finding["text"] for finding in json.loads(capsys.readouterr().out)}
    limits = said["limits of shop"]
    assert "max_wins = 5" in limits
    assert "max_runs = 2" in limits
    assert "splits of shop that win beyond them are withheld" in limits

    for wins in (5, 5):
        assert vfxgb("train", config, "--quiet") == 0
        folder = world.folder / "wary-folder"
        at_rest(folder)
        (path,) = (folder / "accounts").glob("*-wins")
        assert read_wins(path, "shop").wins == wins
        run = last_run(config).run
        notes = [
            json.loads((place / "runs" / run / "ledger.json").read_text())["text"]
            for place in (folder, world.folder / "eager-folder")
        ]
        assert "of its winning splits, which were beyond max_wins of its consent" in notes[0]
        assert "shop withheld the rows of" in notes[1]
    # The record is in the shop's folder: another run is one too many, and is refused before anything is told.
    assert vfxgb("train", config, "--quiet") == 4
    assert "in at most 2 runs (max_runs), and this would be number 3" in capsys.readouterr().err


def test_a_passive_party_is_told_its_own_limits(world, vfxgb, capsys):
    config = world.passive("shop", name="asker", folder="asker-folder", consent={"max_won_columns": 0.25})
    vfxgb("check", config, "--json", "-")
    said = {finding["subject"]: finding["text"] for finding in json.loads(capsys.readouterr().out)}
    assert "sealed: no max_runs, no max_wins, max_won_columns = 0.25" in said["limits"]
