"""Growth of a round's trees, level by level, by the active party (XGBoost's hist, depth-wise).

One round grows K trees, one per output. A level of all of them is one exchange with every passive party: the splits of
the level before go out with the nodes to score, proposals come back, the best per node is taken, and its owner says
which rows go left. The active party scores its own features while the others work.

A node is split when its best gain is above 1e-6 (XGBoost's kRtEps) and at least gamma (choice.py). Of equal gains the
party that comes first wins, and within a party its first candidate: the lowest global feature id, as in XGBoost. Under
split_rule='centred' the best score takes the place of the best gain (CENTRED.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveLevel, EngineOptions, Gradients, Proposals
from vfxgb.params import TrainParams
from vfxgb.runtime.timings import Timings
from vfxgb.tree.choice import Choice, best_by_gain, best_by_score
from vfxgb.tree.columns import RoundColumns
from vfxgb.tree.growing import GrowingTree, OwnedSplits
from vfxgb.tree.local_features import OwnFeatures
from vfxgb.tree.node_integers import node_integers
from vfxgb.tree.passives import PassiveParties


@dataclass(frozen=True)
class Growth:
    """How trees are grown: the parameters of the training, and what the protocol asks for.

    `bounded` says that the run has monotone constraints. `integer_seed` is that of the integers of nodes (score_bits),
    None for random_state.
    """

    params: TrainParams
    options: EngineOptions
    bounded: bool
    timings: Timings
    integer_seed: int | None = None

    def rule(self, step: float) -> _native.gbdt.SplitRule:
        """The rule that scores splits, where the integer 1 of a gradient sum has the value `step`."""
        params = self.params
        return _native.gbdt.SplitRule(
            step,
            params.reg_lambda,
            params.reg_alpha,
            params.min_child_weight,
            params.delta_step,
            True,
            self.options.first_order,
        )


class Grower:
    """Grows the trees of one round after the other. `passives` is None where there is no passive party."""

    def __init__(
        self, how: Growth, columns: RoundColumns, own: OwnFeatures, passives: PassiveParties | None = None
    ) -> None:
        self._how = how
        self._columns = columns
        self._own = own
        self._passives = passives
        # A parent shows cuts and features that its children withhold: parent minus child is no proposal of the sibling.
        self._subtract = how.options.subtract and not columns.by_node and how.params.min_bucket_rows == 1

    def grow(self, gradients: Gradients, alone: bool) -> list[GrowingTree]:
        """Grow the trees of a round; where `alone`, from the active party's features, and others hear nothing."""
        how, columns = self._how, self._columns
        passives = None if alone else self._passives
        rule = how.rule(gradients.step)
        columns.begin(gradients.round, len(gradients.pairs))
        if passives is not None:
            passives.begin(gradients)
        # The passive parties make ready meanwhile.
        trees = [
            GrowingTree(
                tree, self._own.rows, pairs, gradients.sampled, rule, gradients.step, how.bounded, self._subtract
            )
            for tree, pairs in enumerate(gradients.pairs)
        ]
        self._own.begin_tree(columns.of_trees(columns.layout.active))
        for depth in range(how.params.max_depth):
            open_trees = [tree for tree in trees if len(tree.level.nodes)]
            if not open_trees:
                break
            self._make_integers(gradients, depth, open_trees)
            self._grow_level(
                ActiveLevel(gradients.round, depth, [tree.level for tree in open_trees]), open_trees, passives
            )
        if passives is not None:
            passives.end()
        if gradients.leaves is not None:
            leaf_rule = how.rule(gradients.leaves.step)
            for tree, pairs in zip(trees, gradients.leaves.pairs, strict=True):
                tree.weigh_leaves(self._own.rows, pairs, leaf_rule)
        return trees

    def _make_integers(self, gradients: Gradients, depth: int, trees: list[GrowingTree]) -> None:
        """Where scores are sums of integers, make those of the open nodes."""
        params = self._how.params
        if params.score_bits is None:
            return
        seed = params.random_state if self._how.integer_seed is None else self._how.integer_seed
        with self._how.timings.phase("integers"):
            for tree in trees:
                place = (seed, gradients.round, depth)
                made = node_integers(tree.pairs, tree.level, params.score_bits, *place)
                tree.level = replace(tree.level, integers=made)

    def _grow_level(self, level: ActiveLevel, trees: list[GrowingTree], passives: PassiveParties | None) -> None:
        if passives is not None:
            passives.open(level, trees)
        active = self._columns.layout.active
        with self._how.timings.phase("own sums"):
            own = [self._own.propose(tree, self._columns.allowed(active, level.depth, tree.level)) for tree in trees]
        proposals: dict[int, Sequence[Proposals]] = {active: own}
        if passives is not None:
            proposals.update(passives.propose(level, own))
        self._split(level, trees, proposals, passives)

    def _split(
        self,
        level: ActiveLevel,
        trees: list[GrowingTree],
        proposals: Mapping[int, Sequence[Proposals]],
        passives: PassiveParties | None,
    ) -> None:
        how, active = self._how, self._columns.layout.active
        gains: list[NDArray[np.float64]] = []
        winners: list[dict[int, NDArray[np.int64]]] = []
        for index in range(len(trees)):
            offered = {party: proposals[party][index] for party in sorted(proposals)}
            best, won = self._choose(offered)
            gains.append(best)
            winners.append(won)
        if passives is not None:
            passives.ask(level, proposals, winners)
        with how.timings.phase("own splits"):
            splits = [
                [self._own.take(tree, active, won[active], own)] if active in won else []
                for tree, won, own in zip(trees, winners, proposals[active], strict=True)
            ]
        if passives is not None:
            theirs = passives.answers(level, winners)
            kept = [
                [self._keep(split, tree, own, mine, gain) for split in given]
                for tree, given, own, mine, gain in zip(trees, theirs, proposals[active], splits, gains, strict=True)
            ]
            for mine, given in zip(splits, passives.file(kept), strict=True):
                mine.extend(given)
        with how.timings.phase("apply splits"):
            last = level.depth + 1 == how.params.max_depth
            for tree, owned, gain in zip(trees, splits, gains, strict=True):
                tree.split(owned, gain, last)

    def _choose(self, offered: Mapping[int, Proposals]) -> Choice:
        """Who wins the nodes of one tree."""
        params, active = self._how.params, self._columns.layout.active
        # Scores of integers were compared by the protocol: only winners have a gain, whatever it will be.
        if params.rule == "gain" or params.score_bits is not None:
            return best_by_gain(offered, params.gamma)
        return best_by_score(offered, active, params.gamma)

    def _keep(
        self, split: OwnedSplits, tree: GrowingTree, own: Proposals, mine: list[OwnedSplits], gain: NDArray[np.float64]
    ) -> OwnedSplits:
        """Those of a passive party's splits that are made, of splits whose gains became known with their rows.

        A node that the others did not deserve is split by the active party's own best, which is added to `mine`, or is
        a leaf. `gain` has the gains of the tree's open nodes and is brought up to date.
        """
        if split.gain is None:
            return split
        params, active = self._how.params, self._columns.layout.active
        none = np.zeros(0, dtype=np.int64)
        offered = {
            active: Proposals(own.gain[split.positions], none, none),
            split.party: Proposals(split.gain, none, none),
        }
        if params.rule == "gain":
            # In party order, in which the first of equal gains wins; by scores the active party's own does.
            offered = {party: offered[party] for party in sorted(offered)}
        best, won = best_by_gain(offered, params.gamma)
        gain[split.positions] = best
        if active in won:
            mine.append(self._own.take(tree, active, np.sort(split.positions[won[active]]), own))
        return split.only(won.get(split.party, none), tree.level)
