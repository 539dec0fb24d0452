"""Growth of trees from sums with noise, by one of two rules (Maddock et al., CCS 2022, compare such rules).

`histogram`: XGBoost's splits from noisy histograms, level by level. `random`: features and candidates of all splits are
drawn before anybody is asked, which costs nothing, so that all of epsilon goes to the leaves. Either way the last call
of a tree brings the sums of its leaves alone, with less noise than buckets have: a row is in one of them.

Candidates of random splits are cuts with as equal shares of the hessian between them as the cuts allow. In the first
rounds the sums of hessians per bin are asked for (noisy, as everything): rows that are uncertain still get more
candidates than those that are decided, as in XGBoost's sketch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import CohortError
from vfxgb.horizontal.grower import SERVER_PARTY, Grower, Growing
from vfxgb.horizontal.messages import HessianTask, LevelTask, TreeTask
from vfxgb.horizontal.private_sums import PrivateSums
from vfxgb.numeric.fixed_point import FixedPoint
from vfxgb.rows.sampling import random_words
from vfxgb.transport.messages import pack_array, pack_bytes
from vfxgb.tree.columns import pack_bits
from vfxgb.tree.skeleton import NodeSplits

# A node or leaf counts only if its hessian sum is so many standard deviations of its noise: else noise weighs it.
ABOVE_NOISE = 2.0
# Candidates of a feature for random splits.
CANDIDATES = 32


class PrivateGrower(Grower):
    """A Grower whose sums have noise."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        private = self._calls.private
        assert private is not None  # noqa: S101 - chosen only for runs with noise
        self._private: PrivateSums = private
        self._random = private.plan.settings.splits == "random"
        # A derived sibling would have the noise of two sums, at the same cost.
        self._asks_all = True
        # Candidates per feature, as positions among its cuts.
        self._places = [np.arange(len(cuts)) for cuts in self._columns.cuts]
        self._hessians = np.zeros(int(self._columns.bins.n_bins.sum()))

    def grow(self, round_index: int, n_outputs: int, fixed: FixedPoint) -> list[Growing]:
        """See Grower.grow."""
        n_records, ended_early = len(self.records), self.ended_early
        try:
            if self._random:
                trees = self._draw_round(round_index, n_outputs, fixed)
            else:
                trees = super().grow(round_index, n_outputs, fixed)
            if self.ended_early == ended_early:
                self._weigh_leaves(round_index, trees, fixed)
        except BaseException:
            del self.records[n_records:]
            raise
        return trees

    def _least_weight(self, min_child_weight: float) -> float:
        """A child's hessian sum is made of up to all bins of a feature, each with noise."""
        widest = float(np.sqrt(self._columns.bins.n_bins.max(initial=1)))
        return max(min_child_weight, ABOVE_NOISE * widest * self._private.deviation("level", 1))

    def _weigh_leaves(self, round_index: int, trees: Sequence[Growing], fixed: FixedPoint) -> None:
        """Ask for the sums of the leaves below the last splits, and weigh these by them."""
        depth = self._params.max_depth
        below = [(tree, _last_children(tree)) for tree in trees]
        asked = [(tree, nodes) for tree, nodes in below if len(tree.levels) == depth]
        if not asked:
            return
        self._calls.clock.depth = depth
        no_features = pack_bits(np.zeros(0, dtype=np.int32), len(self._columns.cuts))
        task = LevelTask(
            round=round_index,
            depth=depth,
            exponent=0,
            bits=fixed.bits,
            n_entries=2 * sum(len(nodes) for _, nodes in asked),
            trees=[
                TreeTask(
                    tree=tree.tree,
                    levels=tree.levels,
                    nodes=pack_array(nodes),
                    features=no_features,
                    allowed=pack_bytes(b""),
                )
                for tree, nodes in asked
            ],
        )
        try:
            sums = self._calls.sum(task, needed=self._random).sums
        except CohortError:
            if self._random:
                raise
            # The leaves keep the weights that came with the splits above.
            self.ended_early += 1
            return
        least = max(self._params.min_child_weight, ABOVE_NOISE * self._private.deviation("leaves", 1))
        rule = self.rule(fixed.step, least)
        ends = np.cumsum([2 * len(nodes) for _, nodes in asked])
        for (tree, nodes), part in zip(asked, np.split(sums, ends[:-1]), strict=True):
            tree.skeleton.set_weights(nodes, np.ascontiguousarray(part.reshape(-1, 2)), rule)

    def _draw_round(self, round_index: int, n_outputs: int, fixed: FixedPoint) -> list[Growing]:
        """Trees of full depth whose splits nobody's rows have a part in."""
        self._calls.clock.depth = 0
        if round_index < self._private.plan.hessian_rounds:
            self._space_candidates(round_index)
        rule = self.rule(fixed.step, self._params.min_child_weight)
        trees = [self._begin(round_index, tree, rule, fixed.step) for tree in range(n_outputs)]
        for tree in trees:
            usable = np.array([feature for feature in tree.features.tolist() if len(self._places[feature])])
            for depth in range(self._params.max_depth if len(usable) else 0):
                self._draw_level(round_index, depth, tree, usable)
        return trees

    def _draw_level(self, round_index: int, depth: int, tree: Growing, usable: NDArray[np.int64]) -> None:
        skeleton = tree.skeleton
        m = len(skeleton.nodes)
        words = random_words(self._params.random_state, 3 * m, "random splits", round_index, tree.tree, depth)
        draws = words.reshape(3, m)
        feature = usable[(draws[0] % np.uint64(len(usable))).astype(np.int64)]
        places = [self._places[column] for column in feature.tolist()]
        cut = np.array([row[int(word) % len(row)] for row, word in zip(places, draws[1].tolist(), strict=True)])
        default_left = draws[2] % np.uint64(2) == 1
        first = len(self.records)
        for column, place, left in zip(feature.tolist(), cut.tolist(), default_left.tolist(), strict=True):
            self.records.append((column, float(self._columns.cuts[column][place]), left))
        splits = NodeSplits(
            SERVER_PARTY,
            np.arange(m, dtype=np.int64),
            np.zeros((m, 2), dtype=np.int64),
            np.zeros(m, dtype=np.int8),
            np.arange(first, len(self.records), dtype=np.int32),
        )
        nodes = skeleton.nodes
        (left_children,) = skeleton.split([splits], np.zeros(m), depth + 1 == self._params.max_depth)
        table = np.stack([nodes, left_children, feature, cut, default_left], axis=1)
        tree.levels.append(pack_array(table.astype(np.int32)))

    def _space_candidates(self, round_index: int) -> None:
        """Choose candidates by the noisy hessians of all rounds so far: cuts at equal shares of their sum."""
        n_bins = self._columns.bins.n_bins
        task = HessianTask(round=round_index, n_entries=int(n_bins.sum()))
        sums = self._calls.sum(task).sums
        self._hessians += sums
        self._places = [
            spaced(np.maximum(part, 0.0), CANDIDATES)
            for part in np.split(self._hessians, np.cumsum(n_bins)[:-1].astype(np.int64))
        ]


def spaced(hessians: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """At most `count` of the cuts between bins, ascending: about equal hessian sums lie between them.

    `hessians`: float64[bins], not negative; cut i parts bins 0 to i from the others.
    """
    n_cuts = len(hessians) - 1
    total = float(hessians.sum())
    if n_cuts <= count or total <= 0.0:
        return np.unique(np.linspace(0, n_cuts - 1, min(count, n_cuts)).astype(np.int64)) if n_cuts > 0 else _NONE
    goals = np.arange(1, count + 1) / (count + 1) * total
    return np.unique(np.clip(np.searchsorted(np.cumsum(hessians), goals), 0, n_cuts - 1))


_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def _last_children(tree: Growing) -> NDArray[np.int32]:
    """The nodes below the last level of splits."""
    if not tree.levels:
        return np.zeros(0, dtype=np.int32)
    left = np.frombuffer(tree.levels[-1], np.int32).reshape(-1, 5)[:, 1]
    return np.stack([left, left + 1], axis=1).reshape(-1)
