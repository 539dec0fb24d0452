"""The active party's side of `ot_shares`: it owns the trees of masks, masks gradients and opens sums."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError
from vfxgb.protocols.base import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.protocols.opened import OpenedSums, OpenedTree
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
from vfxgb.protocols.ot_shares.order import OwnerOrder, layers_for
from vfxgb.protocols.ot_shares.owner import OwnerKeys
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import keeps_leaves, pair_codec
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes, unpack_array


@dataclass
class GrowingShares:
    """One growing tree with one passive party.

    `counter`: of its masks. `slots`: int32, those it uses; `n`: their candidates. `root`: uint64[leaves, 2], own share
    of the root's sums. `opening`: uint64[m, n, 2], what opens the answer that is on its way.
    """

    counter: int
    slots: NDArray[np.int32]
    n: int
    order: OwnerOrder
    root: NDArray[np.uint64]
    opening: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 0, 2), dtype=np.uint64))


class OtSource:
    """A SumSource over shares. The set-up is done with the first round that takes place with others."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._params: OtSharesParams = context.params
        self._codec = pair_codec(context.params, context.n_train, context.threads)
        self._keys: dict[str, OwnerKeys] = {}
        self._trees: dict[tuple[str, int], GrowingShares] = {}
        self._counter = 0

    def begin_tree(self, gradients: Gradients) -> None:
        """Agree on the order of candidates with every passive party; send it every sampled row's pair, masked."""
        if not self._keys:
            with self._context.timings.phase("set-up"):
                self._set_up()
        n = self._context.n_train
        pairs = [self._codec.exact.encode(one, gradients.step) for one in gradients.arrays]
        rows = np.arange(n, dtype=np.int32) if gradients.sampled is None else gradients.sampled
        for party, channel in self._context.channels.items():
            self._read_order(party, channel, gradients.round, len(pairs))
        for tree, own in enumerate(pairs):
            for first in range(0, len(rows), self._params.chunk_rows):
                chunk = np.ascontiguousarray(rows[first : first + self._params.chunk_rows])
                for party, channel in self._context.channels.items():
                    self._send_rows(party, channel, gradients.round, tree, first, chunk, own)
        self._counter += len(pairs)

    def _set_up(self) -> None:
        context = self._context
        before = sum(channel.traffic.total_bytes for channel in context.channels.values())
        # 63 bits: masks of two runs over one stored set-up never meet.
        run = int.from_bytes(_native.random_bytes(8), "little") >> 1
        keys = {
            party: OwnerKeys(channel, self._params, context.n_train, run, context.threads)
            for party, channel in context.channels.items()
        }
        for one in keys.values():
            one.start()
        for one in keys.values():
            one.read_offer()
        slots = [one.slots for one in keys.values()]
        keep = keeps_leaves(self._params, slots, context.n_train, owner=True, party="the active party")
        count = iter(range(1, 1 + sum(one.blocks for one in keys.values())))
        total = sum(one.blocks for one in keys.values())
        for one in keys.values():
            one.set_up(lambda: context.progress("setting up ot_shares", next(count), total))
        for one in keys.values():
            if keep and one.trees is not None:
                one.trees.cache(context.threads)
        self._keys = keys
        after = sum(channel.traffic.total_bytes for channel in context.channels.values())
        context.timings.count("set-up bytes", after - before)

    def _read_order(self, party: str, channel: Channel, round_index: int, n_trees: int) -> None:
        with self._context.timings.phase("wait"):
            message = channel.recv(OtOrder)
        if (message.round, len(message.trees)) != (round_index, n_trees):
            raise MessageError(
                f"reading the order of {party}: found {len(message.trees)} trees of round {message.round}, wanted "
                f"{n_trees} of round {round_index}"
            )
        with self._context.timings.phase("order"):
            answers = []
            for tree, order in enumerate(message.trees):
                growing = self._grow(party, tree, order)
                self._trees[party, tree] = growing
                answers.append([pack_bytes(answer) for answer in growing.order.answers])
        channel.send(OtOrderAnswer(round=round_index, trees=answers))

    def _grow(self, party: str, tree: int, order: TreeOrder) -> GrowingShares:
        keys, what = self._keys[party], f"reading the order of {party}, tree {tree}"
        chosen = np.arange(len(keys.slots), dtype=np.int32)
        if len(order.slots):
            packed = unpack_array(order.slots, np.uint8, ((len(keys.slots) + 7) // 8,), what)
            bits = np.unpackbits(packed, bitorder="little")
            if bits[len(keys.slots) :].any():
                raise MessageError(f"{what}: found a slot beyond the {len(keys.slots)} there are")
            chosen = np.flatnonzero(bits).astype(np.int32)
        n = int(keys.slots.candidates[chosen].sum())
        if len(order.requests) != len(layers_for(n)):
            raise MessageError(
                f"{what}: found {len(order.requests)} layers, wanted {len(layers_for(n))} for {n} candidates"
            )
        counter = self._counter + tree
        root = np.zeros((int(keys.slots.leaves[chosen].sum()), 2), dtype=np.uint64)
        placed = OwnerOrder(keys.session, counter, n, order.requests, self._context.threads)
        return GrowingShares(counter, chosen, n, placed, root)

    def _send_rows(
        self,
        party: str,
        channel: Channel,
        round_index: int,
        tree: int,
        first: int,
        rows: NDArray[np.int32],
        pairs: NDArray[np.int64],
    ) -> None:
        growing = self._trees[party, tree]
        if growing.n == 0:
            return
        with self._context.timings.phase("mask"):
            masked, sums = self._keys[party].cover(growing.counter, rows, growing.slots, pairs)
            growing.root += sums
            data = self._codec.pack(masked)
            self._context.timings.count("masks", len(rows) * len(growing.root))
        with self._context.timings.phase("send gradients"):
            channel.send(
                OtGradients(
                    round=round_index,
                    tree=tree,
                    counter=growing.counter,
                    first=first,
                    count=len(rows),
                    n_slots=len(growing.slots),
                    pairs=data,
                )
            )

    def open_level(self, level: ActiveLevel) -> None:
        """Send the own share of the sums of the nodes to build, masked once more."""
        for party, channel in self._context.channels.items():
            trees = [
                TreeShares(tree=nodes.tree, layers=list(self._shares(party, nodes, level))) for nodes in level.trees
            ]
            channel.send(OtShares(round=level.round, depth=level.depth, trees=trees))

    def _shares(self, party: str, nodes: LevelNodes, level: ActiveLevel) -> Iterator[memoryview]:
        growing, keys = self._trees[party, nodes.tree], self._keys[party]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        if growing.n == 0:
            growing.opening = np.zeros((len(built), 0, 2), dtype=np.uint64)
            return
        with self._context.timings.phase("sums"):
            if level.depth == 0:
                cells = growing.root[None]
            else:
                cells = keys.sums(growing.counter, nodes.in_memory, built, growing.slots)
                rows = int(nodes.in_memory.counts(built)[:, 0].sum())
                self._context.timings.count("masks", rows * len(growing.root))
            left = keys.slots.left_shares(cells, growing.slots)
        with self._context.timings.phase("order"):
            sent, growing.opening = growing.order.cover(left)
        yield from (self._codec.pack(one) for one in sent)

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The sums of a level, opened. Raises MessageError unless they are of this round, depth and size."""
        with self._context.timings.phase("wait"):
            message = self._context.channels[party].recv(OtSums)
        if (message.round, message.depth, len(message.trees)) != (level.round, level.depth, len(level.trees)):
            raise MessageError(
                f"reading sums of {party}: found {len(message.trees)} trees of round {message.round}, depth "
                f"{message.depth}, wanted {len(level.trees)} of round {level.round}, depth {level.depth}"
            )
        with self._context.timings.phase("open"):
            return [
                self._open(party, nodes, tree, level.depth)
                for nodes, tree in zip(level.trees, message.trees, strict=True)
            ]

    def _open(self, party: str, nodes: LevelNodes, tree: TreeSums, depth: int) -> OpenedTree:
        what = f"reading sums of {party}, tree {nodes.tree}"
        growing = self._trees[party, nodes.tree]
        shape = (len(nodes.build), growing.n)
        if (tree.n_nodes, tree.n_candidates) != shape:
            raise MessageError(
                f"{what}: found {tree.n_candidates} candidates in {tree.n_nodes} nodes, wanted {shape[1]} in {shape[0]}"
            )
        answer = self._codec.unpack(tree.sums, shape, what) + growing.opening
        if len(tree.withheld):
            withheld = unpack_array(tree.withheld, np.uint8, ((shape[0] * shape[1] + 7) // 8,), what)
            bits = np.unpackbits(withheld, bitorder="little")
            if bits[shape[0] * shape[1] :].any():
                raise MessageError(f"{what}: found bits beyond the {shape[0] * shape[1]} sums")
            answer[bits[: shape[0] * shape[1]].astype(np.bool_).reshape(shape)] = 0
        directions = depth == 0 and nodes.bounds is not None
        constraint = unpack_array(tree.constraint, np.int8, (growing.n if directions else 0,), what)
        return OpenedTree(self._codec.open(answer, what), constraint if directions else None)

    def end_tree(self) -> None:
        """Forget masks and orders of the round."""
        self._trees = {}

    def close(self) -> None:
        """Nothing runs in the background."""


def make_active(context: ActiveContext) -> OpenedSums:
    """The role."""
    return OpenedSums(context, OtSource(context))
