"""Parties as processes: tables, certificates and configurations in a folder, and `vfxgb serve` running on them.

Nothing waits without a deadline, every port is the system's choice, and what was started is ended. A party that serves
writes its log, its account and its run folders at its own pace, also after the other side has its answer: `at_rest`
waits for that.
"""

import csv
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from interrupts import interruptible
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.model.file import load_share
from vfxgb.model.fitted import FittedModel
from vfxgb.params import TrainParams
from vfxgb.party.config import PartyConfig, load_config
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.rows import load_rows
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.train.checkpoint import ActiveState, load_state
from vfxgb.transport.network.certificates import issue, make_authority

# Seconds after which a test gives up; no test is right or wrong by how long something takes.
DEADLINE = 180.0
COLUMNS = {"bank": ("a0", "a1", "a2"), "shop": ("p0", "p1", "p2"), "mill": ("q0", "q1")}
TRAIN = {
    "binary": {"objective": "binary:logistic"},
    "multiclass": {"objective": "multi:softprob", "num_class": 3},
    "regression": {"objective": "reg:squarederror"},
}
SIZES = {"n_estimators": 3, "max_depth": 3, "max_bin": 16}
# Small groups and keys: fast, and refused by any consent that does not say otherwise.
QUICK_ALIGN = {"group_bits": 768, "insecure": True}
# A machine that is busy with other things for a minute makes nobody lose sight of anybody.
CALM = {"heartbeat_seconds": 20.0, "lost_after_seconds": 60.0}
OPEN_CONSENT = {
    "protocols": [*shipped_protocols()],
    "insecure": True,
    "min_key_bits": 256,
    "purposes": ["test"],
    "max_trees": 400,
    "max_predicted_rows": 5000,
    "lookup": True,
    "max_epsilon": 1e6,
    "max_total_epsilon": 1e9,
}


class World:
    """One table of people divided among bank, shop and mill; each lacks some of them. Files are below `folder`."""

    def __init__(self, folder: Path, n: int = 260, seed: int = 3) -> None:
        self.folder = folder
        rng = np.random.default_rng(seed)
        self.ids = np.array([f"person {number:04d}" for number in range(n)])
        names = [name for columns in COLUMNS.values() for name in columns]
        self.values = {name: rng.normal(size=n).round(3) for name in names}
        self.values["p1"][rng.random(n) < 0.1] = np.nan
        score = self.values["a0"] + self.values["p0"] * self.values["a1"] + self.values["q0"]
        score += 0.2 * rng.normal(size=n)
        self.labels = {
            "binary": (score > 0).astype(int),
            "multiclass": np.digitize(score, [-1, 1]),
            "regression": score.round(3),
        }
        self.has = {party: rng.random(n) < 0.9 for party in COLUMNS}
        authority = make_authority(folder)
        for party in COLUMNS:
            issue(authority, party, ("localhost",), 30, folder)
            self._write(party, rng)

    def _write(self, party: str, rng: np.random.Generator) -> None:
        rows = rng.permutation(np.flatnonzero(self.has[party]))
        columns = {name: self.values[name] for name in COLUMNS[party]}
        if party == "bank":
            columns |= self.labels
        with (self.folder / f"{party}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *columns])
            for row in rows:
                cells = (column[row] for column in columns.values())
                writer.writerow([self.ids[row], *("" if cell != cell else cell for cell in cells)])

    def passive(self, party: str, **changes: Any) -> Path:
        """The configuration of a passive party; `changes`: sections and keys."""
        values = {
            "party": party,
            "role": "passive",
            "listen": "127.0.0.1:0",
            "folder": f"{party}-folder",
            "threads": 1,
            **self._tls(party),
            "peers": {"bank": {"certificate": "bank.pem"}},
            "data": {"train": f"{party}.csv"},
            "consent": OPEN_CONSENT,
            "align": QUICK_ALIGN,
            "network": CALM,
        }
        return self._save(changes.pop("name", party), values, changes)

    def active(self, addresses: Mapping[str, str], task: str = "binary", **changes: Any) -> Path:
        """The bank's configuration; `addresses`: of the passive parties that take part."""
        others = [label for label in TRAIN if label != task]
        values = {
            "party": "bank",
            "role": "active",
            "folder": "bank-folder",
            "purpose": "test",
            "threads": 1,
            **self._tls("bank"),
            "peers": {name: {"certificate": f"{name}.pem", "address": at} for name, at in addresses.items()},
            "data": {"train": "bank.csv", "label": task, "features": list(COLUMNS["bank"])},
            "train": {**SIZES, **TRAIN[task]},
            "protocol": {"name": "plain"},
            "align": QUICK_ALIGN,
            "resume": {"resume_seconds": DEADLINE},
            "network": {"reconnect_seconds": 0.0, **CALM},
        }
        assert task not in others
        return self._save(changes.pop("name", f"bank-{task}"), values, changes)

    def _tls(self, party: str) -> dict[str, Any]:
        return {"tls": {"certificate": f"{party}.pem", "key": f"{party}.key"}}

    def _save(self, name: str, values: dict[str, Any], changes: Mapping[str, Any]) -> Path:
        for key, value in changes.items():
            if isinstance(value, Mapping) and isinstance(values.get(key), Mapping):
                value = {**values[key], **value}
            values[key] = value
        path = self.folder / f"{name}.toml"
        path.write_text(to_toml(values))
        return path

    def common(self, parties: tuple[str, ...]) -> np.ndarray:
        """The people that all parties have."""
        return np.flatnonzero(np.logical_and.reduce([self.has[party] for party in parties]))

    def agreed(self, run: RunFolder) -> np.ndarray:
        """The people whose rows were trained on, in the order that was drawn for the run; `run` is the bank's."""
        table = self.folder / "bank.csv"
        (order,) = load_rows(run.rows_file, run.run, (table,)).groups()
        with table.open() as file:
            ids = np.array([row["id"] for row in csv.DictReader(file)])
        return np.searchsorted(self.ids, ids[order])

    def reference(
        self,
        parties: tuple[str, ...],
        task: str,
        sizes: Mapping[str, Any] = SIZES,
        protocol: str = "plain",
        rows: np.ndarray | None = None,
    ) -> FittedModel:
        """The model that the same parties make in one process; `rows`: see agreed, for protocols that round by row."""
        rows = self.common(parties) if rows is None else rows
        tables = {
            party: Table.read({name: self.values[name][rows] for name in COLUMNS[party]}, party=party)
            for party in parties
        }
        params = TrainParams.from_dict({**sizes, **TRAIN[task], "n_jobs": 1})
        quick = protocol_by_name(protocol).quick_params
        found = fit_tables(tables, "bank", self.labels[task][rows], None, len(rows), params, protocol, quick)
        return FittedModel(found.active_share, found.passive_shares)


def to_toml(values: Mapping[str, Any]) -> str:
    """Plain values at the top, every mapping as an inline table below."""
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return f'"{value}"' if isinstance(value, (str, Path)) else str(value)


def start(*arguments: str | Path, log: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """`vfxgb` as a process; its output goes to `log`."""
    with log.open("wb") as file:
        return subprocess.Popen(
            interruptible("-m", "vfxgb", *map(str, arguments)),
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )


class Served:
    """A passive party that serves, in a process of its own. `address`: where. `folder`: its own."""

    def __init__(self, config: Path, listen: str = "") -> None:
        self.config = config
        self.folder = load_config(config, {}).folder
        self.log = config.with_suffix(".out")
        env = {"VFXGB__LISTEN": listen} if listen else {}
        self.process = start("serve", config, log=self.log, env=env)
        self.address = self._address()

    def _address(self) -> str:
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            found = re.search(r"listening address=(\S+)\s", self.log.read_text())
            if found:
                return found.group(1)
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        self.stop()
        raise AssertionError(f"it does not serve: {self.log.read_text()}")

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self) -> int:
        """End it as an administrator does; returns its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def again(self) -> "Served":
        """The same party once more, at the same address."""
        return Served(self.config, self.address)


def events(folder: Path) -> list[dict[str, Any]]:
    """What the log of the party with this folder says so far; a line that is half written does not count yet."""
    text = (folder / "log.jsonl").read_text()
    return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]


def at_rest(folder: Path) -> list[dict[str, Any]]:
    """Wait until every session that asked the serving party for something is over, to its last file; its log then.

    For parties whose sessions have all been ended: a peer that was killed is waited for by them.
    """

    def over() -> bool:
        names = [event["event"] for event in events(folder)]
        return names.count("asked") == names.count("ended")

    wait_until(over)
    return events(folder)


def begun(config: Path) -> bool:
    """Whether a run of the active party with this configuration has a checkpoint with a finished round."""
    files = (load_config(config, {}).folder / "runs").glob("*/checkpoint.bin")
    states = [load_state(ActiveState, file) for file in files]
    return any(state is not None and state.rounds > 0 for state in states)


def once(condition: Callable[[], bool], action: Callable[[], Any]) -> Callable[[], None]:
    """What looks whenever it is called, and acts the first time that the condition holds.

    As `before` of a Proxy between two parties it acts within a run, however slow or fast the machine is: no byte passes
    between the moment that it sees and the end of its action, and a run has none left to pass only when it is over.
    """
    done = []

    def look() -> None:
        if not done and condition():
            done.append(True)
            action()

    return look


def last_run(config: Path | PartyConfig) -> RunFolder:
    """The folder of a party's last run."""
    held = config if isinstance(config, PartyConfig) else load_config(config, {})
    return PartyFolder(held.folder).find("latest")


def joined(world: World, run: str, parties: tuple[str, ...]) -> FittedModel:
    """The model of a run from the shares in the folders of all parties."""
    found = [load_share(file) for file in world.folder.glob(f"*/runs/{run}/share.json")]
    shares = {share.party: share for share in found}
    assert len(found) == len(shares)
    assert set(shares) == set(parties)
    ordered = {party: shares[party] for party in parties}
    return FittedModel(ordered.pop("bank"), ordered)


def exported(model: FittedModel, folder: Path) -> bytes:
    """The model as XGBoost JSON."""
    file = folder / "exported.json"
    model.export_xgboost(file)
    return file.read_bytes()


def wait_until(what: Callable[[], Any], deadline: float = DEADLINE) -> None:
    """Wait until what() is true. Raises AssertionError after `deadline` seconds."""
    end = time.monotonic() + deadline
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
