"""The passive party of hidden routing: it masks all bits of all rows, of which the other can open those it chose."""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.batch import SenderBatch
from vfxgb.ot.silent import SilentSender
from vfxgb.ot.transfers import Sender
from vfxgb.ot.wire import Bytes, Place
from vfxgb.routing.level import Level, line_bytes
from vfxgb.routing.receiver import BATCH_DOMAIN, MAX_BATCH, Question


class RoutingSender:
    """Answers to the active party's questions. Not safe to share among threads.

    It holds the batches that were made ahead, and that of a question while it is answered.
    """

    def __init__(self, sender: Sender | SilentSender, threads: int = 1) -> None:
        self.peer = sender.peer
        self._sender = sender
        self._threads = threads
        self._next = 0
        self._stock: list[SenderBatch] = []

    @property
    def silent(self) -> SilentSender | None:
        """The silent transfers that batches come from, if they do."""
        return self._sender if isinstance(self._sender, SilentSender) else None

    def take_stock(self, batch: int, count: int, request: Bytes) -> None:
        """Take transfers that were made ahead; what was left of those before is lost.

        Raises TransferError for a batch that is not the next one, too large, of another session, or damaged.
        """
        self._stock = [self._answer(batch, count, request)]

    def add_stock(self, batch: int, count: int, request: Bytes) -> None:
        """The same, behind what there is in stock."""
        self._stock.append(self._answer(batch, count, request))

    @property
    def stocked(self) -> list[int]:
        """Transfers in stock, batch by batch."""
        return [len(batch) for batch in self._stock]

    def check(self, level: Level, rows: int, question: Question) -> None:
        """Raise TransferError for a question that is not about so many rows of such a level, or has no transfers left.

        Nothing is used up, and nothing has been computed for it.
        """
        step, needed = f"hidden routing with {self.peer}", level.transfers * rows
        size = level.transfers * line_bytes(rows)
        if len(question.corrections) != size:
            raise TransferError(
                f"{step}: found {len(question.corrections)} bytes of choices, wanted {size} for {rows} rows of "
                f"{level.transfers} transfers each; the other party leaves rows out, or disagrees on the splits of "
                "this level"
            )
        if len(question.transfers):
            if question.batch != self._next or question.count != needed:
                raise TransferError(
                    f"{step}: found batch {question.batch} of {question.count} transfers, wanted batch {self._next} of "
                    f"{needed}; batches come once and in order, with what their question needs"
                )
            return
        held = self._stock[self._place(question.batch) :]
        if not held or len(held[0]) < needed:
            left = ", ".join(f"{len(batch)} of batch {batch.place.block}" for batch in self._stock[:3]) or "none"
            raise TransferError(
                f"{step}: found a question that takes {needed} transfers of batch {question.batch}, and {left} are "
                "left; a transfer serves once"
            )

    def answer(self, level: Level, rows: int, question: Question, bits: NDArray[np.uint8]) -> bytes:
        """The masked bits for the receiver. bits: uint8[lines, line_bytes(rows)], as level says. Raises as `check`."""
        self.check(level, rows, question)
        needed = level.transfers * rows
        if len(question.transfers):
            batch = self._answer(question.batch, needed, question.transfers)
        else:
            self._stock = self._stock[self._place(question.batch) :]
            batch = self._stock[0].take(needed)
        delta, first = batch.delta, batch.first
        return _native.routing.mask_bits(
            batch.session,
            batch.place.domain,
            batch.place.block,
            delta,
            level.entries,
            level.planes,
            first,
            batch.correlated(),
            question.corrections,
            bits,
            rows,
            self._threads,
        )

    def _place(self, batch: int) -> int:
        """Where the batch stands in stock; behind all others if it does not."""
        return next((i for i, held in enumerate(self._stock) if held.place.block == batch), len(self._stock))

    def _answer(self, batch: int, count: int, request: Bytes) -> SenderBatch:
        if batch != self._next or not 0 < count <= MAX_BATCH:
            raise TransferError(
                f"hidden routing with {self.peer}: found batch {batch} of {count} transfers, wanted batch {self._next} "
                f"of 1 to {MAX_BATCH}; batches come once and in order"
            )
        answered = self._sender.answer(Place(BATCH_DOMAIN, batch), count, request)
        self._next += 1
        return answered

    def __repr__(self) -> str:
        return f"RoutingSender(peer={self.peer!r}, batch={self._next})"
