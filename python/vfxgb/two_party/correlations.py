"""What two parties make ahead for argmaxes, from oblivious transfers in both directions.

    mine = Correlations(True, sender, receiver, domain)         the active party's; False: the passive party's
    request = mine.request(demand)                              send it, at the same time as the other party
    corrections = mine.accept(request_of_the_other)             send these, too
    mine.complete(corrections_of_the_other)                     the pieces are there

The transfers are random ones, so nothing of a request depends on data: it can be made long before, and by a thread.
Requests of either direction cross: together they are one flight. Silent senders and receivers (ot/silent.py) serve as
well; whoever owns them refills them first.

Corrections are those of triples (cpp/two_party/stock.h). They are empty, and need not be sent, where there are none.

All pieces of a kind are tables of random entries (ot/batch.py): of 16 entries of 8 bits for tables and of 128 entries
of one bit for large ones, of which either party sends some, of 2 entries of 2 bits for ANDs, of 2 entries of 64 bits
for muxes and of 4 entries of 8 bits for triples. A place of a transfer's string serves one entry only there. The key of
the hash is new for every batch of a session. Transfers are numbered by ot:
numbers only advance, after a resume too.
"""

import hashlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot import Place, Receiver, ReceiverBatch, Sender, SenderBatch, SilentReceiver, SilentSender
from vfxgb.ot.transfers import TransferSettings, request_bytes
from vfxgb.ot.wire import Bytes
from vfxgb.two_party.plan import CORRECTION_BYTES, LARGE_TRANSFERS, TABLE_TRANSFERS, TRIPLE_TRANSFERS, Demand
from vfxgb.two_party.turns import FlightSize

# Transfers of a batch: a megabyte of rows at a time, however many are wanted.
BATCH_TRANSFERS = 1 << 16
MAGIC = b"VX2C"
VERSION = 3
_HEADER = struct.Struct("<4sB3x8Q")
_LENGTH = struct.Struct("<I")
_SESSION_LABEL = b"vfxgb two-party session 1"
# Bits of an entry, by kind.
_PRODUCT_BITS, _WORD_BITS, _TRIPLE_BITS, _TABLE_BITS, _LARGE_BITS = 2, 64, 8, 8, 1
# Kinds that one party sends only: whether the active one does.
_ONE_WAY = {"tables": True, "large": True, "back_tables": False, "back_large": False}
_DIGEST_BYTES = 16


@dataclass(frozen=True, repr=False, eq=False)
class _Triples:
    """Triples of one batch that lack the other party's corrections."""

    keys: NDArray[np.uint8]
    received: NDArray[np.uint8]
    choices: NDArray[np.uint8]
    others: NDArray[np.uint8]

    def corrections(self) -> bytes:
        return _native.two_party.correct_triples(self.keys, self.choices, self.others)


class Correlations:
    """One party's stock. Not safe to share among threads, but `request` and `accept` may run on another one.

    sender, receiver: this party's sides of transfers in the two directions, with the same peer. domain: their places
    are this class's alone.
    """

    def __init__(
        self, active: bool, sender: Sender | SilentSender, receiver: Receiver | SilentReceiver, domain: int
    ) -> None:
        if sender.peer != receiver.peer:
            raise TransferError(
                f"making pieces of an argmax: found a sender to {sender.peer} and a receiver of {receiver.peer}, "
                "wanted transfers in both directions with one party"
            )
        self.active = active
        self.peer = sender.peer
        names = (sender.session, receiver.session) if active else (receiver.session, sender.session)
        self.session = hashlib.sha256(_SESSION_LABEL + b"".join(names)).digest()
        self.native = _native.two_party.Stock(active)
        self._sender = sender
        self._receiver = receiver
        self._domain = domain
        self._requests = 0
        self._asked = self._answered = 0  # blocks of either direction
        self._pending: tuple[Demand, list[tuple[str, int, ReceiverBatch | None]]] | None = None
        self._uncorrected: list[_Triples] = []
        self._broken = ""
        self._numbers = 0
        self._process = os.getpid()

    @property
    def left(self) -> Demand:
        """Pieces in stock."""
        return Demand(*self.native.left)

    @property
    def used(self) -> Demand:
        """Pieces that were used so far."""
        return Demand(*self.native.used)

    def begin(self, wanted: Demand) -> int:
        """The number of the next argmax, from 0 on; it takes `wanted` from the native stock right after.

        TransferError if the stock has less, and in a forked process, where two would use the same pieces.
        """
        step = f"argmax with {self.peer}"
        self._check(step)
        if any(have < need for have, need in zip(self.left, wanted, strict=True)):
            raise TransferError(f"{step}: found {self.left} in stock, wanted {wanted}; request more pieces first")
        self._numbers += 1
        return self._numbers - 1

    def request(self, demand: Demand) -> bytes:
        """Bytes for the other party that ask for pieces; it sends some too, for the same ones.

        TransferError before the last request was answered, and, of silent transfers, if too few are left.
        """
        step = f"making pieces of an argmax with {self.peer}"
        self._check(step)
        if self._pending is not None:
            raise TransferError(f"{step}: found another request, wanted the other party's first; give it to accept")
        if self._uncorrected:
            raise TransferError(f"{step}: found another request, wanted corrections first; give them to complete")
        if min(demand) < 0:
            raise TransferError(f"{step}: found {demand}, wanted none or more of each")
        count = demand.passive_sends if self.active else demand.active_sends
        if count > self._receiver.left:
            raise TransferError(
                f"{step}: found {self._receiver.left} transfers that are left, wanted {count}; refill first"
            )
        parts, batches = [_HEADER.pack(MAGIC, VERSION, *demand, self._requests)], []
        for kind, transfers in _batches(demand):
            asked = None
            if self._receives(kind):
                data, asked = self._receiver.request(Place(self._domain, self._asked), transfers)
                self._asked += 1
                parts += [_LENGTH.pack(len(data)), data]
            batches.append((kind, transfers, asked))
        self._pending = demand, batches
        return b"".join(parts)

    def accept(self, request: Bytes) -> bytes:
        """Go on with what `request` began with the other party's; corrections for it, empty where there are no triples.

        TransferError for bytes that are not its request.
        What is refused before its transfers are looked at can be sent again; what fails there ends the stock.
        """
        step = f"making pieces of an argmax with {self.peer}"
        self._check(step)
        if self._pending is None:
            raise TransferError(f"{step}: found a request, wanted to send one first")
        demand, batches = self._pending
        parts = self._read(memoryview(request).cast("B"), demand, step)
        wanted = sum(self._sends(kind) for kind, _, _ in batches)
        if len(parts) != wanted:
            raise TransferError(f"{step}: found {len(parts)} batches of transfers, wanted {wanted} for {demand}")
        data = iter(parts)
        try:
            for kind, transfers, asked in batches:
                sent = None
                if self._sends(kind):
                    sent = self._sender.answer(Place(self._domain, self._answered), transfers, next(data))
                    self._answered += 1
                self._add(kind, sent, asked)
        except BaseException:  # an interrupt, too, leaves pieces that the other party does not have
            self._broken = "an earlier request failed"
            raise
        self._pending = None
        self._requests += 1
        return self._seal(b"".join(each.corrections() for each in self._uncorrected)) if self._uncorrected else b""

    def complete(self, corrections: Bytes) -> None:
        """Finish with the other party's corrections. TransferError for bytes that are none of this request."""
        step = f"making pieces of an argmax with {self.peer}"
        self._check(step)
        count = sum(len(each.choices) for each in self._uncorrected)
        wanted = CORRECTION_BYTES * count + _DIGEST_BYTES if count else 0
        if len(corrections) != wanted:
            raise TransferError(f"{step}: found {len(corrections)} bytes of corrections, wanted {wanted}")
        payload = bytes(corrections[: CORRECTION_BYTES * count])
        if count and self._seal(payload, other=True) != bytes(corrections):
            raise TransferError(f"{step}: the digest of corrections does not match; the bytes were damaged on the way")
        rows = np.frombuffer(payload, dtype=np.uint8).reshape(count, CORRECTION_BYTES)
        for each in self._uncorrected:
            own, rows = rows[: len(each.choices)], rows[len(each.choices) :]
            self.native.add_triples(each.keys, each.received, each.choices, each.others, own)
        self._uncorrected = []

    def _seal(self, payload: bytes, other: bool = False) -> bytes:
        """Corrections with a digest of who made them, and for which request."""
        sender = bytes([self.active != other]) + self._requests.to_bytes(8, "little")
        digest = hashlib.blake2b(sender, digest_size=_DIGEST_BYTES, key=self.session)
        digest.update(payload)
        return payload + digest.digest()

    def _sends(self, kind: str) -> bool:
        return _ONE_WAY.get(kind, self.active) == self.active

    def _receives(self, kind: str) -> bool:
        return _ONE_WAY.get(kind, not self.active) != self.active

    def _add(self, kind: str, sent: SenderBatch | None, asked: ReceiverBatch | None) -> None:
        """Pieces of one batch, of which this party has the sides that there are."""
        if asked is None or sent is None:
            large = kind in ("large", "back_large")
            shape = (LARGE_TRANSFERS, _LARGE_BITS) if large else (TABLE_TRANSFERS, _TABLE_BITS)
            if sent is not None:
                self.native.add_tables(sent.tables(*shape), large)
            if asked is not None:
                entries, choices = asked.tables(*shape)
                self.native.add_chosen(choices, entries[:, 0], large)
            return
        if kind == "triples":
            keys = sent.tables(TRIPLE_TRANSFERS, _TRIPLE_BITS)
            entries, choices = asked.tables(TRIPLE_TRANSFERS, _TRIPLE_BITS)
            drawn = np.frombuffer(_native.rand.random_bytes(len(choices)), dtype=np.uint8) & np.uint8(7)
            self._uncorrected.append(_Triples(keys, entries[:, 0], choices, drawn))
            return
        width = _PRODUCT_BITS if kind == "ands" else _WORD_BITS
        both = sent.tables(1, width)
        received, choices = asked.tables(1, width)
        if kind == "ands":
            # Two entries of two bits; the rest of the byte belongs to none.
            self.native.add_ands(both[:, 0] & np.uint8(15), received[:, 0], choices)
        else:
            self.native.add_muxes(both.view(np.uint64), received.view(np.uint64)[:, 0], choices)

    def _read(self, view: memoryview, demand: Demand, step: str) -> list[memoryview]:
        if len(view) < _HEADER.size or bytes(view[:8]) != MAGIC + bytes([VERSION, 0, 0, 0]):
            raise TransferError(
                f"{step}: found {len(view)} bytes that are no request of version {VERSION}; they come from another "
                "program or version, or are truncated"
            )
        _, _, *counts, number = _HEADER.unpack(view[: _HEADER.size])
        if (found := Demand(*counts)) != demand or number != self._requests:
            raise TransferError(
                f"{step}: found request {number} for {found}, wanted request {self._requests} for {demand}; both "
                "parties must ask for the same pieces"
            )
        parts, rest = [], view[_HEADER.size :]
        while rest:
            length = _LENGTH.unpack(rest[: _LENGTH.size])[0] if len(rest) >= _LENGTH.size else len(rest)
            if len(rest) < _LENGTH.size + length:
                raise TransferError(f"{step}: found a batch of {len(rest)} bytes, wanted more; the bytes are truncated")
            parts.append(rest[_LENGTH.size : _LENGTH.size + length])
            rest = rest[_LENGTH.size + length :]
        return parts

    def _check(self, step: str) -> None:
        if self._broken:
            raise TransferError(f"{step}: {self._broken}; start a new session")
        if os.getpid() != self._process:
            raise TransferError(
                f"{step}: found a stock that another process made, wanted one's own; after a fork both would use the "
                "same pieces"
            )

    def __repr__(self) -> str:
        return f"Correlations({'active' if self.active else 'passive'}, peer={self.peer!r}, left={self.left})"


def request_sizes(demand: Demand, settings: TransferSettings) -> FlightSize:
    """Bytes of both parties' requests for pieces, of ordinary transfers and after the first request of a session."""
    sizes = [_HEADER.size, _HEADER.size]
    for kind, transfers in _batches(demand):
        part = _LENGTH.size + request_bytes(transfers, settings)
        # Who receives transfers asks for them.
        if _ONE_WAY.get(kind, True):
            sizes[1] += part
        if not _ONE_WAY.get(kind, False):
            sizes[0] += part
    return FlightSize(*sizes)


def correction_bytes(demand: Demand) -> int:
    """Bytes of the corrections that each party sends."""
    return CORRECTION_BYTES * demand.triples + _DIGEST_BYTES if demand.triples else 0


def _batches(demand: Demand) -> Iterator[tuple[str, int]]:
    """(kind, transfers) of each batch, in the order of both parties."""
    each = {"ands": 1, "muxes": 1, "triples": TRIPLE_TRANSFERS, "large": LARGE_TRANSFERS, "back_large": LARGE_TRANSFERS}
    for kind, pieces in demand._asdict().items():
        of_piece = each.get(kind, TABLE_TRANSFERS)
        left = pieces * of_piece
        while left > 0:
            some = min(left, BATCH_TRANSFERS // of_piece * of_piece)
            yield kind, some
            left -= some
