"""A passive party's side: it adds up ciphertexts that it cannot read.

Everything it sends back is rerandomised (ERRATA E61): a sum is otherwise a function of ciphertexts that the active
party made, and tells which of them are in it. The randomness is this party's own, no power of a base in the key: the
active party made the key, too.
"""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes, PassiveTree
from vfxgb.crypto import PublicKey
from vfxgb.protocols.he.layout import HeLayout
from vfxgb.protocols.he.messages import HeKey, HeSums, HeTotals, TreeSums, TreeTotals
from vfxgb.protocols.he.params import HeParams
from vfxgb.protocols.he.rows import EncryptedRows
from vfxgb.protocols.open_sums.passive import ShownSums
from vfxgb.protocols.receive import receive, receive_level, require, require_fields
from vfxgb.transport.messages import pack_bytes, pack_optional


class HePassive(ShownSums):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext, layout: HeLayout) -> None:
        super().__init__(context)
        self._layout = layout
        self._params: HeParams = context.params
        self._code = layout.code(context.params, context.n_train, context.hessian_shift)
        self._key: PublicKey | None = None
        self._rows: EncryptedRows | None = None
        self._rerandomised = 0
        self._preparing: threading.Thread | None = None
        with context.timings.phase("bin"):
            context.rows.prepare_ciphers()

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Draw the secret order of each tree's candidates; read the gradients, and sum them for the roots meanwhile."""
        context = self._context
        self._draw(trees)
        if self._key is None:
            self._key = self._receive_key()
            self._prepare_masks(self._key)
        self._rows = EncryptedRows(round_index, context, self._params, self._plan, self._key, sampled, trees)
        while not self._rows.complete:
            self._rows.receive()

    def _receive_key(self) -> PublicKey:
        context, params, what = self._context, self._params, f"{self._context.party} reading the key"
        message = receive(context, context.channel, HeKey, what)
        with context.timings.phase("key"):
            # Checks size, numbers and that it randomises; below 2048 bits only where the run is declared insecure.
            key = PublicKey.from_bytes(message.public_key, params.insecure)
        require(what, f"{key.scheme} of {key.bits} bits", f"{params.scheme} of {params.key_bits} bits")
        self._plan = self._layout.plan(self._code, params, context.n_outputs, key)
        return key

    def _prepare_masks(self, key: PublicKey) -> None:
        """Make the table for rerandomising in the background, while the active party encrypts."""
        context, lanes = self._context, self._plan.lanes
        # Every second node of a level is built; the other one is its parent less its sibling.
        built = min(1 << (context.max_depth - 1), context.n_train)
        answers = sum(
            -(-built * len(candidates) // lanes[number].sums)
            for tree, candidates in enumerate(self._candidates)
            for number in self._plan.lanes_of(tree)
        )
        if answers:
            self._preparing = threading.Thread(
                target=key.rerandomizer.prepare, args=(answers * context.rounds_left, context.threads), daemon=True
            )
            self._preparing.start()

    def open_level(self, level: PassiveLevel) -> None:
        """Send the left sums of the nodes to build."""
        self._send_facts(level)
        context, key, what = self._context, self._own_key().fingerprint_bytes, f"{self._context.party} reading totals"
        message = receive_level(context, context.channel, HeTotals, what, level)
        require_fields(message, what, key=key)
        answers = [
            self._answer(nodes, totals, level.depth) for nodes, totals in zip(level.trees, message.trees, strict=True)
        ]
        context.channel.send(HeSums(round=level.round, depth=level.depth, key=key, trees=answers))
        for nodes in level.trees:
            self._note_shown(nodes)

    def _answer(self, nodes: PassiveNodes, totals: TreeTotals, depth: int) -> TreeSums:
        context = self._context
        candidates = self._candidates[nodes.tree]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        numbers = self._plan.lanes_of(nodes.tree)
        what = f"{context.party} reading totals of tree {nodes.tree}"
        require(what, f"{len(totals.lanes)} lanes", f"{len(numbers)} lanes")
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        lanes = [
            self._lane_sums(nodes, number, built, allowed, data, depth)
            for number, data in zip(numbers, totals.lanes, strict=True)
        ]
        counts = self._counts(nodes, built, allowed) if self._code.counts else None
        return TreeSums(
            n_candidates=len(candidates),
            n_nodes=len(built),
            n_pairs=self._plan.pairs_shown(nodes.tree),
            lanes=[pack_bytes(data) for data in lanes],
            counts=pack_optional(counts),
            constraint=pack_optional(candidates.constraint if depth == 0 else None),
        )

    def _lane_sums(
        self,
        nodes: PassiveNodes,
        number: int,
        built: NDArray[np.int32],
        allowed: NDArray[np.bool_] | None,
        totals: memoryview,
        depth: int,
    ) -> bytes:
        """Left sums of the built nodes in one lane, packed, rerandomised, as bytes."""
        context, candidates, tree = self._context, self._candidates[nodes.tree], self._trees[nodes.tree]
        assert self._rows is not None  # noqa: S101 - begin_tree came first
        opened = self._rows.totals(totals, len(built), f"{context.party} reading totals of tree {nodes.tree}")
        if len(candidates) == 0 or len(built) == 0:
            return b""
        threads, timings, lane = context.threads, context.timings, self._plan.lanes[number]
        with timings.phase("sums"):
            sums = self._rows.sums(number, tree, built, opened, depth)
            before = sums.additions
        with timings.phase("left sums"):
            available = candidates.available(built, allowed, tree.cuts)
            left = sums.left_sums(candidates.has_missing, candidates.order, available, threads)
            timings.count("additions", sums.additions - before)
        with timings.phase("pack"):
            packed = left if lane.sums == 1 else _native.he_sums.pack_sums(left, lane.sums, lane.width, threads)
            timings.count("packing", len(left) - len(packed))
            answer = packed.rerandomize(threads).to_wire(threads)
        timings.count("rerandomisations", len(packed))
        self._rerandomised += len(packed)
        return answer

    def _counts(
        self, nodes: PassiveNodes, built: NDArray[np.int32], allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Rows in each left sum, int64[built, c]; 0 where the sum is withheld."""
        context = self._context
        ones = context.rows.pairs(np.ones((context.n_train, 2), dtype=np.int64))
        tree = self._trees[nodes.tree]
        left = self._candidates[nodes.tree].left_sums(tree.partition, built, ones, allowed, tree.cuts)
        return np.ascontiguousarray(left[:, :, 0])

    def end_tree(self) -> None:
        """Forget ciphertexts and orders; count what was shown; begin to make randomness for as many answers again."""
        self._close_rows()
        self._forget()
        if self._params.pooled and self._key is not None and self._rerandomised:
            rerandomizer = self._key.rerandomizer
            if rerandomizer.pool_level == 0:
                rerandomizer.start_pool(self._rerandomised, self._context.threads)
            self._rerandomised = 0

    def close(self) -> None:
        """End the background work."""
        self._close_rows()
        if self._preparing is not None:
            self._preparing.join()
        if self._key is not None:
            self._key.rerandomizer.stop_pool()

    def _close_rows(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def _own_key(self) -> PublicKey:
        assert self._key is not None  # noqa: S101 - begin_tree came first
        return self._key
