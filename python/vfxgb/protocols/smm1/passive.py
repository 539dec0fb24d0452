"""A passive party's side of `smm1`: it hides its splitting matrix behind a random part of the received vectors.

Algorithm 2 of FedXGBoost. That this hides next to nothing is in the README.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes, PassiveTree
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.passive import ShownSums
from vfxgb.protocols.receive import require
from vfxgb.protocols.smm.cells import FeatureColumns
from vfxgb.protocols.smm.chunks import Place, pieces, read_vectors
from vfxgb.protocols.smm.messages import Smm1Basis, Smm1Products
from vfxgb.protocols.smm.small import SmallNodesPassive
from vfxgb.protocols.smm.vectors import Vectors, draw_basis, orthonormalise
from vfxgb.protocols.smm1.active import ordinary_and_small
from vfxgb.protocols.smm1.params import Smm1Params
from vfxgb.transport.messages import pack_array, pack_optional


class Smm1Passive(ShownSums):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._params: Smm1Params = context.params
        self._columns = FeatureColumns(context.bins)
        self._fallback = SmallNodesPassive(context, self._params) if self._params.small_nodes == "batch_he" else None

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Draw the secret order of each tree's candidates."""
        self._draw(trees)
        if self._fallback is not None:
            self._fallback.begin_round(round_index, sampled, trees, self._candidates)

    def open_level(self, level: PassiveLevel) -> None:
        """Read the vectors of all nodes to build, then answer for each. Vectors of a level are no more than a U."""
        parts = [ordinary_and_small(self._trees[nodes.tree].in_memory, nodes) for nodes in level.trees]
        bases = [
            (nodes, position, self._receive_basis(level, nodes, position))
            for nodes, (ordinary, _) in zip(level.trees, parts, strict=True)
            for position in ordinary.tolist()
        ]
        if self._fallback is not None:
            self._fallback.open_small(level, [small for _, small in parts])
        # The last first, so that vectors can go once they are used; sent in order.
        bases.reverse()
        while bases:
            nodes, position, basis = bases.pop()
            self._answer(level, nodes, position, basis)
        for nodes, (ordinary, _) in zip(level.trees, parts, strict=True):
            self._note_shown(nodes, None if self._fallback else len(ordinary))

    def _receive_basis(self, level: PassiveLevel, nodes: PassiveNodes, position: int) -> Vectors:
        """Z^T, orthonormal. Raises MessageError."""
        context = self._context
        node = int(nodes.nodes[position])
        n = int(self._trees[nodes.tree].in_memory.counts(nodes.nodes[position : position + 1])[0, 0])
        what = f"{context.party} reading vectors of tree {nodes.tree}, node {node}"
        place, wanted = Place(level.round, level.depth, nodes.tree, node), min(self._params.r, n - 2)
        received = read_vectors(context, context.channel, Smm1Basis, place, n, wanted, what)
        require(what, f"{len(received)} vectors", f"{wanted} vectors")
        with context.timings.phase("orthonormalise"):
            # All of them first, so that a bad set is told from a bad draw.
            good = orthonormalise(received, context.threads)
            basis = draw_basis(received, context.random, context.threads) if good else None
        if basis is None:
            raise MessageError(
                f"{what}: found vectors that are not finite or not independent, wanted an orthonormal set; with others "
                "the answer would give away the splitting matrix"
            )
        return basis

    def _answer(self, level: PassiveLevel, nodes: PassiveNodes, position: int, basis: Vectors) -> None:
        context = self._context
        candidates, partition = self._candidates[nodes.tree], self._trees[nodes.tree].in_memory
        node = nodes.nodes[position : position + 1]
        allowed = None if nodes.allowed is None else nodes.allowed[position : position + 1]
        with context.timings.phase("sums"):
            available = candidates.available(node, allowed, self._trees[nodes.tree].cuts)
            matrix = self._columns.node(
                candidates, partition.rows(int(node[0])), None if available is None else available[0], context.threads
            )
            shares = matrix.left_shares(basis)
        place = Place(level.round, level.depth, nodes.tree, int(node[0]))
        for first, count in pieces(len(candidates), matrix.rows, self._params.chunk_bytes):
            with context.timings.phase("products"):
                products = matrix.products(shares, basis, first, count)
            context.channel.send(
                Smm1Products(
                    *place,
                    n_candidates=len(candidates),
                    first=first,
                    products=pack_array(products),
                    constraint=pack_optional(candidates.constraint if level.depth == 0 and first == 0 else None),
                )
            )

    def end_tree(self) -> None:
        """Forget the orders; count what was shown."""
        if self._fallback is not None:
            self._fallback.end_round()
        self._forget()

    def close(self) -> None:
        """End the background work."""
        if self._fallback is not None:
            self._fallback.close()
