"""Exact sums: the nearest float to the true sum, however the rows are divided."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.errors import PrecisionError
from vfxgb.numeric import exact_sums
from vfxgb.numeric.exact_sums import ExactSum, ExactSums, exact_sum, grouped_sums
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams

FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
EDGES = st.sampled_from([5e-324, -5e-324, 2.0**-1022, 1e16, 1.0, -1e16, 1e300, -1e300, 0.0, -0.0, 0.1])


@given(st.lists(FLOATS | EDGES, max_size=60), st.integers(0, 60))
def test_sums_are_true_and_add_up(values: list[float], cut: int) -> None:
    array = np.array(values, dtype=np.float64)
    found = exact_sum(array)
    assert Fraction(found.units, 2**1074) == sum(map(Fraction, values))
    assert float(found) == math.fsum(values)
    assert exact_sum(array[:cut]) + exact_sum(array[cut:]) == found == exact_sum(array[::-1])


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=60))
def test_sums_of_float32(values: list[float]) -> None:
    assert float(exact_sum(np.array(values, dtype=np.float32))) == math.fsum(values)


@given(st.lists(st.tuples(EDGES | FLOATS, st.integers(0, 4)), max_size=60))
def test_sums_by_group(rows: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in rows], dtype=np.float64)
    groups = np.array([group for _, group in rows], dtype=np.int64)
    found = grouped_sums(values, groups, 5)
    assert found.rounded().tolist() == [math.fsum(values[groups == group]) for group in range(5)]


def test_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=1_200_000) * 2.0 ** (np.arange(1_200_000) % 300)
    assert len(values) > exact_sums._BLOCK_ROWS
    found = exact_sum(values)
    assert float(found) == math.fsum(values)
    # Halves of mantissas all at their largest are the worst case of the sums inside.
    assert float(exact_sum(np.full(1_050_000, np.nextafter(1.0, 0.0)))) == math.fsum(
        [np.nextafter(1.0, 0.0)] * 1_050_000
    )
    assert pickle.loads(pickle.dumps(found)) == found
    monkeypatch.setattr(exact_sums, "_BLOCK_ROWS", 1000)
    assert exact_sum(values[:5500]) + exact_sum(values[5500:]) == found


def test_whole_numbers_and_nothing() -> None:
    assert float(ExactSum.of(2**53 + 1) + ExactSum.of(2)) == 2.0**53 + 4
    assert float(exact_sum(np.empty(0))) == 0.0
    assert ExactSums.join([ExactSums((ExactSum.of(1), ExactSum()))] * 3).rounded().tolist() == [3, 0]
    assert ExactSums(()).rounded().shape == (0,)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad: float) -> None:
    with pytest.raises(PrecisionError, match=f"row 2 holds {bad}"):
        exact_sum(np.array([1.0, 2.0, bad]))


KINDS: list[dict[str, Any]] = [
    {"objective": "binary:logistic"},
    {"objective": "binary:logistic", "scale_pos_weight": 3.7},
    {"objective": "multi:softprob", "num_class": 3},
    {"objective": "reg:squarederror"},
    {"objective": "count:poisson"},
    {"objective": lambda labels, margins: (margins - labels, np.ones_like(margins))},
]


@pytest.mark.parametrize("params", KINDS, ids=lambda params: str(params["objective"])[:16])
@pytest.mark.parametrize("weighted", [False, True])
def test_starts_do_not_depend_on_the_division(params: dict[str, Any], weighted: bool) -> None:
    objective = make_objective(TrainParams(**params))
    rng = np.random.default_rng(1)
    kind = params["objective"]
    drawn = rng.integers(0, 3 if kind == "multi:softprob" else 2, 999)
    labels = objective.check_labels(
        rng.gamma(2.0, 1e3, 999) if kind in ("reg:squarederror", "count:poisson") else drawn
    )
    weights = (rng.random(999) * 10 ** rng.uniform(-6, 6, 999)).astype(np.float32) if weighted else None
    whole = objective.start_sums(labels, weights)
    for pieces in ([0, 999], [0, 1, 500, 998, 999], [0, 333, 334, 999]):
        parts = [
            objective.start_parts(labels[first:stop], None if weights is None else weights[first:stop])
            for first, stop in pairwise(pieces)
        ]
        assert ExactSums.join(parts).rounded().tolist() == whole.tolist()
    order = rng.permutation(999)
    assert objective.start_sums(labels[order], None if weights is None else weights[order]).tolist() == whole.tolist()
    w = np.ones(999) if weights is None else weights.astype(np.float64)
    if kind == "reg:squarederror":
        assert whole.tolist() == [math.fsum(labels * w), math.fsum(w)]
    if kind == "multi:softprob":
        assert whole.tolist() == [math.fsum(w[drawn == k]) for k in range(3)]
