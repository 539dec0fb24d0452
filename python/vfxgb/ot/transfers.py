"""Oblivious transfers in batches: the two parties after their base transfers.

    receiver = Receiver("bank", session, pairs, settings)       the party that chooses
    sender = Sender("shop", session, delta, seeds, settings)
    request, own = receiver.request(place, 1000)                bytes for the sender, the receiver's batch
    batch = sender.answer(place, 1000, request)                 the sender's batch

One message makes a batch, and batch.py says what can be made of it. The transfers are those of cpp/ot/soft_spoken.h:
ceil(128 / transfer_bits) bits each on the wire, one fewer if the receiver's choices may be random. The first request
also carries the seeds of the receiver, 4 KiB. With `checked` every request has a proof that it belongs to one choice in
each transfer, for 128 transfers and 48 bytes more.

Groups of 128 transfers are counted, and a number is never used twice, not after a resume either: `state` is what a
party keeps, secret, and `restore` goes on from it at a position that both have agreed on and neither has passed.
"""

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.batch import ReceiverBatch, SenderBatch
from vfxgb.ot.consistency import DIGEST_BYTES, MASK_GROUPS, PROOF_BYTES, holds, prove, seed_digest
from vfxgb.ot.state import ReceiverState, SenderState, read_state
from vfxgb.ot.transfer_bits import DEFAULT_TRANSFER_BITS, MAX_TRANSFER_BITS, pieces
from vfxgb.ot.wire import OVERHEAD_BYTES, RANDOM_REQUEST, REQUEST, Bytes, Digested, Line, Place
from vfxgb.threads import resolve_threads

GROUP = 128
BLOCK_BYTES = 16
OPENING_BYTES = 2 * GROUP * BLOCK_BYTES
UNLIMITED = 1 << 62
_REVERSE_LABEL = b"vfxgb ot reverse session 1"

# Told the position behind a batch before the batch is used.
Mark = Callable[[int], None]


@dataclass(frozen=True)
class TransferSettings:
    """What both parties agree on, and each one's threads.

    `transfer_bits`: 1 to 8, more of them take fewer bytes and more AES (transfer_bits.py). `checked`: requests carry a
    proof that they are consistent.
    """

    transfer_bits: int = DEFAULT_TRANSFER_BITS
    checked: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.transfer_bits <= MAX_TRANSFER_BITS:
            raise TransferError(
                f"setting up transfers: found transfer_bits={self.transfer_bits}, wanted 1 to {MAX_TRANSFER_BITS}"
            )


@dataclass(frozen=True)
class _Size:
    """The bytes of a request for `count` transfers. `first`: it carries the opening."""

    count: int
    transfer_bits: int
    chosen: bool
    checked: bool
    first: bool

    @property
    def groups(self) -> int:
        return -(-self.count // GROUP) + (MASK_GROUPS if self.checked else 0)

    @property
    def opening(self) -> int:
        return OPENING_BYTES + DIGEST_BYTES if self.first else 0

    @property
    def c(self) -> int:
        return self.groups * BLOCK_BYTES * (pieces(self.transfer_bits) - (0 if self.chosen else 1))

    @property
    def all(self) -> int:
        return self.opening + self.c + (PROOF_BYTES if self.checked else 0)


def request_bytes(count: int, settings: TransferSettings) -> int:
    """Bytes of a request for `count` random transfers, any but the first, which carries the seeds too."""
    return OVERHEAD_BYTES + _Size(count, settings.transfer_bits, False, settings.checked, False).all


class _Party:
    """What both sides keep: where they are, and which places they have used."""

    def __init__(self, peer: str, session: bytes, settings: TransferSettings, mark: Mark | None) -> None:
        self.peer = peer
        self.session = session
        self.settings = settings
        self._line = Line(session, settings.transfer_bits)
        self._threads = resolve_threads(settings.threads)
        self._position = 0
        self._mark = mark
        self._seeds = b""  # the digest of the opening, once it was sent or taken
        self._places: set[Place] = set()
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def position(self) -> int:
        """The next group of 128 transfers; all before it are used."""
        return self._position

    @property
    def left(self) -> int:
        """Transfers that can be requested: as many as anybody wants, unlike silent ones (silent.py)."""
        return UNLIMITED

    def skip_to(self, position: int) -> None:
        """Leave out what lies before `position`, the other party's. TransferError for one that was passed here."""
        with self._lock:
            if position < self._position:
                raise TransferError(
                    f"transfers with {self.peer}: found position {position}, wanted {self._position} or a later one; "
                    "transfers are never used twice"
                )
            if self._mark is not None:
                self._mark(position)
            self._position = position

    def _size(self, count: int, chosen: bool) -> _Size:
        return _Size(count, self.settings.transfer_bits, chosen, self.settings.checked, not self._seeds)

    def check_place(self, place: Place, count: int, step: str) -> None:
        """Raise TransferError unless `count` transfers can be had in this process at a place that is new."""
        if place in self._places:
            raise TransferError(f"{step}: found a place that was used before, wanted a new one; count blocks up")
        if count < 0:
            raise TransferError(f"{step}: found {count} transfers, wanted none or more")
        if os.getpid() != self._process:
            raise TransferError(
                f"{step}: found transfers that another process began, wanted the one that made them; after a fork both "
                "would use the same ones"
            )

    def take_place(self, place: Place) -> None:
        """Remember that a place is used."""
        self._places.add(place)

    def _advance(self, place: Place, groups: int) -> None:
        """Use up groups; the mark is made before anything that depends on them leaves this object."""
        if self._mark is not None:
            self._mark(self._position + groups)
        self._places.add(place)
        self._position += groups

    def _before(self, seeds: bytes, kind: int) -> bytes:
        """What a proof depends on besides the request: all that fixes the columns."""
        return seeds + self._position.to_bytes(8, "little") + bytes([kind])

    def _check_opened(self) -> None:
        if not self._seeds:
            raise TransferError(
                f"keeping transfers with {self.peer}: there were none yet, so there is no state to keep"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(peer={self.peer!r}, position={self._position})"


class Receiver(_Party):
    """The party that chooses; pairs uint8[128, 2, 16] are both seeds of every base transfer.

    `peer` is the other party's name, for messages. `mark` is called with the position behind each batch before the
    batch is given out. Requests may come from several threads; they must be sent in the order in which they were made.
    """

    def __init__(
        self,
        peer: str,
        session: bytes,
        pairs: NDArray[np.uint8],
        settings: TransferSettings | None = None,
        mark: Mark | None = None,
    ) -> None:
        super().__init__(peer, session, settings or TransferSettings(), mark)
        self._pairs = pairs
        self._native = _native.ot.TransferReceiver(self.settings.transfer_bits, pairs)

    def request(self, place: Place, count: int, choices: Bytes | None = None) -> tuple[bytes, ReceiverBatch]:
        """(bytes for the sender, the batch) of `count` transfers; the batch can be used once the bytes are sent.

        `choices`: bits, lowest first (pack_choices); None for random ones. TransferError for a place that was used
        before.
        """
        step = f"requesting {place} of {self.peer}"
        with self._lock:
            self.check_place(place, count, step)
            chosen = choices is not None
            size = self._size(count, chosen)
            named = None if choices is None else self._whole_groups(choices, size, step)
            c, t, r = self._native.extend(self._position, size.groups, named, self._threads)
            seeds, opening = self._seeds, b""
            if size.first:
                opening = self._native.opening
                seeds = seed_digest(self.session, opening, self._native.check_blocks)
                opening += seeds
            kind = REQUEST if chosen else RANDOM_REQUEST
            proof, content = b"", Digested.of(c)
            if self.settings.checked:
                proof = prove(self.session, self._before(seeds, kind), content.digest, r, t, self._threads)
            request = self._line.seal(kind, place, self._position, opening, content, proof)
            self._advance(place, size.groups)
            self._seeds = seeds
        bits = np.unpackbits(np.frombuffer(r, dtype=np.uint8), count=count, bitorder="little")
        return request, ReceiverBatch(self.session, place, self.peer, t[:count], self._threads, 0, bits)

    def _whole_groups(self, choices: Bytes, size: _Size, step: str) -> bytes:
        own = -(-size.count // GROUP) * BLOCK_BYTES
        if not -(-size.count // 8) <= len(choices) <= own:
            raise TransferError(
                f"{step}: found {len(choices)} bytes of choices, wanted {-(-size.count // 8)} for {size.count} "
                "transfers"
            )
        masks = _native.rand.random_bytes(MASK_GROUPS * BLOCK_BYTES) if self.settings.checked else b""
        return bytes(choices).ljust(own, b"\0") + masks

    def state(self) -> bytes:
        """What is needed to go on later, secret (state.py). TransferError before the first request."""
        self._check_opened()
        bits, checked = self.settings.transfer_bits, self.settings.checked
        pairs = self._pairs.tobytes()
        return msgspec.msgpack.encode(ReceiverState(self.session, pairs, self._seeds, bits, checked, self._position))

    @classmethod
    def restore(
        cls, peer: str, state: bytes, position: int, threads: int | None = None, mark: Mark | None = None
    ) -> "Receiver":
        """Go on at `position`, the larger of both parties'. TransferError for a state that is none, or is beyond it."""
        kept = read_state(state, ReceiverState, position, f"restoring transfers with {peer}")
        pairs = np.frombuffer(kept.pairs, dtype=np.uint8).reshape(GROUP, 2, BLOCK_BYTES)
        party = cls(peer, kept.session, pairs, TransferSettings(kept.transfer_bits, kept.checked, threads), mark)
        party._position, party._seeds = kept.position, kept.seeds
        return party

    @classmethod
    def reverse(
        cls, batch: SenderBatch, settings: TransferSettings | None = None, mark: Mark | None = None
    ) -> "Receiver":
        """The other direction, without base transfers: from 128 random transfers of which this party is the sender."""
        pairs = np.stack(batch.take(GROUP).keys(), axis=1)
        return cls(batch.peer, _reversed(batch.session, batch.place), pairs, settings, mark)


class Sender(_Party):
    """The party that has both; seeds uint8[128, 16] are those that the bits of delta name, lowest first.

    `peer` and `mark` as for Receiver.
    """

    def __init__(
        self,
        peer: str,
        session: bytes,
        delta: bytes,
        seeds: NDArray[np.uint8],
        settings: TransferSettings | None = None,
        mark: Mark | None = None,
    ) -> None:
        super().__init__(peer, session, settings or TransferSettings(), mark)
        self.delta = delta
        self._base = seeds
        self._opening = b""
        self._native: _native.ot.TransferSender | None = None
        self._broken = ""

    def answer(self, place: Place, count: int, request: Bytes, chosen: bool = False) -> SenderBatch:
        """The batch of `count` transfers from the receiver's request; `chosen`: it named its choices.

        TransferError for bytes that are not the request that is next, for another number of transfers or transfer_bits,
        or without the proof that was agreed on. What is refused changes nothing, unless a check fails: that ends the
        session, because each further try would tell the other party something about Delta.
        """
        step = f"transfers with {self.peer}"
        with self._lock:
            if self._broken:
                raise TransferError(f"{step}: {self._broken}; start a new session")
            self.check_place(place, count, f"{step}: answering {place}")
            size = self._size(count, chosen)
            kind = REQUEST if chosen else RANDOM_REQUEST
            sizes = size.opening, size.c, size.all - size.opening - size.c
            first, content, proof = self._line.unseal_parts(request, kind, place, self._position, sizes, step)
            native, seeds, opening = self._native, self._seeds, self._opening
            if native is None:
                native, seeds, opening = self._open(first, step)
            q = native.extend(self._position, chosen, content.data, self._threads)
            shown = self._before(seeds, kind), content.digest
            if self.settings.checked and not holds(self.session, *shown, q, self.delta, bytes(proof), self._threads):
                self._broken = "an earlier request did not pass its check"
                raise TransferError(
                    f"{step}: the request for {place} does not pass its check, wanted one choice in each transfer; the "
                    "other party deviates from the protocol, and the session is over"
                )
            self._advance(place, size.groups)
            self._native, self._seeds, self._opening = native, seeds, opening
        return SenderBatch(self.session, place, self.peer, q[:count], self._threads, 0, self.delta)

    def _open(self, payload: memoryview, step: str) -> tuple[_native.ot.TransferSender, bytes, bytes]:
        """The receiver's seeds, their digest, and the opening they came from."""
        opening, digest = bytes(payload[:OPENING_BYTES]), bytes(payload[OPENING_BYTES:])
        native = _native.ot.TransferSender(self.settings.transfer_bits, self.delta, self._base, opening)
        if seed_digest(self.session, opening, native.check_blocks) != digest:
            self._broken = "the seeds did not pass their check"
            raise TransferError(
                f"{step}: the seeds do not pass their check, wanted those of the base transfers; the other party "
                "deviates from the protocol, and the session is over"
            )
        return native, digest, opening

    def state(self) -> bytes:
        """What is needed to go on later, secret (state.py). TransferError before the first request was answered."""
        self._check_opened()
        bits, checked = self.settings.transfer_bits, self.settings.checked
        base = self._base.tobytes()
        state = SenderState(self.session, self.delta, base, self._opening, self._seeds, bits, checked, self._position)
        return msgspec.msgpack.encode(state)

    @classmethod
    def restore(
        cls, peer: str, state: bytes, position: int, threads: int | None = None, mark: Mark | None = None
    ) -> "Sender":
        """Go on at `position`, the larger of both parties'. TransferError for a state that is none, or is beyond it."""
        kept = read_state(state, SenderState, position, f"restoring transfers with {peer}")
        base = np.frombuffer(kept.base, dtype=np.uint8).reshape(GROUP, BLOCK_BYTES)
        settings = TransferSettings(kept.transfer_bits, kept.checked, threads)
        party = cls(peer, kept.session, kept.delta, base, settings, mark)
        party._position, party._seeds, party._opening = kept.position, kept.seeds, kept.opening
        party._native = _native.ot.TransferSender(kept.transfer_bits, kept.delta, base, kept.opening)
        return party

    @classmethod
    def reverse(
        cls, batch: ReceiverBatch, settings: TransferSettings | None = None, mark: Mark | None = None
    ) -> "Sender":
        """The other direction, without base transfers: from 128 random transfers that this party received."""
        keys, choices = batch.take(GROUP).keys()
        delta = np.packbits(choices, bitorder="little").tobytes()
        return cls(batch.peer, _reversed(batch.session, batch.place), delta, keys, settings, mark)


def _reversed(session: bytes, place: Place) -> bytes:
    """The name of the session in the other direction, made of one batch of this."""
    where = place.domain.to_bytes(4, "little") + place.block.to_bytes(8, "little")
    return hashlib.sha256(_REVERSE_LABEL + session + where).digest()
