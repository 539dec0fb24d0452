"""A passive party's side: it makes left sums, scores them and remembers its best splits."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import (
    LevelNodes,
    PassiveContext,
    PassiveLevel,
    PassiveNodes,
    PassiveTree,
    Resolved,
)
from vfxgb.errors import MessageError
from vfxgb.protocols.receive import receive, receive_level
from vfxgb.protocols.scored.messages import BestSplits, ScoreLevel, ScoreRule, TreeBest
from vfxgb.transport.messages import pack_array, pack_optional, unpack_array
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.proposal import SumTable


class ScoredPassive(ABC):
    """A PassiveRole. A protocol adds how it makes sums: `_receive_round`, `_left_sums`, and what a round leaves.

    `step`: the value of the integer 1 in sums. Candidates stand in their true order: nobody else sees it.
    """

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._trees: Sequence[PassiveTree] = ()
        self._candidates: list[CandidateList] = []
        self._tables: list[SumTable] = []
        self._rule: _native.gbdt.SplitRule | None = None
        self._open: dict[int, PassiveNodes] = {}
        # tree -> the best split of each open node, by position: candidate, or -1 for none
        self._best: dict[int, NDArray[np.int64]] = {}
        self.step = 1.0

    def _receive_round(  # noqa: B027 - not every protocol sends something
        self, round_index: int, sampled: NDArray[np.int32] | None
    ) -> None:
        """Read what `_send_round` of the active side sends."""

    def _sum_pairs(self, nodes: PassiveNodes, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums that `_left_sums` wants, of (g, h) that this party has in clear: int64[n_train, 2]."""
        tree, built = self._trees[nodes.tree], np.ascontiguousarray(nodes.nodes[nodes.build])
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        with self._context.timings.phase("sums"):
            return self._candidates[nodes.tree].left_sums(tree.partition, built, pairs, allowed, tree.cuts)

    @abstractmethod
    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:
        """Left sums of the nodes to build of tree `index` of the level, int64[len(build), c, 2], true order."""

    def _exchange(self, level: PassiveLevel) -> None:  # noqa: B027 - not every protocol has something to exchange
        """Exchange what comes before the totals of a level."""

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """See PassiveRole."""
        context = self._context
        self._trees = trees
        self._candidates = [
            CandidateList(context.rows, context.has_missing, tree.features, context.constraints, None, context.threads)
            for tree in trees
        ]
        self._tables = [SumTable(candidates.constraint, context.threads) for candidates in self._candidates]
        self._open, self._best = {}, {}
        self._rule = self._read_rule(round_index)
        self._receive_round(round_index, sampled)

    def _read_rule(self, round_index: int) -> _native.gbdt.SplitRule:
        context, what = self._context, f"{self._context.party} reading the rule"
        message = receive(context, context.channel, ScoreRule, what, round=round_index)
        try:
            rule = _native.gbdt.SplitRule(
                message.step,
                message.reg_lambda,
                message.reg_alpha,
                message.min_child_weight,
                message.max_delta_step,
                True,
                message.first_order,
            )
        except ValueError as error:
            raise MessageError(f"{what}: {error}") from None
        self.step = message.step
        return rule

    def open_level(self, level: PassiveLevel) -> None:
        """See PassiveRole."""
        context = self._context
        self._exchange(level)
        totals = self._read_totals(level)
        answers = []
        for index, (nodes, (sums, bounds)) in enumerate(zip(level.trees, totals, strict=True)):
            left = self._left_sums(level, index)
            with context.timings.phase("score"):
                answers.append(self._score(nodes, left, sums, bounds))
        context.channel.send(BestSplits(round=level.round, depth=level.depth, trees=answers))

    def _read_totals(self, level: PassiveLevel) -> list[tuple[NDArray[np.int64], NDArray[np.float64] | None]]:
        context = self._context
        message = receive_level(context, context.channel, ScoreLevel, f"{context.party} reading totals", level)
        totals: list[tuple[NDArray[np.int64], NDArray[np.float64] | None]] = []
        for nodes, tree in zip(level.trees, message.trees, strict=True):
            what = f"{context.party} reading totals of tree {tree.tree}"
            sums = unpack_array(tree.totals, np.int64, (len(nodes.nodes), 2), what)
            bounds = None
            if context.constraints is not None:
                bounds = unpack_array(tree.bounds, np.float64, (len(nodes.nodes), 2), what)
                if not (bounds[:, 0] <= bounds[:, 1]).all():
                    raise MessageError(f"{what}: found limits of weights that exclude every weight")
            totals.append((sums, bounds))
        return totals

    def _score(
        self,
        nodes: PassiveNodes,
        left: NDArray[np.int64],
        totals: NDArray[np.int64],
        bounds: NDArray[np.float64] | None,
    ) -> TreeBest:
        candidates = self._candidates[nodes.tree]
        proposals = self._tables[nodes.tree].propose(self._as_level(nodes, totals, bounds), left)
        best = np.full(len(nodes.nodes), -1, dtype=np.int64)
        split = np.diff(proposals.start) > 0
        # Ascending within a node: the first is the first in XGBoost's order.
        best[split] = proposals.tokens[proposals.start[:-1][split]]
        self._best[nodes.tree], self._open[nodes.tree] = best, nodes
        directions = None
        if candidates.constraint is not None:
            padded = np.append(candidates.constraint, np.int8(0))  # for the -1 of no split
            directions = padded[best]
        return TreeBest(tree=nodes.tree, gain=pack_array(proposals.gain), constraint=pack_optional(directions))

    def _as_level(
        self, nodes: PassiveNodes, totals: NDArray[np.int64], bounds: NDArray[np.float64] | None
    ) -> LevelNodes:
        """The nodes as the scoring code wants them; siblings are the nodes with the same parent."""
        assert self._rule is not None  # noqa: S101 - begin_tree came first
        m, before = len(nodes.nodes), self._open.get(nodes.tree)
        sibling, parent = np.full(m, -1, dtype=np.int64), np.full(m, -1, dtype=np.int64)
        known = nodes.nodes[:0] if before is None else before.nodes
        derived = np.setdiff1d(np.arange(m), nodes.build)
        above, built = nodes.parents[derived], nodes.parents[nodes.build]
        unknown = derived[~(np.isin(above, built) & np.isin(above, known))]
        if len(unknown):
            raise MessageError(
                f"{self._context.party} opening a level: node {int(nodes.nodes[unknown[0]])} is not to be built, but "
                "neither are its parent's sums and its sibling's known"
            )
        if len(derived):
            order = np.argsort(built, kind="stable")
            sibling[derived] = nodes.build[order[np.searchsorted(built, above, sorter=order)]]
            parent[derived] = np.searchsorted(known, above)
        return LevelNodes(
            nodes.tree,
            nodes.nodes,
            totals,
            bounds,
            nodes.build,
            sibling,
            parent,
            self._rule,
            self._trees[nodes.tree].partition,
        )

    def resolve(
        self,
        tree: int,
        nodes: NDArray[np.int32],
        start: NDArray[np.int64],
        tokens: NDArray[np.int64],
    ) -> Resolved:
        """See PassiveRole."""
        party = self._context.party
        held = self._open.get(tree)
        if held is None or not np.isin(nodes, held.nodes).all():
            raise MessageError(f"{party} choosing a split: found nodes that this party did not score")
        best = self._best[tree][np.searchsorted(held.nodes, nodes)]
        if tokens.any() or len(tokens) != len(nodes) or (np.diff(start) != 1).any() or (best < 0).any():
            raise MessageError(f"{party} choosing a split: found tokens or nodes that this party did not offer")
        cuts = self._candidates[tree].resolve(np.arange(len(nodes) + 1, dtype=np.int64), best)
        return Resolved(np.zeros_like(tokens), cuts.feature, cuts.bin, cuts.default_left)

    def end_tree(self) -> None:
        """See PassiveRole."""
        self._trees, self._candidates, self._tables = (), [], []
        self._open, self._best = {}, {}

    def close(self) -> None:  # noqa: B027 - not every protocol has something to end
        """See PassiveRole: nothing runs in the background."""
