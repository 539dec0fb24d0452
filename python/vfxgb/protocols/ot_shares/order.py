"""Sums in an order that only the passive party knows: share translation between the two roles (cpp/gbdt/translation.h).

X, Y: the parties' shares of n sums, of which Y - X is the sum. p: the secret order, position i shows sum p(i). A layer
permutes within groups of places; one layer of one group does for few sums. For many there are three, over the cells of
a matrix: rows, columns, rows. With a, b of each layer's trees of masks the active party sends

    X + a1, a2 - b1, a3 - b2     (one after the other: b and a of neighbouring layers stand for the same cells)

from which the passive party, layer by layer, has X in the order so far under the mask b of the layer. Position i of its
answer Y_p(i) - (X_p(i) + b_i) is opened by adding b_i, which only the active party knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.ot import HolderSession, OwnerSession, Place
from vfxgb.transport.messages import Bulk

# One layer takes n^2 hashes a node, three take 3 n sqrt(n) and three times the bytes.
DIRECT_PLACES = 512
FIRST_DOMAIN = _native.TREES_DOMAIN + 1

Pairs = NDArray[np.uint64]


@dataclass(frozen=True)
class Layer:
    """`groups` permutations of `size` places each."""

    groups: int
    size: int

    @property
    def places(self) -> int:
        """In all groups."""
        return self.groups * self.size

    @property
    def leaves(self) -> NDArray[np.int32]:
        """Of every tree."""
        return np.array([self.size], dtype=np.int32)

    def turned(self, pairs: Pairs) -> Pairs:
        """uint64[m, places, 2] from group by group to place by place: the order of the next layer."""
        shaped = pairs.reshape(len(pairs), self.groups, self.size, 2)
        return np.ascontiguousarray(shaped.swapaxes(1, 2)).reshape(pairs.shape)


def layers_for(n: int) -> tuple[Layer, ...]:
    """The layers for n sums; none for none."""
    if n == 0:
        return ()
    if n <= DIRECT_PLACES:
        return (Layer(1, n),)
    columns = 1 << round((n.bit_length() - 1) / 2)
    rows = -(-n // columns)
    return (Layer(rows, columns), Layer(columns, rows), Layer(rows, columns))


def place_of(counter: int, layer: int) -> Place:
    """Where the transfers of a layer of the tree with this number belong."""
    return Place(FIRST_DOMAIN + layer, counter)


class OwnerOrder:
    """The active party's side for one tree: it masks and opens, and learns nothing of the order.

    `requests`: the passive party's, one per layer. Raises TransferError.
    """

    def __init__(self, session: OwnerSession, counter: int, n: int, requests: Sequence[Bulk], threads: int) -> None:
        self._layers = layers_for(n)
        self._threads = threads
        self._next = 0
        self._trees: list[_native.TranslationLayer] = []
        self.answers: list[bytes] = []
        for number, (layer, request) in enumerate(zip(self._layers, requests, strict=True)):
            place = place_of(counter, number)
            roots, answer = session.answer(place, layer.leaves, layer.places, request)
            leaves = _native.tree_leaves(
                session.session, place.domain, place.block, session.delta, layer.leaves, roots, threads
            )
            self._trees.append(_translation(session.session, place, layer, leaves))
            self.answers.append(answer)

    def cover(self, shares: Pairs) -> tuple[list[Pairs], Pairs]:
        """What to send for shares uint64[m, n, 2] of m new nodes, and the masks that open the answer."""
        m, n = shares.shape[:2]
        carried, sent = shares, []
        masks = shares[:, :0]
        for layer, trees in zip(self._layers, self._trees, strict=True):
            a, b = trees.masks(self._next, m, self._threads)
            a[:, : carried.shape[1]] += carried
            sent.append(a)
            carried = np.uint64(0) - layer.turned(b)
            masks = b[:, :n]
        self._next += m
        return sent, masks


class HolderOrder:
    """The passive party's side for one tree. `order`: int64[n], position i shows sum order[i]."""

    def __init__(self, session: HolderSession, counter: int, order: NDArray[np.int64], threads: int) -> None:
        self._session = session
        self._counter = counter
        self._order = order
        self._threads = threads
        self._layers = layers_for(len(order))
        self._holes = _routed(order, self._layers)
        self._next = 0
        self._trees: list[_native.TranslationLayer] = []
        self.requests = [
            session.request(place_of(counter, number), layer.leaves, holes[None, :])
            for number, (layer, holes) in enumerate(zip(self._layers, self._holes, strict=True))
        ]

    def finish(self, answers: Sequence[Bulk]) -> None:
        """The active party's answers, one per layer. Raises TransferError."""
        session = self._session
        for number, (layer, holes, answer) in enumerate(zip(self._layers, self._holes, answers, strict=True)):
            place = place_of(self._counter, number)
            copaths = session.finish(place, answer)
            leaves = _native.tree_leaves_punctured(
                session.session, place.domain, place.block, layer.leaves, holes[None, :], copaths, self._threads
            )
            self._trees.append(_translation(session.session, place, layer, leaves))

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Of the order."""
        return self._layers

    def translate(self, shares: Pairs, sent: Sequence[Pairs]) -> Pairs:
        """The answer uint64[m, n, 2] for own shares of m new nodes and what the active party sent, per layer."""
        m, n = shares.shape[:2]
        carried, shown = np.zeros_like(sent[0]) if sent else shares, shares
        for layer, holes, trees, more in zip(self._layers, self._holes, self._trees, sent, strict=True):
            source = np.arange(layer.places) // layer.size * layer.size + holes
            a, b = trees.masks(self._next, m, self._threads)
            theirs = (carried + more - a)[:, source] + b
            shown = shares[:, self._order] - theirs[:, :n]
            carried = layer.turned(theirs)
        self._next += m
        return shown


def _routed(order: NDArray[np.int64], layers: Sequence[Layer]) -> list[NDArray[np.uint16]]:
    """For each layer where, within its group, the value of each place comes from."""
    if len(layers) < 2:
        return [order.astype(np.uint16) for _ in layers]
    # Places beyond the sums keep theirs: they come out last and are never shown.
    whole = np.concatenate([order, np.arange(len(order), layers[0].places)])
    return list(_native.route(whole, layers[0].groups, layers[0].size))


def _translation(session: bytes, place: Place, layer: Layer, leaves: NDArray[np.uint8]) -> _native.TranslationLayer:
    return _native.TranslationLayer(session, place.domain, place.block, leaves, layer.groups, layer.size)
