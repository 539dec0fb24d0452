"""What a level of a tree takes in one call each, against slow twins; and rows that are moved after their split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native
from vfxgb.rows.listing import Listing
from vfxgb.rows.memory import MemoryPartition, MemoryRows

RULE = _native.gbdt.SplitRule(2.0**-10, 1.0, 0.1, 0.05, 0.0)
seeds = st.integers(0, 2**32 - 1)


def int32(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(seed=seeds, parties=st.integers(1, 4), nodes=st.integers(0, 9))
def test_nodes_go_to_the_best_gain_and_of_equal_ones_to_the_first_party(seed, parties, nodes) -> None:
    gains = list(np.random.default_rng(seed).integers(0, 4, (parties, nodes)) * 0.5)
    best, won = _native.gbdt.share_nodes(gains, 1e-6, 1.0)
    assert len(won) == parties
    for node in range(nodes):
        mine = [gain[node] for gain in gains]
        assert best[node] == max(mine)
        owners = [party for party in range(parties) if node in won[party]]
        assert owners == ([mine.index(max(mine))] if max(mine) >= 1.0 else [])
    assert all((np.diff(positions) > 0).all() for positions in won)


def test_a_gain_at_the_least_wins_nothing() -> None:
    best, (won,) = _native.gbdt.share_nodes([np.array([0.0, 0.5, 0.6])], 0.5, 0.0)
    assert best.tolist() == [0.0, 0.5, 0.6]
    assert won.tolist() == [2]
    with pytest.raises(ValueError, match="one party or more"):
        _native.gbdt.share_nodes([], 0.0, 0.0)
    with pytest.raises(ValueError, match="gains must have shape"):
        _native.gbdt.share_nodes([np.zeros(2), np.zeros(3)], 0.0, 0.0)


def test_sums_of_chosen_tokens() -> None:
    sums = np.arange(2 * 5 * 2).reshape(2, 5, 2)
    lists = (int64(0, 2, 3), int64(1, 4, 0))
    left = _native.gbdt.chosen_sums(sums, *lists, int64(1, 0), int64(0, 4))
    assert left.tolist() == [sums[1, 0].tolist(), sums[0, 4].tolist()]
    for positions, tokens, found in (([0], [0], "token 0"), ([1], [4], "token 4"), ([2], [0], "position 2")):
        with pytest.raises(ValueError, match=found):
            _native.gbdt.chosen_sums(sums, *lists, int64(*positions), int64(*tokens))
    with pytest.raises(ValueError, match="token 7"):
        _native.gbdt.chosen_sums(sums, int64(0, 1, 1), int64(7), int64(0), int64(7))


def slow_children(totals, bounds, positions, left_sums, constraint):
    """The children one after the other, in the order of their parents."""
    order = np.argsort(positions)
    children = []
    for place, split in enumerate(order):
        node, left = positions[split], left_sums[split]
        limits = None if bounds is None else bounds[node : node + 1]
        pair = [left, totals[node] - left]
        weights = [RULE.weights(np.array([total]), limits)[0] for total in pair]
        below = [[], []]
        if bounds is not None:
            below = [bounds[node].copy(), bounds[node].copy()]
            middle = float((np.float32(weights[0]) + np.float32(weights[1])) / np.float32(2))
            if constraint[split] > 0:
                below[0][1] = below[1][0] = middle
            if constraint[split] < 0:
                below[0][0] = below[1][1] = middle
        children.append((split, 2 * place, node, pair, weights, limits, below))
    return children


@given(seed=seeds, nodes=st.integers(1, 8), bounded=st.booleans())
def test_children_against_a_slow_twin(seed, nodes, bounded) -> None:
    rng = np.random.default_rng(seed)
    totals = rng.integers(-4000, 4000, (nodes, 2))
    totals[:, 1] = np.abs(totals[:, 1])
    positions = rng.permutation(nodes)[: rng.integers(0, nodes + 1)]
    left_sums = totals[positions] // 3
    constraint = rng.integers(-1, 2, len(positions)).astype(np.int8)
    bounds = np.sort(rng.normal(size=(nodes, 2)), axis=1) if bounded else None
    made = _native.gbdt.make_children(RULE, totals, bounds, positions, left_sums, constraint)
    place, parent, below, weights, inherited, limits = made
    assert len(parent) == len(below) == len(weights) == 2 * len(positions)
    assert (inherited is None, limits is None) == (not bounded, not bounded)
    for split, at, node, pair, heavy, range_of, below_it in slow_children(
        totals, bounds, positions, left_sums, constraint
    ):
        both = slice(at, at + 2)
        assert place[split] == at
        assert parent[both].tolist() == [node, node]
        assert below[both].tolist() == [list(each) for each in pair]
        assert weights[both].tolist() == heavy
        if bounded:
            assert inherited[both].tolist() == [range_of[0].tolist()] * 2
            assert limits[both].tolist() == [each.tolist() for each in below_it]


@pytest.mark.parametrize("positions", [(2,), (-1,), (0, 0)])
def test_children_of_no_node(positions) -> None:
    k = len(positions)
    with pytest.raises(ValueError, match="position"):
        _native.gbdt.make_children(
            RULE, np.ones((2, 2), np.int64), None, int64(*positions), np.ones((k, 2), np.int64), np.zeros(k, np.int8)
        )


def table(rng: np.random.Generator, n: int, missing: bool) -> tuple[_native.gbdt.Bins, np.ndarray]:
    """Three features of 5, 1 and 300 bins, and pairs of every row."""
    cuts = [np.arange(4.0), np.zeros(0), np.arange(299.0)]
    bins = _native.gbdt.Bins(n, cuts)
    for feature, most in enumerate((5, 1, 300)):
        values = rng.integers(0, most, n) - 0.5
        if missing and feature != 1:
            values[rng.random(n) < 0.2] = np.nan
        bins.fill(feature, values)
    return bins, rng.integers(-(2**40), 2**40, (n, 2))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("features", [(0, 1, 2), (2,), ()])
@pytest.mark.parametrize("threads", [1, 3])
def test_left_sums_in_one_pass_against_three_calls(missing, features, threads) -> None:
    rng = np.random.default_rng(7)
    bins, pairs = table(rng, 20_000, missing)
    rows = MemoryRows(bins, threads=threads)
    partition = rows.partition(np.flatnonzero(rng.random(20_000) < 0.9).astype(np.int32))
    bits = rows.left_bits(partition, int32(0), int32(0), int32(2), np.array([True]))
    partition.split(int32(0), int32(1), int32(2), bits)
    some, nodes = int32(*features), int32(1, 2)
    n_bins, has_missing = bins.n_bins[some], np.full(len(some), missing)
    count = len(_native.gbdt.candidates(n_bins, has_missing)[0])
    for order in (None, rng.permutation(count)):
        found = rows.left_sums(partition, nodes, pairs, Listing(some, n_bins, has_missing, order))
        sums = rows.histogram(partition, nodes, pairs, some)
        totals = rows.node_sums(partition, nodes, pairs)
        assert found.tolist() == _native.gbdt.left_sums(sums, totals, n_bins, has_missing, order).tolist()


def test_candidates_of_other_bins_are_refused() -> None:
    bins, pairs = table(np.random.default_rng(0), 50, False)
    rows = MemoryRows(bins)
    for features, n_bins in (((0, 1), (5, 2)), ((3,), (5,)), ((1, 0), (1, 5))):
        listing = Listing(int32(*features), int32(*n_bins), np.zeros(len(n_bins), np.bool_), None)
        with pytest.raises(ValueError, match="features"):
            rows.left_sums(rows.partition(None), int32(0), pairs, listing)
    with pytest.raises(ValueError, match="permutation"):
        _ = Listing(int32(0), int32(5), np.array([False]), int64(0, 0, 1, 2)).native


def test_rows_that_move_late_end_where_they_would_have() -> None:
    """Nodes and their sizes are right at once; every question about rows finds them moved."""
    rng = np.random.default_rng(3)
    sampled = np.flatnonzero(rng.random(5000) < 0.7).astype(np.int32)
    at_once, late = (_native.gbdt.RowPartition(5000, sampled) for _ in range(2))
    partition = MemoryPartition(late, threads=2)
    levels = [(int32(0), int32(1), int32(2)), (int32(1, 2), int32(3, 5), int32(4, 6))]
    for nodes, left, right in levels:
        bits = bytes(
            byte
            for count in at_once.counts(nodes).ravel().tolist()
            for byte in np.packbits(rng.random(count) < 0.4, bitorder="little").tolist()
        )
        at_once.split(nodes, left, right, bits)
        partition.split(nodes, left, right, bits)
        children = np.sort(np.concatenate([left, right]))
        assert partition.nodes().tolist() == at_once.nodes().tolist() == children.tolist()
        assert partition.counts(children).tolist() == at_once.counts(children).tolist()
        with pytest.raises(RuntimeError, match="not been moved"):
            late.rows(int(left[0]))
        with pytest.raises(RuntimeError, match="not been moved"):
            late.plan_split(children, children + 20, children + 40, b"")
    copied = late.copy()
    copied.settle()
    assert partition.leaves().tolist() == at_once.leaves().tolist() == copied.leaves().tolist()


def test_a_split_that_is_refused_changes_nothing() -> None:
    partition = MemoryPartition(_native.gbdt.RowPartition(10))
    with pytest.raises(ValueError, match="left bits"):
        partition.split(int32(0), int32(1), int32(2), b"")
    assert partition.nodes().tolist() == [0]
    assert partition.leaves().tolist() == [0] * 10
