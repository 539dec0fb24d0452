"""Noise that several users make together: exact probabilities of their sums, in fractions, against what is claimed."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.dp import Accountant
from vfxgb.dp.bounds import exp_below
from vfxgb.dp.distributed import (
    Column,
    SharedGaussian,
    column_key,
    largest_mu,
    noise_key,
    sum_gap,
    zcdp_epsilon,
)
from vfxgb.dp.gaussian import continuous_epsilon, gaussian_delta
from vfxgb.errors import CapacityError, DpError

KEY = bytes(range(32))


def discrete_gaussian(variance, most):
    """Probabilities of -most to most, as fractions with 60 digits; what lies beyond is less than 1e-40."""
    with localcontext() as context:
        context.prec = 60
        weights = [Fraction((-Decimal(x * x) / (2 * Decimal(variance))).exp()) for x in range(most + 1)]
    total = 2 * sum(weights) - weights[0]
    return {x: weights[abs(x)] / total for x in range(-most, most + 1)}


def sum_of_draws(sigma, users):
    """The exact distribution of the sum of so many draws: big integers, convolved."""
    one = discrete_gaussian(sigma**2, 14 * sigma)
    scale = 10**60
    single = np.array([int(p * scale) for p in one.values()], dtype=object)
    whole = single
    for _ in range(users - 1):
        whole = np.convolve(whole, single)
    total = int(whole.sum())
    most = len(whole) // 2
    return {x - most: Fraction(int(p), total) for x, p in enumerate(whole)}


def exact_delta(noise, width, epsilon):
    """The least delta at which adding this noise to a number that an item moves by `width` is epsilon-private."""
    factor = exp_below(epsilon)
    zero = Fraction(0)
    return sum(max(zero, p - factor * noise.get(x - width, zero)) for x, p in noise.items())


@pytest.mark.parametrize(("sigma", "users"), [(1, 2), (1, 5), (1, 12), (2, 3), (2, 6)])
def test_a_sum_is_as_near_a_single_draw_as_the_gap_says(sigma, users):
    together = sum_of_draws(sigma, users)
    reach = math.ceil(6 * sigma * math.sqrt(users))
    single = discrete_gaussian(users * sigma**2, 20 * reach)
    worst = max(abs(math.log(together[x] / single[x])) for x in range(-reach, reach + 1))
    # With sigma 2 the gap is 5e-17, below what a logarithm in double precision can tell.
    assert worst <= sum_gap(sigma, users) + 1e-15
    if (sigma, users) == (1, 2):
        assert worst >= sum_gap(sigma, users) / 10  # and the bound is no fiction


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("planned", [4, 6])
def test_the_exact_loss_is_within_the_claim_unless_users_are_missing(planned, width):
    noise = SharedGaussian(1.000001 * width / (4 * math.sqrt(planned)), (Column(width, 1),), planned)
    assert noise.sigmas == (4,)
    for honest in (1, planned // 2, planned, planned + 2):
        drawn = sum_of_draws(4, honest)
        mu, slack = noise.distance(honest), noise.slack(honest, 1)
        for delta in (1e-5, 1e-3):
            epsilon = continuous_epsilon(mu, delta) + slack
            assert exact_delta(drawn, width, epsilon) <= Fraction(delta)
            assert exact_delta(drawn, width, zcdp_epsilon(noise.rho(honest, 1), delta)) <= Fraction(delta)
            claimed = continuous_epsilon(noise.distance(planned), delta) + noise.slack(planned, 1)
            # Fewer honest users than planned lose more than was claimed; as many or more do not.
            assert (exact_delta(drawn, width, claimed) <= Fraction(delta)) == (honest >= planned)


def test_two_releases_lose_what_the_composition_says():
    """Two draws of sums over three users each, of a number moved by 5: every pair of outputs, in fractions."""
    noise = SharedGaussian(1.000001 * 5 / (4 * math.sqrt(3)), (Column(5, 1),), 3)
    drawn = sum_of_draws(4, 3)
    # The loss is monotone in x, and of both releases a function of the sum: which is again a sum of draws, moved twice.
    accountant = Accountant(1e-3)
    accountant.add(*(noise.event("server", "a row", r, 3, 1, 1e-3, 2) for r in range(2)))
    epsilon = accountant.total("server", composition="gaussian").epsilon_total
    losses = {}
    for x, p in drawn.items():
        q = drawn.get(x - 5, Fraction(0))
        losses[x] = math.inf if q == 0 else math.log(p / q)
    ordered = sorted((loss, float(drawn[x])) for x, loss in losses.items() if drawn[x] > Fraction(1, 10**18))
    loss, p = np.array([entry[0] for entry in ordered]), np.array([entry[1] for entry in ordered])
    total = loss[:, None] + loss[None, :]
    delta = float((np.maximum(0.0, -np.expm1(epsilon - total)) * p[:, None] * p[None, :]).sum())
    assert delta <= 1e-3
    assert delta >= 0.3e-3  # the rest is the allowance for the lattice, which is large with so small a sigma


def test_columns_share_and_widths_count():
    noise = SharedGaussian(0.1, (Column(1 << 20, 11), Column(1 << 18, 11)), 67)
    assert noise.distance(67) <= 0.1
    assert noise.distance(67) == pytest.approx(0.1, rel=1e-5)
    assert noise.sigmas[0] == pytest.approx(4 * noise.sigmas[1], rel=1e-5)
    # Half of the users: twice the variance is missing; twice of them: half of the loss by squares.
    assert noise.distance(33) == pytest.approx(noise.distance(67) * math.sqrt(67 / 33))
    assert noise.slack(67, 10_000) < 1e-6
    assert noise.rho(67, 10_000) == pytest.approx(0.005, rel=1e-4)
    assert noise.distance(0) == math.inf
    assert noise.deviation(0, 100) == 10 * noise.sigmas[0]


def test_conversions_agree_with_each_other():
    for epsilon in (0.1, 1.0, 4.0):
        mu = largest_mu(epsilon, 1e-5)
        assert gaussian_delta(epsilon, mu) <= 1e-5 < gaussian_delta(epsilon, mu * 1.0001)
        # Concentrated privacy is looser, by less than a third here.
        assert epsilon < zcdp_epsilon(mu**2 / 2, 1e-5) < 1.35 * epsilon
    # Bun and Steinke's conversion is rho + 2 sqrt(rho log(1 / delta)); this one is never worse.
    assert zcdp_epsilon(0.02, 1e-6) < 0.02 + 2 * math.sqrt(0.02 * math.log(1e6))
    assert zcdp_epsilon(0.0, 1e-6) == 0.0


@pytest.mark.parametrize("sigma", [4, 1000, 1 << 20, 1 << 33])
def test_draws_have_the_distribution_and_come_again(sigma):
    noise = SharedGaussian(1.0, (Column(sigma, 1),), 1)
    (drawn_sigma,) = noise.sigmas
    drawn = noise.draw(40_000, KEY)
    assert np.array_equal(drawn, noise.draw(40_000, KEY))
    assert np.array_equal(drawn[:100], noise.draw(100, KEY))
    other = noise.draw(40_000, noise_key(KEY, b"another task"))
    assert not np.array_equal(drawn, other)
    assert abs(drawn.mean()) <= 4 * drawn_sigma / 200
    assert drawn.std() == pytest.approx(drawn_sigma, rel=0.015)
    assert abs(np.mean(drawn * (other / drawn_sigma) / drawn_sigma)) < 0.02
    # The share beyond two standard deviations: .0455 of a continuous one.
    assert np.mean(np.abs(drawn) > 2 * drawn_sigma) == pytest.approx(0.0455, abs=0.006 if sigma > 4 else 0.02)


def test_draws_are_those_of_the_native_sampler():
    """The naive twin: the sampler of the vertical setting on the words of the key stream."""
    noise = SharedGaussian(0.5, (Column(50, 2), Column(7, 1)), 3)
    drawn = noise.draw(20, KEY)
    for number, sigma in enumerate(noise.sigmas):
        words = np.zeros(1000, dtype=np.uint64)
        key = np.frombuffer(column_key(KEY, number), np.uint8).reshape(1, 32)
        _native.crypto.add_masks(key, np.ones(1, dtype=np.int8), words)
        expected, _ = _native.noise.perturb_replay("gaussian", [0, sigma, 2**58], np.zeros(10, np.int64), words)
        assert drawn[number::2].tolist() == expected.tolist()


def test_events_compose_to_what_was_planned():
    mu = largest_mu(1.0, 1e-5)
    releases = 40
    noise = SharedGaussian(mu / math.sqrt(releases), (Column(1 << 20, 11), Column(1 << 18, 11)), 67)
    accountant = Accountant()
    for round_ in range(releases):
        accountant.add(noise.event("server", "one row of one user", round_, 67, 500, 1e-5, releases))
    total = accountant.total("server", composition="gaussian")
    assert total.delta == pytest.approx(1e-5)
    assert 0.999 < total.epsilon_total <= 1.0001
    (group,) = accountant.as_dict()["totals"]
    assert group["compositions"]["gaussian"]["epsilon_total"] == pytest.approx(1.0, rel=1e-3)


def test_refusals():
    with pytest.raises(DpError, match="sigma\\*\\*2 of at least 1/2"):
        sum_gap(0.5, 3)
    with pytest.raises(DpError, match="users, columns and a positive mu"):
        SharedGaussian(0.1, (), 3)
    with pytest.raises(DpError, match="users, columns and a positive mu"):
        SharedGaussian(0.1, (Column(1, 1),), 0)
    with pytest.raises(CapacityError, match="62 bits"):
        SharedGaussian(1e-12, (Column(1 << 20, 11),), 10)
    with pytest.raises(DpError, match="31 entries, wanted a multiple of 2"):
        SharedGaussian(0.1, (Column(1, 1), Column(1, 1)), 3).draw(31, KEY)
    with pytest.raises(DpError, match="seed of 5 bytes"):
        noise_key(b"short", b"task")
