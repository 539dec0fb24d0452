"""What a party has shown and released to one peer, over all runs: a small file that outlives them.

A run's ledger is about that run. Whoever asks again and again learns more than any one run says, so the counts of all
runs are kept, one file per peer, and whoever answers adds to them *before* the answer leaves:

    trees, opened sums, predicted rows,
    comparisons, lookups, alignments       what budgets of consent are compared with (party/budget.py)
    rounds begun                           of every run, those begun again after it broke off included
    releases                               what was released under differential privacy, each release once

The file is a line of JSON and a line with its SHA-256. It is written atomically, readable by its owner only, and
changed under a lock that other processes and other threads wait for. A file that is damaged is refused: beginning again
at 0 would lift every limit. Who removes it on purpose begins anew.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from vfxgb.dp.accountant import Accountant
from vfxgb.dp.event import Event
from vfxgb.errors import FormatError
from vfxgb.files import locked, write_atomically
from vfxgb.train.checkpoint import BegunRounds

FORMAT = "vfxgb account"
VERSION = 1


class Repeated(msgspec.Struct, forbid_unknown_fields=True):
    """Releases that are alike but for their round, and how many there were."""

    event: Event
    times: int


class Totals(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of an account: what `party` has shown `peer`.

    `comparisons` counts rows times splits answered in predictions, `lookup_ids` the ids that were looked up, and
    `alignments` all alignments that were begun, for training and prediction. `runs` maps a run to the rounds begun in
    it. `releases` maps the key of a release to its events: the same release costs once, however often it is used.
    `drawn` are the releases that were drawn for one run and are never used again.
    """

    party: str
    peer: str
    trees: int = 0
    opened_sums: int = 0
    predicted_rows: int = 0
    comparisons: int = 0
    lookup_ids: int = 0
    alignments: int = 0
    runs: dict[str, BegunRounds] = {}
    releases: dict[str, list[Event]] = {}
    drawn: list[Repeated] = []
    format: str = FORMAT
    version: int = VERSION

    def enter(self, key: str, events: Iterable[Event], fresh: bool) -> None:
        """Enter a release. `key`: what it is kept under, "" for one that is never used again. `fresh`: drawn now.

        A release that is used again costs nothing where its key is known; one that had to be drawn anew costs again.
        """
        # What was claimed for a release without a guarantee may be infinite, and is no number to add up.
        kept = [replace(event, round_=0, epsilon=event.epsilon if event.holds else 0.0) for event in events]
        if key and key not in self.releases:
            self.releases[key] = kept
        elif not key or fresh:
            self._draw(kept)

    def _draw(self, events: Iterable[Event]) -> None:
        for alike in events:
            for known in self.drawn:
                if known.event == alike:
                    known.times += 1
                    break
            else:
                self.drawn.append(Repeated(alike, 1))

    def spent(self) -> str:
        """What was released over all runs, in plain words."""
        return "; ".join(self.accountant().summary().splitlines())

    def accountant(self) -> Accountant:
        """Everything that was released, for totals over all runs."""
        accountant = Accountant()
        for events in self.releases.values():
            accountant.add(*events)
        for repeated in self.drawn:
            accountant.add(*[repeated.event] * repeated.times)
        return accountant

    def __len__(self) -> int:
        """How many releases there were."""
        return len(self.releases) + sum(repeated.times for repeated in self.drawn)


class Account:
    """The account of one peer, in `folder`, which must exist. Any number of processes and threads may hold one."""

    def __init__(self, folder: Path, party: str, peer: str) -> None:
        self.party = party
        self.peer = peer
        self.file = folder / f"{peer}.json"
        self._lock_file = folder / f".{peer}.lock"

    def read(self) -> Totals:
        """What was shown so far. Raises FormatError for a file that is damaged, OSError."""
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return Totals(self.party, self.peer)
        where = f"{self.party} reading its account of what it has shown {self.peer}, {str(self.file)!r}"
        remedy = "restore a copy; without one remove it, and all counts begin again at 0"
        body, _, seal = data.rstrip(b"\n").rpartition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != seal:
            raise FormatError(f"{where}: it is truncated or damaged; {remedy}")
        try:
            totals = msgspec.json.decode(body, type=Totals)
        except (msgspec.MsgspecError, ValueError) as error:
            raise FormatError(f"{where}: it is malformed ({error}); {remedy}") from None
        if (totals.format, totals.version) != (FORMAT, VERSION):
            raise FormatError(
                f"{where}: found {totals.format!r} of version {totals.version}, wanted {FORMAT!r} of version "
                f"{VERSION}; use the vfxgb that wrote it"
            )
        if (totals.party, totals.peer) != (self.party, self.peer):
            raise FormatError(f"{where}: it is what {totals.party} has shown {totals.peer}; {remedy}")
        return totals

    @contextmanager
    def change(self) -> Iterator[Totals]:
        """Totals to add to; on disk when the block ends, and unchanged if it raises. Waits for others that do the same.

        Raises FormatError as `read`, OSError.
        """
        with locked(self._lock_file):
            totals = self.read()
            yield totals
            body = msgspec.json.encode(totals)
            write_atomically(self.file, body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n")
