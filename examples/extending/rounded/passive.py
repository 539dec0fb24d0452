"""A passive party's side of `rounded`: sum gradients over its candidates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rounded.messages import RoundedGradients, RoundedSums, TreeSums
from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes, PassiveTree
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.passive import ShownSums
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array


class RoundedPassive(ShownSums):
    """A PassiveRole. ShownSums draws the secret order of candidates and finds the winners again."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._pairs: list[NDArray[np.int64]] = []

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Draw the order of each tree's candidates and read the gradients."""
        self._draw(trees)
        self._pairs = [self._receive(round_index, tree, sampled) for tree in range(len(trees))]

    def _receive(self, round_index: int, tree: int, sampled: NDArray[np.int32] | None) -> NDArray[np.int64]:
        context = self._context
        with context.timings.phase("wait"):
            message = context.channel.recv(RoundedGradients)
        rows = context.n_train if sampled is None else len(sampled)
        found, wanted = (message.round, message.tree, message.rows), (round_index, tree, rows)
        what = f"{context.party} reading gradients"
        if found != wanted:
            raise MessageError(f"{what}: found round, tree and rows {found}, wanted {wanted}")
        pairs = unpack_array(message.pairs, context.params.dtype, (rows, 2), what)
        spread = np.zeros((context.n_train, 2), dtype=np.int64)
        spread[slice(None) if sampled is None else sampled] = pairs
        return spread

    def open_level(self, level: PassiveLevel) -> None:
        """Send the left sums of the nodes to build."""
        with self._context.timings.phase("sums"):
            answers = [self._sums(nodes, level.depth) for nodes in level.trees]
        self._context.channel.send(RoundedSums(round=level.round, depth=level.depth, trees=answers))

    def _sums(self, nodes: PassiveNodes, depth: int) -> TreeSums:
        candidates = self._candidates[nodes.tree]
        sums = candidates.left_sums(
            self._trees[nodes.tree].partition,
            np.ascontiguousarray(nodes.nodes[nodes.build]),
            self._pairs[nodes.tree],
            None if nodes.allowed is None else nodes.allowed[nodes.build],
            self._trees[nodes.tree].cuts,
        )
        # The ledger tells how many nodes were opened, and how many of the sums are over few rows.
        self._note_shown(nodes)
        directions = candidates.constraint if depth == 0 else None
        return TreeSums(
            n_candidates=len(candidates),
            sums=pack_array(sums),
            directions=pack_bytes(b"") if directions is None else pack_array(directions),
        )

    def end_tree(self) -> None:
        """Forget gradients and orders; count what was shown."""
        self._pairs = []
        self._forget()

    def close(self) -> None:
        """Nothing runs in the background."""
