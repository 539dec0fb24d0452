"""Sorted partitions: sums of categories from sums at cuts, the sets that are tried, and tokens that name them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import OpenNodes
from vfxgb.errors import MessageError
from vfxgb.tree.category_cells import CategoryCells, OfferedSets, pack_partitions, read_partitions, split_tokens

RULE = _native.gbdt.SplitRule(2.0**-10, 1.0, 0.0, 1.0, 0.0, True, False)


@dataclass
class Example:
    """Sums of n categories and of rows without a value, in m nodes, and the left sums that show them."""

    cells: CategoryCells
    each: NDArray[np.int64]
    missing: NDArray[np.int64]
    left: NDArray[np.int64]
    level: OpenNodes


def example(seed: int, n_bins: int, nodes: int = 3, with_missing: bool = True) -> Example:
    random = np.random.default_rng(seed)
    each = np.stack([random.integers(-9000, 9000, (nodes, n_bins)), random.integers(0, 9000, (nodes, n_bins))], axis=2)
    each[0, 1] = 0
    missing = np.stack([random.integers(-500, 500, nodes), random.integers(100, 900, nodes)], axis=1)
    missing *= with_missing
    forward = np.cumsum(each, axis=1)[:, :-1]
    shown = [forward, forward + missing[:, None]] if with_missing else [forward]
    order = random.permutation(len(shown) * (n_bins - 1))
    left = np.concatenate(shown, axis=1)[:, order]
    place = np.argsort(order)
    cells = CategoryCells(4, n_bins, place[: n_bins - 1], place[n_bins - 1 :])
    numbers = np.arange(nodes)
    totals = each.sum(axis=1) + missing
    level = OpenNodes(0, numbers.astype(np.int32), totals, None, numbers, numbers - 1, numbers - 1, RULE)
    return Example(cells, each, missing, left, level)


@pytest.mark.parametrize("with_missing", [False, True])
def test_sums_of_categories_are_differences(with_missing: bool) -> None:
    given = example(1, 7, with_missing=with_missing)
    np.testing.assert_array_equal(given.cells.sums(given.left, given.level.totals), given.each)


def naive(given: Example, node: int, most: int) -> tuple[float, set[int], bool]:
    """The best set by trying them one after the other, as XGBoost does: gain, what goes right, default left."""

    def gain(left: NDArray[np.int64]) -> float:
        right = given.level.totals[node] - left
        sums = np.ascontiguousarray(left.reshape(1, 1, 2))
        found = RULE.score(sums, given.level.totals[node : node + 1], None, None, None, 1)
        return float(found[0][0]) if min(left[1], right[1]) > 0 else 0.0

    weights = [float(RULE.weights(np.ascontiguousarray(cell[None]), None)[0]) for cell in given.each[node]]
    order = sorted(range(len(weights)), key=lambda code: np.float32(weights[code]))
    tried = min(most, len(order)) - 1
    best: tuple[float, set[int], bool] = (0.0, set(), False)
    for count in range(1, tried + 1):
        right = given.each[node][order[:count]].sum(axis=0)
        found = gain(given.level.totals[node] - right)
        best = (found, set(order[:count]), True) if found > best[0] else best
    for count in range(1, tried + 1):
        found = gain(given.each[node][order[-count:]].sum(axis=0))
        best = (found, set(order[:-count]), False) if found > best[0] else best
    return best


@pytest.mark.parametrize("n_bins", [2, 5, 40, 70])
@pytest.mark.parametrize("most", [4, 64])
def test_the_best_set_is_the_one_of_trying_all(n_bins: int, most: int) -> None:
    given = example(n_bins + most, n_bins)
    offered = OfferedSets([given.cells], given.left, given.level, most, None, 1)
    for node in range(len(given.each)):
        gain, right, default_left = naive(given, node, most)
        assert offered.gain[node] == gain
        tokens = offered.tokens[offered.start[node] : offered.start[node + 1]]
        if gain == 0.0:
            assert len(tokens) == 0
            continue
        edges = np.array([0, len(tokens)])
        ((numbers, sets),) = split_tokens(edges, tokens, [given.cells], given.left.shape[1])
        assert len(numbers) == 0
        assert [set(np.flatnonzero(one.right).tolist()) for one in sets] == [right]
        assert [one.default_left for one in sets] == [default_left]
        left = given.level.totals[node] - given.each[node][sorted(right)].sum(axis=0)
        left = left if default_left else left - given.missing[node]
        taken = offered.left(np.array([node]), np.array([sets[0].token]))
        np.testing.assert_array_equal(taken[0], left)


def test_a_split_that_was_not_offered_is_refused() -> None:
    given = example(3, 6)
    offered = OfferedSets([given.cells], given.left, given.level, 64, None, 1)
    with pytest.raises(MessageError, match="not among the best of its node"):
        offered.left(np.array([0]), np.array([5]))


def test_what_is_told_of_categories_comes_back() -> None:
    partitions = [example(1, 5).cells, example(2, 9, with_missing=False).cells]
    moved = CategoryCells(0, 9, partitions[1].forward + 100, partitions[1].backward)
    packed = pack_partitions([partitions[0], moved])
    read = read_partitions(packed, "reading")
    assert [cells.n_bins for cells in read] == [5, 9]
    for told, own in zip(read, [partitions[0], moved], strict=True):
        np.testing.assert_array_equal(told.forward, own.forward)
        np.testing.assert_array_equal(told.backward, own.backward)


@pytest.mark.parametrize(
    "numbers",
    [[3], [3, 0, 1], [3, 2, 0, 1], [0, 0], [3, 0, 1, 1], [3, 0, -1, 2], [3, 0, 0, 1, 2, 0, 0]],
    ids=["cut off", "too few", "no flag", "no categories", "twice", "negative", "of two features"],
)
def test_other_numbers_are_no_categories(numbers: list[int]) -> None:
    with pytest.raises(MessageError, match="reading: found"):
        read_partitions(np.array(numbers, dtype=np.int64), "reading")


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ([-3, 1], "wanted a feature of categories"),
        ([-1], "wanted a feature of categories"),
        ([-1, 0], "no, of all or of unknown"),
        ([-1, 0b111], "no, of all or of unknown"),
        ([-1, 0b1001], "no, of all or of unknown"),
        ([-1, 1 << 32], "a set of categories that is none"),
        ([9], "wanted one below 4"),
        ([], "do not belong to nodes"),
    ],
)
def test_tokens_that_say_no_set_are_refused(tokens: list[int], reason: str) -> None:
    cells = CategoryCells(0, 3, np.array([0, 1]), np.zeros(0, np.int64))
    start = np.array([0, len(tokens)], dtype=np.int64)
    with pytest.raises(MessageError, match=reason):
        list(split_tokens(start, np.array(tokens, dtype=np.int64), [cells], 4))


def test_one_hot_columns_are_bins_of_their_own(tmp_path: Any) -> None:
    from vfxgb.binning.binned import BinnedTable
    from vfxgb.data.categories import ColumnKinds
    from vfxgb.data.table import Table

    table = Table.read(
        {"x": [1.0, 2.0, 3.0, 4.0], "c": ["u", "v", "", "u"], "d": list("pqrs")}, kinds=ColumnKinds(("c", "d"))
    )
    binned = BinnedTable.build(table, 4, 8)
    columns = binned.rows.columns
    assert columns is not None
    assert columns.feature.tolist() == [0, 1, 1, 2]
    assert columns.category.tolist() == [-1, 0, 1, -2]
    assert binned.n_bins.tolist() == [4, 2, 2, 4]
    assert binned.has_missing.tolist() == [False, True, True, False]
    assert [binned.bins.column(column).tolist() for column in (1, 2, 3)] == [[1, 0, 2, 1], [0, 1, 2, 0], [0, 1, 2, 3]]
    right = np.array([True, False, False, True])
    splits = binned.splits(np.array([2, 3]), np.array([0, 0]), np.array([True, False]), [None, right])
    assert splits == [(1, (1,), True), (2, (0, 3), False)]
