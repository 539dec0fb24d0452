"""The set-up on disk, so that a later run over the same rows and bins need not repeat it.

Each party keeps its own file in the folder `setup_dir`, readable by its owner only: the active party the roots of all
trees and the secret they share, a passive party its co-paths and the secret order of its features. A file is

    magic, version, kind | bytes of the head | head, as msgpack | blocks | SHA-256 of everything before

where a block holds what belongs to one block of rows: roots, or co-paths. A set-up may be larger than memory, so it is
written and read block by block; a file is used only after all of it has been found whole. Beside it lies the list of
the runs that used it, one line each: the set-up's name, the number of the run, the trees that the run may grow. A run
is entered before its first mask is used. Masks of one run must not come again in another, and a set-up serves only so
many trees (bound.py): one without its list is not used again.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, ClassVar, Generic, TypeVar
from urllib.parse import quote

import msgspec

from vfxgb.errors import FormatError, TransferError, VfxgbError
from vfxgb.files import naming, write_atomically, writing_atomically

MAGIC = b"VFXGBOTS"
VERSION = 3
DIGEST_BYTES = 32
LENGTH_BYTES = 8
READ_BYTES = 1 << 22


class OwnerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of what the active party keeps of a passive party's trees; arrays as little-endian bytes.

    Its blocks are roots, slot by slot and row by row.
    """

    KIND: ClassVar[bytes] = b"owner\0\0"

    session: bytes
    delta: bytes
    n_rows: int
    block_rows: int
    n_bins: bytes
    missing: bytes
    joint_leaves: int


class HolderFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of what a passive party keeps.

    `features` names the feature of each column; `bins` is a digest of the bins at which the trees are punctured. Its
    blocks are co-paths.
    """

    KIND: ClassVar[bytes] = b"holder\0"

    session: bytes
    n_rows: int
    block_rows: int
    features: bytes
    bins: bytes
    joint_leaves: int


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A line of the list of runs. `session`: the set-up's name, hexadecimal."""

    session: str
    run: int
    trees: Annotated[int, msgspec.Meta(ge=0)]


F = TypeVar("F", OwnerFile, HolderFile)


class SetupWriter:
    """Writes a set-up: its head first, then block by block."""

    def __init__(self, path: Path, file: BinaryIO, head: OwnerFile | HolderFile) -> None:
        self._path = path
        self._file = file
        self._digest = hashlib.sha256()
        data = msgspec.msgpack.encode(head)
        self.add(MAGIC + bytes([VERSION]) + head.KIND + len(data).to_bytes(LENGTH_BYTES, "little") + data)

    def add(self, data: bytes | memoryview) -> None:
        """Write the next block."""
        with naming(self._path):
            self._file.write(data)
        self._digest.update(data)

    def end(self) -> None:
        """All blocks are written."""
        self.add(self._digest.digest())


@dataclass(frozen=True)
class StoredSetup(Generic[F]):
    """A file that has been found whole: its head, and where its blocks begin and end. `what` begins messages."""

    head: F
    what: str
    path: Path
    first: int
    stop: int

    def blocks(self, sizes: Iterable[int]) -> Iterator[bytes]:
        """Blocks of so many bytes, which must be all there are. Raises FormatError for a file that has others."""
        left = self.stop - self.first
        with self.path.open("rb") as file:
            file.seek(self.first)
            for size in sizes:
                left -= size
                if left < 0:
                    break
                yield file.read(size)
        if left:
            raise FormatError(
                f"{self.what}: {self.path} has other blocks than its head says; remove it to set up again"
            )


class SetupStore:
    """The files of `own` for its set-up with `peer`. Raises TransferError for a folder that is not there."""

    def __init__(self, folder: str, own: str, peer: str) -> None:
        self._what = f"{own} keeping the set-up with {peer}"
        if not Path(folder).is_dir():
            raise TransferError(f"{self._what}: found no folder {folder!r}, wanted an existing one as setup_dir")
        name = f"{quote(own, safe='')}.{quote(peer, safe='')}"
        self._path = Path(folder) / f"{name}.vfxgb-ot"
        self._runs = Path(folder) / f"{name}.vfxgb-ot-runs"

    def load(self, kind: type[F]) -> StoredSetup[F] | None:
        """What was saved, None for nothing. Raises FormatError for a file that is damaged or of another kind."""
        begin = MAGIC + bytes([VERSION]) + kind.KIND
        try:
            with self._path.open("rb") as file:
                found = file.read(len(begin))
                size = os.fstat(file.fileno()).st_size
                if found != begin:
                    raise self._unusable("is no set-up of this version and side")
                body = size - DIGEST_BYTES
                if body < len(begin) + LENGTH_BYTES or not _whole(file, body):
                    raise self._unusable("is truncated or damaged")
                file.seek(len(begin))
                first, length = len(begin) + LENGTH_BYTES, int.from_bytes(file.read(LENGTH_BYTES), "little")
                head = msgspec.msgpack.decode(file.read(min(length, body - first)), type=kind)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise self._unusable(f"is malformed: {error}") from None
        return StoredSetup(head, self._what, self._path, first + length, body)

    def _unusable(self, why: str) -> FormatError:
        return FormatError(f"{self._what}: {self._path} {why}; remove it to set up again")

    @contextmanager
    def saving(self, head: OwnerFile | HolderFile) -> Iterator[SetupWriter]:
        """Replace what was saved, when the block ends well. Raises TransferError where that is not possible."""
        try:
            with writing_atomically(self._path) as file:
                writer = SetupWriter(self._path, file, head)
                yield writer
                writer.end()
        except OSError as error:
            # An error of the block that has nothing to do with this file stays what it is.
            if isinstance(error, VfxgbError) or error.filename not in (None, os.fspath(self._path)):
                raise
            raise self._cannot_write(self._path, error) from None

    def used(self, session: bytes) -> int | None:
        """Trees of all runs that were entered for the set-up of this name; None where its list is lost."""
        runs = self._entered(session)
        return sum(run.trees for run in runs) if runs else None

    def enter_run(self, session: bytes, run: int, trees: int, fresh: bool) -> None:
        """Enter a run before its first mask is used; `fresh`: the first of a new set-up.

        Raises TransferError for a run that has been entered before.
        """
        if not fresh and any(entry.run == run for entry in self._entered(session)):
            raise TransferError(
                f"{self._what}: found run {run:016x}, which has used its masks already; masks are used once: start a "
                "new run, or remove the set-up at both parties"
            )
        line = msgspec.json.encode(_Run(session.hex(), run, trees)) + b"\n"
        if fresh:
            self._write(self._runs, line)
            return
        try:
            # Appended, so that two runs at the same time both remain.
            with self._runs.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._cannot_write(self._runs, error) from None

    def _entered(self, session: bytes) -> "list[_Run]":
        if not self._runs.exists():
            return []
        try:
            lines = self._runs.read_bytes().splitlines()
            runs = [msgspec.json.decode(line, type=_Run) for line in lines]
        except msgspec.MsgspecError as error:
            raise FormatError(f"{self._what}: {self._runs} is malformed: {error}; remove both files") from None
        return [entry for entry in runs if entry.session == session.hex()]

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_atomically(path, data)
        except OSError as error:
            raise self._cannot_write(path, error) from None

    def _cannot_write(self, path: Path, error: OSError) -> TransferError:
        return TransferError(f"{self._what}: cannot write {os.fspath(path)}: {error.strerror}")


def _whole(file: BinaryIO, size: int) -> bool:
    """Whether the digest after the first `size` bytes is theirs."""
    file.seek(0)
    digest, left = hashlib.sha256(), size
    while left:
        data = file.read(min(READ_BYTES, left))
        digest.update(data)
        left -= len(data)
    return file.read(DIGEST_BYTES) == digest.digest()
