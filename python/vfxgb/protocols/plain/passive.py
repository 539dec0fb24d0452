"""A passive party's side of `plain`: sum gradients over its candidates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveLevel, PassiveTree
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.passive import ShownSums
from vfxgb.protocols.plain.messages import PlainGradients, PlainSums, TreeSums
from vfxgb.rows.gradients import spread_pairs
from vfxgb.rows.parts import Pairs
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.tree.candidates import CandidateList


class PlainPassive(ShownSums):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._pairs: list[Pairs] = []

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Draw the secret order of each tree's candidates and read the gradients."""
        self._draw(trees)
        self._pairs = [self._receive(round_index, tree, sampled) for tree in range(len(trees))]

    def _receive(self, round_index: int, tree: int, sampled: NDArray[np.int32] | None) -> Pairs:
        with self._context.timings.phase("wait"):
            message = self._context.channel.recv(PlainGradients)
        if (message.round, message.tree) != (round_index, tree):
            raise MessageError(
                f"{self._context.party} reading gradients: found round {message.round}, tree {message.tree}, wanted "
                f"round {round_index}, tree {tree}"
            )
        rows = self._context.n_train if sampled is None else len(sampled)
        pairs = unpack_array(message.pairs, np.int64, (rows, 2), f"{self._context.party} reading gradients")
        if sampled is not None:
            pairs = spread_pairs(pairs, sampled, self._context.n_train)
        return self._context.rows.pairs(pairs)

    def open_level(self, level: PassiveLevel) -> None:
        """Send the left sums of the nodes to build."""
        context = self._context
        self._send_facts(level)
        answers = []
        with context.timings.phase("sums"):
            for nodes in level.trees:
                candidates = self._candidates[nodes.tree]
                sums = candidates.left_sums(
                    self._trees[nodes.tree].partition,
                    np.ascontiguousarray(nodes.nodes[nodes.build]),
                    self._pairs[nodes.tree],
                    None if nodes.allowed is None else nodes.allowed[nodes.build],
                    self._trees[nodes.tree].cuts,
                )
                answers.append(tree_sums(candidates, sums, level.depth))
                self._note_shown(nodes)
        context.channel.send(PlainSums(round=level.round, depth=level.depth, trees=answers))

    def end_tree(self) -> None:
        """Forget gradients and orders; count what was shown."""
        self._pairs = []
        self._forget()

    def close(self) -> None:
        """Nothing runs in the background."""


def tree_sums(candidates: CandidateList, sums: NDArray[np.int64], depth: int) -> TreeSums:
    """Left sums of one tree as they are sent, on the first level with the monotone directions."""
    directions = candidates.constraint if depth == 0 else None
    return TreeSums(
        n_candidates=len(candidates),
        sums=pack_array(sums),
        constraint=pack_bytes(b"") if directions is None else pack_array(directions),
    )
