"""A passive party's side of `ot_shares`: it holds punctured trees of masks and sums shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.protocols.base import PassiveContext, PassiveLevel, PassiveNodes, PassiveTree
from vfxgb.protocols.ot_shares.holder import HolderKeys
from vfxgb.protocols.ot_shares.messages import (
    OtGradients,
    OtOrder,
    OtOrderAnswer,
    OtShares,
    OtSums,
    TreeOrder,
    TreeShares,
    TreeSums,
)
from vfxgb.protocols.ot_shares.order import HolderOrder
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import Slots, pair_codec
from vfxgb.protocols.shown import ShownSums
from vfxgb.transport.messages import pack_array, pack_bytes
from vfxgb.tree.candidates import CandidateList

_EMPTY = pack_bytes(b"")


@dataclass
class HeldShares:
    """One growing tree. `slots`: int32, ascending; `d`: uint64[slots, sampled rows, 2], the masked pairs.

    `root`: uint64[leaves, 2], own share of the root's sums. `counter`: of its masks.
    """

    counter: int
    slots: NDArray[np.int32]
    order: HolderOrder
    d: NDArray[np.uint64]
    root: NDArray[np.uint64]


class OtPassive(ShownSums):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._params: OtSharesParams = context.params
        self._codec = pair_codec(context.params, context.n_train, context.threads)
        self._keys: HolderKeys | None = None
        self._shares: list[HeldShares] = []
        self._counter = 0
        self._place: NDArray[np.int32] | None = None

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Draw the secret order of each tree's candidates and hide it in transfers; read the masked gradients."""
        context = self._context
        self._draw(trees)
        if self._keys is None:
            with context.timings.phase("set-up"):
                self._keys = HolderKeys(context)
        rows = np.arange(context.n_train, dtype=np.int32) if sampled is None else sampled
        self._place = None
        if sampled is not None:
            self._place = np.full(context.n_train, -1, dtype=np.int32)
            self._place[sampled] = np.arange(len(sampled), dtype=np.int32)
        with context.timings.phase("order"):
            self._shares = [self._begin(tree, len(rows)) for tree in trees]
        self._send_orders(round_index)
        for tree, share in enumerate(self._shares):
            if len(self._candidates[tree]):
                for first in range(0, len(rows), self._params.chunk_rows):
                    chunk = np.ascontiguousarray(rows[first : first + self._params.chunk_rows])
                    self._read_rows(round_index, tree, share, first, chunk)
        self._counter += len(trees)

    def _begin(self, tree: PassiveTree, n_rows: int) -> HeldShares:
        keys = self._own_keys()
        used = np.isin(keys.features, tree.features)
        slots = np.flatnonzero(used).astype(np.int32)
        counter = self._counter + tree.tree
        order = slot_order(self._candidates[tree.tree], keys.features, keys.slots, slots)
        return HeldShares(
            counter,
            slots,
            HolderOrder(keys.session, counter, order, self._context.threads),
            np.empty((len(slots), n_rows, 2), dtype=np.uint64),
            np.zeros((int(keys.slots.leaves[slots].sum()), 2), dtype=np.uint64),
        )

    def _send_orders(self, round_index: int) -> None:
        context, n_slots = self._context, len(self._own_keys().slots)
        orders = []
        for share in self._shares:
            bits = np.zeros(n_slots, dtype=np.uint8)
            bits[share.slots] = 1
            some = pack_array(np.packbits(bits, bitorder="little"))
            requests = [pack_bytes(request) for request in share.order.requests]
            orders.append(TreeOrder(slots=_EMPTY if len(share.slots) == n_slots else some, requests=requests))
        context.channel.send(OtOrder(round=round_index, trees=orders))
        with context.timings.phase("wait"):
            message = context.channel.recv(OtOrderAnswer)
        found = (message.round, [len(answers) for answers in message.trees])
        wanted = (round_index, [len(share.order.requests) for share in self._shares])
        if found != wanted:
            raise MessageError(
                f"{context.party} reading masks of orders: found round {found[0]} with {found[1]} layers, wanted round "
                f"{wanted[0]} with {wanted[1]}"
            )
        with context.timings.phase("order"):
            for share, answers in zip(self._shares, message.trees, strict=True):
                share.order.finish(answers)

    def _read_rows(self, round_index: int, tree: int, share: HeldShares, first: int, rows: NDArray[np.int32]) -> None:
        context = self._context
        with context.timings.phase("wait"):
            message = context.channel.recv(OtGradients)
        what = f"{context.party} reading gradients"
        found = (message.round, message.tree, message.n_slots, message.first, message.count)
        wanted = (round_index, tree, len(share.slots), first, len(rows))
        if found != wanted:
            text = "round {}, tree {} of {} slots, from row {} on {} rows"
            raise MessageError(f"{what}: found {text.format(*found)}, wanted {text.format(*wanted)}")
        if message.counter != share.counter:
            again = "has been used; masks are used once" if message.counter < share.counter else "is not the next"
            raise MessageError(
                f"{what}: found masks number {message.counter}, wanted {share.counter}: that number {again}"
            )
        with context.timings.phase("read gradients"):
            share.d[:, first : first + len(rows)] = self._codec.unpack(
                message.pairs, (len(share.slots), len(rows)), what
            )
        with context.timings.phase("sums"):
            share.root += self._own_keys().row_sums(share.counter, rows, share.slots, share.d, self._place)

    def open_level(self, level: PassiveLevel) -> None:
        """Send the left sums of the nodes to build, in the secret order."""
        context = self._context
        own = [self._left(nodes, level.depth) for nodes in level.trees]
        with context.timings.phase("wait"):
            message = context.channel.recv(OtShares)
        found = (message.round, message.depth, [tree.tree for tree in message.trees])
        wanted = (level.round, level.depth, [nodes.tree for nodes in level.trees])
        if found != wanted:
            raise MessageError(
                f"{context.party} reading shares: found round {found[0]}, depth {found[1]}, trees {found[2]}, wanted "
                f"round {wanted[0]}, depth {wanted[1]}, trees {wanted[2]}"
            )
        with context.timings.phase("order"):
            answers = [
                self._answer(nodes, left, sent, level.depth)
                for nodes, left, sent in zip(level.trees, own, message.trees, strict=True)
            ]
        context.channel.send(OtSums(round=level.round, depth=level.depth, trees=answers))
        for nodes in level.trees:
            self._note_shown(nodes)

    def _left(self, nodes: PassiveNodes, depth: int) -> NDArray[np.uint64]:
        """Own shares of the left sums of the built nodes, slot by slot."""
        share, keys = self._shares[nodes.tree], self._own_keys()
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        if len(self._candidates[nodes.tree]) == 0:
            return np.zeros((len(built), 0, 2), dtype=np.uint64)
        with self._context.timings.phase("sums"):
            if depth == 0:
                cells = share.root[None]
            else:
                partition = self._trees[nodes.tree].in_memory
                cells = keys.sums(share.counter, partition, built, share.slots, share.d, self._place)
            return keys.slots.left_shares(cells, share.slots)

    def _answer(self, nodes: PassiveNodes, left: NDArray[np.uint64], sent: TreeShares, depth: int) -> TreeSums:
        context, candidates, share = self._context, self._candidates[nodes.tree], self._shares[nodes.tree]
        layers = share.order.layers
        what = f"{context.party} reading shares of tree {nodes.tree}"
        if len(sent.layers) != len(layers):
            raise MessageError(f"{what}: found {len(sent.layers)} layers, wanted {len(layers)}")
        theirs = [
            self._codec.unpack(data, (len(left), layer.places), what)
            for data, layer in zip(sent.layers, layers, strict=True)
        ]
        answer = share.order.translate(left, theirs)
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        partition = self._trees[nodes.tree].in_memory
        available = candidates.available(partition, built, allowed, context.min_bucket_rows)
        withheld = _EMPTY
        if available is not None:
            hidden = ~available[:, candidates.order]
            answer[hidden] = 0
            withheld = pack_array(np.packbits(hidden, bitorder="little"))
        directions = candidates.constraint if depth == 0 else None
        return TreeSums(
            n_nodes=len(built),
            n_candidates=len(candidates),
            sums=self._codec.pack(answer),
            withheld=withheld,
            constraint=_EMPTY if directions is None else pack_array(directions),
        )

    def end_tree(self) -> None:
        """Forget masked gradients and orders; count what was shown."""
        self._shares = []
        self._forget()

    def close(self) -> None:
        """Nothing runs in the background."""

    def _own_keys(self) -> HolderKeys:
        assert self._keys is not None  # noqa: S101 - begin_tree came first
        return self._keys


def slot_order(
    candidates: CandidateList, features: NDArray[np.int32], slots: Slots, chosen: NDArray[np.int32]
) -> NDArray[np.int64]:
    """For each position of a secret order the place of its candidate when the chosen slots stand one after the other.

    `features`: of every slot. Within a slot candidates stand as in _native.candidates.
    """
    position = np.zeros(int(features.max(initial=-1)) + 1, dtype=np.int64)
    position[features[chosen]] = np.arange(len(chosen))
    cuts = slots.n_bins[chosen].astype(np.int64) - 1
    start = np.cumsum(slots.candidates[chosen]) - slots.candidates[chosen]
    local, bins, default_left = candidates.listed()
    slot = position[candidates.features[local]]
    return start[slot] + np.where(default_left, 2 * cuts[slot] - 1 - bins, bins)
