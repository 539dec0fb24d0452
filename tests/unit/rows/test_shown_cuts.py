"""Cuts shown under min_bucket_rows: the rule against a slow twin, and what can be derived from all that is shown."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from property_tests import examples
from vfxgb import _native
from vfxgb.rows.memory import MemoryRows
from vfxgb.rows.shown_cuts import ShownCuts, inner_cuts, merged_cuts, siblings


def _good(rows: list[int], least: int) -> bool:
    return all(count == 0 or count >= least for count in rows)


def _naive_merge(
    counts: list[list[int]], missing: list[int], cuts: list[bool], apart: bool, least: int
) -> tuple[list[bool], bool]:
    """One family, one feature: counts[member][bin]. Cuts are taken from the left, and given up from the right."""
    apart = apart and _good(missing, least)

    def rows(first: int, stop: int) -> list[int]:
        return [sum(member[first:stop]) for member in counts]

    kept: list[int] = []
    for place, is_cut in enumerate(cuts):
        held = rows(kept[-1] + 1 if kept else 0, place + 1)
        if is_cut and any(held) and _good(held, least):
            kept.append(place)
    while kept:
        held = rows(kept[-1] + 1, len(cuts))
        if not apart:
            held = [one + other for one, other in zip(held, missing, strict=True)]
        if _good(held, least):
            break
        kept.pop()
    return [place in kept for place in range(len(cuts))], apart


@given(st.data())
def test_merged_cuts_against_a_naive_twin(data) -> None:
    members = data.draw(st.integers(1, 2))
    widths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    least = data.draw(st.integers(2, 9))
    n_bins, widest = np.array(widths, np.int32), max(widths)
    counts = np.zeros((1, members, len(widths), widest), np.int64)
    cuts = inner_cuts(n_bins)[None].copy()
    for feature, width in enumerate(widths):
        for member in range(members):
            drawn = data.draw(st.lists(st.integers(0, 12), min_size=width, max_size=width))
            counts[0, member, feature, :width] = drawn
        cuts[0, feature] &= data.draw(st.lists(st.booleans(), min_size=widest, max_size=widest))
    missing = np.array(
        data.draw(st.lists(st.integers(0, 12), min_size=members * len(widths), max_size=members * len(widths)))
    ).reshape(1, members, len(widths))
    apart = np.array([data.draw(st.lists(st.booleans(), min_size=len(widths), max_size=len(widths)))])
    ends, found_apart = merged_cuts(counts, missing, cuts, apart, least)
    for feature in range(len(widths)):
        wanted = _naive_merge(
            counts[0, :, feature].tolist(),
            missing[0, :, feature].tolist(),
            cuts[0, feature].tolist(),
            bool(apart[0, feature]),
            least,
        )
        assert (ends[0, feature].tolist(), bool(found_apart[0, feature])) == wanted


@given(st.data())
def test_few_rows_in_buckets_against_a_naive_twin(data) -> None:
    width, below = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 9))

    def drawn(what: st.SearchStrategy, count: int) -> list:
        return data.draw(st.lists(what, min_size=count, max_size=count))

    rows = np.array([drawn(st.integers(0, 12), width) for _ in range(6)], dtype=np.int64).reshape(2, 3, width)
    missing = np.array(drawn(st.integers(0, 12), 6), dtype=np.int64).reshape(2, 3)
    cuts = np.array([drawn(st.booleans(), width) for _ in range(6)]).reshape(2, 3, width)
    apart = np.array(drawn(st.booleans(), 6)).reshape(2, 3)
    few = _native.gbdt.count_few(rows, missing, cuts, apart, below)
    for node in range(2):
        for feature in range(3):
            edges = [0, *(np.flatnonzero(cuts[node, feature]) + 1).tolist(), width]
            buckets = [int(rows[node, feature, first:stop].sum()) for first, stop in pairwise(edges)]
            if apart[node, feature]:
                buckets.append(int(missing[node, feature]))
            else:
                buckets[-1] += int(missing[node, feature])
            wanted = sum(0 < bucket < below for bucket in buckets) if cuts[node, feature].any() else 0
            assert few[node, feature] == wanted


def test_a_child_comes_with_its_sibling() -> None:
    assert siblings(np.array([3, 1, 3, 1])).tolist() == [[1, 3], [0, 2]]
    for parents in ([0], [0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0, 0]):
        with pytest.raises(ValueError, match="siblings"):
            siblings(np.array(parents))


class GrownTree:
    """A tree over one feature that was split at random, with the cuts each node shows.

    `rows`: node -> rows; `shown`: node -> (cuts, apart); `leaves`: the nodes opened last, which part all rows.
    """

    def __init__(self, column: np.ndarray, n_bins: int, splits: list[list[np.ndarray]], least: int) -> None:
        n = len(column)
        bins = _native.gbdt.Bins(n, [np.arange(1.0, n_bins)])
        bins.fill(0, np.where(column == n_bins, np.nan, column.astype(np.float64)))
        rows = MemoryRows(bins)
        partition = rows.partition(None)
        cuts = ShownCuts(rows, np.zeros(1, np.int32), least)
        self.rows = {0: np.arange(n)}
        self.shown: dict[int, tuple[list[int], bool]] = {}
        nodes, parents = np.zeros(1, np.int32), np.full(1, -1, np.int64)
        self.leaves = [0]
        for left in [*splits, None]:
            cuts.open(partition, nodes, parents)
            ends, apart = cuts.shown(nodes)
            for place, node in enumerate(nodes.tolist()):
                self.shown[node] = (np.flatnonzero(ends[place, 0]).tolist(), bool(apart[place, 0]))
            if left is None:
                break
            split = [place for place, one in enumerate(left) if one is not None]
            first = 1 + max(self.rows)
            for number, place in enumerate(split):
                node = int(nodes[place])
                goes = left[place][self.rows[node]]
                children = (first + 2 * number, first + 2 * number + 1)
                partition.split(
                    *(np.array([one], np.int32) for one in (node, *children)), np.packbits(goes, bitorder="little")
                )
                self.rows |= {children[0]: self.rows[node][goes], children[1]: self.rows[node][~goes]}
                self.leaves = [one for one in self.leaves if one != node] + list(children)
            nodes = np.arange(first, first + 2 * len(split), dtype=np.int32)
            parents = np.repeat(split, 2)


@st.composite
def grown_trees(draw) -> tuple[GrownTree, np.ndarray, int, int]:
    """(tree, bin of each row, bins, least); bin number `bins` stands for missing."""
    n_bins, n, least = draw(st.integers(2, 5)), draw(st.integers(8, 60)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    column = rng.integers(0, n_bins + draw(st.integers(0, 1)), size=n)
    if draw(st.booleans()):
        column[rng.random(n) < 0.6] = rng.integers(0, n_bins)
    # Splits by another column, by this one, or of a few rows from the rest.
    kinds = [rng.random(n) < 0.5, column <= rng.integers(0, n_bins), np.arange(n) < 2, rng.random(n) < 0.2]

    def some() -> np.ndarray:
        return kinds[draw(st.integers(0, 3))]

    below = draw(st.sampled_from([[True, True], [True, False], [False, True]]))
    splits = [[some()], [some() if one else None for one in below]]
    return GrownTree(column, n_bins, splits[: draw(st.integers(1, 2))], least), column, n_bins, least


MOST_CELLS = 15


def _small_derived(tree: GrownTree, column: np.ndarray, n_bins: int, least: int) -> list[tuple[int, ...]] | None:
    """Sets of rows, fewer than `least`, whose sum is a combination of shown sums and of totals of nodes.

    A cell is a leaf and a bucket of the root. A set of cells counts if its indicator lies in the span of what the
    active party has, but not where it is made of whole leaves, whose rows everybody knows. Cells that shown sums tell
    to be empty are left out. None: too many sets to try.
    """
    cuts, apart = tree.shown[0]
    # Bin number n_bins, of missing values, is the last bucket where it is apart.
    root = [*cuts, n_bins - 1] if apart else cuts
    place = np.searchsorted(root, column)
    cells = [(leaf, bucket) for leaf in tree.leaves for bucket in range(len(root) + 1)]
    counts = np.array([int((place[tree.rows[leaf]] == bucket).sum()) for leaf, bucket in cells])
    inside = {node: set(rows.tolist()) for node, rows in tree.rows.items()}

    def indicator(node: int, low: int, high: int) -> np.ndarray:
        """The cells of a node after cut `low` up to cut `high`."""
        edges = [-1, *root, n_bins]
        return np.array([inside[leaf] <= inside[node] and low < edges[bucket + 1] <= high for leaf, bucket in cells])

    vectors, known_empty = [indicator(leaf, -1, n_bins) for leaf in tree.leaves], np.zeros(len(cells), dtype=np.bool_)
    for node, (cuts, apart) in tree.shown.items():
        if not cuts:
            continue
        marks = [*cuts, n_bins - 1] if apart else cuts
        vectors += [indicator(node, -1, cut) for cut in marks]
        for low, high in pairwise([-1, *marks, n_bins]):
            bucket = indicator(node, low, high)
            if counts[bucket].sum() == 0:
                known_empty |= bucket
    kept = ~known_empty
    matrix, counts = np.array(vectors)[:, kept].astype(np.float64), counts[kept]
    leaves = np.array([leaf for leaf, _ in cells])[kept]
    if len(counts) > MOST_CELLS:
        return None
    projection = np.linalg.pinv(matrix) @ matrix
    every = ((np.arange(1 << len(counts))[:, None] >> np.arange(len(counts))) & 1).astype(np.float64)
    derived = every[np.abs(every @ projection - every).max(axis=1, initial=0.0) < 1e-7] > 0
    found = set()
    for chosen in derived[(derived @ counts > 0) & (derived @ counts < least)]:
        whole = all(
            counts[chosen & (leaves == leaf)].sum() in (0, counts[leaves == leaf].sum()) for leaf in tree.leaves
        )
        if not whole:
            found.add(tuple(np.flatnonzero(chosen).tolist()))
    return sorted(found)


@examples(60)
@given(grown_trees())
def test_nothing_small_can_be_derived(drawn) -> None:
    found = _small_derived(*drawn)
    assume(found is not None)
    assert found == []


def test_the_twin_finds_what_a_rule_of_single_nodes_lets_through() -> None:
    """Merging each node alone: parent minus child shows a single row of the sibling."""
    column = np.repeat([0, 1], [10, 10])
    goes = np.ones(20, dtype=np.bool_)
    goes[0] = goes[10] = False
    tree = GrownTree(column, 2, [[goes]], 4)
    assert tree.shown[0] == ([0], True)
    assert tree.shown[1] == tree.shown[2] == ([], True)
    assert _small_derived(tree, column, 2, 4) == []
    tree.shown[1] = ([0], True)
    assert _small_derived(tree, column, 2, 4) != []


def test_a_row_apart_silences_its_sibling_and_all_below() -> None:
    column = np.tile(np.arange(4), 50)
    alone = np.arange(200) == 7
    half = np.arange(200) % 8 < 4
    tree = GrownTree(column, 4, [[alone], [None, half]], 20)
    assert tree.shown[0][0] == [0, 1, 2]
    for node in (1, 2, 3, 4):
        assert tree.shown[node][0] == []


def test_a_feature_can_be_split_again() -> None:
    """Below a split the other child is empty on the far side, which the rule allows."""
    column = np.repeat(np.arange(4), 30)
    tree = GrownTree(column, 4, [[column <= 1]], 20)
    assert tree.shown[1] == tree.shown[2] == ([0, 1, 2], True)
