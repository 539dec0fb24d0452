"""Which features the trees and nodes of a round may use, and which party holds them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import OpenNodes
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import ColumnSampler
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes

# In messages an empty set of bits stands for all features, or for all rows.
ALL = pack_bytes(b"")


@dataclass(frozen=True)
class Layout:
    """Who holds which global feature ids: party i those from first[i] to first[i + 1] - 1; `active` is a position."""

    parties: tuple[str, ...]
    first: tuple[int, ...]
    active: int

    @property
    def n_features(self) -> int:
        """Count the features of all parties."""
        return self.first[-1]

    def local(self, party: int, features: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the ascending global ids that `party` holds, counted within it."""
        begin, end = np.searchsorted(features, (self.first[party], self.first[party + 1]))
        return features[begin:end] - np.int32(self.first[party])


class RoundColumns:
    """The features that column sampling leaves to the trees of a round and to their nodes."""

    def __init__(self, layout: Layout, params: TrainParams) -> None:
        self.layout = layout
        self._sampler = ColumnSampler(layout.n_features, params)
        # Whether nodes of one tree may use different features.
        self.by_node = min(params.colsample_bylevel, params.colsample_bynode) < 1.0
        self._round = -1
        self._trees: list[NDArray[np.int32]] = []
        # (tree, depth) -> the features that each open node may use, bool per global id; drawn when first asked for.
        self._nodes: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def begin(self, round_index: int, outputs: int) -> None:
        """Draw the features of each tree of a new round."""
        self._round, self._nodes = round_index, {}
        self._trees = [self._sampler.tree(round_index, tree) for tree in range(outputs)]

    def of_trees(self, party: int) -> list[NDArray[np.int32]]:
        """The features of a party that each tree may use, counted within the party, ascending."""
        return [self.layout.local(party, ids) for ids in self._trees]

    def packed(self, party: int) -> list[Bulk]:
        """What `of_trees` says, for a message: one bit for each feature of the party, or ALL."""
        held = self.layout.first[party + 1] - self.layout.first[party]
        return [
            ALL if len(ids) == self.layout.n_features else pack_bits(self.layout.local(party, ids), held)
            for ids in self._trees
        ]

    def allowed(self, party: int, depth: int, level: OpenNodes) -> NDArray[np.bool_] | None:
        """Which of the tree's features at a party each open node may use: bool[m, features], or None for all."""
        if not self.by_node:
            return None
        place = (level.tree, depth)
        if place not in self._nodes:
            self._nodes[place] = self._sampler.nodes(self._round, level.tree, depth, level.nodes.tolist())
        first, features = self.layout.first[party], self.layout.local(party, self._trees[level.tree])
        return self._nodes[place][:, first + features]


def pack_bits(members: NDArray[np.int32], count: int) -> Bulk:
    """The set `members` of 0 .. count - 1, one bit each. An empty set still has its bytes."""
    bits = np.zeros(max(count, 1), dtype=np.uint8)
    bits[members] = 1
    return pack_array(np.packbits(bits, bitorder="little"))


def pack_allowed(allowed: NDArray[np.bool_] | None) -> Bulk:
    """What `RoundColumns.allowed` says, for a message."""
    return ALL if allowed is None else pack_array(np.packbits(allowed, bitorder="little"))
