"""The native tree kernels refuse arguments that do not fit: nothing crashes, and objects stay as they were."""

import contextlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from property_tests import examples
from vfxgb import _native

N = 10
# The wrong kind of array, or a number that does not fit a machine integer, fails the conversion already.
REFUSALS = (ValueError, TypeError, OverflowError)
GH = np.ones((N, 2), dtype=np.int64)
NAN = float("nan")


def int32(*values: int) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def flags(*values: bool) -> NDArray[np.bool_]:
    return np.array(values, dtype=np.bool_)


@pytest.fixture
def bins() -> _native.gbdt.Bins:
    out = _native.gbdt.Bins(N, [np.array([0.5]), np.array([1.0, 2.0])])
    out.fill(0, np.linspace(0, 1, N))
    return out


@pytest.fixture
def partition() -> _native.gbdt.RowPartition:
    return _native.gbdt.RowPartition(N)


def refuse(*calls: Callable[[], object]) -> None:
    for call in calls:
        with pytest.raises(ValueError, match=r".+"):
            call()


def test_bins(bins: _native.gbdt.Bins) -> None:
    refuse(
        lambda: _native.gbdt.Bins(-1, []),
        lambda: _native.gbdt.Bins(2**31, []),
        lambda: _native.gbdt.Bins(2**62, [np.array([1.0])]),
        lambda: _native.gbdt.Bins(1, [np.array([1.0, 1.0])]),
        lambda: _native.gbdt.Bins(1, [np.array([2.0, 1.0])]),
        lambda: _native.gbdt.Bins(1, [np.array([NAN])]),
        lambda: _native.gbdt.Bins(1, [np.arange(65534.0)]),
        lambda: _native.gbdt.Bins(1, [np.ones((1, 1))]),
        lambda: bins.fill(-1, np.zeros(N)),
        lambda: bins.fill(2, np.zeros(N)),
        lambda: bins.fill(0, np.zeros(N + 1)),
        lambda: bins.fill(0, np.zeros(N), 1),
        lambda: bins.fill(0, np.zeros(N), -1),
        lambda: bins.fill(0, np.zeros(1), 2**62),
        lambda: bins.fill(0, np.zeros((N, 1))),
        lambda: bins.fill(0, np.zeros(N), threads=0),
        lambda: bins.column(2),
        lambda: bins.column(-1),
    )
    for values in (np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.float16), np.array(["a"] * N), [1.0] * N):
        with pytest.raises(TypeError):
            bins.fill(0, values)  # type: ignore[arg-type]
    assert bins.column(0).tolist() == [0] * 5 + [1] * 5


def test_partition(partition: _native.gbdt.RowPartition) -> None:
    bits = bytes([0b1010, 0])
    refuse(
        lambda: _native.gbdt.RowPartition(-1),
        lambda: _native.gbdt.RowPartition(2**31),
        lambda: _native.gbdt.RowPartition(N, int32(1, 1)),
        lambda: _native.gbdt.RowPartition(N, int32(2, 1)),
        lambda: _native.gbdt.RowPartition(N, int32(-1)),
        lambda: _native.gbdt.RowPartition(N, int32(N)),
        lambda: _native.gbdt.RowPartition(N, np.zeros((2, 2), dtype=np.int32)),
        lambda: partition.rows(1),
        lambda: partition.rows(-1),
        lambda: partition.other_rows(1),
        lambda: partition.counts(int32(0, 1)),
        lambda: partition.left_bits_size(int32(1)),
        lambda: partition.split(int32(0), int32(1), int32(2), bits[:1]),
        lambda: partition.split(int32(0), int32(1), int32(2), bits + b"\0"),
        lambda: partition.split(int32(0), int32(1), int32(2), bytes([0, 0b100])),
        lambda: partition.split(int32(0), int32(1), int32(1), bits),
        lambda: partition.split(int32(0), int32(0), int32(1), bits),
        lambda: partition.split(int32(0), int32(-1), int32(1), bits),
        lambda: partition.split(int32(0), int32(1, 2), int32(3), bits),
        lambda: partition.split(int32(0, 0), int32(1, 2), int32(3, 4), 2 * bits),
        lambda: partition.split(int32(9), int32(1), int32(2), bits),
        lambda: partition.split(int32(0), int32(1), int32(2), bits, 0),
        lambda: partition.leaves(-1),
        lambda: partition.add_values(np.zeros(0, np.float32), np.zeros((N, 1), np.float32), 0),
        lambda: partition.add_values(np.zeros(1, np.float32), np.zeros((N - 1, 1), np.float32), 0),
        lambda: partition.add_values(np.zeros(1, np.float32), np.zeros((N, 1), np.float32), 1),
        lambda: partition.add_values(np.zeros(1, np.float32), np.zeros((N, 1), np.float32), -1),
        lambda: partition.add_values(np.zeros(1, np.float32), np.zeros(N, np.float32), 0),
        lambda: partition.add_values(np.zeros(1, np.float32), np.zeros((2, N), np.float32).T, 0),
    )
    assert partition.nodes().tolist() == [0]
    partition.split(int32(0), int32(1), int32(2), bits)
    refuse(lambda: partition.rows(0), lambda: partition.split(int32(0), int32(3), int32(4), bits))
    assert partition.rows(1).tolist() == [1, 3]


def test_histograms(bins: _native.gbdt.Bins, partition: _native.gbdt.RowPartition) -> None:
    other = _native.gbdt.RowPartition(N - 1)
    root = int32(0)
    refuse(
        lambda: _native.gbdt.histogram(bins, other, root, GH),
        lambda: _native.gbdt.histogram(bins, partition, int32(1), GH),
        lambda: _native.gbdt.histogram(bins, partition, root, GH[:-1]),
        lambda: _native.gbdt.histogram(bins, partition, root, GH[:, :1]),
        lambda: _native.gbdt.histogram(bins, partition, root, GH.ravel()),
        lambda: _native.gbdt.histogram(bins, partition, root, GH, int32(2)),
        lambda: _native.gbdt.histogram(bins, partition, root, GH, int32(-1)),
        lambda: _native.gbdt.histogram(bins, partition, root, GH, int32(1, 0)),
        lambda: _native.gbdt.histogram(bins, partition, root, GH, int32(0, 0)),
        lambda: _native.gbdt.histogram(bins, partition, root, GH, threads=0),
        lambda: _native.gbdt.histogram_counts(bins, other, root),
        lambda: _native.gbdt.histogram_counts(bins, partition, int32(7)),
        lambda: _native.gbdt.node_sums(partition, int32(7), GH),
        lambda: _native.gbdt.node_sums(partition, root, GH[:-1]),
        lambda: _native.gbdt.left_node_sums(partition, int32(7), b"", GH),
        lambda: _native.gbdt.left_node_sums(partition, root, b"", GH),
        lambda: _native.gbdt.left_node_sums(partition, root, bytes((N + 7) // 8), GH[:-1]),
        lambda: _native.gbdt.left_bits(bins, other, root, int32(0), int32(0), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, int32(1), int32(0), int32(0), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, root, int32(2), int32(0), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, root, int32(-1), int32(0), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, root, int32(0), int32(2), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, root, int32(0), int32(-1), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, root, int32(0, 1), int32(0), flags(True)),
        lambda: _native.gbdt.left_bits(bins, partition, root, int32(0), int32(0), flags()),
    )
    with pytest.raises(TypeError):
        _native.gbdt.histogram(bins, partition, root, GH.astype(np.float64))  # type: ignore[arg-type]


def test_only_sampled_rows_need_gradients(bins: _native.gbdt.Bins) -> None:
    partition = _native.gbdt.RowPartition(N, int32(0, 3))
    assert _native.gbdt.node_sums(partition, int32(0), GH[:4]).tolist() == [[2, 2]]
    refuse(lambda: _native.gbdt.node_sums(partition, int32(0), GH[:3]))


def test_candidates_and_scores() -> None:
    hist, totals = np.ones((1, 3, 2), dtype=np.int64), np.ones((1, 2), dtype=np.int64)
    left = np.ones((1, 4, 2), dtype=np.int64)
    rule = _native.gbdt.SplitRule(1.0)
    constraint, bounds = np.zeros(4, dtype=np.int8), np.zeros((1, 2))
    refuse(
        lambda: _native.gbdt.candidates(int32(0), flags(True)),
        lambda: _native.gbdt.candidates(int32(-(2**31)), flags(True)),
        lambda: _native.gbdt.candidates(int32(3), flags(True, True)),
        lambda: _native.gbdt.left_sums(hist, totals, int32(4), flags(True)),
        lambda: _native.gbdt.left_sums(hist, totals[:0], int32(3), flags(True)),
        lambda: _native.gbdt.left_sums(hist[0], totals, int32(3), flags(True)),
        lambda: _native.gbdt.left_sums(hist, totals, int32(3), flags(False), np.array([0, 0])),
        lambda: _native.gbdt.left_sums(hist, totals, int32(3), flags(False), np.array([0, 2])),
        lambda: _native.gbdt.left_sums(hist, totals, int32(3), flags(False), np.array([-1, 0])),
        lambda: _native.gbdt.left_sums(hist, totals, int32(3), flags(False), np.array([0])),
        lambda: rule.score(left[0], totals),
        lambda: rule.score(left, totals[0]),
        lambda: rule.score(left, np.ones((2, 2), dtype=np.int64)),
        lambda: rule.score(left, totals, np.ones((1, 3), dtype=np.bool_)),
        lambda: rule.score(left, totals, None, constraint, None),
        lambda: rule.score(left, totals, None, None, bounds),
        lambda: rule.score(left, totals, None, constraint[:3], bounds),
        lambda: rule.score(left, totals, None, constraint, bounds[:, :1]),
        lambda: rule.score(left, totals, threads=0),
        lambda: rule.weights(totals[0]),
        lambda: rule.weights(totals, bounds[0]),
    )


@pytest.mark.parametrize("name", ["scale", "reg_lambda", "reg_alpha", "min_child_weight", "max_delta_step"])
@pytest.mark.parametrize("value", [-1.0, NAN, float("inf")])
def test_rules(name: str, value: float) -> None:
    refuse(lambda: _native.gbdt.SplitRule(**{"scale": 1.0, name: value}))


@given(
    left=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), max_size=8),
    total=st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)),
    float32=st.booleans(),
)
@examples(100)
def test_senseless_sums_are_scored_without_harm(left, total, float32) -> None:
    sums = np.array(left, dtype=np.int64).reshape(1, -1, 2)
    gain, start, tied = _native.gbdt.SplitRule(1e300, 0.0, 0.0, 0.0, float32=float32).score(sums, np.array([total]))
    assert np.isfinite(gain).all()
    assert start.tolist() == [0, len(tied)]


def test_overflowing_gradients_wrap(bins: _native.gbdt.Bins, partition: _native.gbdt.RowPartition) -> None:
    gh = np.full((N, 2), 2**62, dtype=np.int64)
    assert _native.gbdt.node_sums(partition, int32(0), gh)[0, 0] == gh[:, 0].sum()
    assert _native.gbdt.histogram(bins, partition, int32(0), gh).shape == (1, 5, 2)


ARRAYS = st.one_of(
    st.none(),
    st.sampled_from([-5, -1, 0, 1, 3, N, 2**31, 2**62, 2**70]),
    st.text(max_size=3),
    st.sampled_from([np.int8, np.int32, np.int64, np.float32, np.float64, np.bool_, np.uint16, object]).flatmap(
        lambda kind: st.lists(st.integers(0, 12), max_size=3).map(lambda shape: np.zeros(shape, dtype=kind))
    ),
)


@given(arguments=st.lists(ARRAYS, min_size=8, max_size=8))
@examples(300)
def test_any_arguments_at_all(arguments: list[object]) -> None:
    """Whatever comes, the answer is a result or an exception."""
    bins, partition = _native.gbdt.Bins(N, [np.array([0.5])]), _native.gbdt.RowPartition(N)
    a = arguments
    for call in (
        lambda: _native.gbdt.Bins(a[0], a[1]),
        lambda: _native.gbdt.RowPartition(a[0], a[1]),
        lambda: bins.fill(a[0], a[1], a[2]),
        lambda: partition.counts(a[0]),
        lambda: partition.split(a[0], a[1], a[2], a[3]),
        lambda: _native.gbdt.left_bits(bins, partition, a[0], a[1], a[2], a[3]),
        lambda: _native.gbdt.histogram(bins, partition, a[0], a[1], a[2]),
        lambda: _native.gbdt.left_sums(a[0], a[1], a[2], a[3], a[4]),
        lambda: _native.gbdt.SplitRule(1.0).score(a[0], a[1], a[2], a[3], a[4]),
        lambda: _native.gbdt.Forest(a[0], a[1], a[2], a[3], a[4], a[5], a[6]),
    ):
        with contextlib.suppress(*REFUSALS, BufferError):
            call()


def forest(**changes: object) -> _native.gbdt.Forest:
    """One tree of a root and two leaves."""
    arguments: dict[str, object] = {
        "tree_start": np.array([0, 3]),
        "feature": int32(0, -1, -1),
        "threshold": np.zeros(3),
        "default_left": flags(True, False, False),
        "left": int32(1, 0, 0),
        "right": int32(2, 0, 0),
        "n_features": 2,
    }
    return _native.gbdt.Forest(**(arguments | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"tree_start": np.array([], dtype=np.int64)},
        {"tree_start": np.array([0, 2])},
        {"tree_start": np.array([0, 4])},
        {"tree_start": np.array([0, 0, 3])},
        {"tree_start": np.array([0, 5, 3])},
        {"tree_start": np.array([-1, 3])},
        {"feature": int32(2, -1, -1)},
        {"feature": int32(0, -1)},
        {"left": int32(0, 0, 0)},
        {"left": int32(-1, 0, 0)},
        {"right": int32(3, 0, 0)},
        {"threshold": np.array([NAN, 0, 0])},
        {"n_features": -1},
        {"n_features": 0},
    ],
)
def test_forests(changes: dict[str, object]) -> None:
    refuse(lambda: forest(**changes))


def test_forest_tables() -> None:
    trees = forest()
    X, values, group = np.zeros((3, 2)), np.zeros(3), int32(0)
    refuse(
        lambda: trees.leaves(X[:, :1]),
        lambda: trees.leaves(X[0]),
        lambda: trees.leaves(X, 2),
        lambda: trees.leaves(X, 0, 2),
        lambda: trees.leaves(X, 0, -2),
        lambda: trees.leaves(X, -1),
        lambda: trees.leaves(X, threads=0),
        lambda: trees.margins(X, values[:2], group, 1),
        lambda: trees.margins(X, values, int32(1), 1),
        lambda: trees.margins(X, values, int32(-1), 1),
        lambda: trees.margins(X, values, int32(), 1),
        lambda: trees.margins(X, values, group, 0),
    )
    with pytest.raises(TypeError):
        trees.leaves(X.astype(np.int64))  # type: ignore[arg-type]


def test_gradients() -> None:
    f, out = np.zeros(3, np.float32), np.zeros((3, 2), np.int64)
    refuse(
        lambda: _native.gbdt.logistic(f, f[:2]),
        lambda: _native.gbdt.logistic(f, f, f[:2]),
        lambda: _native.gbdt.logistic(f[None], f),
        lambda: _native.gbdt.logistic(f, f, None, 0),
        lambda: _native.gbdt.encode_pairs(f, f[:2], 1.0, 2.0**-9, None, out),
        lambda: _native.gbdt.encode_pairs(f[:2], f[:2], 1.0, 2.0**-9, None, out),
        lambda: _native.gbdt.encode_pairs(f, f, 1.0, 2.0**-51, None, out),
        lambda: _native.gbdt.encode_pairs(f, f, 1.0, 0.0, None, out),
        lambda: _native.gbdt.encode_pairs(f, f, 1.0, 2.0**-9, int32(3), out),
        lambda: _native.gbdt.encode_pairs(f, f, 1.0, 2.0**-9, int32(-1), out),
        lambda: _native.gbdt.encode_pairs(f, f, 1.0, 2.0**-9, None, np.zeros((2, 3), np.int64).T),
    )
    with pytest.raises(TypeError):
        _native.gbdt.encode_pairs(f, f.astype(np.float64), 1.0, 2.0**-9, None, out)
    with pytest.raises(TypeError):
        _native.gbdt.encode_pairs(f, f, 1.0, 2.0**-9, None, out.astype(np.int32))  # type: ignore[arg-type]


def test_levels_and_tokens() -> None:
    def int64(*values: int) -> NDArray[np.int64]:
        return np.array(values, np.int64)

    one, two = np.zeros((1, 4, 2), np.int64), np.zeros((2, 4, 2), np.int64)
    refuse(
        lambda: _native.gbdt.complete_sums(one, int64(0), int64(-1, 0), int64(0), one),
        lambda: _native.gbdt.complete_sums(one, int64(2), int64(-1, 0), int64(0, 0), one),
        lambda: _native.gbdt.complete_sums(one, int64(1), int64(-1, 0), int64(0, 0), one),
        lambda: _native.gbdt.complete_sums(one, int64(0), int64(-1, 1), int64(0, 0), one),
        lambda: _native.gbdt.complete_sums(one, int64(0), int64(-1, 0), int64(0, 1), one),
        lambda: _native.gbdt.complete_sums(one, int64(0), int64(-1, 0), int64(0, -1), one),
        lambda: _native.gbdt.complete_sums(one, int64(0), int64(-1, 0), int64(0, 0), one[:, :3]),
        lambda: _native.gbdt.complete_sums(two, int64(0, 0), int64(-1, -1), int64(0, 0), one),
        lambda: _native.gbdt.complete_sums(two, int64(0), int64(-1, 0), int64(0, 0), one),
        lambda: _native.gbdt.select_tokens(int64(), int64(), int64()),
        lambda: _native.gbdt.select_tokens(int64(0, 2), int64(1), int64(0)),
        lambda: _native.gbdt.select_tokens(int64(0, 2, 1), int64(1), int64(0)),
        lambda: _native.gbdt.select_tokens(int64(0, 1), int64(1), int64(1)),
        lambda: _native.gbdt.select_tokens(int64(0, 1), int64(1), int64(-1)),
        lambda: _native.gbdt.first_tokens(int64(0, 1), int64(4), None, 4),
        lambda: _native.gbdt.first_tokens(int64(0, 1), int64(-1), None, 4),
        lambda: _native.gbdt.first_tokens(int64(0, 0), int64(), None, 4),
        lambda: _native.gbdt.first_tokens(int64(0, 2), int64(1, 1), None, 4),
        lambda: _native.gbdt.first_tokens(int64(0, 1), int64(1), int64(0, 1), 4),
    )
