"""Rows on their way through growing trees: bins, margins, and the node of every row. A user's, or the server's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk, unpack_array

Float32Array = NDArray[np.float32]

# Node, left child, feature, bin, default direction: see messages.TreeTask.
SPLIT_FIELDS = 5


@dataclass
class _Tree:
    """A tree of the round under way. `depth`: levels of splits applied so far."""

    partition: _native.gbdt.RowPartition
    depth: int = 0


class BinnedRows:
    """Rows float32[n, F] (NaN is missing), binned by `cuts`; `margins`, float32[n, K], are all `start` at first.

    Error messages begin with `where`, "user 3" or "server". Margins grow by `finish`, a round at a time.
    """

    def __init__(
        self,
        X: Float32Array,
        cuts: Sequence[Float32Array],
        start: NDArray[np.float64],
        where: str,
        threads: int,
    ) -> None:
        self.bins = _native.gbdt.Bins(len(X), [values.astype(np.float64) for values in cuts])
        for feature in range(len(cuts)):
            self.bins.fill(feature, X[:, feature], 0, threads)
        self.margins: Float32Array = np.tile(start.astype(np.float32), (len(X), 1))
        self._where = where
        self._threads = threads
        self._trees: list[_Tree] = []

    @property
    def begun(self) -> bool:
        """Whether a round is under way."""
        return bool(self._trees)

    def begin(self, sampled: NDArray[np.int32] | None) -> None:
        """A new round: one tree per output, all rows in its root."""
        n, outputs = self.margins.shape
        self._trees = [_Tree(_native.gbdt.RowPartition(n, sampled)) for _ in range(outputs)]

    def grow(self, tree: int, levels: Sequence[Bulk]) -> _native.gbdt.RowPartition:
        """Apply those of the tree's levels that are new. Raises MessageError for splits that cannot be."""
        if not 0 <= tree < len(self._trees):
            raise MessageError(f"{self._where}, growing a tree: found tree {tree}, wanted one of {len(self._trees)}")
        state = self._trees[tree]
        for level in levels[state.depth :]:
            self._split(state.partition, level, f"{self._where}, splitting nodes of tree {tree}, depth {state.depth}")
            state.depth += 1
        return state.partition

    def _split(self, partition: _native.gbdt.RowPartition, level: Bulk, what: str) -> None:
        k = len(level) // (4 * SPLIT_FIELDS)
        splits = unpack_array(level, np.int32, (k, SPLIT_FIELDS), what)
        nodes, left, feature, place, default_left = np.ascontiguousarray(splits.T)
        try:
            bits = _native.gbdt.left_bits(self.bins, partition, nodes, feature, place, default_left != 0, self._threads)
            partition.split(nodes, left, left + np.int32(1), bits, self._threads)
        except (ValueError, IndexError) as error:
            raise MessageError(f"{what}: {error}") from None

    def finish(self, trees: Sequence[tuple[Sequence[Bulk], Bulk]]) -> None:
        """End the round: the rest of every tree's splits, and its values added to the margins of the rows."""
        if len(trees) != len(self._trees):
            raise MessageError(
                f"{self._where}, reading the trees of a round: found {len(trees)}, wanted {len(self._trees)}"
            )
        for tree, (levels, packed) in enumerate(trees):
            partition = self.grow(tree, levels)
            what = f"{self._where}, reading the values of tree {tree}"
            values = unpack_array(packed, np.float32, (len(packed) // 4,), what)
            if int(partition.nodes()[-1]) >= len(values) or not np.isfinite(values).all():
                raise MessageError(f"{what}: found {len(values)} of them, or one that is not finite")
            partition.add_values(values, self.margins, tree, self._threads)
        self._trees = []
