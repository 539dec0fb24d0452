"""A passive party's side of `plain`: sum gradients over its candidates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.protocols.base import PassiveContext, PassiveLevel, PassiveTree, Resolved
from vfxgb.protocols.plain.messages import PlainGradients, PlainSums, TreeSums
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.disclosure import SmallSums


class PlainPassive:
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._trees: Sequence[PassiveTree] = ()
        self._candidates: list[CandidateList] = []
        self._pairs: list[NDArray[np.int64]] = []
        self._small: list[SmallSums] = []

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Draw the secret order of each tree's candidates and read the gradients."""
        context = self._context
        self._trees = trees
        self._candidates = [
            CandidateList(
                context.bins, context.has_missing, tree.features, context.constraints, context.random, context.threads
            )
            for tree in trees
        ]
        self._small = [SmallSums(context.bins, tree, context.min_bucket_rows, context.threads) for tree in trees]
        self._pairs = [self._receive(round_index, tree, sampled) for tree in range(len(trees))]

    def _receive(self, round_index: int, tree: int, sampled: NDArray[np.int32] | None) -> NDArray[np.int64]:
        with self._context.timings.phase("wait"):
            message = self._context.channel.recv(PlainGradients)
        if (message.round, message.tree) != (round_index, tree):
            raise MessageError(
                f"{self._context.party} reading gradients: found round {message.round}, tree {message.tree}, wanted "
                f"round {round_index}, tree {tree}"
            )
        rows = self._context.n_train if sampled is None else len(sampled)
        pairs = unpack_array(message.pairs, np.int64, (rows, 2), f"{self._context.party} reading gradients")
        if sampled is None:
            return pairs
        spread = np.zeros((self._context.n_train, 2), dtype=np.int64)
        spread[sampled] = pairs
        return spread

    def open_level(self, level: PassiveLevel) -> None:
        """Send the left sums of the nodes to build."""
        context = self._context
        answers = []
        with context.timings.phase("sums"):
            for nodes in level.trees:
                candidates = self._candidates[nodes.tree]
                sums = candidates.left_sums(
                    self._trees[nodes.tree].partition,
                    np.ascontiguousarray(nodes.nodes[nodes.build]),
                    self._pairs[nodes.tree],
                    None if nodes.allowed is None else nodes.allowed[nodes.build],
                    context.min_bucket_rows,
                )
                directions = candidates.constraint if level.depth == 0 else None
                answers.append(
                    TreeSums(
                        n_candidates=len(candidates),
                        sums=pack_array(sums),
                        constraint=pack_bytes(b"") if directions is None else pack_array(directions),
                    )
                )
                self._small[nodes.tree].note(nodes)
        context.channel.send(PlainSums(round=level.round, depth=level.depth, trees=answers))

    def resolve(
        self,
        tree: int,
        nodes: NDArray[np.int32],  # noqa: ARG002 - candidates are the same in every node of a tree
        start: NDArray[np.int64],
        tokens: NDArray[np.int64],
    ) -> Resolved:
        """See PassiveRole."""
        return self._candidates[tree].resolve(start, tokens)

    def end_tree(self) -> None:
        """Forget gradients and orders; count what was shown."""
        self._trees, self._candidates, self._pairs = (), [], []
        with self._context.timings.phase("count small sums"):
            self._context.disclosed.small_sums += sum(small.count() for small in self._small)
        self._small = []

    def close(self) -> None:
        """Nothing runs in the background."""
