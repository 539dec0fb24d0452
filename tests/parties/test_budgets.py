"""What a passive party has shown is counted over sessions, runs and restarts, and refused beyond what it agreed to."""

import json
from collections.abc import Iterator

import pytest

from processes import Served, last_run
from vfxgb.party.config import ConsentSection
from vfxgb.protocols import protocol_by_name
from vfxgb.protocols.opened import OpenedSums

QUICK = {"name": "ot_shares", "params": dict(protocol_by_name("ot_shares").quick_params)}
ALLOWED = ConsentSection().max_repeated_rounds


@pytest.fixture
def shop(world) -> Iterator[object]:
    """Serve with a consent and a folder of one's own: shop(name, **consent)."""
    running: list[Served] = []

    def serve(name: str, **consent: object) -> Served:
        running.append(Served(world.passive("shop", name=name, folder=f"{name}-folder", consent=consent)))
        return running[-1]

    yield serve
    for one in running:
        if one.process.poll() is None:
            one.stop()


def _account(world, name, peer="bank"):
    return json.loads((world.folder / f"{name}-folder" / "accounts" / f"{peer}.json").read_text().splitlines()[0])


def _ledger(world, name, run):
    return json.loads((world.folder / f"{name}-folder" / "runs" / run / "ledger.json").read_text())


def test_the_same_round_is_not_shown_again_and_again(world, shop, vfxgb, monkeypatch, capsys):
    """A greedy active party reads the sums of the root, breaks off, and resumes to have them for other gradients."""
    one = shop("once", max_trees=1)
    config = world.active(
        {"shop": one.address},
        name="greedy",
        folder="greedy-folder",
        train={"n_estimators": 1, "max_depth": 1},
        protocol=QUICK,
        resume={"resume_seconds": 0.0},
    )
    seen = []
    propose = OpenedSums.propose

    def read_and_leave(self, level):
        seen.append(propose(self, level))
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenedSums, "propose", read_and_leave)
    assert vfxgb("train", config, "--quiet") == 130
    run = last_run(config).run
    codes = [vfxgb("train", config, "--quiet", "--resume", run) for _ in range(ALLOWED + 2)]
    assert len(seen) == 1 + ALLOWED
    assert codes == [130] * ALLOWED + [4, 4]
    told = capsys.readouterr().err
    assert f"shop does not agree to begin round 0 of run {run[:8]} once more: {1 + ALLOWED} rounds were begun" in told
    assert f"wanted at most {ALLOWED} again (max_repeated_rounds); begin a new run, or ask shop" in told
    # A new beginning of the same run would be the same round once more.
    last_run(config).rows_file.unlink()
    assert vfxgb("train", config, "--quiet", "--resume", run) == 4
    assert f"has begun {1 + ALLOWED} rounds of run" in capsys.readouterr().err
    assert len(seen) == 1 + ALLOWED
    # The passive party's ledger and account have every time, not the last one.
    ledger = _ledger(world, "once", run)
    (sums,) = (entry for entry in ledger["entries"] if entry["unit"] == "sums")
    assert sums["messages"] == 1 + ALLOWED
    assert ledger["begun"] == {"shop": [1 + ALLOWED, ALLOWED]}
    assert f"shop began {1 + ALLOWED} rounds, {ALLOWED} of them again" in ledger["text"]
    account = _account(world, "once")
    assert account["trees"] == 1 + ALLOWED
    assert account["runs"] == {run: {"total": 1 + ALLOWED, "again": ALLOWED, "furthest": 0}}
