"""kill -9 of either party's process at random points of a run: after a restart the model is that of an undisturbed run.

VFXGB_KILLS says how many runs are disturbed, each once, anywhere between its first words and its end. Few by default,
for each takes some seconds: tests/parties kills at chosen points, test_resume.py at any within one process.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from processes import DEADLINE, SIZES, Served, World, exported, joined, start, wait_until
from vfxgb.party.config import load_config
from vfxgb.protocols import protocol_by_name

KILLS = int(os.environ.get("VFXGB_KILLS", "2"))
LONG = {**SIZES, "n_estimators": 30}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shop(world: World) -> Iterator[list[Served]]:
    """The shop that serves at the moment."""
    one = [Served(world.passive("shop"))]
    yield one
    one[0].kill()


class Runs:
    """The bank's runs, one after the other."""

    def __init__(self, world: World, address: str) -> None:
        params = dict(protocol_by_name("ot_shares").quick_params)
        protocol = {"name": "ot_shares", "params": params}
        self.world = world
        self.config = world.active({"shop": address}, train=LONG, protocol=protocol)
        self.log = world.folder / "bank.out"
        self._folder = load_config(self.config, {}).folder / "runs"

    def known(self) -> set[str]:
        return {path.parent.name for path in self._folder.glob("*/run.json")}

    def begin(self) -> tuple[subprocess.Popen[bytes], str]:
        """A new run, from when it has a folder."""
        before = self.known()
        process = start("train", self.config, log=self.log)
        wait_until(lambda: process.poll() is not None or self.known() - before)
        (run,) = self.known() - before
        return process, run

    def end(self, process: subprocess.Popen[bytes]) -> None:
        code = process.wait(DEADLINE)
        assert code == 0, self.log.read_text()

    def sessions(self, run: str) -> int:
        return int(json.loads((self._folder / run / "run.json").read_text())["sessions"])

    def finished(self, run: str) -> bool:
        return (self._folder / run / "share.json").exists()


def test_kill_minus_nine_at_random_points(world: World, shop: list[Served], tmp_path: Path) -> None:
    undisturbed = exported(world.reference(("bank", "shop"), "binary", LONG), tmp_path)
    runs = Runs(world, shop[0].address)
    process, run = runs.begin()
    began = time.monotonic()
    wait_until(lambda: runs.finished(run) or process.poll() is not None)
    lasted = time.monotonic() - began
    runs.end(process)
    assert exported(joined(world, run, ("bank", "shop")), tmp_path) == undisturbed
    rng = np.random.default_rng(KILLS)
    sessions = []
    for number in range(KILLS):
        process, run = runs.begin()
        time.sleep(float(rng.uniform(0.0, lasted)))
        if number % 2:
            shop[0].kill()
            shop[0] = shop[0].again()
            runs.end(process)
        else:
            process.kill()
            process.wait(DEADLINE)
            if not runs.finished(run):
                runs.end(start("train", runs.config, "--resume", run, log=runs.log))
        assert exported(joined(world, run, ("bank", "shop")), tmp_path) == undisturbed
        sessions.append(runs.sessions(run))
    print(f"{KILLS} kills in runs of {lasted:.2f} s; sessions of each: {sessions}")
