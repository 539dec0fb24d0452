"""Growth of a round's trees, level by level, by the active party (XGBoost's hist, depth-wise).

One round grows K trees, one per output. A level of all of them is one exchange with every passive party: the splits of
the level before go out with the nodes to score, proposals come back, the best per node is taken, and its owner says
which rows go left. The active party scores its own features while the others work.

A node is split when its best gain is above 1e-6 (XGBoost's kRtEps) and at least gamma. Of equal gains the party that
comes first wins, and within a party its first candidate: the lowest global feature id, as in XGBoost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ActiveLevel, ActiveRole, EngineOptions, Gradients, Proposals
from vfxgb.contract.messages import BeginRound, Choose, Level, SplitGroup, SplitRows, TreeChoice, TreeLevel
from vfxgb.errors import MessageError
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import ColumnSampler
from vfxgb.runtime.timings import Timings
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, unpack_array
from vfxgb.tree.growing import GrowingTree, OwnedSplits
from vfxgb.tree.local_features import OwnFeatures

LEAST_GAIN = 1e-6
_EMPTY = pack_bytes(b"")


@dataclass(frozen=True)
class Layout:
    """Who holds which global feature ids: party i those from first[i] to first[i + 1] - 1; `active` is a position."""

    parties: tuple[str, ...]
    first: tuple[int, ...]
    active: int

    @property
    def n_features(self) -> int:
        """Count the features of all parties."""
        return self.first[-1]

    def local(self, party: int, features: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the ascending global ids that `party` holds, counted within it."""
        begin, end = np.searchsorted(features, (self.first[party], self.first[party + 1]))
        return features[begin:end] - np.int32(self.first[party])


class Grower:
    """Grows the trees of one round after the other.

    `role` and `channels` are those of the passive parties; `role` is None when there are none. The first `n_train` of
    the rows are training rows. `bounded`: the run has monotone constraints. `options`: what the protocol
    asks for.
    """

    def __init__(
        self,
        params: TrainParams,
        layout: Layout,
        own: OwnFeatures,
        role: ActiveRole | None,
        channels: Mapping[str, Channel],
        n_train: int,
        bounded: bool,
        options: EngineOptions,
        threads: int,
        timings: Timings,
    ) -> None:
        self._params = params
        self._layout = layout
        self._own = own
        self._role = role
        self._channels = channels
        self._n_train = n_train
        self._bounded = bounded
        self._first_order = options.first_order
        self._threads = threads
        self._timings = timings
        self._columns = ColumnSampler(layout.n_features, params)
        self._by_node = min(params.colsample_bylevel, params.colsample_bynode) < 1.0
        # A parent shows cuts and features that its children withhold: parent minus child is no proposal of the sibling.
        self._subtract = options.subtract and not self._by_node and params.min_bucket_rows == 1
        self._features: list[NDArray[np.int32]] = []

    def grow(self, gradients: Gradients, alone: bool) -> list[GrowingTree]:
        """Grow the trees of a round; where `alone`, from the active party's features, and others hear nothing."""
        role = None if alone else self._role
        params = self._params
        rule = _native.gbdt.SplitRule(
            gradients.step,
            params.reg_lambda,
            params.reg_alpha,
            params.min_child_weight,
            params.delta_step,
            True,
            self._first_order,
        )
        trees = [
            GrowingTree(
                tree,
                self._own.rows,
                pairs,
                gradients.sampled,
                rule,
                gradients.step,
                self._bounded,
                self._subtract,
            )
            for tree, pairs in enumerate(gradients.pairs)
        ]
        self._begin(gradients, role)
        for depth in range(params.max_depth):
            open_trees = [tree for tree in trees if len(tree.level.nodes)]
            if not open_trees:
                break
            self._grow_level(gradients.round, depth, open_trees, role)
        if role is not None:
            role.end_tree()
        return trees

    def _begin(self, gradients: Gradients, role: ActiveRole | None) -> None:
        outputs = len(gradients.pairs)
        self._features = [self._columns.tree(gradients.round, tree) for tree in range(outputs)]
        if role is not None:
            chosen = gradients.sampled
            rows = _EMPTY if chosen is None else pack_bits(chosen, self._n_train)
            n_sampled = self._n_train if chosen is None else len(chosen)
            for party, channel in self._passive():
                n_local = self._layout.first[party + 1] - self._layout.first[party]
                features = [
                    _EMPTY
                    if len(ids) == self._layout.n_features
                    else pack_bits(self._layout.local(party, ids), n_local)
                    for ids in self._features
                ]
                channel.send(BeginRound(round=gradients.round, n_sampled=n_sampled, sampled=rows, features=features))
            role.begin_tree(gradients)
        self._own.begin_tree([self._layout.local(self._layout.active, ids) for ids in self._features])

    def _grow_level(self, round_index: int, depth: int, trees: list[GrowingTree], role: ActiveRole | None) -> None:
        level = ActiveLevel(round_index, depth, [tree.level for tree in trees])
        usable = [self._usable(round_index, depth, tree) for tree in trees]
        if role is not None:
            for party, channel in self._passive():
                channel.send(
                    Level(
                        round=round_index,
                        depth=depth,
                        trees=[self._tree_level(party, *pair) for pair in zip(trees, usable, strict=True)],
                    )
                )
            role.open_level(level)
        with self._timings.phase("own sums"):
            mine = [
                self._own.propose(tree, self._allowed(self._layout.active, tree, ids))
                for tree, ids in zip(trees, usable, strict=True)
            ]
        proposals: dict[int, Sequence[Proposals]] = {self._layout.active: mine}
        if role is not None:
            proposed = role.propose(level)
            proposals.update({party: proposed[channel.peer] for party, channel in self._passive()})
        self._split(round_index, depth, trees, proposals, role)

    def _split(
        self,
        round_index: int,
        depth: int,
        trees: list[GrowingTree],
        proposals: Mapping[int, Sequence[Proposals]],
        role: ActiveRole | None,
    ) -> None:
        winners: list[dict[int, NDArray[np.int64]]] = []
        gains: list[NDArray[np.float64]] = []
        for index in range(len(trees)):
            best, positions = best_party(
                {party: proposals[party][index] for party in sorted(proposals)}, self._params.gamma
            )
            winners.append(positions)
            gains.append(best)
        asked = self._ask(round_index, depth, trees, proposals, winners)
        with self._timings.phase("own splits"):
            active = self._layout.active
            mine = [
                self._own.take(tree, active, won[active], proposals[active][index]) if active in won else None
                for index, (tree, won) in enumerate(zip(trees, winners, strict=True))
            ]
        theirs = self._answers(round_index, depth, trees, winners, asked, role)
        with self._timings.phase("apply splits"):
            last = depth + 1 == self._params.max_depth
            for index, tree in enumerate(trees):
                owned = [split for split in (mine[index], *theirs[index]) if split is not None]
                tree.split(owned, gains[index], last)

    def _ask(
        self,
        round_index: int,
        depth: int,
        trees: list[GrowingTree],
        proposed: Mapping[int, Sequence[Proposals]],
        winners: list[dict[int, NDArray[np.int64]]],
    ) -> dict[int, list[int]]:
        """Tell each passive winner which nodes it won; returns per such party the trees (by index) it was asked for."""
        asked: dict[int, list[int]] = {}
        for party, channel in self._passive():
            indices = [index for index, won in enumerate(winners) if party in won]
            if not indices:
                continue
            choices = []
            for index in indices:
                positions = winners[index][party]
                proposals = proposed[party][index]
                start, tokens = _native.gbdt.select_tokens(proposals.start, proposals.tokens, positions)
                nodes = trees[index].level.nodes[positions]
                choices.append(
                    TreeChoice(
                        tree=trees[index].tree,
                        nodes=pack_array(nodes),
                        start=pack_array(start),
                        tokens=pack_array(tokens),
                    )
                )
            channel.send(Choose(round=round_index, depth=depth, trees=choices))
            asked[party] = indices
        return asked

    def _answers(
        self,
        round_index: int,
        depth: int,
        trees: list[GrowingTree],
        winners: list[dict[int, NDArray[np.int64]]],
        asked: Mapping[int, list[int]],
        role: ActiveRole | None,
    ) -> list[list[OwnedSplits]]:
        """The splits of the passive winners, per tree."""
        splits: list[list[OwnedSplits]] = [[] for _ in trees]
        for party, channel in self._passive():
            if party not in asked or role is None:
                continue
            with self._timings.phase("wait"):
                answer = channel.recv(SplitRows)
            order = [trees[index].tree for index in asked[party]]
            if (answer.round, answer.depth, [tree.tree for tree in answer.trees]) != (round_index, depth, order):
                raise MessageError(
                    f"reading the splits of {channel.peer}: found round {answer.round}, depth {answer.depth}, "
                    f"{len(answer.trees)} trees, wanted round {round_index}, depth {depth}, trees {order}"
                )
            for index, rows in zip(asked[party], answer.trees, strict=True):
                positions = winners[index][party]
                what = f"reading the splits of {channel.peer}, tree {rows.tree}"
                tokens = unpack_array(rows.tokens, np.int64, (len(positions),), what)
                records = unpack_array(rows.records, np.int32, (len(positions),), what)
                nodes = np.ascontiguousarray(trees[index].level.nodes[positions])
                wanted = trees[index].partition.left_bits_size(nodes)
                if len(rows.bits) != wanted or (records < 0).any():
                    raise MessageError(
                        f"{what}: found {len(rows.bits)} bytes of rows, wanted {wanted}, or a bad record"
                    )
                chosen = role.chosen(channel.peer, index, positions, tokens, rows.bits)
                splits[index].append(OwnedSplits(party, positions, chosen.left, chosen.constraint, records, rows.bits))
        return splits

    def _tree_level(self, party: int, tree: GrowingTree, usable: list[NDArray[np.int32]] | None) -> TreeLevel:
        groups = [
            SplitGroup(
                nodes=pack_array(split.nodes),
                left=pack_array(split.left),
                right=pack_array(split.right),
                bits=_EMPTY if split.party == party else memoryview(split.bits),
            )
            for split in tree.applied
        ]
        allowed = self._allowed(party, tree, usable)
        return TreeLevel(
            tree=tree.tree,
            splits=groups,
            nodes=pack_array(tree.level.nodes),
            build=pack_array(tree.level.build),
            allowed=_EMPTY if allowed is None else pack_array(np.packbits(allowed, bitorder="little")),
        )

    def _usable(self, round_index: int, depth: int, tree: GrowingTree) -> list[NDArray[np.int32]] | None:
        """The global features each node of the level may use, or None for all of its tree."""
        if not self._by_node:
            return None
        return [self._columns.node(round_index, tree.tree, depth, int(node)) for node in tree.level.nodes]

    def _allowed(
        self, party: int, tree: GrowingTree, usable: list[NDArray[np.int32]] | None
    ) -> NDArray[np.bool_] | None:
        """bool[m, features of the tree at the party], or None for all."""
        if usable is None:
            return None
        pool = self._layout.local(party, self._features[tree.tree])
        return np.array([np.isin(pool, self._layout.local(party, ids)) for ids in usable]).reshape(
            len(usable), len(pool)
        )

    def _passive(self) -> list[tuple[int, Channel]]:
        """(position in party order, channel) of every passive party."""
        return [(i, self._channels[name]) for i, name in enumerate(self._layout.parties) if i != self._layout.active]


def best_party(
    proposals: Mapping[int, Proposals], gamma: float
) -> tuple[NDArray[np.float64], dict[int, NDArray[np.int64]]]:
    """The best gain of each node, and per party the positions of the nodes it wins; the first of equal ones wins.

    `proposals`: party position -> those of the same m nodes, in party order. Nodes whose best gain is too small are
    nobody's.
    """
    parties = list(proposals)
    table = np.stack([proposals[party].gain for party in parties])
    winner = np.argmax(table, axis=0)
    best = table[winner, np.arange(table.shape[1])]
    worth = (best > LEAST_GAIN) & (best >= gamma)
    won = {party: np.flatnonzero(worth & (winner == row)) for row, party in enumerate(parties)}
    return best, {party: positions for party, positions in won.items() if len(positions)}


def pack_bits(members: NDArray[np.int32], count: int) -> Bulk:
    """The set `members` of 0 .. count - 1, one bit each. An empty set still has its bytes."""
    bits = np.zeros(max(count, 1), dtype=np.uint8)
    bits[members] = 1
    return pack_array(np.packbits(bits, bitorder="little"))
