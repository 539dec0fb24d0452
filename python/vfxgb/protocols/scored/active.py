"""The active party's side: it tells rule and totals, and reads gains."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, ChosenSums, Gradients, LevelNodes, Proposals
from vfxgb.errors import MessageError
from vfxgb.protocols.receive import receive_level
from vfxgb.protocols.scored.messages import BestSplits, ScoreLevel, ScoreRule, TreeBest, TreeTotals
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_array, pack_optional, unpack_array


class ScoredActive:
    """An ActiveRole. A protocol adds what its passive parties need to make sums: `_send_round` and `_send_level`."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._pairs: Sequence[NDArray[np.int64]] = ()
        self._level: ActiveLevel | None = None
        self._proposals: dict[str, list[Proposals]] = {}
        self._directions: dict[str, list[NDArray[np.int8]]] = {}

    def _send_round(self, gradients: Gradients) -> None:
        """The rule is out: send what else a round needs."""

    def _send_level(self, level: ActiveLevel) -> None:
        """The totals are out: exchange what else a level needs. The other side is in its `_left_sums`."""

    def begin_tree(self, gradients: Gradients) -> None:
        """See ActiveRole."""
        train = self._context.train
        self._pairs = gradients.arrays
        rule = ScoreRule(
            round=gradients.round,
            step=gradients.step,
            reg_lambda=train.reg_lambda,
            reg_alpha=train.reg_alpha,
            min_child_weight=train.min_child_weight,
            max_delta_step=train.delta_step,
            first_order=self._context.first_order,
        )
        broadcast(list(self._context.channels.values()), rule)
        self._send_round(gradients)

    def open_level(self, level: ActiveLevel) -> None:
        """See ActiveRole."""
        self._level = level
        message = ScoreLevel(
            round=level.round, depth=level.depth, trees=[tree_totals(nodes, nodes.totals) for nodes in level.trees]
        )
        broadcast(list(self._context.channels.values()), message)
        self._send_level(level)

    def propose(self, level: ActiveLevel) -> Mapping[str, Sequence[Proposals]]:
        """See ActiveRole."""
        for party in self._context.channels:
            self._read_best(party, level)
        return self._proposals

    def _read_best(self, party: str, level: ActiveLevel) -> None:
        context, what = self._context, f"reading the best splits of {party}"
        message = receive_level(context, context.channels[party], BestSplits, what, level)
        self._proposals[party], self._directions[party] = [], []
        for nodes, tree in zip(level.trees, message.trees, strict=True):
            proposals, directions = read_tree(tree, nodes, f"{what}, tree {tree.tree}")
            self._proposals[party].append(proposals)
            self._directions[party].append(directions)

    def chosen(
        self,
        party: str,
        index: int,
        positions: NDArray[np.int64],
        tokens: NDArray[np.int64],
        bits: memoryview,
    ) -> ChosenSums:
        """See ActiveRole."""
        assert self._level is not None  # noqa: S101 - a level was proposed before
        if tokens.any():
            raise MessageError(f"applying a split of {party}: found token {int(tokens.max())}, wanted 0")
        nodes = self._level.trees[index]
        left = nodes.left_sums(positions, bits, self._pairs[nodes.tree])
        return ChosenSums(left, self._directions[party][index][positions])

    def end_tree(self) -> None:
        """See ActiveRole."""
        self._pairs, self._level = (), None
        self._proposals, self._directions = {}, {}

    def close(self) -> None:
        """See ActiveRole: nothing runs in the background."""


def tree_totals(nodes: LevelNodes, totals: NDArray[np.int64]) -> TreeTotals:
    """What a passive party is told of a tree's nodes in order to score: `totals` int64[m, 2], and limits of weights."""
    return TreeTotals(tree=nodes.tree, totals=pack_array(totals), bounds=pack_optional(nodes.bounds))


def read_tree(tree: TreeBest, nodes: LevelNodes, what: str) -> tuple[Proposals, NDArray[np.int8]]:
    """The proposals of one tree, and the monotone direction of each node's best split. Raises MessageError."""
    m = len(nodes.nodes)
    gain = unpack_array(tree.gain, np.float64, (m,), what)
    if not (np.isfinite(gain) & (gain >= 0)).all():
        raise MessageError(f"{what}: found a gain below 0 or not finite, wanted at least 0")
    start = np.append(0, np.cumsum(gain > 0)).astype(np.int64)
    tokens = np.zeros(int(start[-1]), dtype=np.int64)
    direction = np.zeros(m, dtype=np.int8)
    if nodes.bounds is not None:
        direction = unpack_array(tree.constraint, np.int8, (m,), what)
    if not np.isin(direction, (-1, 0, 1)).all():
        raise MessageError(f"{what}: found a monotone direction other than -1, 0 and 1")
    return Proposals(gain, start, tokens), direction
