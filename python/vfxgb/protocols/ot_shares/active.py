"""The active party's side of `ot_shares`: it owns the trees of masks, masks gradients and opens sums."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.protocols.ot_shares.beside import beside
from vfxgb.protocols.ot_shares.messages import OtGradients, OtSlots, OtSums, TreeSums
from vfxgb.protocols.ot_shares.owner import OwnerKeys, Run
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import keeps_leaves, pair_codec
from vfxgb.rows.masks import MaskedChunk, MaskedTree, lane_bits
from vfxgb.rows.parts import Pairs
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, pack_bytes, unpack_array


@dataclass
class GrowingShares:
    """One growing tree with one passive party.

    `masks`: number and slots of its masks; `columns`: int32, ascending, those it uses; `n`: their candidates. `root`:
    uint64[leaves, 2], own share of the root's sums. `left`: uint64[m, n, 2], own share of the left sums of the nodes
    that are asked for.
    """

    masks: MaskedTree
    columns: NDArray[np.int32]
    n: int
    root: NDArray[np.uint64]
    left: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 0, 2), dtype=np.uint64))


class OtSource:
    """A SumSource over shares. The set-up is done with the first round with others, or before it (`preparing`)."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._params: OtSharesParams = context.params
        self._codec = pair_codec(context.params, context.n_train, context.hessian_shift, context.threads)
        self._keys: dict[str, OwnerKeys] = {}
        self._trees: dict[tuple[str, int], GrowingShares] = {}
        self._counter = 0
        train = context.train
        self._some_columns = train.colsample_bytree < 1.0
        # Whether a passive party may leave out sums; what else it left out would only hide that it deviates.
        self._may_withhold = min(train.colsample_bylevel, train.colsample_bynode) < 1.0 or train.min_bucket_rows > 1

    def begin_tree(self, gradients: Gradients) -> None:
        """Send every passive party every sampled row's pair, masked for each of its slots."""
        if not self._keys:
            self._set_up(self._context.progress)
        code, rows = self._codec.exact, self._context.rows
        pairs = [rows.encoded(values, code, gradients.step) for values in gradients.pairs]
        for party, channel in self._context.channels.items():
            chosen = self._read_columns(party, channel, gradients.round, len(pairs))
            for tree, columns in enumerate(chosen):
                self._trees[party, tree] = self._grow(party, self._counter + tree, columns, gradients.sampled)
        for tree, own in enumerate(pairs):
            self._send_tree(gradients.round, tree, own)
        self._counter += len(pairs)

    def _send_tree(self, round_index: int, tree: int, pairs: Pairs) -> None:
        """Send the pairs of one output, chunk by chunk to all passive parties in turn."""
        chunk_rows = self._params.chunk_rows
        chunks = {
            party: keys.own_trees().chunks(self._trees[party, tree].masks, pairs, chunk_rows)
            for party, keys in self._keys.items()
            if self._trees[party, tree].n
        }
        while chunks:
            for party in list(chunks):
                with self._context.timings.phase("mask"):
                    chunk = next(chunks[party], None)
                if chunk is None:
                    del chunks[party]
                else:
                    self._send_rows(party, round_index, tree, chunk)

    def preparing(self) -> AbstractContextManager[None]:
        """See PreparingActive."""
        channels = list(self._context.channels.values())
        # Callbacks hear nothing of it: they are called by the thread that grows trees.
        return beside(lambda unit_done: self._set_up(lambda *_: unit_done()), channels)

    def _set_up(self, progress: Callable[[str, int, int], None]) -> None:
        """Make the masks of all passive parties; `progress` is that of ActiveContext."""
        with self._context.timings.phase("set-up"):
            self._make_keys(progress)

    def _make_keys(self, progress: Callable[[str, int, int], None]) -> None:
        context = self._context
        before = sum(channel.traffic.total_bytes for channel in context.channels.values())
        # 63 bits: masks of two runs over one stored set-up never meet.
        number = int.from_bytes(_native.rand.random_bytes(8), "little") >> 1
        run = Run(number, context.train.n_estimators * context.n_outputs)
        keys = {
            party: OwnerKeys(
                channel, self._params, context.rows, context.n_train, run, context.threads, context.line.mbit
            )
            for party, channel in context.channels.items()
        }
        self._keys = keys
        for owner in keys.values():
            owner.start(self._some_columns, lane_bits(self._codec.exact.widths))
        for owner in keys.values():
            owner.read_offer()
        slots = [owner.slots for owner in keys.values()]
        keep = keeps_leaves(self._params, slots, context.n_train, owner=True, party="the active party")
        count = iter(range(1, 1 + sum(owner.blocks for owner in keys.values())))
        total = sum(owner.blocks for owner in keys.values())
        for owner in keys.values():
            owner.set_up(keep, lambda: progress("setting up ot_shares", next(count), total))
            context.remarks.extend(owner.remarks)
        after = sum(channel.traffic.total_bytes for channel in context.channels.values())
        context.timings.count("set-up bytes", after - before)

    def _read_columns(self, party: str, channel: Channel, round_index: int, n_trees: int) -> list[NDArray[np.int32]]:
        """The columns of each tree: all of them, unless columns are sampled by tree."""
        n_columns = len(self._keys[party].slots.n_bins)
        if not self._some_columns:
            return [np.arange(n_columns, dtype=np.int32)] * n_trees
        what = f"reading the features of {party}'s trees"
        with self._context.timings.phase("wait"):
            message = channel.recv(OtSlots)
        if (message.round, len(message.trees)) != (round_index, n_trees):
            raise MessageError(
                f"{what}: found {len(message.trees)} trees of round {message.round}, wanted {n_trees} of round "
                f"{round_index}"
            )
        return [_chosen(bits, n_columns, f"{what}, tree {tree}") for tree, bits in enumerate(message.trees)]

    def _grow(
        self, party: str, counter: int, chosen: NDArray[np.int32], sampled: NDArray[np.int32] | None
    ) -> GrowingShares:
        keys = self._keys[party]
        slots = keys.slots.of_columns(chosen)
        root = np.zeros((int(keys.slots.leaves[slots].sum()), 2), dtype=np.uint64)
        masks = keys.masked_tree(counter, slots, sampled, self._codec.exact.widths)
        return GrowingShares(masks, chosen, int(keys.slots.candidates[chosen].sum()), root)

    def _send_rows(self, party: str, round_index: int, tree: int, chunk: MaskedChunk) -> None:
        growing = self._trees[party, tree]
        growing.root += chunk.sums
        self._context.timings.count("masks", chunk.count * len(growing.root))
        with self._context.timings.phase("send gradients"):
            self._context.channels[party].send(
                OtGradients(
                    round=round_index,
                    tree=tree,
                    counter=growing.masks.counter,
                    first=chunk.first,
                    count=chunk.count,
                    n_slots=len(growing.masks.slots),
                    pairs=pack_bytes(chunk.data),
                )
            )

    def open_level(self, level: ActiveLevel) -> None:
        """Sum the own share of the nodes to build, while the passive parties sum theirs."""
        for party in self._context.channels:
            for nodes in level.trees:
                self._trees[party, nodes.tree].left = self._left(party, nodes, level.depth)

    def _left(self, party: str, nodes: LevelNodes, depth: int) -> NDArray[np.uint64]:
        growing, keys = self._trees[party, nodes.tree], self._keys[party]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        if growing.n == 0:
            return np.zeros((len(built), 0, 2), dtype=np.uint64)
        with self._context.timings.phase("sums"):
            if depth == 0:
                cells = growing.root[None]
            else:
                cells = keys.own_trees().sums(growing.masks, nodes.partition, built)
                rows = int(nodes.partition.counts(built)[:, 0].sum())
                self._context.timings.count("masks", rows * len(growing.root))
            return keys.slots.left_shares(cells, growing.masks.slots, growing.columns)

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
        answer = self._codec.unpack(tree.sums, shape, what) - growing.left
        if len(tree.withheld):
            if not self._may_withhold:
                raise MessageError(
                    f"{what}: found sums that are withheld, wanted all {shape[0] * shape[1]}: columns are not sampled "
                    "by level or node, and min_bucket_rows is 1"
                )
            withheld = unpack_array(tree.withheld, np.uint8, ((shape[0] * shape[1] + 7) // 8,), what)
            bits = np.unpackbits(withheld, bitorder="little")
            if bits[shape[0] * shape[1] :].any():
                raise MessageError(f"{what}: found bits beyond the {shape[0] * shape[1]} sums")
            answer[bits[: shape[0] * shape[1]].astype(np.bool_).reshape(shape)] = 0
        directions = depth == 0 and nodes.bounds is not None
        constraint = unpack_array(tree.constraint, np.int8, (growing.n if directions else 0,), what)
        return OpenedTree(self._codec.open(answer, what), constraint if directions else None)

    def end_tree(self) -> None:
        """Forget the shares of the round."""
        self._trees = {}

    def close(self) -> None:
        """Forget the masks."""
        for keys in self._keys.values():
            keys.close()


def _chosen(bits: Bulk, n_columns: int, what: str) -> NDArray[np.int32]:
    packed = unpack_array(bits, np.uint8, ((n_columns + 7) // 8,), what)
    marks = np.unpackbits(packed, bitorder="little")
    if marks[n_columns:].any():
        raise MessageError(f"{what}: found a feature beyond the {n_columns} that have cuts")
    return np.flatnonzero(marks).astype(np.int32)


class OtActive(OpenedSums):
    """The active party's role, which scores the sums it opens from the passive parties' shares."""

    def __init__(self, context: ActiveContext) -> None:
        self._shares = OtSource(context)
        super().__init__(context, self._shares)

    def preparing(self) -> AbstractContextManager[None]:
        """See PreparingActive."""
        return self._shares.preparing()
