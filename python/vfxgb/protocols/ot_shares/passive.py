"""A passive party's side of `ot_shares`: it holds punctured trees of masks and sums shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveLevel, PassiveNodes, PassiveTree
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.passive import ShownSums
from vfxgb.protocols.ot_shares.holder import HolderKeys
from vfxgb.protocols.ot_shares.messages import OtGradients, OtSlots, OtSums, TreeSums
from vfxgb.protocols.ot_shares.params import OtSharesParams
from vfxgb.protocols.ot_shares.shares import pair_codec
from vfxgb.rows.masks import HeldGradients, lane_bits
from vfxgb.transport.messages import pack_array, pack_bytes

_EMPTY = pack_bytes(b"")


@dataclass
class HeldShares:
    """One growing tree. `counter`: the number of its masks. `columns`, `slots`: int32, ascending, those it uses.

    `gradients`: its masked gradients, None without slots.
    """

    counter: int
    columns: NDArray[np.int32]
    slots: NDArray[np.int32]
    gradients: HeldGradients | None


class OtPassive(ShownSums):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._params: OtSharesParams = context.params
        self._codec = pair_codec(context.params, context.n_train, context.hessian_shift, context.threads)
        self._keys: HolderKeys | None = None
        self._shares: list[HeldShares] = []
        self._counter = 0

    def prepare(self) -> None:
        """See PreparingPassive."""
        with self._context.timings.phase("set-up"):
            self._keys = HolderKeys(self._context, lane_bits(self._codec.exact.widths))

    def begin_tree(self, round_index: int, sampled: NDArray[np.int32] | None, trees: Sequence[PassiveTree]) -> None:
        """Read the masked gradients, and sum the own shares of the roots meanwhile."""
        context = self._context
        if self._keys is None:
            self.prepare()
            assert self._keys is not None  # noqa: S101 - that is what it does
        self._check(trees)
        count = context.n_train if sampled is None else len(sampled)
        self._shares = [self._begin(tree, sampled) for tree in trees]
        self._draw(trees)
        if self._keys.start.some_columns:
            self._send_slots(round_index)
        for tree, share in enumerate(self._shares):
            if share.gradients is not None:
                for first in range(0, count, self._params.chunk_rows):
                    self._read_rows(round_index, tree, share, first, min(self._params.chunk_rows, count - first))
        self._counter += len(trees)

    def _check(self, trees: Sequence[PassiveTree]) -> None:
        context, start = self._context, self._own_keys().start
        if self._counter + len(trees) > start.trees:
            raise MessageError(
                f"{context.party} beginning a round: found {self._counter + len(trees)} trees, wanted at most the "
                f"{start.trees} that were announced"
            )
        n_features = context.rows.n_features
        if not start.some_columns and any(len(tree.features) < n_features for tree in trees):
            raise MessageError(
                f"{context.party} beginning a round: found a tree that may not use all {n_features} columns, wanted "
                "all: no column sampling was announced"
            )

    def _begin(self, tree: PassiveTree, sampled: NDArray[np.int32] | None) -> HeldShares:
        keys, counter = self._own_keys(), self._counter + tree.tree
        columns = np.flatnonzero(np.isin(keys.features, tree.features)).astype(np.int32)
        slots = keys.slots.of_columns(columns)
        gradients = keys.gradients(counter, slots, sampled, self._codec.exact.widths) if len(slots) else None
        return HeldShares(counter, columns, slots, gradients)

    def _given_order(self, tree: PassiveTree) -> NDArray[np.int64]:
        """For each position of the sums, column by column, the number of its candidate in the tree's true order."""
        keys, columns = self._own_keys(), self._shares[tree.tree].columns
        count = np.zeros(len(tree.features), dtype=np.int64)
        place = np.searchsorted(tree.features, keys.features[columns])
        count[place] = keys.slots.candidates[columns]
        start = np.cumsum(count) - count
        blocks = [np.arange(start[at], start[at] + count[at]) for at in place]
        return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])

    def _send_slots(self, round_index: int) -> None:
        bits = np.zeros((len(self._shares), len(self._own_keys().features)), dtype=np.uint8)
        for share, own in zip(self._shares, bits, strict=True):
            own[share.columns] = 1
        packed = [pack_array(np.packbits(own, bitorder="little")) for own in bits]
        self._context.channel.send(OtSlots(round=round_index, trees=packed))

    def _read_rows(self, round_index: int, tree: int, share: HeldShares, first: int, count: int) -> None:
        context = self._context
        with context.timings.phase("wait"):
            message = context.channel.recv(OtGradients)
        what = f"{context.party} reading gradients"
        place = (message.round, message.tree, message.n_slots, message.first, message.count)
        wanted = (round_index, tree, len(share.slots), first, count)
        if place != wanted:
            text = "round {}, tree {} of {} slots, from row {} on {} rows"
            raise MessageError(f"{what}: found {text.format(*place)}, wanted {text.format(*wanted)}")
        if message.counter != share.counter:
            again = "has been used; masks are used once" if message.counter < share.counter else "is not the next"
            raise MessageError(
                f"{what}: found masks number {message.counter}, wanted {share.counter}: that number {again}"
            )
        self._codec.check(message.pairs, len(share.slots) * count, what)
        assert share.gradients is not None  # noqa: S101 - there are slots
        with context.timings.phase("sums"):
            share.gradients.take(first, count, message.pairs)

    def open_level(self, level: PassiveLevel) -> None:
        """Send the own share of the left sums of the nodes to build."""
        self._send_facts(level)
        answers = [self._answer(nodes, self._left(nodes, level.depth), level.depth) for nodes in level.trees]
        self._context.channel.send(OtSums(round=level.round, depth=level.depth, trees=answers))
        for nodes in level.trees:
            self._note_shown(nodes)

    def _left(self, nodes: PassiveNodes, depth: int) -> NDArray[np.uint64]:
        """Own shares of the left sums of the built nodes, column by column."""
        share, keys = self._shares[nodes.tree], self._own_keys()
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        if share.gradients is None:
            return np.zeros((len(built), 0, 2), dtype=np.uint64)
        with self._context.timings.phase("sums"):
            if depth == 0:
                cells = share.gradients.root()[None]
            else:
                cells = share.gradients.sums(self._trees[nodes.tree].partition, built)
            return keys.slots.left_shares(cells, share.slots, share.columns)

    def _answer(self, nodes: PassiveNodes, answer: NDArray[np.uint64], depth: int) -> TreeSums:
        candidates = self._candidates[nodes.tree]
        built = np.ascontiguousarray(nodes.nodes[nodes.build])
        allowed = None if nodes.allowed is None else nodes.allowed[nodes.build]
        available = candidates.available(built, allowed, self._trees[nodes.tree].cuts)
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
        """Forget the masked gradients; count what was shown."""
        self._close_shares()
        self._forget()

    def close(self) -> None:
        """Forget masked gradients and masks."""
        self._close_shares()
        if self._keys is not None:
            self._keys.close()

    def _close_shares(self) -> None:
        for share in self._shares:
            if share.gradients is not None:
                share.gradients.close()
        self._shares = []

    def _own_keys(self) -> HolderKeys:
        assert self._keys is not None  # noqa: S101 - begin_tree came first
        return self._keys
