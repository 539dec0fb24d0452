"""What the server writes down of a run with users, so that it can go on after its process has died.

Everything the server does follows from its settings, its own rows and what it was told: the sums, over whom each was,
and which users it left out to hide others. It appends each of these to a file before it acts on it. A server that is
started again does the whole run once more and takes from the file what it was told before, so that it comes to the very
same trees, margins and metrics; then it asks on. Users' keys are no part of it: they are agreed on anew.

The file holds what the server knows anyway, and goes when the run has finished. Each entry has its length and a digest
before it; one that was being written when the process died is cut off.
"""

import hashlib
import os
from collections import deque
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import FormatError
from vfxgb.files import make_private, naming

VERSION = 1
_LENGTH_BYTES, _DIGEST_BYTES = 8, 16
REMEDY = "begin a new run"


class Began(msgspec.Struct, frozen=True, tag=True):
    """The first entry. `settings`: digest of all that the run depends on."""

    version: int
    run: bytes
    settings: bytes


class Started(msgspec.Struct, frozen=True, tag=True):
    """A process began to work on the run."""


class SetUp(msgspec.Struct, frozen=True, tag=True):
    """The users of the run."""

    users: list[int]


class Opening(msgspec.Struct, frozen=True, tag=True):
    """The first sum of a tree over these users may be opened: they are the tree's cohort, whatever becomes of it."""

    users: list[int]


class LeftOut(msgspec.Struct, frozen=True, tag=True):
    """Users have left in the middle of a tree, and others were left out with them; `cohort` are those that remain."""

    cohort: list[int]


class Answer(msgspec.Struct, frozen=True, tag=True):
    """The sum for a task: int64 numbers over the vectors of `users`."""

    task: bytes
    users: list[int]
    sums: bytes

    def numbers(self) -> NDArray[np.int64]:
        """The sums as numbers."""
        return np.frombuffer(self.sums, dtype="<i8").astype(np.int64)


class Refused(msgspec.Struct, frozen=True, tag=True):
    """A sum that the run went on without. `cohort`: whether users of the cohort were missing, namely `missing`."""

    text: str
    cohort: bool
    missing: list[int]


Entry: TypeAlias = Began | Started | SetUp | Opening | LeftOut | Answer | Refused
_DECODER = msgspec.msgpack.Decoder(Entry)


def task_digest(task: bytes) -> bytes:
    """What an answer says of its task."""
    return hashlib.sha256(task).digest()


class Journal:
    """The entries of a run in `file`: those of earlier processes, one after the other, and new ones behind them.

    `run`: the run's id. `starts`: how many processes have worked on it before this one.
    """

    def __init__(self, file: Path, began: Began, past: list[Entry], size: int) -> None:
        self.run = began.run
        self.starts = sum(isinstance(entry, Started) for entry in past)
        self._path = file
        self._past = deque(entry for entry in past if not isinstance(entry, Started))
        with naming(file):
            self._file = file.open("r+b")
            self._file.truncate(size)
            self._file.seek(size)
        self.add(Started())

    @staticmethod
    def begin(file: Path, run: bytes, settings: bytes) -> "Journal":
        """The journal of a new run. Raises OSError."""
        make_private(file.parent)
        began = Began(VERSION, run, settings)
        data = _framed(began)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(data)
        return Journal(file, began, [], len(data))

    @staticmethod
    def read(file: Path, settings: bytes) -> "Journal":
        """The journal of a run that is to go on. Raises FormatError if it is none or of other settings, OSError."""
        where = f"reading the journal {str(file)!r}"
        entries, size = _entries(file.read_bytes())
        began = entries[0] if entries else None
        if not isinstance(began, Began) or began.version != VERSION:
            raise FormatError(f"{where}: it does not begin as one of version {VERSION} does; {REMEDY}")
        if began.settings != settings:
            raise FormatError(
                f"{where}: the run was begun with other settings, other users or another table of the server; resume "
                f"it with what it was begun with, or {REMEDY}"
            )
        return Journal(file, began, entries[1:], size)

    def next(self) -> Entry | None:
        """Take the next entry of earlier processes; None when all were taken."""
        return self._past.popleft() if self._past else None

    @property
    def replays(self) -> bool:
        """Whether there are entries of earlier processes left."""
        return bool(self._past)

    def set_up(self) -> tuple[int, ...] | None:
        """Take the users of the run, if its set-up was over. Raises FormatError."""
        entry = self.next()
        if entry is None:
            return None
        if not isinstance(entry, SetUp):
            raise self.unlike("the users of the run", entry)
        return tuple(entry.users)

    @property
    def users(self) -> tuple[int, ...] | None:
        """Look at the users of the run, if its set-up was over."""
        entry = self._past[0] if self._past else None
        return tuple(entry.users) if isinstance(entry, SetUp) else None

    def unlike(self, wanted: str, found: Entry) -> FormatError:
        """The error of a journal that does not fit what the server does."""
        return FormatError(
            f"resuming a run from the journal {str(self._path)!r}: found an entry {type(found).__name__}, wanted "
            f"{wanted}; it was written by another version or with other settings; {REMEDY}"
        )

    def add(self, entry: Entry) -> None:
        """Append an entry. It is on disk when this returns. Raises OSError."""
        with naming(self._path):
            self._file.write(_framed(entry))
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, which stays where it is."""
        self._file.close()


def _framed(entry: Entry) -> bytes:
    data = msgspec.msgpack.encode(entry)
    return len(data).to_bytes(_LENGTH_BYTES, "little") + hashlib.sha256(data).digest()[:_DIGEST_BYTES] + data


def _entries(data: bytes) -> tuple[list[Entry], int]:
    """The entries of a file, up to the first one that is not whole, and how many bytes they take."""
    entries: list[Entry] = []
    at = 0
    while at + _LENGTH_BYTES + _DIGEST_BYTES <= len(data):
        begin = at + _LENGTH_BYTES + _DIGEST_BYTES
        end = begin + int.from_bytes(data[at : at + _LENGTH_BYTES], "little")
        digest = data[at + _LENGTH_BYTES : begin]
        if end > len(data) or hashlib.sha256(data[begin:end]).digest()[:_DIGEST_BYTES] != digest:
            break
        try:
            entries.append(_DECODER.decode(data[begin:end]))
        except msgspec.MsgspecError:
            break
        at = end
    return entries, at
