"""kill -9 of the server's or a user's process at random points of a run with users: the model is that of no kill.

VFXGB_KILLS says how many runs are disturbed, each once, anywhere between its first words and its end: the server and a
user in turn. Few by default, for each takes some seconds.
"""

import os
import re
import subprocess
import time
from pathlib import Path

import numpy as np

from processes import DEADLINE, start, to_toml, wait_until
from user_files import USERS, Users
from vfxgb.model.file import load_share
from vfxgb.model.pooled import PooledModel
from vfxgb.model.xgboost_json import xgboost_json
from vfxgb.party.config import load_config, tomllib
from vfxgb.party.folder import PartyFolder, RunFolder

KILLS = int(os.environ.get("VFXGB_KILLS", "2"))
SIZES = {"n_estimators": 12, "max_depth": 2, "random_state": 1}
LISTENING = r"listening at (\S+)\s"


class Disturbed:
    """A server and its users as processes, any of which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.users = Users(folder)
        self.log = folder / "server.out"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        waits = {f"{what}_seconds": DEADLINE for what in ("gather", "greet", "stage", "grace", "patience")}
        self.server_config = self._patient(self.users.server(**SIZES), **waits)
        self.address = ""
        self.start_server()
        self.people = {
            f"user-{number}": self._patient(self.users.user(number, self.address), reach_seconds=DEADLINE)
            for number in range(USERS)
        }
        for party in self.people:
            self.start_user(party)

    def _patient(self, config: Path, **more: float) -> Path:
        """Nobody is left out because this machine is slow."""
        values = tomllib.loads(config.read_text())
        values["users"] |= more
        config.write_text(to_toml(values))
        return config

    def start_server(self, *arguments: str) -> None:
        self.log.unlink(missing_ok=True)
        process = start("train", self.server_config, *arguments, log=self.log)
        self.processes["server"] = process
        wait_until(lambda: re.search(LISTENING, self.log.read_text()) or process.poll() is not None)
        found = re.search(LISTENING, self.log.read_text())
        assert found is not None, self.log.read_text()
        self.address = found[1]
        # A server that is started again listens where it did.
        values = tomllib.loads(self.server_config.read_text())
        values["listen"] = self.address
        self.server_config.write_text(to_toml(values))

    def start_user(self, party: str) -> None:
        self.processes[party] = start("serve", self.people[party], log=self.users.folder / f"{party}.out")

    def kill(self, party: str) -> bool:
        """Whether it had not ended before."""
        process = self.processes[party]
        process.kill()
        return process.wait(DEADLINE) != 0

    @property
    def runs(self) -> list[RunFolder]:
        return PartyFolder(load_config(self.server_config, {}).folder).runs()

    def wait(self) -> None:
        for party, process in self.processes.items():
            log = self.log if party == "server" else self.users.folder / f"{party}.out"
            assert process.wait(DEADLINE) == 0, f"{party}: {log.read_text()}\n{self.log.read_text()}"

    def models(self) -> list[dict]:
        """The server's model, with gains and covers, and the users'."""
        (run,) = self.runs
        assert not run.checkpoint_file.exists()
        folders = [self.users.folder / f"{party}-folder/runs/{run.run}" for party in self.people]
        shares = [run.share_file, *(folder / "share.json" for folder in folders)]
        return [xgboost_json(PooledModel(load_share(file), {})) for file in shares]

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait(DEADLINE)


def test_kill_minus_nine_at_random_points(tmp_path: Path) -> None:
    rng = np.random.default_rng(KILLS)
    lasted, wanted, sessions = 0.0, [], []
    for number in range(-1, KILLS):
        world = Disturbed(tmp_path / f"run{number}")
        try:
            wait_until(lambda: world.runs or world.processes["server"].poll() is not None)  # noqa: B023
            began = time.monotonic()
            if number >= 0:
                time.sleep(float(rng.uniform(0.0, lasted)))
                party = "server" if number % 2 == 0 else f"user-{number // 2 % USERS}"
                if world.kill(party):
                    if party == "server":
                        world.start_server("--resume")
                    else:
                        world.start_user(party)
            world.wait()
            models = world.models()
            sessions.append(world.runs[0].read().sessions)
        finally:
            world.end()
        if number < 0:
            lasted, wanted = time.monotonic() - began, models
        assert models == wanted, number
    print(f"{KILLS} kills in runs of {lasted:.2f} s; sessions of each: {sessions}")


def test_a_run_that_finished_is_not_resumed(tmp_path: Path) -> None:
    world = Disturbed(tmp_path / "run")
    try:
        world.wait()
        process = start("train", world.server_config, "--resume", log=tmp_path / "again.out")
        assert process.wait(DEADLINE) != 0
        assert "wanted a run that has not finished; begin a new one" in (tmp_path / "again.out").read_text()
    finally:
        world.end()
