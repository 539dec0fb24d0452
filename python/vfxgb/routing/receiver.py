"""The active party of hidden routing: it takes one bit of each group for a row, or none, and nobody learns which."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.batch import ReceiverBatch
from vfxgb.ot.silent import SilentReceiver
from vfxgb.ot.transfers import Receiver
from vfxgb.ot.wire import Bytes, Place
from vfxgb.routing.level import Level, line_bytes

# The places of batches, and of the rounds of silent transfers, in a session that serves nothing but routing.
BATCH_DOMAIN = 1
ROUND_DOMAIN = 2
# Transfers of one batch: the bound of cpp/ot/hash.h leaves 2^105 evaluations of AES to whoever wants to guess.
MAX_BATCH = 1 << 22


@dataclass(frozen=True)
class Question:
    """What travels to the sender: `batch`, the number of the batch whose next transfers are used, and `corrections`.

    `transfers`: the request of that batch if it is new, of `count` transfers; else nothing.
    """

    batch: int
    count: int
    transfers: Bytes
    corrections: Bytes


@dataclass(frozen=True, repr=False, eq=False)
class Asked:
    """A question that is on its way, and what opens its answer."""

    level: Level
    wanted: NDArray[np.uint16]
    masks: bytes
    threads: int
    step: str

    def read(self, sent: Bytes) -> NDArray[np.bool_]:
        """The bits that were wanted, bool[groups, planes, rows], False where none was.

        Raises TransferError for bytes of another size.
        """
        size = self.level.lines * line_bytes(self.wanted.shape[1])
        if len(sent) != size:
            raise TransferError(
                f"{self.step}: found {len(sent)} bytes of masked bits, wanted {size} for {self.wanted.shape[1]} rows "
                f"and {self.level.lines} bits each; the parties disagree on the splits of this level"
            )
        taken = _native.routing.read_bits(
            self.level.entries, self.level.planes, self.wanted, self.masks, sent, self.threads
        )
        return taken.view(np.bool_)


class RoutingReceiver:
    """Questions to one passive party, over transfers that a question brings along or that were made ahead.

    Batches that were made ahead are used in their order, and the transfers of each in theirs, once. A question takes
    all of its transfers from one batch, the first that has enough; what those before it have left is lost. Not safe to
    share among threads.
    """

    def __init__(self, receiver: Receiver | SilentReceiver, threads: int = 1) -> None:
        self.peer = receiver.peer
        self._receiver = receiver
        self._threads = threads
        self._next = 0
        self._stock: list[ReceiverBatch] = []

    @property
    def in_stock(self) -> int:
        """Transfers that the sender knows of and that no question has used yet."""
        return sum(self.stocked)

    @property
    def stocked(self) -> list[int]:
        """The same, batch by batch."""
        return [len(batch) for batch in self._stock]

    @property
    def silent(self) -> SilentReceiver | None:
        """The silent transfers that batches come from, if they do."""
        return self._receiver if isinstance(self._receiver, SilentReceiver) else None

    def make_stock(self, count: int) -> tuple[int, bytes]:
        """(batch, request for the sender) of `count` transfers made ahead; what was left of those before is lost."""
        self._stock = []
        return self.add_stock(count)

    def add_stock(self, count: int) -> tuple[int, bytes]:
        """The same, behind what there is in stock."""
        number = self._next
        request, batch = self._request(count)
        self._stock.append(batch)
        return number, request

    def ask(self, level: Level, wanted: NDArray[np.uint16]) -> tuple[Question, Asked]:
        """Ask for entries wanted[groups, rows], from 1 on, 0 for none. Questions are sent in the order they are made.

        Raises TransferError for an entry that a group does not have, or more rows than one batch serves.
        """
        step = f"hidden routing with {self.peer}"
        if wanted.ndim != 2 or len(wanted) != len(level):
            raise TransferError(f"{step}: found choices of shape {wanted.shape}, wanted [{len(level)}, rows]")
        beyond = wanted > level.entries[:, np.newaxis]
        if beyond.any():
            group = int(np.flatnonzero(beyond.any(axis=1))[0])
            raise TransferError(
                f"{step}: found entry {int(wanted[group].max())} of group {group}, wanted at most "
                f"{int(level.entries[group])}"
            )
        count = level.transfers * wanted.shape[1]
        request = b""
        enough = next((place for place, left in enumerate(self.stocked) if left >= count), None)
        if enough is None:
            request, batch = self._request(count)
        else:
            self._stock = self._stock[enough:]
            batch = self._stock[0].take(count)
        t, random = batch.correlated()
        corrections, masks = _native.routing.choose_bits(
            batch.session,
            batch.place.domain,
            batch.place.block,
            level.entries,
            level.planes,
            batch.first,
            t,
            random,
            wanted,
            self._threads,
        )
        question = Question(batch.place.block, count if request else 0, request, corrections)
        return question, Asked(level, wanted, masks, self._threads, step)

    def _request(self, count: int) -> tuple[bytes, ReceiverBatch]:
        if not 0 < count <= MAX_BATCH:
            raise TransferError(
                f"hidden routing with {self.peer}: found a batch of {count} transfers, wanted 1 to {MAX_BATCH}; ask "
                "about fewer rows at a time"
            )
        self._next += 1
        return self._receiver.request(Place(BATCH_DOMAIN, self._next - 1), count)

    def __repr__(self) -> str:
        return f"RoutingReceiver(peer={self.peer!r}, in_stock={self.in_stock})"
