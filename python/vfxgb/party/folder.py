"""What a party keeps on disk, below the folder its configuration names:

    <folder>/log.jsonl              what happened, one JSON object per line (logs.py); log.jsonl.1, ... are older
    <folder>/queries.json           rows predicted per model, for the limit of consent
    <folder>/accounts/<peer>.json   what was shown and released to a peer, over all runs (vfxgb.train.account)
    <folder>/releases/              releases under differential privacy, to be used again (vfxgb.train.releases)
    <folder>/lock                   held by a party that serves
    <folder>/runs/<run id>/         made when the run has met its parties, at a passive party when rows are agreed on
      run.json                      RunRecord: what was asked, how it went, versions, timings, traffic
      ledger.json                   what every message revealed, and to whom
      share.json                    this party's share of the model
      draft.json                    while a run goes on: the active party's or server's share as it stood a moment ago
      signed.json                   at a user: which sets of users it has signed for (vfxgb.secagg.guard)
      rows.bin                      which rows take part, in the agreed order (rows.py)
      checkpoint.bin                the state after the last finished round (vfxgb.train.checkpoint); the active party's
                                    goes when the run has finished, a passive party's stays: it may have to seal again
      *.sealed                      private keys, if the configuration says how to seal them; go with the checkpoint
      lock                          held by the active party that trains it

All of it is readable by its owner only.
"""

import json
import math
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from vfxgb import __version__
from vfxgb.checksum import FIELD, checksum, is_whole
from vfxgb.errors import AlignmentError, ConfigError, ConsentError, FormatError, LabelError
from vfxgb.files import locked, make_private, write_atomically
from vfxgb.runtime.ledger import Entry, Ledger
from vfxgb.train.account import Account
from vfxgb.train.callbacks import early_stopping_words
from vfxgb.transport.traffic import Traffic

if TYPE_CHECKING:
    from vfxgb.contract import ProtocolSpec
    from vfxgb.secagg.base import AggregatorSpec

FORMAT = "vfxgb run"
VERSION = 1
DAMAGED_REMEDY = "restore a copy, or leave it: other runs and the model beside it are not affected"
LEDGER_FORMAT = "vfxgb ledger"
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


class _Predictions(msgspec.Struct, frozen=True):
    """Holds what is read of predictions.json again."""

    entries: list[Entry]


class RunFolder:
    """The folder of one run. Files are written atomically."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_file = path / "run.json"
        self.ledger_file = path / "ledger.json"
        self.predictions_file = path / "predictions.json"
        self.share_file = path / "share.json"
        self.draft_file = path / "draft.json"
        self.signed_file = path / "signed.json"
        self.rows_file = path / "rows.bin"
        self.lock_file = path / "lock"
        self.checkpoint_file = path / "checkpoint.bin"

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name

    def make(self) -> "RunFolder":
        """Make the folder, readable by its owner only, and return this object."""
        make_private(self.path)
        return self

    def write(self, record: RunRecord) -> None:
        """Write run.json, with a checksum. Raises OSError."""
        # Through text once: what JSON cannot hold becomes a string, and the checksum is of what is read later.
        text = json.dumps(_finite(msgspec.to_builtins(record)), allow_nan=False, default=str)
        document = json.loads(text)
        document[FIELD] = checksum(document)
        write_atomically(self.run_file, json.dumps(document, indent=1).encode() + b"\n")

    def read(self) -> RunRecord:
        """Read run.json. Raises FormatError for a file that is none or was damaged, OSError."""
        where = f"reading {str(self.run_file)!r}"
        data = self.run_file.read_bytes()
        try:
            document = msgspec.json.decode(data)
            whole = not isinstance(document, dict) or is_whole(document)
            record = msgspec.convert(_with_nan(document), RunRecord)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            # ValueError: text that is no UTF-8.
            raise FormatError(f"{where}: it is no record of a run, or damaged ({error}); {DAMAGED_REMEDY}") from None
        if not whole:
            raise FormatError(
                f"{where}: it was damaged or changed after it was written: its contents do not match its checksum; "
                f"{DAMAGED_REMEDY}"
            )
        if record.format != FORMAT or record.version != VERSION:
            raise FormatError(
                f"{where}: found {record.format!r} of version {record.version}, wanted {FORMAT!r} of version {VERSION}"
            )
        return record

    def end(
        self, record: RunRecord, ledger: Ledger, failure: BaseException | None, state: State | None = None
    ) -> RunRecord:
        """Write record and ledger of a run that has ended, by `failure` if there was one; returns the record.

        `state` says how it ended where that does not follow from the failure. Raises OSError.
        """
        by_itself: State = "finished" if failure is None else state_after(failure)
        error = "" if failure is None else f"{type(failure).__name__}: {failure}"
        record = msgspec.structs.replace(record, state=state or by_itself, error=error, ended=now())
        self.write(record)
        self.write_ledger(ledger)
        return record

    def forget(self) -> None:
        """Remove what only a run that goes on needs. Raises OSError."""
        for file in (self.checkpoint_file, self.draft_file, *self.path.glob("*.sealed")):
            file.unlink(missing_ok=True)

    def remove_empty(self) -> None:
        """Remove a folder in which nothing but a lock has been made; leaves any other as it is."""
        with suppress(OSError):
            if all(path == self.lock_file for path in self.path.iterdir()):
                self.lock_file.unlink(missing_ok=True)
                self.path.rmdir()

    def write_ledger(self, ledger: Ledger) -> None:
        """Write ledger.json. Raises OSError."""
        write_atomically(self.ledger_file, json.dumps(ledger_document(ledger), indent=1).encode() + b"\n")

    def add_predictions(self, ledger: Ledger) -> None:
        """Add what a session of predictions revealed to predictions.json, which is of the form of ledger.json.

        Raises FormatError for a file that is none, OSError.
        """
        total = Ledger()
        try:
            known = msgspec.json.decode(self.predictions_file.read_bytes(), type=_Predictions)
            total.add(known.entries)
        except FileNotFoundError:
            pass
        except msgspec.MsgspecError as error:
            raise FormatError(
                f"reading {str(self.predictions_file)!r}: it is no ledger of predictions ({error}); move it away, and "
                "counting begins anew"
            ) from None
        total.add(ledger.entries)
        total.account = ledger.account
        write_atomically(self.predictions_file, json.dumps(ledger_document(total), indent=1).encode() + b"\n")


class PartyFolder:
    """The folder of a party."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_file = path / "log.jsonl"
        self.queries_file = path / "queries.json"
        self.lock_file = path / "lock"
        self.accounts = path / "accounts"

    def make(self) -> "PartyFolder":
        """Make the folders, and return this object. Raises OSError."""
        for folder in (self.path, self.path / "runs", self.accounts):
            make_private(folder)
        return self

    def account(self, party: str, peer: str) -> Account:
        """Return the account of what `party`, whose folder this is, has shown `peer` over all runs."""
        return Account(self.accounts, party, peer)

    def run(self, run: str) -> RunFolder:
        """Return the folder of one run, there or not."""
        return RunFolder(self.path / "runs" / run)

    def runs(self) -> list[RunFolder]:
        """List all runs with a record that can be read, the latest first."""
        return [folder for folder, _ in self.records()]

    def records(self) -> list[tuple[RunFolder, RunRecord]]:
        """List all runs whose record can be read, with the record, the latest first."""
        # A record that was damaged must not keep others from being found; who asks for it by name is told.
        read = [(folder, _read_or_error(folder)) for folder in self._folders()]
        readable = [(folder, record) for folder, record in read if isinstance(record, RunRecord)]
        return sorted(readable, key=lambda pair: pair[1].started, reverse=True)

    def damaged(self) -> dict[str, str]:
        """Return run id -> what is wrong, for the runs whose record cannot be read."""
        read = {folder.run: _read_or_error(folder) for folder in self._folders()}
        return {run: result for run, result in read.items() if isinstance(result, str)}

    def _folders(self) -> list[RunFolder]:
        return [RunFolder(path.parent) for path in sorted((self.path / "runs").glob("*/run.json"))]

    def unfinished(self) -> list[RunFolder]:
        """List the runs of an active party that can be resumed, the latest first."""
        return [folder for folder in self.runs() if folder.checkpoint_file.exists() and not folder.share_file.exists()]

    def count_unfinished(self, peer: str) -> int:
        """Count the run folders without a model that `peer` has made at this passive party.

        A folder whose record cannot be read is counted for every peer: nobody can tell whose it is.
        """
        count = 0
        for path in (self.path / "runs").glob("[!.]*"):
            folder = RunFolder(path)
            if not folder.share_file.exists():
                record = _read_or_error(folder)
                count += isinstance(record, str) or record.parties[:1] == (peer,)
        return count

    def find(self, text: str) -> RunFolder:
        """Find the run whose id begins with `text`; the latest for "latest".

        Raises ConfigError for none or several, FormatError if the record of the one that is meant is damaged.
        """
        begin = "" if text == "latest" else text
        known = self.runs()
        meant = [folder for folder in known if folder.run.startswith(begin)][: 1 if text == "latest" else None]
        if len(meant) != 1:
            for run, wrong in self.damaged().items() if not meant else ():
                if run.startswith(begin):
                    raise FormatError(wrong)
            there = ", ".join(folder.run[:8] for folder in known[:10]) or "none"
            raise ConfigError(
                f"looking for run {text!r} in {str(self.path)!r}: found {len(meant)}, wanted one; runs there: {there}"
            )
        return meant[0]


def _read_or_error(folder: RunFolder) -> RunRecord | str:
    """Read the record of a run, or say in words why it cannot be read."""
    try:
        return folder.read()
    except (FormatError, OSError) as error:
        return str(error)


@contextmanager
def alone(file: Path, what: str) -> Iterator[None]:
    """Hold a lock on `file` while the block runs (files.locked).

    Raises ConfigError if another process has it: `what` says what that one does.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(file, wait=False))
        except BlockingIOError:
            raise ConfigError(
                f"{what} already, in another process (it holds {str(file)!r}); wait for it or end it"
            ) from None
        yield


def ledger_document(ledger: Ledger) -> dict[str, Any]:
    """Write a ledger as plain JSON; `text` is what people read."""
    return {
        "format": LEDGER_FORMAT,
        "version": VERSION,
        "entries": [vars(entry) for entry in ledger.entries],
        "small_sums": dict(ledger.small_sums),
        "opened": {party: vars(opened) for party, opened in ledger.opened.items()},
        "begun": {party: list(counts) for party, counts in ledger.begun.items()},
        "purity": {party: vars(leaves) for party, leaves in ledger.purity.items()},
        "notes": list(ledger.notes),
        "privacy": ledger.privacy.summary() if len(ledger.privacy) else "",
        "all_runs": ledger.all_runs() if len(ledger.privacy) else "",
        "account": ledger.account,
        "text": ledger.text(),
    }


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


def _finite(value: Any) -> Any:
    """Return plain values with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_nan(document: Any) -> Any:
    """Put NaN again for metrics that are not defined into a record as JSON holds it."""
    evals = document.get("evals") if isinstance(document, dict) else None
    for metrics in evals.values() if isinstance(evals, dict) else ():
        for values in metrics.values() if isinstance(metrics, dict) else ():
            if isinstance(values, list):
                values[:] = [math.nan if value is None else value for value in values]
    return document


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
