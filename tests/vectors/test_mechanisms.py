"""Known answers of the mechanisms (ERRATA E53, E55; known answer 19)."""

import math

import numpy as np
import pytest

from vfxgb.dp import Duchi, Gaussian, Hybrid, Laplace, Piecewise, RandomisedResponse
from vfxgb.dp.gaussian import gaussian_delta
from vfxgb.dp.mechanisms import HYBRID_THRESHOLD


def near(value):
    return pytest.approx(value, abs=2e-6)


def test_duchi_at_one():
    one = Duchi(1.0)
    bound = one.lattice.bound
    assert one.magnitude / bound == near(2.163953)
    assert (one.magnitude + bound // 2) / (2 * one.magnitude) == near(0.615529)


def test_piecewise_at_one():
    one = Piecewise(1.0)
    bound = one.lattice.bound
    assert one.reach / bound == near(4.082988)
    unit = one.one
    centre = one.slope / unit * 0.5
    assert centre - one.width / bound / 2 == near(-0.270747)
    assert centre + one.width / bound / 2 == near(2.812241)
    inside = unit / one.slope
    assert inside + (1 - inside) * one.width / (2 * one.reach + 1) == near(0.622459)


def test_hybrid_at_one():
    one = Hybrid(1.0, grid_bits=24)  # rounding to the default grid adds 2e-6 to the variance
    assert one.share / 2**32 == near(0.393469)
    for value in (0.0, 0.6, 1.0):
        assert one.variance(value) == near(4.288992)
    root = 405 * math.sqrt(241)
    exact = math.log((-5 + 2 * (6353 - root) ** (1 / 3) + 2 * (6353 + root) ** (1 / 3)) / 27)
    assert exact == pytest.approx(HYBRID_THRESHOLD, abs=5e-7)
    assert Hybrid(0.609).share == 0 < Hybrid(0.61).share


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_variances_are_the_formulas(epsilon):
    a, e = math.exp(epsilon / 2), math.exp(epsilon)
    for t in (0.0, 0.6, 1.0):
        assert Laplace(epsilon).variance(t) == pytest.approx(8 / epsilon**2, rel=1e-5)
        assert Duchi(epsilon).variance(t) == pytest.approx(((e + 1) / (e - 1)) ** 2 - t**2, rel=1e-5)
        wanted = t**2 / (a - 1) + (a + 3) / (3 * (a - 1) ** 2)
        assert Piecewise(epsilon).variance(t) == pytest.approx(wanted, rel=2e-5)
    if epsilon > HYBRID_THRESHOLD:
        wanted = (a + 3) / (3 * a * (a - 1)) + (e + 1) ** 2 / (a * (e - 1) ** 2)
        assert Hybrid(epsilon).variance(0.3) == pytest.approx(wanted, rel=2e-5)


def test_response_and_duchi_cost_the_same_at_one():
    assert RandomisedResponse(1.0).variance() == pytest.approx(0.9207, abs=5e-5)
    assert Duchi(1.0, -0.5, 0.5).variance(0.5) == pytest.approx(0.9207, abs=5e-5)


def test_response_probabilities():
    for classes in (2, 5, 256):
        one = RandomisedResponse(1.0, classes)
        assert one.keep_probability == pytest.approx(math.e / (math.e + classes - 1), rel=1e-6)
        assert one.keep_probability + (classes - 1) * one.other_probability == pytest.approx(1.0)
        assert one.response_matrix().sum(axis=1) == pytest.approx(np.ones(classes))


def test_gaussian_calibration():
    """Balle and Wang's formula at its limit, less noise than the classical one, and sqrt(k) more for k releases."""
    one = Gaussian(1.0, delta=1e-5)
    mu = 1 / one.noise_multiplier
    assert gaussian_delta(1.0, mu) == pytest.approx(1e-5, rel=1e-4)
    assert one.noise_multiplier == pytest.approx(3.730632, abs=2e-5)
    assert one.noise_multiplier < math.sqrt(2 * math.log(1.25 / 1e-5))
    many = Gaussian(1.0, delta=1e-5, releases=30)
    assert many.noise_multiplier == pytest.approx(one.noise_multiplier * math.sqrt(30), rel=1e-5)
    assert Gaussian(one.release_epsilon, delta=1e-5).noise_multiplier == pytest.approx(one.noise_multiplier, rel=1e-6)
