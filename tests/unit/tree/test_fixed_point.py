"""Fixed point: sums that fit, convert exactly, and do not depend on order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.errors import CapacityError, GradientError
from vfxgb.tree.fixed_point import FixedPoint, encode_pairs, fraction_bits, power_of_two_above


@pytest.mark.parametrize(
    ("rows", "bits"), [(1, 40), (2**12, 40), (2**12 + 1, 39), (150_000, 34), (2**20, 32), (2**20 + 1, 31), (2**40, 12)]
)
def test_fraction_bits(rows: int, bits: int) -> None:
    assert fraction_bits(rows) == bits
    assert rows * 2**bits <= 2**52


@pytest.mark.parametrize("rows", [0, -1, 2**40 + 1])
def test_impossible_row_counts(rows: int) -> None:
    with pytest.raises(CapacityError, match=str(rows)):
        fraction_bits(rows)


@given(st.floats(2.0**-800, 2.0**800))
def test_power_of_two_above(value: float) -> None:
    power = power_of_two_above(value)
    assert math.log2(power).is_integer()
    assert power / 2 < value <= power


def test_power_of_two_edges() -> None:
    assert [power_of_two_above(value) for value in (0.0, 0.5, 1.0, 1.5, 4.0)] == [1.0, 0.5, 1.0, 2.0, 4.0]
    for bad in (math.nan, math.inf, -1.0, 1e300, 1e-300):
        with pytest.raises(GradientError, match="scaling gradients"):
            power_of_two_above(bad)


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=200), st.randoms())
def test_sums_are_exact_and_order_free(values: list[float], random: object) -> None:
    fixed = FixedPoint.for_rows(len(values), 4.0)
    codes = fixed.encode(np.array(values))
    assert np.abs(codes).max() <= 2**fixed.bits
    total = int(codes.sum())
    assert abs(total) <= 2**52
    assert fixed.decode(codes.sum()) == total * fixed.step
    np.testing.assert_allclose(fixed.decode(codes), values, rtol=0, atol=fixed.step / 2)


def test_naive_rounding_agrees() -> None:
    values = np.random.default_rng(1).normal(size=1000)
    fixed = FixedPoint(30, 8.0)
    naive = [round(float(value) * 2**30 / 8.0) for value in values]
    assert fixed.encode(values).tolist() == naive


@pytest.mark.parametrize("bad", [1.5, np.nan, np.inf])
def test_encoding_refuses_what_exceeds_the_scale(bad: float) -> None:
    with pytest.raises(GradientError, match="wanted at most the scale 1"):
        FixedPoint(40, 1.0).encode(np.array([0.0, bad]))


def test_pairs_are_zero_outside_the_sample() -> None:
    g, h = np.array([0.5, -0.25, 1.0]), np.array([0.25, 0.5, 0.75])
    fixed = FixedPoint(2, 1.0)
    assert encode_pairs(fixed, g, h, 4).tolist() == [[2, 1], [-1, 2], [4, 3], [0, 0]]
    rows = np.array([0, 2], dtype=np.int32)
    assert encode_pairs(fixed, g, h, 4, rows).tolist() == [[2, 1], [0, 0], [4, 3], [0, 0]]
