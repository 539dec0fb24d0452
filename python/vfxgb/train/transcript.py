"""A recorded run: what each party sent, received and knew by itself. What an audit attacks.

    clf = VFXGBClassifier(..., record=True).fit(X, y)
    clf.transcript_.save("run.vfxt")

A TRANSCRIPT HOLDS THE PRIVATE DATA OF ALL PARTIES: labels, gradients, binned features, secret orders. It exists in a
simulation only, for audits, and is to be guarded like the data it was made of.

What a party knows by itself arrives as notes (name, round, tree, array), -1 where there is no round or tree:

    bins          uint16[n_rows, features]   every party: the bin of each value; n_bins stands for "missing"
    n-bins        int32[features]            every party
    has-missing   bool[features]             every party
    columns       int32[columns]             a party with features of categories: the feature of each column of its
                                             bins, which then stand in the place of features above
    labels        float64[n_train]           active party, as the objective sees them
    base-margin   float64[outputs]           active party
    step          float64[1]                 active party, per round: the value of the integer 1 in fixed point
    pairs         int64[n_train, 2]          active party, per round and tree: (g, h) in fixed point
    left-sums:DEPTH:PARTY  int64[built nodes, candidates, 2]   active party, per round and tree: sums it opened;
                                                           zero where they were withheld or not opened
    order         int64[candidates]          passive party, per round and tree: position j stands for candidate order[j]

and where nodes are hidden (protocol `sealed`), per round and tree, with k splits that PARTY has won at that depth:

    left-bits:DEPTH:PARTY  int32[n_train]    active party: +i for a row that goes left at the i-th of them (i from
                                             1 on), -i for one that goes right, 0 for rows of other nodes
    won:DEPTH     int32[k, 3]                passive party: feature, bin and default direction of each, also of those
                                             that the active party then refuses
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import TranscriptSink
from vfxgb.contract.messages import TRAINING_MESSAGES
from vfxgb.protocols import protocol_by_name
from vfxgb.transport.channel import Tap
from vfxgb.transport.messages import Catalogue


@dataclass(frozen=True)
class RecordedMessage:
    """A message as a party's channel saw it. `sent`: by this party, to `peer`; otherwise received from it."""

    peer: str
    sent: bool
    tag: str
    payload: bytes | memoryview


@dataclass(frozen=True)
class RecordedNote:
    """Something a party knew by itself; see the module for the names."""

    name: str
    round: int
    tree: int
    array: NDArray[Any]


@dataclass(frozen=True)
class PartyRecord:
    """All of one party, in the order in which it happened there."""

    party: str
    active: bool
    messages: list[RecordedMessage] = field(default_factory=list)
    notes: list[RecordedNote] = field(default_factory=list)


@dataclass(frozen=True)
class Transcript:
    """A recorded run. `protocol_params` are known to all parties, `params` to the active one only."""

    protocol: str
    protocol_params: dict[str, Any]
    params: dict[str, Any]
    records: dict[str, PartyRecord]

    @property
    def active(self) -> str:
        """The party with the labels."""
        return next(name for name, record in self.records.items() if record.active)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The message classes of the run."""
        return Catalogue((*TRAINING_MESSAGES, *protocol_by_name(self.protocol).messages))

    @property
    def nbytes(self) -> int:
        """Bytes of messages, each counted once, and of notes."""
        payloads = {
            id(entry.payload): len(entry.payload) for record in self.records.values() for entry in record.messages
        }
        notes = sum(note.array.nbytes for record in self.records.values() for note in record.notes)
        return sum(payloads.values()) + notes

    def save(self, path: str | Path) -> None:
        """Write the transcript to a file (train/transcript_file.py). It holds private data of all parties."""
        from vfxgb.train.transcript_file import save_transcript

        save_transcript(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> "Transcript":
        """Read a file that `save` wrote. Raises FormatError for anything else, OSError."""
        from vfxgb.train.transcript_file import load_transcript

        return load_transcript(Path(path))

    def __repr__(self) -> str:
        count = sum(len(record.messages) for record in self.records.values()) // 2
        return f"Transcript({self.protocol!r}, {', '.join(self.records)}: {count:,} messages, {self.nbytes:,} bytes)"


class Recorder:
    """Collects a transcript while a run goes on. Every party has its own taps and notes, and its own thread."""

    def __init__(self, parties: Iterable[str], active: str) -> None:
        self._records = {party: PartyRecord(party, party == active) for party in parties}

    def tap(self, party: str) -> Tap:
        """What the channels of `party` tell their messages to."""
        messages = self._records[party].messages

        def tap(peer: str, sent: bool, tag: str, payload: bytes) -> None:
            messages.append(RecordedMessage(peer, sent, tag, payload))

        return tap

    def note(self, party: str) -> TranscriptSink:
        """What `party` tells its knowledge to."""
        notes = self._records[party].notes

        def note(name: str, round_index: int, tree: int, array: NDArray[Any]) -> None:
            notes.append(RecordedNote(name, round_index, tree, array))

        return note

    def transcript(self, protocol: str, protocol_params: Any, params: Mapping[str, Any]) -> Transcript:
        """What was collected."""
        return Transcript(protocol, msgspec.to_builtins(protocol_params), dict(params), self._records)


def note_bins(note: Callable[[str, int, int, NDArray[Any]], None], binned: BinnedTable) -> None:
    """TranscriptSink a party's binned table."""
    columns = [binned.bins.column(feature) for feature in range(binned.rows.n_features)]
    note("bins", -1, -1, np.stack(columns, axis=1))
    note("n-bins", -1, -1, binned.n_bins)
    note("has-missing", -1, -1, binned.has_missing)
    if binned.rows.columns is not None:
        note("columns", -1, -1, binned.rows.columns.feature)
