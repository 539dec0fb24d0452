"""The record of a run as one party saw it, which run.json holds (folder.py reads and writes it)."""

import json
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from vfxgb import __version__
from vfxgb.errors import AlignmentError, ConsentError, LabelError
from vfxgb.train.callbacks import early_stopping_words
from vfxgb.transport.traffic import Traffic

if TYPE_CHECKING:
    from vfxgb.contract import ProtocolSpec
    from vfxgb.secagg.base import AggregatorSpec

FORMAT = "vfxgb run"
VERSION = 1
PACKAGES = ("numpy", "grpcio", "cryptography", "msgspec", "gmpy2", "zstandard")

State = Literal["running", "stopped", "failed", "finished"]


def state_after(error: BaseException) -> State:
    """Say how a run ended: refused, or with rows that do not meet or have one class, it cannot be resumed."""
    return "failed" if isinstance(error, (ConsentError, AlignmentError, LabelError)) else "stopped"


class TrafficRecord(msgspec.Struct, frozen=True):
    """Bytes and messages to and from one peer, as the channel counts them, and what passed the network.

    `key_exchange`: the group by which the keys of the connection were agreed on, "" where there was none.
    """

    sent_bytes: int = 0
    received_bytes: int = 0
    sent_messages: int = 0
    received_messages: int = 0
    round_trips: int = 0
    wire_sent_bytes: int = 0
    wire_received_bytes: int = 0
    key_exchange: str = ""

    @classmethod
    def of(
        cls, traffic: Traffic, wire_sent: int = 0, wire_received: int = 0, key_exchange: str = ""
    ) -> "TrafficRecord":
        """Take over what a channel has counted."""
        return cls(
            traffic.sent_bytes,
            traffic.received_bytes,
            traffic.sent_messages,
            traffic.received_messages,
            traffic.round_trips,
            wire_sent,
            wire_received,
            key_exchange,
        )


class RunRecord(msgspec.Struct, frozen=True):
    """run.json: a run as one party saw it.

    Times are Unix seconds. `state`: "stopped" can be resumed, "failed" is why `error` says. `rows`: "train", "valid"
    and "own", the rows of the party's table. `train`: the training parameters, at a passive party those it was told.
    `evals`: eval set -> metric -> value per round, the active party's. `timings`: party -> phase -> seconds.
    `operations`: what the protocol counted. `seconds`, `timings`, `operations` and `traffic` are of the last session,
    `sessions` says how often the parties met for this run. `attacks`: what is
    known against the protocol. `facts`: what a kind of run adds (users, aggregator, ...), plain JSON.

    `pace`: "seconds" and "bytes" of the run at the end of each round, from the first contact with the others on;
    alignment and set-up are in the first value, pauses and rounds that were not finished in none. `curves`: eval set ->
    ROC and calibration (vfxgb.curves), of the party that has the labels; they tell other parties nothing, and who reads
    the file the mean labels of groups of at least 20 rows, never of a row. `curves_round`: the round, counted from 0,
    after which they were drawn, None for the last finished one.

    A metric that is not defined for the rows (AUC of one class) is NaN here and null in the file.
    """

    run: str
    party: str
    role: str
    state: State
    started: float
    ended: float | None = None
    error: str = ""
    purpose: str = ""
    parties: tuple[str, ...] = ()
    protocol: str = ""
    protocol_params: dict[str, Any] = {}
    security: str = ""
    attacks: tuple[str, ...] = ()
    train: dict[str, Any] = {}
    rows: dict[str, int] = {}
    features: tuple[str, ...] = ()
    rounds: int = 0
    planned_rounds: int = 0
    evals: dict[str, dict[str, list[float]]] = {}
    best_iteration: int | None = None
    best_score: float | None = None
    seconds: float = 0.0
    timings: dict[str, dict[str, float]] = {}
    operations: dict[str, int] = {}
    traffic: dict[str, TrafficRecord] = {}
    model: str = ""
    sessions: int = 1
    versions: dict[str, str] = {}
    facts: dict[str, Any] = {}
    pace: dict[str, list[float]] = {}
    curves: dict[str, dict[str, Any]] = {}
    curves_round: int | None = None
    format: str = FORMAT
    version: int = VERSION

    @classmethod
    def begun(
        cls,
        run: str,
        party: str,
        role: str,
        spec: "ProtocolSpec | AggregatorSpec",
        params: Mapping[str, Any],
        **more: Any,
    ) -> "RunRecord":
        """Begin the record of a run by a protocol or an aggregator with these parameters; `more` are further fields."""
        first = {"state": "running", "started": now(), "protocol": spec.name, "protocol_params": plain(params)}
        known = {"security": spec.security, "attacks": spec.attacks, "versions": versions()}
        return cls(run=run, party=party, role=role, **{**first, **known, **more})

    @property
    def began(self) -> datetime:
        """The run began at this time, in UTC."""
        return datetime.fromtimestamp(self.started, timezone.utc)

    @property
    def others(self) -> str:
        """The other parties have these names, joined for people."""
        return ", ".join(party for party in self.parties if party != self.party)

    @property
    def judged_round(self) -> int:
        """Predictions end with this round, counted from 0: the best if early stopping chose one, else the last."""
        return max(0, self.rounds - 1) if self.best_iteration is None else self.best_iteration

    def headline(self) -> dict[str, dict[str, float]]:
        """Return eval set -> metric -> its value after the judged round."""
        place = self.judged_round
        return {
            name: {metric: values[place] for metric, values in metrics.items() if place < len(values)}
            for name, metrics in self.evals.items()
        }

    def early_stopping(self) -> str:
        """Say in words how early stopping ended the run; "" without it."""
        if self.best_iteration is None:
            return ""
        watched = ""
        for name, metrics in self.evals.items():
            for metric in metrics:
                watched = f"{name} {metric}"
        return early_stopping_words(self.rounds, self.planned_rounds, self.best_iteration, self.best_score, watched)


def versions() -> dict[str, str]:
    """Name what ran: this package, Python, the machine and the packages that matter."""
    known = {
        "vfxgb": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
    }
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            known[package] = version(package)
    return known


def now() -> float:
    """Return the Unix time."""
    return time.time()


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON holds them; what it cannot hold becomes text."""
    return {name: value if _is_json(value) else str(value) for name, value in values.items()}


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
