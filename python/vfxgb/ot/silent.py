"""Silent transfers: ten million random transfers from one exchange, a seventh of a byte each (cpp/ot/silent.h).

    mine, theirs = SilentReceiver(receiver, domain), SilentSender(sender, domain)      over those of transfers.py
    mine.finish(theirs.refill(mine.refill()))              one message there and one back: a *round*
    request, own = mine.request(place, 1000)               as in transfers.py; the request says nothing but which ones
    batch = theirs.answer(place, 1000, request)

A round takes 655,360 random transfers of the kind in transfers.py, which become the secret of an LPN problem, and 1,319
punctured trees of 8,192 leaves (trees.py). Its 10,805,248 transfers are expanded a few trees at a time, when they are
asked for, so that a party keeps about 12 MB and not 170. `refill` can be called while an earlier round still has
transfers. Nothing of a round is stored: a resumed party begins a new one.
"""

import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.batch import ReceiverBatch, SenderBatch, pack_choices
from vfxgb.ot.transfers import Receiver, Sender
from vfxgb.ot.trees import TreeHolder, TreeOwner
from vfxgb.ot.wire import SILENT_REQUEST, Bytes, Line, Place
from vfxgb.threads import resolve_threads

# The errors, one in each stretch of 2^depth samples, and the bits of the secret (README.md says why).
TREES, DEPTH, SECRET = 1319, 13, 655_360
# Trees that are expanded at a time: 131,072 transfers, 2 MB.
EXPANDED_TREES = 16
_KEY_LABEL = b"vfxgb ot lpn key"
_LENGTH_BYTES = 8

Kind = Literal["soft", "silent"]
# Rows, and choices at the receiver, of some trees: (first, count) -> arrays.
Expand: TypeAlias = Callable[[int, int], tuple[NDArray[np.uint8], ...]]


@dataclass(frozen=True)
class SilentShape:
    """The LPN problem of a round. Other numbers than the usual ones are for tests and need `insecure`."""

    trees: int = TREES
    depth: int = DEPTH
    secret: int = SECRET
    insecure: bool = False

    def __post_init__(self) -> None:
        if (self.trees, self.depth, self.secret) != (TREES, DEPTH, SECRET) and not self.insecure:
            raise TransferError(
                f"silent transfers: found {self.trees} trees of depth {self.depth} and a secret of {self.secret} bits, "
                f"wanted {TREES}, {DEPTH} and {SECRET}; others are not known to be hard: pass insecure=True in tests"
            )

    @property
    def count(self) -> int:
        """Transfers of a round."""
        return self.trees << self.depth

    @property
    def leaves(self) -> NDArray[np.int32]:
        """The trees' leaves, as trees.py takes them."""
        return np.array([1 << self.depth], dtype=np.int32)


class _Supply:
    """The transfers of rounds that are not used yet, in order. `position`: the number of the next one."""

    def __init__(self, shape: SilentShape, peer: str) -> None:
        self._shape = shape
        self._peer = peer
        self._rounds: deque[tuple[Expand, int]] = deque()  # with the next tree of each
        self._ready: deque[tuple[NDArray[np.uint8], ...]] = deque()
        self.position = 0

    def add(self, expand: Expand) -> None:
        self._rounds.append((expand, 0))

    @property
    def _expanded(self) -> int:
        return sum(len(arrays[0]) for arrays in self._ready)

    @property
    def left(self) -> int:
        return self._expanded + sum((self._shape.trees - tree) << self._shape.depth for _, tree in self._rounds)

    def check(self, count: int) -> None:
        if not 0 < count <= self.left:
            raise TransferError(
                f"silent transfers with {self._peer}: found {self.left} that are left, wanted {count}, one or more; "
                "refill first"
            )

    def draw(self, count: int) -> tuple[NDArray[np.uint8], ...]:
        """The next `count` transfers, which are there. What an interrupt leaves undone changes nothing."""
        while self._expanded < count:
            expand, first = self._rounds[0]
            some = min(EXPANDED_TREES, self._shape.trees - first)
            self._ready.append(expand(first, some))
            self._rounds.popleft()
            if first + some < self._shape.trees:
                self._rounds.appendleft((expand, first + some))
        whole = [np.concatenate(arrays) for arrays in zip(*self._ready, strict=True)]
        self._ready = deque([tuple(array[count:] for array in whole)])
        self.position += count
        return tuple(array[:count] for array in whole)


class _Side:
    """What both parties of a round share: places of rounds, keys of matrices, the supply."""

    def __init__(self, party: Receiver | Sender, domain: int, shape: SilentShape | None) -> None:
        self.peer = party.peer
        self.session = party.session
        self.settings = party.settings
        self._party = party
        self._domain = domain
        self._shape = shape or SilentShape()
        self._line = Line(party.session, party.settings.transfer_bits)
        self._threads = resolve_threads(party.settings.threads)
        self._supply = _Supply(self._shape, party.peer)
        self._rounds = 0

    @property
    def left(self) -> int:
        """Transfers that there are without another `refill`."""
        return self._supply.left

    def _places(self) -> tuple[Place, Place]:
        """Of the trees and of the secret of the next round."""
        return Place(self._domain, 2 * self._rounds), Place(self._domain, 2 * self._rounds + 1)

    def _matrix_key(self, place: Place) -> bytes:
        where = place.domain.to_bytes(4, "little") + place.block.to_bytes(8, "little")
        return hashlib.blake2b(where, digest_size=16, key=self.session, person=_KEY_LABEL).digest()

    def _check(self, place: Place, count: int, step: str) -> None:
        self._party.check_place(place, count, step)
        self._supply.check(count)

    def _draw(self, place: Place, count: int) -> tuple[NDArray[np.uint8], ...]:
        drawn = self._supply.draw(count)
        self._party.take_place(place)
        return drawn

    def __repr__(self) -> str:
        return f"{type(self).__name__}(peer={self.peer!r}, left={self.left})"


class SilentReceiver(_Side):
    """The party that gets random choices. `domain`: the places of its rounds, which nobody else may use.

    Like Receiver, but for `refill`; choices are random always. Not safe to share among threads.
    """

    def __init__(self, receiver: Receiver, domain: int, shape: SilentShape | None = None) -> None:
        super().__init__(receiver, domain, shape)
        self._receiver = receiver
        self._trees = TreeHolder(receiver)
        self._pending: tuple[NDArray[np.uint16], ReceiverBatch] | None = None

    def refill(self) -> bytes:
        """Begin a round: bytes for the sender. TransferError while another one is open."""
        if self._pending is not None:
            raise TransferError(
                f"silent transfers with {self.peer}: a round is open; give the answer to finish() first"
            )
        shape = self._shape
        trees, secret = self._places()
        drawn = np.frombuffer(_native.rand.random_bytes(2 * shape.trees), dtype="<u2").astype(np.uint16)
        holes = drawn & np.uint16((1 << shape.depth) - 1)
        first = self._trees.request(trees, shape.leaves, holes[np.newaxis])
        second, batch = self._receiver.request(secret, shape.secret)
        self._pending = holes, batch
        return len(first).to_bytes(_LENGTH_BYTES, "little") + first + second

    def finish(self, answer: Bytes) -> None:
        """End the round with the sender's answer. TransferError for one that is none; the round stays open then."""
        if self._pending is None:
            raise TransferError(f"silent transfers with {self.peer}: found an answer, and no round is open")
        trees, secret = self._places()
        holes, batch = self._pending
        copaths = self._trees.finish(trees, answer)
        rows, choices = batch.correlated()
        native = _native.ot.SilentReceiver(
            self.session,
            trees.domain,
            trees.block,
            self._matrix_key(secret),
            rows,
            pack_choices(choices),
            self._shape.depth,
            holes,
            copaths,
        )
        self._supply.add(lambda first, count: native.expand(first, count, self._threads))
        self._pending = None
        self._rounds += 1

    def request(self, place: Place, count: int) -> tuple[bytes, ReceiverBatch]:
        """(bytes for the sender, the batch) of `count` transfers. TransferError if so many are not left."""
        self._check(place, count, f"requesting {place} of {self.peer}")
        request = self._line.seal(SILENT_REQUEST, place, self._supply.position)
        rows, choices = self._draw(place, count)
        return request, ReceiverBatch(self.session, place, self.peer, rows, self._threads, 0, choices)


class SilentSender(_Side):
    """The party that has both keys of every transfer. Not safe to share among threads."""

    def __init__(self, sender: Sender, domain: int, shape: SilentShape | None = None) -> None:
        super().__init__(sender, domain, shape)
        self._sender = sender
        self._trees = TreeOwner(sender)
        self.delta = sender.delta
        self._roots: tuple[NDArray[np.uint8], bytes] | None = None

    def refill(self, request: Bytes) -> bytes:
        """Bytes that end the receiver's round. TransferError for a request that is none; it can be sent again then."""
        step = f"silent transfers with {self.peer}"
        shape = self._shape
        trees, secret = self._places()
        view = memoryview(request)
        length = int.from_bytes(view[:_LENGTH_BYTES], "little")
        if len(view) < _LENGTH_BYTES + length:
            raise TransferError(
                f"{step}: found {len(view)} bytes, wanted {_LENGTH_BYTES + length} and more for a round; the bytes are "
                "truncated"
            )
        first, second = view[_LENGTH_BYTES : _LENGTH_BYTES + length], view[_LENGTH_BYTES + length :]
        if self._roots is None:
            self._roots = self._trees.answer(trees, shape.leaves, shape.trees, first)
        roots, answer = self._roots
        rows = self._sender.answer(secret, shape.secret, second).correlated()
        native = _native.ot.SilentSender(
            self.session,
            trees.domain,
            trees.block,
            self.delta,
            self._matrix_key(secret),
            rows,
            shape.depth,
            roots,
        )
        self._supply.add(lambda first, count: (native.expand(first, count, self._threads),))
        self._roots = None
        self._rounds += 1
        return answer

    def answer(self, place: Place, count: int, request: Bytes) -> SenderBatch:
        """The batch of `count` transfers for the receiver's request. TransferError for one that is not the next."""
        step = f"silent transfers with {self.peer}"
        self._check(place, count, f"{step}: answering {place}")
        self._line.unseal(request, SILENT_REQUEST, place, self._supply.position, 0, step)
        (rows,) = self._draw(place, count)
        return SenderBatch(self.session, place, self.peer, rows, self._threads, 0, self.delta)


def receiver_of_kind(kind: Kind, receiver: Receiver, domain: int) -> Receiver | SilentReceiver:
    """The receiver itself for "soft", or a silent one over it. Either has `left` and `request`."""
    return receiver if kind == "soft" else SilentReceiver(receiver, domain)


def sender_of_kind(kind: Kind, sender: Sender, domain: int) -> Sender | SilentSender:
    """The sender itself for "soft", or a silent one over it. Either has `left` and `answer`."""
    return sender if kind == "soft" else SilentSender(sender, domain)
