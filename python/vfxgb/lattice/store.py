"""Set-ups on disk: a later run over the same rows and columns need not repeat them, nor a killed one begin anew.

Each party keeps its own files in a folder, readable by their owner only. The passive party's is small and holds its
secret. The active party's grows as columns arrive:

    magic, version | bytes of the head | head, as msgpack | digest of all before | parts, each with its digest

A part is what one message brought; its place and size follow from the head. A file that ends within a part was cut off
when the party was killed, and is taken up to there; a part that is damaged makes the file unusable. Beside them lies a
list of all seeds that set-ups have used: a seed that comes again would make the same elements again.
"""

import hashlib
import os
import re
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import msgspec

from vfxgb.errors import FormatError, LatticeError
from vfxgb.files import locked, naming, write_atomically

MAGIC = b"VFXGBLAT"
VERSION = 1
DIGEST_BYTES = 16
_PART = struct.Struct("<QQQ")  # first row, rows, bytes
# A line for each seed that was used: its SHA-256.
_SEEDS = re.compile(rb"([0-9a-f]{64}\n)*")

Name = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class OwnerHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="owner"):
    """What the passive party keeps: its secret and what it is for. `columns`: their digest; `agreed`: the parameters.

    Secrets serve these columns under these parameters and nothing else: other messages under the same secrets and noise
    would show the columns.
    """

    name: Name
    secret: Name
    columns: Name
    agreed: bytes

    def __repr__(self) -> str:
        return f"OwnerHead(name={self.name.hex()})"


class HolderHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="holder"):
    """What the active party's file begins with. `asked`: rows, precision and ring of the opening."""

    name: Name
    columns: int
    asked: list[Any]


H = TypeVar("H", OwnerHead, HolderHead)


class SetupFolder:
    """The files of `own` for its set-up with `peer`. Raises LatticeError for a folder that is not there."""

    def __init__(self, folder: str | Path, own: str, peer: str) -> None:
        self._what = f"{own} keeping the lattice set-up with {peer}"
        if not Path(folder).is_dir():
            raise LatticeError(
                f"{self._what}: found no folder {str(Path(folder).absolute())!r}, wanted an existing one as setup_dir"
            ).for_peer("its folder for kept set-ups (setup_dir) is not there; it must make it, or do without")
        name = f"{quote(own, safe='')}.{quote(peer, safe='')}.vfxgb-lattice"
        self.path = Path(folder) / name
        self.seeds = Path(folder) / f"{name}-seeds"
        self.masks = Path(folder) / f"{name}-masks"
        self._lock = Path(folder) / f"{name}-lock"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs, of this process or another, from these files while the block runs.

        Two runs at once would append to one file and forget what the other has counted. Raises LatticeError where
        another run has the files, OSError.
        """
        with ExitStack() as held:
            try:
                with naming(self._lock):
                    held.enter_context(locked(self._lock, wait=False))
            except BlockingIOError:
                raise LatticeError(
                    f"{self._what}: {str(self._lock.parent)!r} is used by another run at this moment, wanted it for "
                    "this one alone; wait for the other to end, or give this one another setup_dir"
                ).for_peer(
                    "its kept set-up (setup_dir) is used by another run at this moment; begin again when that has ended"
                ) from None
            yield

    def begin(self, head: OwnerHead | HolderHead) -> None:
        """Replace what was kept by a set-up that has only begun."""
        data = msgspec.msgpack.encode(head)
        start = MAGIC + bytes([VERSION]) + len(data).to_bytes(4, "little") + data
        write_atomically(self.path, start + _digest(start))

    def head(self, kind: type[H]) -> H | None:
        """The head of what was kept, None for nothing. Raises FormatError for a file that is damaged or another's."""
        try:
            with self.path.open("rb") as file:
                return self._read_head(file, kind)
        except FileNotFoundError:
            return None

    def _read_head(self, file: Any, kind: type[H]) -> H:
        start = file.read(len(MAGIC) + 5)
        if start[:-4] != MAGIC + bytes([VERSION]):
            raise self._unusable("is no set-up of this version")
        data = file.read(int.from_bytes(start[-4:], "little"))
        if file.read(DIGEST_BYTES) != _digest(start + data):
            raise self._unusable("is truncated or damaged")
        try:
            return msgspec.msgpack.decode(data, type=kind)
        except msgspec.MsgspecError as error:
            raise self._unusable(f"is of another kind: {error}") from None

    def add(self, first: int, rows: int, words: bytes | memoryview) -> None:
        """Append what a message brought, before the next one is awaited."""
        place = _PART.pack(first, rows, len(words))
        with naming(self.path), self.path.open("ab") as file:
            file.writelines([place, words, _digest(place, words)])
            file.flush()
            os.fsync(file.fileno())

    def parts(self) -> Iterator[tuple[int, int, bytes]]:
        """(first row, rows, words) of every part, in order; cuts off an unfinished one at the end.

        Raises FormatError for a part that is damaged.
        """
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            self._read_head(file, HolderHead)
            while (begin := file.tell()) < size:
                place = file.read(_PART.size)
                length = _PART.unpack(place)[2] if len(place) == _PART.size else size
                if begin + _PART.size + length + DIGEST_BYTES > size:
                    with naming(self.path):
                        os.truncate(self.path, begin)
                    return
                words = file.read(length)
                if file.read(DIGEST_BYTES) != _digest(place, words):
                    raise self._unusable("is damaged")
                first, rows, _ = _PART.unpack(place)
                yield first, rows, words

    def enter_seeds(self, *seeds: bytes) -> None:
        """Enter the seeds of a new set-up. Raises LatticeError for one that was used before."""
        known = self._known_seeds()
        new = [hashlib.sha256(seed).hexdigest() for seed in seeds]
        if known & set(new):
            raise LatticeError(
                f"{self._what}: found a seed that an earlier set-up has used, wanted a new one; the other party's "
                "randomness repeats itself, or it replays an earlier talk"
            )
        write_atomically(self.seeds, "".join(f"{each}\n" for each in sorted(known | set(new))).encode())

    def _known_seeds(self) -> set[str]:
        text = self.seeds.read_bytes() if self.seeds.exists() else b""
        if not _SEEDS.fullmatch(text):
            raise FormatError(
                f"{self._what}: {self.seeds} is truncated or damaged, wanted a line for each seed that was used; put "
                "back a copy, or remove it together with the set-up"
            )
        return set(text.decode().split())

    def _unusable(self, why: str) -> FormatError:
        return FormatError(f"{self._what}: {self.path} {why}; remove it to set up again")


def _digest(*parts: bytes | memoryview) -> bytes:
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        found.update(part)
    return found.digest()
