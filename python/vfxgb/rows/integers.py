"""The integers that stand for gradients of open nodes (tree/CENTRED.md), made where the rows are.

A party's process knows of them what adds up over rows: their sums and squares by node. Who chooses the shifts by these
is tree/node_integers.py.
"""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.rows.parts import Nodes
from vfxgb.rows.sampling import stream_words

# (sum of the values, sum of their squares) of each node, in full.
NodeNorms: TypeAlias = tuple[list[int], list[int]]
# RowIntegers of the store that is asked.
OwnIntegers: TypeAlias = Any


class RowIntegers(Protocol):
    """int64[n_train], wherever the rows are: `np.asarray` brings them here, and copies nothing that is here."""

    def __array__(self) -> NDArray[np.int64]: ...


class CentredRows(Protocol):
    """The centred gradients g - (G / H) h of the rows of some nodes, and integers made of them."""

    @property
    def n_train(self) -> int:
        """Count the training rows, in these nodes or not."""

    def norms(self) -> NodeNorms:
        """Those of the centred gradients."""

    def round(self, shift: NDArray[np.int32], stream: bytes, signs: NDArray[np.int64]) -> NodeNorms:
        """Divide by 2**shift, rounded up or down by the words of `stream`, times the sign; per node both, [m].

        Returns the norms of what was made.
        """

    @property
    def integers(self) -> RowIntegers:
        """What `round` has made last; 0 for rows of none of the nodes."""


class MemoryCentred:
    """See CentredRows: in this process. `place`: int32[n_train], the position of each row's node, or -1."""

    def __init__(
        self, pairs: NDArray[np.int64], place: NDArray[np.int32], totals: NDArray[np.int64], threads: int
    ) -> None:
        self.n_train = len(place)
        self._place = place
        self._count = len(totals)
        self._threads = threads
        self._centred = _native.gbdt.centre_rows(pairs, place, totals, threads)
        self.integers: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def norms(self) -> NodeNorms:
        """See CentredRows."""
        return node_norms(self._centred, self._place, self._count)

    def round(self, shift: NDArray[np.int32], stream: bytes, signs: NDArray[np.int64], first: int = 0) -> NodeNorms:
        """See CentredRows. `first`: the number of the first row, for a shard."""
        words = stream_words(stream, len(self._place), first)
        self.integers = _native.gbdt.round_rows(
            self._centred, self._place, shift, signs.astype(np.int32), words, self._threads
        )
        return node_norms(self.integers, self._place, self._count)


def node_norms(values: NDArray[np.int64], place: NDArray[np.int32], nodes: int) -> NodeNorms:
    """Per node the sum of its values and the sum of their squares, in full."""
    sums, words = _native.gbdt.node_norms(values, place, nodes)
    return sums.tolist(), [low + (high << 64) for low, high in words.tolist()]


def node_places(leaves: Nodes, nodes: Nodes) -> NDArray[np.int32]:
    """The position among `nodes` (ascending) of each row's node, or -1, from the node of every row."""
    most = max(int(leaves.max(initial=0)), int(nodes.max(initial=0)))
    position = np.full(most + 1, -1, dtype=np.int32)
    position[nodes] = np.arange(len(nodes), dtype=np.int32)
    return position[leaves]


def integer_pairs(integers: NDArray[np.integer]) -> NDArray[np.int64]:
    """The integers of rows in the form of gradient pairs, int64[n_train, 2], whose second number is 0."""
    return np.stack([integers, np.zeros_like(integers)], axis=1).astype(np.int64, copy=False)
