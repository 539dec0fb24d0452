"""A server and three users: tables, certificates and configurations in a folder, and a run of them in threads."""

import csv
import queue
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from processes import DEADLINE, to_toml
from vfxgb.cli import main
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.record import RunRecord
from vfxgb.party.user import UserParty
from vfxgb.party.users_server import UsersServer

USERS = 3
NAMES = ("a", "b")
PARAMS = {"threshold": 2, "min_users": 2}


class Users:
    """Files of a server and its users below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(5)
        assert main(["certs", "server", "--users", str(USERS), "--out", str(folder / "certs")]) == 0
        self.tables = {}
        for party in ("valid", *(f"user-{user}" for user in range(USERS))):
            X = rng.normal(size=(60, 2)).round(3)
            self.tables[party] = X, (X.sum(axis=1) > 0).astype(int)
            with (folder / f"{party}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerows(
                    [(*NAMES, "y"), *((*row, label) for row, label in zip(*self.tables[party], strict=True))]
                )

    def server(self, **train: Any) -> Path:
        """The server's configuration."""
        values = {
            **self._common("server"),
            "role": "server",
            "listen": "127.0.0.1:0",
            "data": {"valid": "valid.csv", "label": "y"},
            "train": {"objective": "binary:logistic", "max_depth": 2, "max_bin": 8, **train},
            "users": {"directory": "certs/users.json", "gather_seconds": 30, "stage_seconds": 20, "params": PARAMS},
        }
        return self._save("server", values)

    def user(self, number: int, address: str, **consent: Any) -> Path:
        """A user's configuration."""
        party = f"user-{number}"
        values = {
            **self._common(party),
            "role": "user",
            "peers": {"server": {"certificate": "certs/server.pem", "address": address}},
            "data": {"train": f"{party}.csv", "label": "y"},
            "users": {"directory": "certs/users.json", "reach_seconds": 2, "params": PARAMS},
            "consent": {"max_trees": 10_000, **consent},
        }
        return self._save(party, values)

    def run(self, server: UsersServer) -> tuple[RunRecord, list[RunRecord]]:
        """Train in threads, for starting a process costs a second; the records of server and users."""
        addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
        with ThreadPoolExecutor(USERS + 1) as pool:
            running = pool.submit(server.run, addresses.put)
            address = addresses.get(timeout=DEADLINE)
            people = [UserParty(load_config(self.user(number, address), {}), Log(None)) for number in range(USERS)]
            taking_part = [pool.submit(one.run) for one in people]
            return running.result(DEADLINE), [one.result(DEADLINE) for one in taking_part]

    def _common(self, party: str) -> dict[str, Any]:
        return {
            "party": party,
            "folder": f"{party}-folder",
            "threads": 1,
            "tls": {"certificate": f"certs/{party}.pem", "key": f"certs/{party}.key"},
            "network": {"heartbeat_seconds": 0.5, "reconnect_seconds": 0.5, "close_seconds": 1.0},
        }

    def _save(self, name: str, values: dict[str, Any]) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(to_toml(values))
        return path
