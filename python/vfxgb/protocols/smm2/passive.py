"""A passive party's side of `smm2`: it sends null-space vectors of its covered splitting matrix, and scores.

Algorithms 4 and 5 of FedXGBoost.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes, equations_of
from vfxgb.protocols.receive import receive
from vfxgb.protocols.scored.passive import ScoredPassive
from vfxgb.protocols.smm.cells import FeatureColumns, NodeMatrix
from vfxgb.protocols.smm.chunks import Place, vector_messages
from vfxgb.protocols.smm.exposed import withheld_cuts
from vfxgb.protocols.smm.kernel import SecureKernel, too_small
from vfxgb.protocols.smm.messages import Smm2Basis, Smm2Products, Smm2Sums
from vfxgb.protocols.smm.small import SmallNodesPassive
from vfxgb.protocols.smm.sums import coarse_sums, fine_bits, fine_pairs
from vfxgb.protocols.smm.vectors import Random, Vectors, answerable
from vfxgb.protocols.smm2.params import Smm2Params
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.transport.messages import unpack_array
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.disclosure import SmallSums

# The gradient of a row that is alone in a cell is a difference of two left sums.
LEAST_CELL_ROWS = 2
# How often a cover is drawn before a node is left to the active party's guard.
MOST_COVERS = 4


class Smm2Passive(ScoredPassive):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._params: Smm2Params = context.params
        self._columns = FeatureColumns(context.bins)
        self._fallback = SmallNodesPassive(context, self._params) if self._params.small_nodes == "batch_he" else None
        # The secret orders in which the active party sees sums of small nodes.
        self._shown: list[CandidateList] = []
        self._few: list[SmallSums] = []
        self._cuts: list[ShownCuts] = []
        # Of the open level, by tree.
        self._withheld: list[NDArray[np.bool_]] = []
        # Of (tree, node): vectors that are not sent yet, of a level no more than a U of the root.
        self._drawn: dict[tuple[int, int], Vectors] = {}
        self._sums: list[NDArray[np.int64]] = []

    def _receive_round(self, round_index: int, sampled: NDArray[np.int32] | None) -> None:
        context, trees = self._context, self._trees
        if self._fallback is None:
            least = max(LEAST_CELL_ROWS, context.min_bucket_rows)
            self._cuts = [ShownCuts(context.rows, tree.features, least) for tree in trees]
            self._withheld = [np.zeros((0, 0), dtype=np.bool_) for _ in trees]
            return
        self._shown = [
            CandidateList(
                context.rows, context.has_missing, tree.features, context.constraints, context.random, context.threads
            )
            for tree in trees
        ]
        self._few = [SmallSums(context.rows, tree) for tree in trees]
        self._fallback.begin_round(round_index, sampled, trees, self._shown)

    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:  # noqa: ARG002 - as in ScoredPassive
        return self._sums[index]

    def _exchange(self, level: PassiveLevel) -> None:
        """All vectors of a level are sent before the first products are read: see smm1/active.py."""
        with self._context.timings.phase("null space"):
            usable = [self._open_cells(nodes) for nodes in level.trees]
        for nodes, available in zip(level.trees, usable, strict=True):
            for place, position in enumerate(nodes.build.tolist()):
                self._send_basis(level, nodes, position, None if available is None else available[place])
        answers = [
            {position: self._receive_products(level, nodes, position) for position in nodes.build.tolist()}
            for nodes in level.trees
        ]
        refused = [
            np.array([position for position, products in tree.items() if products.shape[1] == 0], dtype=np.int64)
            for tree in answers
        ]
        with self._context.timings.phase("sums"):
            self._sums = [
                self._ordinary(nodes, tree, available)
                for nodes, tree, available in zip(level.trees, answers, usable, strict=True)
            ]
        if self._fallback is not None:
            self._fallback.open_small(level, refused)
            for nodes, small, sums in zip(level.trees, refused, self._sums, strict=True):
                if len(small):
                    self._receive_sums(level, nodes, small, sums)
                self._few[nodes.tree].note(nodes, small)
                self._context.disclosed.opened_equations += equations_of(len(small), sums.shape[1])

    def _open_cells(self, nodes: PassiveNodes) -> NDArray[np.bool_] | None:
        """Which candidates the nodes to build may use: bool[len(build), c], None for all.

        With encryption to fall back on that is whatever min_bucket_rows allows.
        """
        tree, candidates = self._trees[nodes.tree], self._candidates[nodes.tree]
        if self._fallback is None:
            return self._hiding_cells(nodes)
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        return candidates.available(built, allowed, tree.cuts)

    def _hiding_cells(self, nodes: PassiveNodes) -> NDArray[np.bool_]:
        """The same with cells merged until they hide every row; all nodes of the level are built then.

        Each cell holds LEAST_CELL_ROWS rows, or none, in a node and in its sibling (rows/shown_cuts.py), and no row is
        exposed by several cells together in a node that is answered (smm/exposed.py). Siblings withhold the same cuts,
        and so do the nodes below them: what a node withholds is no difference of what its relatives show.
        """
        context, params, partition = self._context, self._params, self._trees[nodes.tree].in_memory
        candidates, cuts, before = self._candidates[nodes.tree], self._cuts[nodes.tree], self._open.get(nodes.tree)
        parents = np.full(len(nodes.nodes), -1, dtype=np.int64)
        withheld = np.zeros((len(nodes.nodes), len(candidates)), dtype=np.bool_)
        if before is not None:
            parents = np.searchsorted(before.nodes, nodes.parents).astype(np.int64)
            withheld = self._withheld[nodes.tree][parents]
        cuts.open(self._trees[nodes.tree].partition, nodes.nodes, parents)
        available = candidates.available(nodes.nodes, nodes.allowed, cuts)
        assert available is not None  # noqa: S101 - cells have a least number of rows
        available &= ~withheld
        counts = partition.counts(nodes.nodes)[:, 0]
        for parent in np.unique(parents).tolist():
            family = np.flatnonzero(parents == parent)
            answered = {
                int(nodes.nodes[member]): self._columns.node(
                    candidates, partition.rows(int(nodes.nodes[member])), available[member], context.threads
                )
                for member in family.tolist()
                if not too_small(int(counts[member]), int(available[member].sum()), params.cover, params.r)
            }
            # Vectors that hide every row show that none is exposed; only where they do not, it takes a closer look.
            drawn = {
                (nodes.tree, node): draw_vectors(matrix, params, context.random) for node, matrix in answered.items()
            }
            if all(answerable(vectors) for vectors in drawn.values()):
                self._drawn |= drawn
            else:
                withheld[family] |= withheld_cuts(list(answered.values()))
        self._withheld[nodes.tree] = withheld
        return available & ~withheld

    def _send_basis(
        self, level: PassiveLevel, nodes: PassiveNodes, position: int, available: NDArray[np.bool_] | None
    ) -> None:
        context, params = self._context, self._params
        candidates, partition = self._candidates[nodes.tree], self._trees[nodes.tree].in_memory
        node = int(nodes.nodes[position])
        rows = partition.rows(node)
        vectors = self._drawn.pop((nodes.tree, node), np.empty((0, len(rows))))
        with context.timings.phase("null space"):
            shown = len(candidates) if available is None else int(available.sum())
            if len(vectors) == 0 and not too_small(len(rows), shown, params.cover, params.r):
                matrix = self._columns.node(candidates, rows, available, context.threads)
                vectors = hiding_vectors(matrix, params, context.random)
        with context.timings.phase("send vectors"):
            place = Place(level.round, level.depth, nodes.tree, node)
            for message in vector_messages(Smm2Basis, place, vectors, params.chunk_bytes):
                context.channel.send(message)

    def _receive_products(self, level: PassiveLevel, nodes: PassiveNodes, position: int) -> Vectors:
        """W_g and W_h, float64[2, n]; float64[2, 0] where the active party gave none."""
        context = self._context
        node = int(nodes.nodes[position])
        what = f"{context.party} reading products of tree {nodes.tree}, node {node}"
        place = Place(level.round, level.depth, nodes.tree, node)
        message = receive(context, context.channel, Smm2Products, what, **place._asdict())
        n = int(self._trees[nodes.tree].in_memory.counts(nodes.nodes[position : position + 1])[0, 0])
        products: Vectors = unpack_array(message.products, np.float64, (2, n if len(message.products) else 0), what)
        return products

    def _ordinary(
        self, nodes: PassiveNodes, answers: dict[int, Vectors], available: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Left sums of the nodes to build, int64[len(build), c, 2]; zeros where there were no products."""
        context = self._context
        candidates, tree = self._candidates[nodes.tree], self._trees[nodes.tree]
        given = {position: products for position, products in answers.items() if products.shape[1]}
        left = np.zeros((len(nodes.build), len(candidates), 2), dtype=np.int64)
        if not given:
            return left
        what = f"{context.party} adding up products of tree {nodes.tree}"
        bits = min(fine_bits(products, self.step, what) for products in given.values())
        pairs = np.zeros((context.n_train, 2), dtype=np.int64)
        for position, products in given.items():
            pairs[tree.in_memory.rows(int(nodes.nodes[position]))] = fine_pairs(products, self.step, bits)
        positions = np.array(list(given), dtype=np.int64)
        places = np.searchsorted(nodes.build, positions)
        sums = candidates.left_sums(tree.partition, np.ascontiguousarray(nodes.nodes[positions]), pairs)
        if available is not None:
            sums[~available[places]] = 0
        left[places] = coarse_sums(sums, bits, what)
        return left

    def _receive_sums(
        self, level: PassiveLevel, nodes: PassiveNodes, small: NDArray[np.int64], sums: NDArray[np.int64]
    ) -> None:
        """Fill in the sums of small nodes, which come back in the order the active party saw them in."""
        context, order = self._context, self._shown[nodes.tree].order
        what = f"{context.party} reading sums of small nodes of tree {nodes.tree}"
        place = {"round": level.round, "depth": level.depth, "tree": nodes.tree}
        message = receive(context, context.channel, Smm2Sums, what, **place)
        left_sums = unpack_array(message.sums, np.int64, (len(small), sums.shape[1], 2), what)
        assert order is not None  # noqa: S101 - drawn in _receive_round
        for place, left in zip(np.searchsorted(nodes.build, small).tolist(), left_sums, strict=True):
            sums[place, order] = left

    def end_tree(self) -> None:
        """See PassiveRole."""
        if self._fallback is not None:
            self._fallback.end_round()
            with self._context.timings.phase("count small sums"):
                self._context.disclosed.small_sums += sum(few.count() for few in self._few)
        self._shown, self._few, self._cuts = [], [], []
        self._withheld, self._sums, self._drawn = [], [], {}
        super().end_tree()

    def close(self) -> None:
        """See PassiveRole."""
        if self._fallback is not None:
            self._fallback.close()


def draw_vectors(matrix: NodeMatrix, params: Smm2Params, random: Random) -> Vectors:
    """Null-space vectors of [M M' Y], with M' and Y drawn for them."""
    return SecureKernel(matrix, params.cover, random).null_vectors(params.r)


def hiding_vectors(matrix: NodeMatrix, params: Smm2Params, random: Random) -> Vectors:
    """Null-space vectors of [M M' Y] that hide every row, unless M alone exposes one: a cover may do so by chance."""
    vectors = np.empty((0, matrix.rows))
    for _ in range(MOST_COVERS):
        vectors = draw_vectors(matrix, params, random)
        if answerable(vectors):
            break
    return vectors
