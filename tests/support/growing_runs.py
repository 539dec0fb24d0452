"""Growth of trees over two parties, the passive one in clear, and a slow twin that has all columns in one place."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import ActiveLevel, EngineOptions, Proposals
from vfxgb.contract.messages import BeginRound, Choose, Level, SplitRows, TreeRows
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.rows.gradients import Gradients
from vfxgb.runtime.timings import Timings
from vfxgb.train.arrays import unpack_bits, unpack_list
from vfxgb.transport.messages import pack_array, pack_bytes
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.choice import LEAST_GAIN
from vfxgb.tree.columns import Layout, RoundColumns
from vfxgb.tree.grower import Grower, Growth
from vfxgb.tree.local_features import OwnFeatures
from vfxgb.tree.passives import PassiveLinks
from vfxgb.tree.proposal import SumTable
from vfxgb.tree.shown_nodes import ShownNodes

STEP = 2.0**-12


class Shop:
    """A passive party and the protocol towards it in one: it sees sums in clear, and keeps rows by messages alone.

    `spoil`: changes an answer before it is sent.
    """

    peer = "shop"

    def __init__(self, binned: BinnedTable, spoil: Any = None) -> None:
        self.binned = binned
        self.spoil = spoil
        self.sent: list[Any] = []
        self.records: list[tuple[int, float, bool]] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)
        {BeginRound: self._begin, Level: self._level, Choose: self._choose}[type(message)](message)

    def recv(self, kind: Any) -> Any:
        assert kind is SplitRows
        return self.answer if self.spoil is None else self.spoil(self.answer)

    def _begin(self, message: BeginRound) -> None:
        chosen = unpack_bits(message.sampled, self.binned.n_train, "test")
        self.sampled = None if chosen is None else np.flatnonzero(chosen).astype(np.int32)
        assert message.n_sampled == (self.binned.n_train if chosen is None else len(self.sampled))
        self.partitions = [self.binned.rows.partition(self.sampled) for _ in message.features]
        self.lists = []
        for bits in message.features:
            used = unpack_bits(bits, self.binned.n_features, "test")
            every = np.arange(self.binned.n_features, dtype=np.int32)
            features = every if used is None else every[used]
            self.lists.append(CandidateList(self.binned.rows, self.binned.has_missing, features, None, None, 1))
        self.pending: dict[int, tuple[Any, bytes]] = {}
        self.allowed: dict[int, Any] = {}

    def _level(self, message: Level) -> None:
        for tree in message.trees:
            for group in tree.splits:
                nodes, left, right = (
                    unpack_list(part, np.int32, "test") for part in (group.nodes, group.left, group.right)
                )
                own, bits = self.pending.get(tree.tree, (nodes[:0], b""))
                # A party hears of its own splits without the rows, which it knows.
                assert (len(group.bits) == 0) == np.array_equal(own, nodes)
                bits = group.bits if len(group.bits) else bits
                self.partitions[tree.tree].split(nodes, left, right, bits)
            nodes = unpack_list(tree.nodes, np.int32, "test")
            assert self.partitions[tree.tree].has(nodes)
            width = len(self.lists[tree.tree].features)
            allowed = unpack_bits(tree.allowed, len(nodes) * width, "test")
            self.allowed[tree.tree] = None if allowed is None else allowed.reshape(len(nodes), width)
        self.pending = {}

    def _choose(self, message: Choose) -> None:
        answers = []
        for choice in message.trees:
            nodes = unpack_list(choice.nodes, np.int32, "test")
            start, tokens = (unpack_list(part, np.int64, "test") for part in (choice.start, choice.tokens))
            taken = self.lists[choice.tree].resolve(start, tokens)
            bits = self.binned.rows.left_bits(
                self.partitions[choice.tree], nodes, taken.feature, taken.bin, taken.default_left
            )
            first = len(self.records)
            for feature, cut, left in zip(taken.feature, taken.bin, taken.default_left, strict=True):
                self.records.append((int(feature), float(self.binned.cuts[feature][cut]), bool(left)))
            records = np.arange(first, len(self.records), dtype=np.int32)
            self.pending[choice.tree] = (nodes, bits)
            answers.append(TreeRows(choice.tree, pack_array(taken.tokens), pack_array(records), pack_bytes(bits)))
        self.answer = SplitRows(round=message.round, depth=message.depth, trees=answers)


class InClear:
    """An ActiveRole that asks the Shop for sums directly."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.ended = 0

    def begin_tree(self, gradients: Gradients) -> None:
        self.gradients = gradients
        self.tables = [SumTable(None, 1) for _ in gradients.pairs]

    def open_level(self, level: ActiveLevel) -> None:
        self.level = level

    def propose(self, level: ActiveLevel) -> dict[str, list[Proposals]]:
        shop, found = self.shop, []
        for nodes in level.trees:
            built = np.ascontiguousarray(nodes.nodes[nodes.build])
            allowed = shop.allowed[nodes.tree]
            left = shop.lists[nodes.tree].left_sums(
                shop.partitions[nodes.tree],
                built,
                self.gradients.pairs[nodes.tree],
                None if allowed is None else allowed[nodes.build],
            )
            found.append(self.tables[nodes.tree].propose(nodes, left))
        return {"shop": found}

    def chosen(self, party: str, index: int, positions: Any, tokens: Any, bits: Any) -> Any:
        assert party == "shop"
        return self.tables[self.level.trees[index].tree].chosen(positions, tokens)

    def end_tree(self) -> None:
        self.ended += 1

    def close(self) -> None:
        """Nothing to end."""


class Run:
    """Columns 0 and 1 at the bank, 2 to 4 at the shop, in whatever order the parties come."""

    def __init__(self, seed: int, outputs: int = 1, shop_first: bool = False, spoil: Any = None, **given: Any) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.n_train = 130, 110
        X = rng.normal(size=(self.n, 5)).astype(np.float32).round(1)
        X[rng.random(X.shape) < 0.15] = np.nan
        self.X = X
        self.pairs = [
            np.stack([rng.integers(-4000, 4000, self.n_train), rng.integers(100, 1000, self.n_train)], axis=1)
            for _ in range(outputs)
        ]
        self.params = TrainParams(max_depth=3, min_child_weight=0.0, **given)
        own, theirs = (BinnedTable.build(Table.read(X[:, part]), self.n_train, 8) for part in (slice(2), slice(2, 5)))
        self.cuts = [*own.cuts, *theirs.cuts]
        self.shop = Shop(theirs, spoil)
        self.role = InClear(self.shop)
        self.own = OwnFeatures(own, None, self.params, 1)
        layout = Layout(("shop", "bank"), (0, 3, 5), 1) if shop_first else Layout(("bank", "shop"), (0, 2, 5), 0)
        self.layout = layout
        channels: Any = {"shop": self.shop}
        timings = Timings()
        self.columns = RoundColumns(layout, self.params)
        passives = ShownNodes(PassiveLinks(channels, self.columns, self.n_train, timings), self.role)
        self.grower = Grower(Growth(self.params, EngineOptions(), False, timings), self.columns, self.own, passives)

    def grow(self, sampled: Any = None, alone: bool = False) -> Any:
        pairs = self.pairs
        if sampled is not None:
            left_out = np.setdiff1d(np.arange(self.n_train), sampled)
            pairs = [one.copy() for one in pairs]
            for one in pairs:
                one[left_out] = 0
        return self.grower.grow(Gradients(0, pairs, sampled, STEP), alone)

    def naive(self, output: int, sampled: Any, columns: Any) -> Iterator[tuple[frozenset[int], float]]:
        """(sampled rows, weight) of every leaf; `columns`: depth -> columns of X that may be used.

        Splits that part the sampled rows alike may part others differently; of these rows it says nothing.
        """
        pairs, params = self.pairs[output], self.params

        def sums(rows: Any) -> Any:
            return pairs[rows].sum(axis=0) * STEP

        def score(rows: Any) -> float:
            g, h = sums(rows)
            return g * g / (h + params.reg_lambda)

        def grow(rows: Any, depth: int) -> Iterator[tuple[frozenset[int], float]]:
            best, taken = max(LEAST_GAIN, params.gamma), None
            for feature in columns(depth) if depth < params.max_depth else ():
                values = self.X[rows, feature]
                for cut in self.cuts[feature]:
                    for with_missing in (False, True):
                        goes = (values < cut) | (np.isnan(values) & with_missing)
                        left, right = rows[goes], rows[~goes]
                        if len(left) and len(right):
                            gain = score(left) + score(right) - score(rows)
                            if gain > best:
                                best, taken = gain, (left, right)
            if taken is None:
                g, h = sums(rows)
                yield frozenset(rows.tolist()), -g / (h + params.reg_lambda)
            else:
                for side in taken:
                    yield from grow(side, depth + 1)

        return grow(sampled, 0)

    def walked(self, shape: Any, row: int) -> int:
        """The leaf of a row, from the tree's shape and the records of the splits' owners."""
        node = 0
        while shape.party[node] >= 0:
            mine = shape.party[node] == self.layout.active
            feature, cut, default_left = (self.own if mine else self.shop).records[shape.record[node]]
            value = self.X[row, feature + (0 if mine else 2)]
            goes = default_left if np.isnan(value) else value < np.float32(cut)
            node = int((shape.left if goes else shape.right)[node])
        return node

    def same(self, trees: Any, sampled: Any = None, columns: Any = lambda depth: range(5)) -> None:
        rows = np.arange(self.n_train) if sampled is None else sampled
        for output, tree in enumerate(trees):
            shape, here = tree.shape(1.0), tree.partition.here
            found = {frozenset(here.rows(leaf).tolist()): shape.value[leaf] for leaf in here.nodes().tolist()}
            wanted = dict(self.naive(output, rows, columns))
            assert found.keys() == wanted.keys()
            assert len(wanted) > 3
            for leaf, weight in wanted.items():
                assert found[leaf] == pytest.approx(weight, rel=1e-5, abs=1e-7)
            assert here.leaves().tolist() == [self.walked(shape, row) for row in range(self.n)]
