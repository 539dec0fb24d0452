"""The parts of the rule `centred` against their naive twins: weights, integers of nodes, tournaments, choices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import centred_twin as twin
from property_tests import examples
from vfxgb import _native
from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import LevelNodes, Proposals
from vfxgb.data.table import Table
from vfxgb.numeric.tournament import largest
from vfxgb.rows.memory import MemoryPartition
from vfxgb.rows.sampling import random_words
from vfxgb.tree.choice import best_by_score
from vfxgb.tree.node_integers import LEAST_ROWS, coins, fits_bits, node_integers
from vfxgb.tree.split_weights import LEAST_WEIGHT, MOST_WEIGHT, WEIGHT_SQUARED_SHARE, SplitWeights, split_weights

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("rows", [1, 2, 3, 100, 997, 1024])
def test_weights_of_every_count(rows) -> None:
    left = np.arange(rows + 1)
    found = split_weights(left, rows)
    assert found.tolist() == [twin.weight(k, rows) for k in left.tolist()]
    assert found.dtype == np.uint8
    assert found[0] == found[-1] == MOST_WEIGHT
    assert np.array_equal(found, found[::-1])
    # What the bound of scores stands on: over at most a share a of n rows, a score is at most w sqrt(a n) times a norm.
    inner = left[1:-1]
    assert (found[1:-1].astype(np.int64) ** 2 * np.minimum(inner, rows - inner) <= WEIGHT_SQUARED_SHARE * rows).all()


@given(rows=st.integers(1, 2**31), share=st.floats(0, 1))
def test_weights_of_long_tables(rows, share) -> None:
    left = min(rows, int(share * rows))
    (found,) = split_weights(np.array([left]), rows).tolist()
    assert found == twin.weight(left, rows)
    assert LEAST_WEIGHT <= found <= MOST_WEIGHT


def test_weights_of_a_table_count_training_rows_with_missing_ones_on_either_side() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, size=(90, 3)).astype(np.float32)
    X[rng.random(90) < 0.3, 1] = np.nan
    table = BinnedTable.build(Table.read(X), 70, 16)
    weights = SplitWeights(table.rows, table.has_missing)
    assert table.has_missing.tolist() == [False, True, False]
    for features in ([0, 1, 2], [1], [0, 2], []):
        wanted = []
        for f in features:
            column, cuts = X[:70, f], table.cuts[f]
            lefts = [int((column < cut).sum()) for cut in cuts]
            wanted += [twin.weight(k, 70) for k in lefts]
            if table.has_missing[f]:
                wanted += [twin.weight(k + int(np.isnan(column).sum()), 70) for k in reversed(lefts)]
        assert weights.of(np.array(features, dtype=np.int32)).tolist() == wanted


def open_nodes(rng: np.random.Generator, n: int, n_rows: int, pairs: np.ndarray) -> LevelNodes:
    """Two levels of splits at random; the open nodes are the four, and the third has been left out as a leaf."""
    partition = _native.gbdt.RowPartition(n_rows, np.arange(n, dtype=np.int32))
    number = 0
    for nodes in ([0], [1, 2]):
        for node in nodes:
            sampled, others = partition.counts(np.array([node], dtype=np.int32))[0]
            bits = b"".join(np.packbits(rng.random(k) < 0.6, bitorder="little").tobytes() for k in (sampled, others))
            partition.split(*(np.array([i], dtype=np.int32) for i in (node, number + 1, number + 2)), bits)
            number += 2
    nodes = np.array([3, 4, 6], dtype=np.int32)
    totals = _native.gbdt.node_sums(partition, nodes, pairs)
    none = np.zeros(0, dtype=np.int64)
    rule = _native.gbdt.SplitRule(1.0)
    return LevelNodes(2, nodes, totals, None, none, none, none, rule, MemoryPartition(partition))


@given(seed=SEEDS, bits=st.sampled_from([12, 14, 18, 24, 40]), size=st.sampled_from([3, 10, 30, 40]))
@examples(30)
def test_integers_of_nodes_are_the_naive_ones(seed, bits, size) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    pairs = np.stack([rng.integers(-(2**size), 2**size, n), rng.integers(0, 2**size, n)], axis=1)
    pairs[rng.random(n) < 0.2] = 0
    nodes = open_nodes(rng, n, n + 7, pairs)
    found = node_integers(pairs, nodes, bits, 11, 5, 2)
    words = random_words(11, n, "integers", 5, 2, 2)
    leaves = nodes.partition.leaves()[:n]
    expected = np.zeros(n, dtype=np.int64)
    for node, total in zip(nodes.nodes.tolist(), nodes.totals.tolist(), strict=True):
        rows = leaves == node
        values = [twin.centred(pair, total) for pair in pairs[rows].tolist()]
        coin = -1 if int(random_words(11, 1, "coins", 5, 2, first=node)[0]) >> 63 else 1
        expected[rows] = [coin * v for v in twin.node_integers(values, words[rows].tolist(), n, bits)]
    assert np.array_equal(found, expected)
    for threads in (2, 5):
        again = replace(nodes, partition=MemoryPartition(nodes.partition.here, threads))
        assert np.array_equal(found, node_integers(pairs, again, bits, 11, 5, 2))


@given(seed=SEEDS, bits=st.integers(12, 24))
@examples(30)
def test_no_score_leaves_its_bits(seed, bits) -> None:
    """Not even those of the left rows that make a score as large as it can be."""
    rng = np.random.default_rng(seed)
    n = 400
    pairs = np.stack([rng.integers(-(2**30), 2**30, n), rng.integers(1, 2**30, n)], axis=1)
    nodes = open_nodes(rng, n, n, pairs)
    integers = node_integers(pairs, nodes, bits, seed, 0, 2)
    for node in nodes.nodes.tolist():
        own = np.where(nodes.partition.leaves() == node, integers, 0)
        assert fits_bits(int(own.sum()), int((own**2).sum()), n, bits)
        for signed in (own, -own):
            # The k largest are on the left; all rows of other nodes may be on either side.
            order = np.argsort(-signed, kind="stable")
            for k in range(1, n):
                left = int(signed[order[:k]].sum())
                for count in range(k, n, 37):
                    assert abs(left) * twin.weight(count, n) < 2**bits


def test_rounding_is_right_on_average_and_uses_the_bits() -> None:
    rng = np.random.default_rng(0)
    n = 5000
    pairs = np.stack([rng.integers(-(2**35), 2**35, n), rng.integers(1, 2**33, n)], axis=1)
    partition = MemoryPartition(_native.gbdt.RowPartition(n))
    root = np.zeros(1, dtype=np.int32)
    none = np.zeros(0, dtype=np.int64)
    totals = pairs.sum(axis=0)[None]
    nodes = LevelNodes(0, root, totals, None, none, none, none, _native.gbdt.SplitRule(1.0), partition)
    centred = _native.gbdt.centre_rows(pairs, np.zeros(n, dtype=np.int32), totals)
    made = [node_integers(pairs, nodes, 18, seed, 0, 0) * coins(seed, 0, 0, root) for seed in range(300)]
    norm = np.linalg.norm(made[0])
    # At most a bit is lost to the power of two.
    bound = np.sqrt(32.0 * max(n, LEAST_ROWS)) * norm
    assert 2**16.9 < bound < 2**18
    scale = np.linalg.norm(centred.astype(np.float64)) / norm
    errors = np.mean(made, axis=0) - centred / 2.0 ** round(np.log2(scale))
    # A single rounding is off by up to 1; means of 300 have a standard deviation of at most 0.5 / sqrt(300) = 0.029.
    assert np.abs(errors).max() < 6 * 0.029
    assert abs(errors.mean()) < 6 * 0.029 / np.sqrt(n)


def test_coins_are_fair_and_belong_to_a_node() -> None:
    nodes = np.arange(7, 2007, dtype=np.int32)
    drawn = coins(1, 2, 3, nodes)
    assert set(drawn.tolist()) == {-1, 1}
    # 2,000 fair coins: six standard deviations.
    assert abs(int(drawn.sum())) < 6 * np.sqrt(2000)
    assert np.array_equal(coins(1, 2, 3, nodes[40:50]), drawn[40:50])
    assert not np.array_equal(coins(2, 2, 3, nodes), drawn)
    assert len(coins(1, 2, 3, nodes[:0])) == 0


@given(values=st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), max_size=6))
def test_tournaments_are_the_naive_ones(values) -> None:
    table = np.array(values, dtype=np.int64).reshape(len(values), 5)
    for width in range(1, 6):
        index, size = largest(np.ascontiguousarray(table[:, :width]))
        assert index.tolist() == [twin.play(row[:width]) for row in table.tolist()]
        assert size.tolist() == np.abs(table[:, :width]).max(axis=1, initial=0).tolist()


def test_ties_of_a_tournament() -> None:
    rows = np.array([[5, 5, 1], [-5, -5, 1], [5, -5, 0], [-5, 5, 0], [0, 0, 0], [1, 5, -5], [2, 1, -2]])
    index, size = largest(rows)
    assert index.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert size.tolist() == [5, 5, 5, 5, 0, 5, 2]
    assert [part.tolist() for part in largest(np.zeros((2, 0), dtype=np.int64))] == [[0, 0], [0, 0]]


def proposals(score: list[float], gain: list[float]) -> Proposals:
    none = np.zeros(0, dtype=np.int64)
    return Proposals(np.array(gain), none, none, np.array(score))


def test_choice_by_score() -> None:
    offered = {
        0: proposals([6, 9, 9, 9, 9, 0], [3, 2, 9, 0, 5, 0]),
        1: proposals([5, 1, 9, 2, 4, 0], [1, 9, 1, 4, 5, 0]),
        2: proposals([6, 1, 1, 2, 4, 0], [9, 9, 9, 4, 5, 0]),
    }
    gain, won = best_by_score(offered, 1, 0.0)
    # Of equal scores the active party's own wins (2), then the first party (0 before 2); a winner whose gain does not
    # beat the own best leaves the node to it (1, 3, 4); without any score there is no split (5).
    assert {party: positions.tolist() for party, positions in won.items()} == {0: [0], 1: [1, 2, 3, 4]}
    assert gain.tolist() == [3, 9, 1, 4, 5, 0]
    gain, won = best_by_score(offered, 1, 3.5)
    assert {party: positions.tolist() for party, positions in won.items()} == {1: [1, 3, 4]}
