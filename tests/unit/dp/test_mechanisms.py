"""Means, variances, lattices, clipping and refusals of the mechanisms."""

import math

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.dp import (
    MECHANISMS,
    Duchi,
    Gaussian,
    Laplace,
    Lattice,
    RandomisedResponse,
    budget,
    common_fixed_point,
    encode,
    mechanism,
)
from vfxgb.dp.bounds import LEAST_EPSILON
from vfxgb.errors import CapacityError, DpError, UnknownNameError

DRAWS = 100_000


def draw(one, values):
    """Outputs from a fixed tape of random words: statistics that come out the same every time."""
    words = np.random.default_rng(20240601).integers(0, 2**64, 24 * len(values) + 1000, dtype=np.uint64)
    noisy, _ = _native.noise.perturb_replay(one.name, list(one.parameters), one.lattice.indices(values), words)
    return noisy + one.lattice.centre


def within_four_errors(sample, mean, variance):
    """Mean and variance of a sample within four standard errors (that of the variance from the fourth moment)."""
    n = len(sample)
    assert abs(sample.mean() - mean) <= 4 * math.sqrt(variance / n)
    squares = (sample - mean) ** 2
    assert abs(squares.mean() - variance) <= 4 * squares.std() / math.sqrt(n) + 1e-9 * variance


@pytest.mark.parametrize("value", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", MECHANISMS)
def test_mean_and_variance(name, epsilon, value):
    one = mechanism(name, epsilon)
    noisy = draw(one, np.full(DRAWS, value))
    within_four_errors(noisy * one.step, round(value / one.step) * one.step, one.variance(value))


@pytest.mark.parametrize("name", MECHANISMS)
def test_fresh_randomness(name):
    """From the CSPRNG the outputs are other ones each time; the mean is off by eight standard errors in no lifetime."""
    one = mechanism(name, 1.0)
    first, second = (one.perturb(np.full(DRAWS, 0.6), threads=2) for _ in range(2))
    assert first.dtype == np.int64
    assert (first != second).any()
    for noisy in (first, second):
        assert abs((noisy * one.step).mean() - 0.6) < 8 * math.sqrt(one.variance(0.6) / DRAWS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_other_ranges(name):
    """The hessian's range: the mean is the input there too, and the step is a power of two."""
    one = mechanism(name, 2.0, 0.0, 0.25)
    within_four_errors(draw(one, np.full(DRAWS, 0.2)) * one.step, 0.2, one.variance(0.2))
    assert math.frexp(one.step)[0] == 0.5
    odd = mechanism(name, 2.0, -0.3, 3.0, grid_bits=12)
    step = odd.step
    assert (odd.lattice.centre - odd.lattice.bound) * step <= -0.3
    assert (odd.lattice.centre + odd.lattice.bound) * step >= 3.0
    within_four_errors(draw(odd, np.full(DRAWS, -0.25)) * step, round(-0.25 / step) * step, odd.variance(-0.25))


@pytest.mark.parametrize("name", MECHANISMS)
def test_clipping(name):
    one = mechanism(name, 1.0)
    for value, end in ((7.0, 1.0), (-math.inf, -1.0)):
        within_four_errors(draw(one, np.full(DRAWS, value)) * one.step, end, one.variance(end))
    far = one.perturb_indices(np.array([2**60, -(2**60)]))
    assert np.abs(far).max() <= one.largest


def test_duchi_has_two_outputs_whatever_the_input():
    for epsilon in (0.1, 1.0, 1000.0):
        one = Duchi(epsilon)
        noisy = one.perturb(np.random.default_rng(1).uniform(-2, 2, 1000))
        assert set(np.abs(noisy)) == {one.magnitude}
    assert Duchi(1000.0).variance(0.0) == pytest.approx(1.0, rel=1e-5)  # and so it never goes to 0


@pytest.mark.parametrize("name", ["piecewise", "hybrid", "laplace", "gaussian"])
def test_every_output_is_reachable_from_every_input(name):
    """On a coarse grid: the sets of outputs seen do not depend on the input."""
    one = mechanism(name, 1.0, grid_bits=4)
    seen = [set(one.perturb(np.full(200_000, t))) for t in (-1.0, 0.0, 1.0)]
    if name in ("piecewise", "hybrid"):
        assert seen[0] == seen[1] == seen[2]
    for each in seen:
        assert max(map(abs, each)) <= one.largest


@pytest.mark.parametrize("name", ["laplace", "piecewise", "hybrid", "gaussian"])
def test_noise_vanishes_as_epsilon_grows(name):
    one = mechanism(name, 1e6)
    values = np.linspace(-1, 1, 1001)
    error = np.abs(one.perturb(values) * one.step - values)
    assert np.median(error) < 1e-2
    assert one.variance(0.5) < 1e-4


@pytest.mark.parametrize("name", ["piecewise", "hybrid"])
def test_outliers_are_as_rare_as_epsilon_says(name):
    """At a large epsilon every output is next to its input: the chance of any other one is 2**-58."""
    one = mechanism(name, 1000.0)
    piecewise = getattr(one, "piecewise", one)
    assert (piecewise.slope - piecewise.one) / piecewise.slope < 2**-57
    indices = np.arange(-DRAWS, DRAWS)
    assert np.abs(one.perturb_indices(indices) - indices).max() <= 1
    tiny = mechanism(name, 1e-5)  # and a small one needs no coarser grid
    assert len(tiny.perturb(np.zeros(10))) == 10


def test_response():
    one = RandomisedResponse(1.0, 4)
    words = np.random.default_rng(20240601).integers(0, 2**64, 2 * DRAWS, dtype=np.uint64)
    noisy, _ = _native.noise.perturb_replay("response", list(one.parameters), np.full(DRAWS, 2), words)
    shares = np.bincount(noisy, minlength=4) / DRAWS
    for label, share in enumerate(shares):
        p = one.keep_probability if label == 2 else one.other_probability
        assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / DRAWS)
    within_four_errors(one.unbiased(noisy == 2), 1.0, one.variance())
    assert RandomisedResponse(1000.0).other_probability < 2**-58
    assert (RandomisedResponse(1000.0).perturb(np.arange(1000) % 2) == np.arange(1000) % 2).all()
    assert len(one.perturb(np.array([], dtype=np.int64))) == 0
    fresh = one.perturb(np.full(DRAWS, 2, dtype=np.int8), threads=2)
    assert abs((fresh == 2).mean() - one.keep_probability) < 8 / math.sqrt(DRAWS) / 2


def test_common_fixed_point_holds_sums_exactly():
    parts = Duchi(1.0), Duchi(1.0, 0.0, 0.25)
    fixed = common_fixed_point(parts, 150_000)
    assert fixed.step == min(each.step for each in parts)
    for each in parts:
        noisy = each.perturb(np.linspace(-1, 1, 100))
        assert (encode(noisy, each.step, fixed) * fixed.step == noisy * each.step).all()
        assert np.abs(encode(noisy, each.step, fixed)).max() <= 2**fixed.bits
    with pytest.raises(CapacityError, match="grid_bits"):
        common_fixed_point([Laplace(1e-4)], 2**20)
    with pytest.raises(DpError, match="finer"):
        encode(np.array([1]), 2.0**-60, fixed)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_bad_epsilon(epsilon):
    for name in MECHANISMS:
        with pytest.raises(DpError, match="epsilon"):
            mechanism(name, epsilon)
    with pytest.raises(DpError, match="epsilon"):
        RandomisedResponse(epsilon)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-60, 1e-17, 9e-10])
def test_tiny_epsilons_are_refused_in_words(epsilon):
    """e^epsilon is 1 to every digit at hand: no division by zero, and no label that is told less often than others."""
    for name in MECHANISMS:
        with pytest.raises(DpError, match=r"wanted at least 1e-09.*raise epsilon"):
            mechanism(name, epsilon)
    with pytest.raises(DpError, match=r"wanted at least 1e-09.*raise epsilon"):
        RandomisedResponse(epsilon)
    with pytest.raises(DpError, match=r"wanted at least 1e-09.*fewer releases"):
        budget(60 * epsilon, 60)


def test_the_least_epsilon_works():
    for name in MECHANISMS:
        noise = mechanism(name, LEAST_EPSILON, grid_bits=10)
        assert math.isfinite(noise.variance(0.5))
        assert np.abs(noise.perturb(np.full(100, 0.5))).max() <= noise.largest
    response = RandomisedResponse(LEAST_EPSILON)
    assert response.keep_probability > response.other_probability
    assert np.isfinite(response.unbiased(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, math.inf, None])
def test_bad_delta(delta):
    with pytest.raises(DpError, match="delta"):
        Gaussian(1.0, delta=delta)


def test_bad_parameters():
    for low, high in ((1.0, -1.0), (0.0, 0.0), (math.nan, 1.0), (0.0, math.inf)):
        with pytest.raises(DpError, match="range"):
            Duchi(1.0, low, high)
    with pytest.raises(DpError, match="narrow"):
        Lattice(1e9, 1e9 + 1)
    for bits in (3, 31):
        with pytest.raises(DpError, match="grid_bits"):
            Laplace(1.0, grid_bits=bits)
    with pytest.raises(DpError, match="releases"):
        Gaussian(1.0, releases=0)
    with pytest.raises(DpError, match="NaN"):
        Duchi(1.0).perturb(np.array([0.0, math.nan]))
    with pytest.raises(DpError, match="2 dimensions"):
        Duchi(1.0).perturb(np.zeros((3, 2)))
    with pytest.raises(DpError, match="grid_bits"):
        Laplace(1e-9, grid_bits=30)
    for classes in (1, 2.0, True, 2**21):
        with pytest.raises(DpError, match="classes"):
            RandomisedResponse(1.0, classes)
    for labels in (np.array([0, 2]), np.array([-1]), np.array([0.5]), np.array([[0]])):
        with pytest.raises(DpError, match="labels"):
            RandomisedResponse(1.0).perturb(labels)
    with pytest.raises(UnknownNameError, match="laplace"):
        mechanism("staircase", 1.0)
