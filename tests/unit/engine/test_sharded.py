"""Bins and partitions in shards do what those of one process do, over random trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native
from vfxgb.contract import LevelNodes
from vfxgb.data.table import Table
from vfxgb.engine import split_bits
from vfxgb.engine.base import join_all
from vfxgb.engine.local import LocalEngine
from vfxgb.engine.parts import Division, ShardedPairs, ShardedPartition
from vfxgb.engine.table import ShardedTable
from vfxgb.errors import EngineError
from vfxgb.rows.memory import MemoryRows
from vfxgb.rows.split_bits import Splits
from vfxgb.tree.node_integers import node_integers

MEMORY = 1 << 30


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    made = LocalEngine(MEMORY, 1, folder, shards=4)
    yield made
    made.close()
    assert list(folder.iterdir()) == []


def int32(*values):
    return np.array(values, dtype=np.int32)


class Both:
    """The same rows in one piece and in shards."""

    def __init__(self, engine, rng, n_rows=203, n_train=150, sampled=False):
        self.n_train = n_train
        X = rng.normal(size=(n_rows, 3)).astype(np.float32).round(1)
        X[rng.random(X.shape) < 0.1] = np.nan
        table = Table.read(X)
        divided = ShardedTable.of(table, n_train, 16, engine)
        binned = divided.bin(16, None)
        self.sharded = binned.rows
        bins = _native.gbdt.Bins(n_rows, [cuts.astype(np.float64) for cuts in binned.cuts])
        for feature in range(3):
            bins.fill(feature, table.column(feature))
        rows = np.flatnonzero(rng.random(n_train) < 0.5).astype(np.int32) if sampled else None
        self.pairs = rng.integers(-1000, 1000, size=(n_train, 2))
        self.here = MemoryRows(bins, n_train)
        self.parts = self.sharded.pairs(self.pairs)
        self.one, self.many = self.here.partition(rows), self.sharded.partition(rows)

    def split(self, rng, next_node):
        """Split a random open node; both must say the same of who goes left."""
        node = int32(rng.choice(self.one.nodes()))
        feature = int32(rng.integers(3))
        place = int32(rng.integers(self.here.n_bins[feature[0]] - 1))
        direction = rng.random(1) < 0.5
        bits = [
            rows.left_bits(partition, node, feature, place, direction)
            for rows, partition in ((self.here, self.one), (self.sharded, self.many))
        ]
        assert bits[0] == bits[1]
        # The same from bits of all rows, which say nothing of nodes.
        for rows, partition in ((self.here, self.one), (self.sharded, self.many)):
            everyone = rows.row_bits(feature, place, direction)
            assert len(everyone) == (rows.n_rows + 7) // 8
            assert partition.gather_bits(node, everyone) == bits[0]
        sums = [
            partition.left_sums(node, bits[0], pairs).tolist()
            for partition, pairs in ((self.one, self.pairs), (self.many, self.parts))
        ]
        assert sums[0] == sums[1]
        for partition in (self.one, self.many):
            assert partition.left_bits_size(node) == len(bits[0])
            partition.split(node, int32(next_node), int32(next_node + 1), bits[0])

    def same(self):
        nodes = self.one.nodes()
        assert nodes.tolist() == self.many.nodes().tolist()
        assert self.one.counts(nodes).tolist() == self.many.counts(nodes).tolist()
        assert self.one.n_rows == self.many.n_rows
        for features in (None, int32(0, 2)):
            found = [
                (
                    rows.histogram(partition, nodes, pairs, features).tolist(),
                    rows.histogram_counts(partition, nodes, features).tolist(),
                    rows.node_sums(partition, nodes, pairs).tolist(),
                )
                for rows, partition, pairs in ((self.here, self.one, self.pairs), (self.sharded, self.many, self.parts))
            ]
            assert found[0] == found[1]


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_random_tree(seed, sampled, engine):
    rng = np.random.default_rng(seed)
    both = Both(engine, rng, sampled=sampled)
    assert isinstance(both.many, ShardedPartition)
    assert isinstance(both.parts, ShardedPairs)
    both.same()
    for depth in range(6):
        both.split(rng, 1 + 2 * depth)
        both.same()


@pytest.mark.parametrize("sampled", [False, True])
def test_left_bits_from_bits_of_all_rows(sampled, engine):
    """Against a loop over rows: a vector for each node, or a single one for all of them."""
    rng = np.random.default_rng(9)
    both = Both(engine, rng, sampled=sampled)
    for depth in range(5):
        both.split(rng, 1 + 2 * depth)
    nodes = both.one.nodes()[[2, 0, 3]]
    feature, place, direction = int32(0, 1, 2), int32(3, 0, 5), np.array([True, False, True])
    vectors = both.here.row_bits(feature, place, direction)
    assert vectors == both.sharded.row_bits(feature, place, direction)
    width = (both.here.n_rows + 7) // 8
    goes_left = np.zeros((3, 8 * width), dtype=bool)
    for split in range(3):
        column = both.here.bins.column(int(feature[split]))
        missing = column == both.here.n_bins[feature[split]]
        goes_left[split, : len(column)] = np.where(missing, direction[split], column <= place[split])
    assert vectors == np.packbits(goes_left, bitorder="little").tobytes()
    wanted = b"".join(
        np.packbits(goes_left[split, rows], bitorder="little").tobytes()
        for split, node in enumerate(nodes.tolist())
        for rows in (both.one.here.rows(node), both.one.here.other_rows(node))
    )
    own = np.zeros(8 * width, dtype=bool)
    for split, node in enumerate(nodes.tolist()):
        members = both.one.here.leaves() == node
        own[: len(members)] |= members & goes_left[split, : len(members)]
    single = np.packbits(own, bitorder="little").tobytes()
    for partition in (both.one, both.many):
        assert partition.gather_bits(nodes, vectors) == partition.gather_bits(nodes, single) == wanted
        assert partition.gather_bits(nodes[:0], b"") == b""
        for bad in (vectors[:-1], vectors + b"0", bytes(width - 1) + b"\xff"):
            with pytest.raises(ValueError, match=r"bytes|spare bit"):
                partition.gather_bits(nodes, bad)


@pytest.mark.parametrize("score_bits", [12, 22, 44])
@pytest.mark.parametrize("sampled", [False, True])
def test_integers_of_open_nodes(sampled, score_bits, engine):
    """Also integers that 32 bits do not hold; some shards have no training rows."""
    rng = np.random.default_rng(12)
    both = Both(engine, rng, sampled=sampled)
    both.pairs[:, 1] = np.abs(both.pairs[:, 1]) + 1
    both.pairs <<= 40
    both.parts = both.sharded.pairs(both.pairs)
    for depth in range(4):
        both.split(rng, 1 + 2 * depth)
    nodes = both.one.nodes()[1:]
    none, rule = np.zeros(0, dtype=np.int64), _native.gbdt.SplitRule(1.0)
    found = []
    for rows, partition, pairs in ((both.here, both.one, both.pairs), (both.sharded, both.many, both.parts)):
        totals = rows.node_sums(partition, nodes, pairs)
        level = LevelNodes(1, nodes, totals, None, none, none, none, rule, partition)
        integers = node_integers(pairs, level, score_bits, 7, 3, 4)
        found.append(np.asarray(integers))
        assert np.asarray(rows.integer_pairs(integers)).tolist() == [[value, 0] for value in found[-1].tolist()]
    assert found[0].tolist() == found[1].tolist()
    assert np.count_nonzero(found[0]) > 20
    if score_bits == 44:
        assert np.abs(found[0]).max() >= 1 << 31


def test_entries_of_rows_in_parts(engine):
    rng = np.random.default_rng(4)
    both = Both(engine, rng)
    for depth in range(4):
        both.split(rng, 1 + 2 * depth)
    nodes, leaves = both.one.nodes()[[3, 0, 2]], both.one.leaves()
    wanted = [[*nodes.tolist()].index(leaf) + 1 if leaf in nodes else 0 for leaf in leaves.tolist()]
    for partition in (both.one, both.many):
        entries = partition.entries(nodes)
        for first, stop in ((0, 203), (0, 8), (40, 140), (51, 52), (200, 203), (7, 7)):
            part = entries.part(first, stop)
            assert part.dtype == np.uint16
            assert part.tolist() == wanted[first:stop]


@given(seed=st.integers(0, 99), window=st.sampled_from([1, 40, 1 << 20]), data=st.data())
def test_bits_of_splits_in_parts(seed, window, data, engine):
    """Windows, parts and shards end at different rows; against a loop over rows."""
    rng = np.random.default_rng(seed)
    both = Both(engine, rng, n_rows=int(rng.integers(4, 300)), n_train=int(rng.integers(1, 5)))
    k = int(rng.integers(0, 9))
    feature = rng.integers(0, 3, k).astype(np.int32)
    place = np.array([rng.integers(both.here.n_bins[f]) for f in feature], dtype=np.int32)
    splits = Splits(feature, place, rng.random(k) < 0.5)
    left = np.zeros((k, both.here.n_rows), dtype=bool)
    for split in range(k):
        column = both.here.bins.column(int(feature[split]))
        missing = column == both.here.n_bins[feature[split]]
        left[split] = np.where(missing, splits.default_left[split], column <= place[split])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_bits, "WINDOW_BYTES", window)
        for rows in (both.here, both.sharded):
            bits = rows.split_bits(splits)
            assert bits.left_counts().tolist() == left[:, : both.n_train].sum(axis=1).tolist()
            for _ in range(4):
                first = 8 * data.draw(st.integers(0, (rows.n_rows - 1) // 8))
                stop = data.draw(st.integers(first + 1, rows.n_rows))
                chosen = np.flatnonzero(rng.random(k) < 0.5)
                packed = np.packbits(left[:, first:stop], axis=1, bitorder="little")
                assert bits.part(first, stop).tolist() == packed.tolist()
                assert bits.part(first, stop, chosen).tolist() == packed[chosen].tolist()


def test_what_comes_here_and_what_does_not(engine):
    both = Both(engine, np.random.default_rng(3))
    assert both.here.pairs(both.pairs) is both.pairs
    assert np.asarray(both.parts).tolist() == both.pairs.tolist()
    assert both.one.here.rows(0).tolist() == list(range(150))
    for asked in (lambda: both.sharded.bins, lambda: both.many.here):
        with pytest.raises(EngineError, match="the rows are in shards; a protocol that needs it leaves"):
            asked()


def test_bad_splits_change_nothing(engine):
    both = Both(engine, np.random.default_rng(1))
    root, good = int32(0), bytes(both.many.left_bits_size(int32(0)))
    refused = [
        (int32(1), int32(2), int32(3), good),
        (int32(0, 0), int32(1, 3), int32(2, 4), good * 2),
        (root, int32(0), int32(1), good),
        (root, int32(1), int32(1), good),
        (root, int32(-1), int32(1), good),
        (root, int32(1, 2), int32(3, 4), good),
        (root, int32(1), int32(2), good[:-1]),
        (root, int32(1), int32(2), bytes([255]) * len(good)),
    ]
    for args in refused:
        for partition in (both.one, both.many):
            with pytest.raises((ValueError, IndexError)):
                partition.split(*args)
        both.same()


def test_the_heaviest_bucket(engine):
    rng = np.random.default_rng(2)
    X = np.stack([np.r_[np.zeros(90), rng.normal(size=10)], np.r_[np.full(60, np.nan), np.arange(40)]], axis=1)
    binned = ShardedTable.of(Table.read(X.astype(np.float32)), 100, 16, engine).bin(16, None)
    zero = int(np.searchsorted(binned.cuts[0], 0.0, side="right"))
    assert binned.rows.heaviest.tolist() == [zero, int(binned.n_bins[1])]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_a_division_of_sampled_rows(engine, sizes, data):
    edges = np.cumsum([0, *sizes])
    n_train = data.draw(st.integers(1, int(edges[-1])))
    division = Division(edges, n_train)
    assert division.train_sizes.sum() == n_train
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n_train - 1)))), dtype=np.int32)
    held = engine.get(division.hold(engine, rows))
    assert np.concatenate([part + edges[s] for s, part in enumerate(held)]).tolist() == rows.tolist()
    assert division.used(rows).tolist() == [len(part) for part in held]
    assert division.hold(engine, None) == [None] * len(sizes)
    assert division.used(None).tolist() == division.train_sizes.tolist()


def _joined(parts):
    assert len(parts) == 2
    return f"({parts[0]}{parts[1]})"


@pytest.mark.parametrize(("count", "wanted"), [(1, "a"), (2, "(ab)"), (5, "(((ab)(cd))e)")])
def test_joins_in_a_tree(count, wanted, engine):
    parts = [engine.keep(0, letter) for letter in "abcde"[:count]]
    assert engine.get([join_all(engine, parts, _joined)]) == [wanted]
