"""The active party's side of `smm1`: it sends null-space vectors of its gradients, and multiplies what comes back.

Within a level everything is sent before anything is read, by either side, so that no party waits for room in a channel
that the other one fills.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.protocols.smm.chunks import Place, check_place, pieces, unpack_rows
from vfxgb.protocols.smm.messages import Smm1Basis, Smm1Products
from vfxgb.protocols.smm.small import SmallNodes
from vfxgb.protocols.smm.sums import products_to_sums
from vfxgb.protocols.smm.vectors import null_vectors
from vfxgb.protocols.smm1.params import LEAST_ROWS, Smm1Params
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import Bulk, pack_array, unpack_array


class Smm1Source:
    """A SumSource over secure matrix multiplication."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._params: Smm1Params = context.params
        self._fallback = SmallNodes(context, self._params) if self._params.small_nodes == "batch_he" else None
        self._gradients: Gradients | None = None
        # Candidates of a party in a tree, once it has said how many there are.
        self._counts: dict[tuple[str, int], int] = {}

    def begin_tree(self, gradients: Gradients) -> None:
        """Keep the gradients. Nothing is sent before the first level."""
        self._gradients, self._counts = gradients, {}
        if self._fallback is not None:
            self._fallback.begin_tree(gradients)

    def open_level(self, level: ActiveLevel) -> None:
        """Send null-space vectors for each node to build."""
        for nodes in level.trees:
            for position in self._ordinary(nodes).tolist():
                node = int(nodes.nodes[position])
                self._send_basis(
                    (level.round, level.depth, nodes.tree, node), self._pairs(nodes.tree, nodes.in_memory, node)
                )
        if self._fallback is not None:
            self._fallback.open_level(level, [self._small(nodes) for nodes in level.trees])

    def _send_basis(self, place: Place, pairs: NDArray[np.int64]) -> None:
        context, params = self._context, self._params
        n = len(pairs)
        rank = min(params.r, n - 2)
        with context.timings.phase("null space"):
            vectors = null_vectors(
                pairs.T.astype(np.float64, order="C"), rank, _native.rand.random_bytes, context.threads
            )
        round_index, depth, tree, node = place
        with context.timings.phase("send vectors"):
            for first, count in pieces(rank, n, params.chunk_bytes):
                message = Smm1Basis(
                    round=round_index,
                    depth=depth,
                    tree=tree,
                    node=node,
                    rank=rank,
                    first=first,
                    vectors=pack_array(vectors[first : first + count]),
                )
                broadcast(list(context.channels.values()), message)

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The sums of a level. Raises MessageError for products of another place or size, and PrecisionError."""
        small = {} if self._fallback is None else self._fallback.receive(party)
        return [self._receive_tree(party, level, nodes, small.get(nodes.tree)) for nodes in level.trees]

    def _receive_tree(self, party: str, level: ActiveLevel, nodes: LevelNodes, small: OpenedTree | None) -> OpenedTree:
        key = (party, nodes.tree)
        constraint = None
        rows: dict[int, NDArray[np.int64]] = {}
        if small is not None:
            self._settle(key, small.left.shape[1])
            constraint = small.constraint
            rows.update(zip(self._small(nodes).tolist(), small.left, strict=True))
        for position in self._ordinary(nodes).tolist():
            place = (level.round, level.depth, nodes.tree, int(nodes.nodes[position]))
            directed = level.depth == 0 and nodes.bounds is not None
            rows[position], constraint = self._receive_node(party, place, nodes, directed)
        count = self._counts.get(key, 0)
        none = np.zeros((count, 2), dtype=np.int64)
        left = [rows.get(position, none) for position in nodes.build.tolist()]
        if level.depth == 0 and nodes.bounds is not None and constraint is None:
            constraint = np.zeros(count, dtype=np.int8)
        skipped = len(self._small(nodes)) if self._fallback is None else 0
        return OpenedTree(np.stack(left) if left else np.zeros((0, count, 2), np.int64), constraint, skipped)

    def _receive_node(
        self, party: str, place: Place, nodes: LevelNodes, directed: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int8] | None]:
        """Left sums int64[c, 2] and, if `directed`, monotone directions."""
        context = self._context
        what = f"reading products of {party}, tree {place[2]}, node {place[3]}"
        pairs = self._pairs(nodes.tree, nodes.in_memory, place[3])
        sums: list[NDArray[np.int64]] = []
        constraint: Bulk | None = None
        done, total = 0, -1
        while done != total:
            with context.timings.phase("wait"):
                message = context.channels[party].recv(Smm1Products)
            check_place((message.round, message.depth, message.tree, message.node), place, what)
            if total < 0:
                total, constraint = message.n_candidates, message.constraint
                if total < 0:
                    raise MessageError(f"{what}: found {total} candidates, wanted at least 0")
                self._settle((party, place[2]), total)
            elif message.n_candidates != total or len(message.constraint):
                raise MessageError(
                    f"{what}: found {message.n_candidates} candidates and {len(message.constraint)} directions in a "
                    f"later piece, wanted {total} and none"
                )
            rows = unpack_rows(message.products, message.first, done, total, len(pairs), what)
            with context.timings.phase("sums"):
                sums.append(products_to_sums(rows, pairs, context.threads, what))
            done += len(rows)
        assert constraint is not None  # noqa: S101 - there was a first message
        directions = unpack_array(constraint, np.int8, (total if directed else 0,), what)
        return np.concatenate(sums), directions if directed else None

    def _settle(self, key: tuple[str, int], count: int) -> None:
        if self._counts.setdefault(key, count) != count:
            raise MessageError(
                f"opening sums of {key[0]}: found {count} candidates in tree {key[1]}, wanted {self._counts[key]} as "
                "in the nodes before"
            )

    def _pairs(self, tree: int, partition: _native.gbdt.RowPartition, node: int) -> NDArray[np.int64]:
        assert self._gradients is not None  # noqa: S101 - begin_tree came first
        return self._gradients.arrays[tree][partition.rows(node)]

    def _ordinary(self, nodes: LevelNodes) -> NDArray[np.int64]:
        return nodes.build[~small_nodes(nodes.in_memory, nodes.nodes[nodes.build])]

    def _small(self, nodes: LevelNodes) -> NDArray[np.int64]:
        return nodes.build[small_nodes(nodes.in_memory, nodes.nodes[nodes.build])]

    def end_tree(self) -> None:
        """Forget the gradients."""
        self._gradients, self._counts = None, {}
        if self._fallback is not None:
            self._fallback.end_tree()

    def close(self) -> None:
        """End the background work."""
        if self._fallback is not None:
            self._fallback.close()


def small_nodes(partition: _native.gbdt.RowPartition, nodes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which of the nodes have too few sampled rows."""
    return partition.counts(np.ascontiguousarray(nodes))[:, 0] < LEAST_ROWS


def make_active(context: ActiveContext) -> OpenedSums:
    """Make the active party's role, which scores the sums it opens from the passive parties' products."""
    return OpenedSums(context, Smm1Source(context))
