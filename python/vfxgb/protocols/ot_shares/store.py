"""The set-up on disk, so that a later run over the same rows and bins need not repeat it.

Each party keeps its own file in the folder `setup_dir`, readable by its owner only: the active party the roots of all
trees and the secret they share, a passive party its co-paths and the secret order of its features. A file is

    magic, version, kind | msgpack | SHA-256 of everything before

and beside it lies the list of the runs that used it, one line each: the set-up's name, the number of the run, the trees
that the run may grow. A run is entered before its first mask is used. Masks of one run must not come again in another,
and a set-up serves only so many trees (bound.py): one without its list is not used again.
"""

import hashlib
import os
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar
from urllib.parse import quote

import msgspec

from vfxgb.errors import FormatError, TransferError
from vfxgb.files import write_atomically

MAGIC = b"VFXGBOTS"
VERSION = 2
DIGEST_BYTES = 32


class OwnerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the active party keeps of a passive party's trees; arrays as little-endian bytes."""

    KIND: ClassVar[bytes] = b"owner\0\0"

    session: bytes
    delta: bytes
    n_rows: int
    block_rows: int
    n_bins: bytes
    missing: bytes
    roots: list[bytes]


class HolderFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """This is what a passive party keeps.

    `features` names the feature of each slot; `bins` is a digest of the bins at which the trees are punctured.
    """

    KIND: ClassVar[bytes] = b"holder\0"

    session: bytes
    n_rows: int
    block_rows: int
    features: bytes
    bins: bytes
    copaths: list[bytes]


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A line of the list of runs. `session`: the set-up's name, hexadecimal."""

    session: str
    run: int
    trees: Annotated[int, msgspec.Meta(ge=0)]


F = TypeVar("F", OwnerFile, HolderFile)


class SetupStore:
    """The files of `own` for its set-up with `peer`. Raises TransferError for a folder that is not there."""

    def __init__(self, folder: str, own: str, peer: str) -> None:
        self._what = f"{own} keeping the set-up with {peer}"
        if not Path(folder).is_dir():
            raise TransferError(f"{self._what}: found no folder {folder!r}, wanted an existing one as setup_dir")
        name = f"{quote(own, safe='')}.{quote(peer, safe='')}"
        self._path = Path(folder) / f"{name}.vfxgb-ot"
        self._runs = Path(folder) / f"{name}.vfxgb-ot-runs"

    def load(self, kind: type[F]) -> F | None:
        """What was saved, None for nothing. Raises FormatError for a file that is damaged or of another kind."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        head = MAGIC + bytes([VERSION]) + kind.KIND
        body = memoryview(data)[len(head) : -DIGEST_BYTES]
        if data[: len(head)] != head:
            raise FormatError(
                f"{self._what}: {self._path} is no set-up of this version and side; remove it to set up again"
            )
        if hashlib.sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
            raise FormatError(f"{self._what}: {self._path} is truncated or damaged; remove it to set up again")
        try:
            return msgspec.msgpack.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise FormatError(f"{self._what}: {self._path} is malformed: {error}; remove it to set up again") from None

    def save(self, content: OwnerFile | HolderFile) -> None:
        """Replace what was saved. Raises TransferError where that is not possible."""
        data = MAGIC + bytes([VERSION]) + content.KIND + msgspec.msgpack.encode(content)
        self._write(self._path, data, hashlib.sha256(data).digest())

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

    def _write(self, path: Path, *data: bytes) -> None:
        try:
            write_atomically(path, *data)
        except OSError as error:
            raise self._cannot_write(path, error) from None

    def _cannot_write(self, path: Path, error: OSError) -> TransferError:
        return TransferError(f"{self._what}: cannot write {os.fspath(path)}: {error.strerror}")
