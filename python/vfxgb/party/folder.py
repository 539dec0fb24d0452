"""What a party keeps on disk, below the folder its configuration names:

    <folder>/log.jsonl              what happened, one JSON object per line (logs.py); log.jsonl.1, ... are older
    <folder>/queries.json           rows predicted per model, for the limit of consent
    <folder>/accounts/<peer>.json   what was shown and released to a peer, over all runs (vfxgb.train.account)
    <folder>/accounts/*-wins        splits whose rows were told to a peer, over all runs (protocols/sealed/kept.py)
    <folder>/releases/              releases under differential privacy, to be used again (vfxgb.train.releases)
    <folder>/lock                   held by a party that serves
    <folder>/runs/<run id>/         made when the run has met its parties, at a passive party when rows are agreed on
      run.json                      RunRecord: what was asked, how it went, versions, timings, traffic
      ledger.json                   what every message revealed, and to whom
      alone.json                    at the active party, if it was asked for: what own columns reach alone (alone.py)
      share.json                    this party's share of the model
      draft.json                    while a run goes on: the active party's or server's share as it stood a moment ago
      signed.json                   at a user: which sets of users it has signed for (vfxgb.secagg.guard)
      asked.json                    at a user: what it was asked and told (vfxgb.horizontal.guard)
      noise.json                    at a user: what its noise comes from and was for (vfxgb.horizontal.noise)
      rows.bin                      which rows take part, in the agreed order (rows.py)
      checkpoint.bin                the state after the last finished round (vfxgb.train.checkpoint); the active party's
                                    goes when the run has finished, a passive party's stays: it may have to seal again;
                                    at the server of users: what it was told so far (vfxgb.horizontal.journal)
      *.sealed                      private keys, if the configuration says how to seal them; go with the checkpoint
      lock                          held by the active party that trains it

All of it is readable by its owner only.
"""

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.checksum import FIELD, checksum, is_whole
from vfxgb.errors import ConfigError, FormatError
from vfxgb.files import locked, make_private, write_atomically
from vfxgb.party.record import FORMAT, VERSION, RunRecord, State, now, state_after
from vfxgb.runtime.ledger import Entry, Ledger
from vfxgb.train.account import Account

DAMAGED_REMEDY = "restore a copy, or leave it: other runs and the model beside it are not affected"
LEDGER_FORMAT = "vfxgb ledger"
LEDGER_VERSION = 1


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
        self.alone_file = path / "alone.json"
        self.share_file = path / "share.json"
        self.draft_file = path / "draft.json"
        self.signed_file = path / "signed.json"
        self.asked_file = path / "asked.json"
        self.noise_file = path / "noise.json"
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

    def left_by_user(self) -> str:
        """Return the latest run of a user whose process ended in the middle of it; empty if there is none."""
        left = [path for path in (self.path / "runs").glob("[!.]*") if not RunFolder(path).run_file.exists()]
        return max(left, key=lambda folder: folder.stat().st_mtime).name if left else ""

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
        "version": LEDGER_VERSION,
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
