"""kill -9 of either party's process at random points of a run: after a restart the model is that of an undisturbed run.

VFXGB_KILLS says how many runs of each protocol are disturbed, each once, anywhere between its first words and its end.
Few by default, for each takes some seconds: tests/parties kills at chosen points, test_resume.py and
test_resume_sealed.py at any within one process.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from processes import DEADLINE, SIZES, Served, World, exported, joined, start, wait_until
from vfxgb.party.config import load_config
from vfxgb.party.folder import RunFolder
from vfxgb.protocols import protocol_by_name

KILLS = int(os.environ.get("VFXGB_KILLS", "2"))


@dataclass(frozen=True)
class Kind:
    """A protocol, and whether both parties keep their set-ups."""

    protocol: str
    trees: int
    kept: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """Training parameters of a run that lasts some seconds."""
        return {**SIZES, "n_estimators": self.trees}

    def bank(self, folder: Path) -> dict[str, Any]:
        """The bank's section [protocol]."""
        spec = protocol_by_name(self.protocol)
        params = dict(spec.quick_params)
        own = {name: params.pop(name) for name in spec.local_params if name in params}
        return {"name": self.protocol, "params": params, "local": {**own, **self._kept(folder / "bank-kept")}}

    def shop(self, folder: Path) -> dict[str, Any]:
        """The shop's: what it chooses for itself."""
        return {"local": {**self.bank(folder)["local"], **self._kept(folder / "shop-kept")}}

    def _kept(self, folder: Path) -> dict[str, str]:
        return {"setup_dir": str(folder)} if self.kept else {}


KINDS = {
    "ot_shares": Kind("ot_shares", 30),
    "sealed": Kind("sealed", 6),
    "sealed, kept set-up": Kind("sealed", 6, kept=True),
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    for party in ("bank", "shop"):
        (tmp_path / f"{party}-kept").mkdir()
    return World(tmp_path)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def shop(world: World, kind: Kind) -> Iterator[list[Served]]:
    """The shop that serves at the moment."""
    serving = [Served(world.passive("shop", protocol=kind.shop(world.folder)))]
    yield serving
    serving[0].kill()


class Runs:
    """The bank's runs, one after the other."""

    def __init__(self, world: World, address: str, kind: Kind) -> None:
        self.world, self.kind = world, kind
        self.config = world.active({"shop": address}, train=kind.sizes, protocol=kind.bank(world.folder))
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

    def check(self, run: str, folder: Path) -> None:
        """Whether the model is the one that nobody disturbs, made in one process of the same rows in their order."""
        rows = self.world.agreed(RunFolder(self._folder / run))
        undisturbed = self.world.reference(("bank", "shop"), "binary", self.kind.sizes, self.kind.protocol, rows)
        made = joined(self.world, run, ("bank", "shop"))
        assert exported(made, folder) == exported(undisturbed, folder)


def test_kill_minus_nine_at_random_points(world: World, kind: Kind, shop: list[Served], tmp_path: Path) -> None:
    runs = Runs(world, shop[0].address, kind)
    process, run = runs.begin()
    began = time.monotonic()
    wait_until(lambda: runs.finished(run) or process.poll() is not None)
    lasted = time.monotonic() - began
    runs.end(process)
    runs.check(run, tmp_path)
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
        runs.check(run, tmp_path)
        sessions.append(runs.sessions(run))
    print(f"{KILLS} kills in runs of {lasted:.2f} s; sessions of each: {sessions}")
