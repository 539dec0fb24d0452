"""Fixed point: sums that fit, convert exactly, and do not depend on order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.errors import CapacityError, GradientError
from vfxgb.numeric.fixed_point import FixedPoint, fraction_bits, power_of_two_above


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


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=200))
def test_sums_are_exact_and_order_free(values: list[float]) -> None:
    fixed = FixedPoint.for_rows(len(values), 4.0)
    codes = fixed.encode_pairs(np.array(values), np.abs(values))
    assert np.abs(codes).max() <= 2**fixed.bits
    assert np.abs(codes.sum(axis=0)).max() <= 2**52
    np.testing.assert_allclose(codes[:, 0] * fixed.step, values, rtol=0, atol=fixed.step / 2)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_naive_rounding_agrees(kind: type[np.floating], threads: int) -> None:
    rng = np.random.default_rng(1)
    # Halves of a step, too: ties go to even.
    values = np.concatenate([rng.normal(size=50_000), np.arange(-99, 100) * 2.0**-28]).astype(kind)
    fixed = FixedPoint(30, 8.0)
    table = np.stack([values, np.abs(values)], axis=1)
    naive = [[round(float(value) * 2**30 / 8.0) for value in row] for row in table]
    assert fixed.encode_pairs(table[:, 0], table[:, 1], None, threads).tolist() == naive


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bits", [1, 8, 40])
def test_naive_stochastic_rounding_agrees(kind: type[np.floating], threads: int, bits: int) -> None:
    rng = np.random.default_rng(2)
    # Whole numbers of steps and the ends of the range, too.
    values = np.concatenate([rng.uniform(-8, 8, 50_000), [-8.0, 8.0, 0.0, 4.0, -4.0]]).astype(kind)
    words = rng.integers(0, 2**64, len(values), dtype=np.uint64)
    words[-5:] = 2**64 - 1
    table = np.stack([values, np.abs(values)], axis=1)
    naive = []
    for row, word in zip(table.tolist(), words.tolist(), strict=True):
        exact = [Fraction(value) * 2**bits / 8 for value in row]
        halves = [word % 2**32, word // 2**32]
        naive.append(
            [
                math.floor(value) + (Fraction(half, 2**32) < value - math.floor(value))
                for value, half in zip(exact, halves, strict=True)
            ]
        )
    codes = FixedPoint(bits, 8.0).encode_pairs(table[:, 0], table[:, 1], None, threads, words)
    assert codes.tolist() == naive
    assert np.abs(codes).max() <= 2**bits


def test_stochastic_rounding_is_right_on_average() -> None:
    """The mean of many roundings is the value, within five deviations of the mean."""
    n, value = 400_000, 0.3
    words = np.random.default_rng(3).integers(0, 2**64, n, dtype=np.uint64)
    codes = FixedPoint(1, 1.0).encode_pairs(np.full(n, value), np.full(n, value / 2), None, 1, words)
    assert set(codes.ravel().tolist()) == {0, 1}
    means = codes.mean(axis=0)
    for mean, wanted in zip(means, (2 * value, value), strict=True):
        assert abs(mean - wanted) < 5 * math.sqrt(wanted * (1 - wanted) / n)
    # The two halves of a word are independent: both rise as often as the product says.
    both = codes.all(axis=1).mean()
    assert abs(both - 2 * value * value) < 5 * math.sqrt(0.18 * 0.82 / n)


@pytest.mark.parametrize("bad", [1.5, -1.5, np.nan, np.inf])
@pytest.mark.parametrize("column", [0, 1])
def test_encoding_refuses_what_exceeds_the_scale(bad: float, column: int) -> None:
    pair = [np.array([0.0, 0.5]), np.array([0.0, 0.5])]
    pair[column][1] = bad
    with pytest.raises(GradientError, match="above the scale 1 of this round"):
        FixedPoint(40, 1.0).encode_pairs(*pair)


def test_pairs_are_zero_outside_the_sample() -> None:
    g, h = np.array([0.5, -0.25, 1.0]), np.array([0.25, 0.5, 0.75])
    fixed = FixedPoint(2, 1.0)
    assert fixed.encode_pairs(g, h).tolist() == [[2, 1], [-1, 2], [4, 3]]
    assert fixed.encode_pairs(g, h, np.array([0, 2], dtype=np.int32)).tolist() == [[2, 1], [0, 0], [4, 3]]


def test_fewer_bits_on_request() -> None:
    assert fraction_bits(1000) == 40
    assert fraction_bits(1000, 12) == 12
    assert fraction_bits(2**20, 40) == 32
