"""What users send each other through the server, which may not fill its memory: n users send n pieces each.

A sender's pieces, one for each receiver, arrive together; a receiver's go out together. They are sealed or public, and
lie in a file as soon as they are more than a few megabytes. Requests are made one at a time, when they are sent.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import Generic, TypeVar

from vfxgb.transport.messages import Bulk

MEMORY_BYTES = 8 << 20

R = TypeVar("R")


class Requests(Mapping[int, R], Generic[R]):
    """Requests of `users`, each made when it is asked for and then forgotten."""

    def __init__(self, users: Sequence[int], make: Callable[[int], R]) -> None:
        self._users = users
        self._make = make

    def __getitem__(self, user: int) -> R:
        return self._make(user)

    def __iter__(self) -> Iterator[int]:
        return iter(self._users)

    def __len__(self) -> int:
        return len(self._users)


class Relay:
    """Pieces of `piece_bytes`; some receivers' are read at once, for they lie side by side in what a sender sent."""

    def __init__(self, piece_bytes: int) -> None:
        self._piece_bytes = piece_bytes
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - closed below
        # Also where a call is given up in the middle.
        self._closing = weakref.finalize(self, self._file.close)
        self._size = 0
        # Sender -> where what it sent begins, and how many pieces these are.
        self._at: dict[int, tuple[int, int]] = {}
        self._block: tuple[int, dict[int, bytes]] = (-1, {})

    @property
    def senders(self) -> tuple[int, ...]:
        """Those whose pieces are here, ascending."""
        return tuple(sorted(self._at))

    def add(self, sender: int, pieces: Bulk | bytes) -> None:
        """Keep all pieces of a sender."""
        self._file.seek(self._size)
        self._file.write(pieces)
        self._at[sender] = self._size, len(pieces) // self._piece_bytes
        self._size += len(pieces)

    def piece(self, sender: int, place: int) -> bytes:
        """The piece at `place` of what a sender sent. Fastest if places follow each other, each for all senders."""
        together = max(1, MEMORY_BYTES // (self._piece_bytes * max(1, len(self._at))))
        number, begin = place // together, place % together * self._piece_bytes
        if self._block[0] != number:
            self._block = number, {}
        known = self._block[1].get(sender)
        if known is None:
            known = self._block[1][sender] = self._read(sender, number * together, together)
        return known[begin : begin + self._piece_bytes]

    def all_of(self, sender: int) -> bytes:
        """All pieces of a sender."""
        return self._read(sender, 0, self._at[sender][1])

    def close(self) -> None:
        """Forget everything."""
        self._closing()
        self._block = -1, {}

    def _read(self, sender: int, first: int, count: int) -> bytes:
        start, pieces = self._at[sender]
        self._file.seek(start + first * self._piece_bytes)
        return self._file.read(max(0, min(count, pieces - first)) * self._piece_bytes)
