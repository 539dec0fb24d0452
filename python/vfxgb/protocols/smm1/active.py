"""The active party's side of `smm1`: it sends null-space vectors of its gradients, and multiplies what comes back.

Within a level everything is sent before anything is read, by either side, so that no party waits for room in a channel
that the other one fills.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes, PassiveNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.protocols.smm.chunks import Place, read_pieces, vector_messages
from vfxgb.protocols.smm.messages import Smm1Basis, Smm1Products
from vfxgb.protocols.smm.small import SmallNodes
from vfxgb.protocols.smm.sums import products_to_sums
from vfxgb.protocols.smm.vectors import null_vectors
from vfxgb.protocols.smm1.params import LEAST_ROWS, Smm1Params
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import unpack_array


class Smm1Source:
    """A SumSource over secure matrix multiplication."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._params: Smm1Params = context.params
        self._fallback = SmallNodes(context, self._params)
        self._gradients: Gradients | None = None
        # Candidates of a party in a tree, once it has said how many there are.
        self._counts: dict[tuple[str, int], int] = {}

    def begin_tree(self, gradients: Gradients) -> None:
        """Keep the gradients. Nothing is sent before the first level."""
        self._gradients, self._counts = gradients, {}
        self._fallback.begin_tree(gradients)

    def open_level(self, level: ActiveLevel) -> None:
        """Send null-space vectors for each node to build."""
        small = []
        for nodes in level.trees:
            ordinary, few = ordinary_and_small(nodes.in_memory, nodes)
            small.append(few)
            for node in nodes.nodes[ordinary].tolist():
                self._send_basis(Place(level.round, level.depth, nodes.tree, node), self._pairs(nodes, node))
        self._fallback.open_level(level, small)

    def _send_basis(self, place: Place, pairs: NDArray[np.int64]) -> None:
        context, params = self._context, self._params
        rank = min(params.r, len(pairs) - 2)
        with context.timings.phase("null space"):
            vectors = null_vectors(
                pairs.T.astype(np.float64, order="C"), rank, _native.rand.random_bytes, context.threads
            )
        with context.timings.phase("send vectors"):
            for message in vector_messages(Smm1Basis, place, vectors, params.chunk_bytes):
                broadcast(list(context.channels.values()), message)

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The sums of a level. Raises MessageError for products of another place or size, and PrecisionError."""
        small = self._fallback.receive(party)
        return [self._receive_tree(party, level, nodes, small.get(nodes.tree)) for nodes in level.trees]

    def _receive_tree(self, party: str, level: ActiveLevel, nodes: LevelNodes, small: OpenedTree | None) -> OpenedTree:
        key, (ordinary, few) = (party, nodes.tree), ordinary_and_small(nodes.in_memory, nodes)
        directed = level.depth == 0 and nodes.bounds is not None
        constraint = None
        rows: dict[int, NDArray[np.int64]] = {}
        if small is not None:
            self._settle(key, small.left.shape[1])
            constraint = small.constraint
            rows.update(zip(few.tolist(), small.left, strict=True))
        for position in ordinary.tolist():
            place = Place(level.round, level.depth, nodes.tree, int(nodes.nodes[position]))
            rows[position], constraint = self._receive_node(party, place, nodes, directed)
        count = self._counts.get(key, 0)
        none = np.zeros((count, 2), dtype=np.int64)
        left = [rows.get(position, none) for position in nodes.build.tolist()]
        if directed and constraint is None:
            constraint = np.zeros(count, dtype=np.int8)
        skipped = len(few) if self._fallback.skipped else 0
        return OpenedTree(np.stack(left) if left else np.zeros((0, count, 2), np.int64), constraint, skipped)

    def _receive_node(
        self, party: str, place: Place, nodes: LevelNodes, directed: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int8] | None]:
        """Left sums int64[c, 2] and, if `directed`, monotone directions."""
        context, key = self._context, (party, place.tree)
        what = f"reading products of {party}, tree {place.tree}, node {place.node}"
        pairs = self._pairs(nodes, place.node)
        sums: list[NDArray[np.int64]] = []
        constraint: NDArray[np.int8] | None = None
        fields = ("n_candidates", "products")
        for message, rows in read_pieces(
            context, context.channels[party], Smm1Products, place, fields, len(pairs), what
        ):
            if message.first == 0:
                self._settle(key, message.n_candidates)
            # Directions come with the first piece.
            wanted = message.n_candidates if directed and message.first == 0 else 0
            directions = unpack_array(message.constraint, np.int8, (wanted,), what)
            constraint = directions if constraint is None else constraint
            with context.timings.phase("sums"):
                sums.append(products_to_sums(rows, pairs, context.threads, what))
        return np.concatenate(sums), constraint if directed else None

    def _settle(self, key: tuple[str, int], count: int) -> None:
        if self._counts.setdefault(key, count) != count:
            raise MessageError(
                f"opening sums of {key[0]}: found {count} candidates in tree {key[1]}, wanted {self._counts[key]} as "
                "in the nodes before"
            )

    def _pairs(self, nodes: LevelNodes, node: int) -> NDArray[np.int64]:
        assert self._gradients is not None  # noqa: S101 - begin_tree came first
        return self._gradients.arrays[nodes.tree][nodes.in_memory.rows(node)]

    def end_tree(self) -> None:
        """Forget the gradients."""
        self._gradients, self._counts = None, {}
        self._fallback.end_tree()

    def close(self) -> None:
        """End the background work."""
        self._fallback.close()


def ordinary_and_small(
    partition: _native.gbdt.RowPartition, nodes: LevelNodes | PassiveNodes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the nodes to build: those with enough sampled rows, and those with too few."""
    few = partition.counts(np.ascontiguousarray(nodes.nodes[nodes.build]))[:, 0] < LEAST_ROWS
    return nodes.build[~few], nodes.build[few]


def make_active(context: ActiveContext) -> OpenedSums:
    """Make the active party's role, which scores the sums it opens from the passive parties' products."""
    return OpenedSums(context, Smm1Source(context))
