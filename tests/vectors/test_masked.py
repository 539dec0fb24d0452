"""Known answers of MaskedXGBoost: example 2 of papers/002, theorem 2, ERRATA E38 to E45 (17, 18 of its section 4)."""

import math

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.errors import ProtocolParameterError
from vfxgb.protocols.masked.calibration import (
    advanced_budget,
    calibrate,
    largest_ratio,
    score_error_bound,
    theorem2_epsilon,
    theorem2_right,
    theorem3_delta,
)
from vfxgb.protocols.masked.quadratic import exact_delta, tail

M = np.array([0, 0, 0, 0, 1, 1, 1, 1])
START = np.array([0, 8])
YES = np.array([True])
P = np.array([0.9109, -0.2397, 0.1810, 0.2442])
V = np.array([-0.9613, 1.6737, 5.0767, -2.6467])
R = np.array([0.0138, -0.1907, -0.0365, -0.0848, -0.0765, -0.1128, 0.0078, 0.2107])


def noise(normals: np.ndarray, sigma1: float, sigma2: float, m: np.ndarray = M) -> np.ndarray:
    """Bin 0 goes left: the rows with m = 1."""
    return shaped_noise(normals, sigma1, sigma2, m, YES)


def shaped_noise(normals: np.ndarray, sigma1: float, sigma2: float, m: np.ndarray, shaped: np.ndarray) -> np.ndarray:
    bins, zero = (1 - m).astype(np.uint16)[None], np.zeros(1, np.int64)
    start = np.array([0, len(m)])
    return _native.noise.masked_noise(bins, start, zero, zero, zero - 1, shaped[None], sigma1, sigma2, normals[None])[0]


def test_example_2() -> None:
    # Without sigma2 the kernel's normals are the paper's p and q / sqrt(2); without sigma1 they are r / sigma2.
    lossless = noise(np.concatenate([V / math.sqrt(2), P]), 1.0, 0.0)
    assert np.allclose(lossless[4:], [0.6667, -1.1506, 0.4207, 0.0632], atol=1e-12)
    assert np.allclose(lossless[:4], V, atol=1e-12)
    disturbing = noise(R / math.sqrt(0.1), 0.0, math.sqrt(0.1))
    assert np.allclose(disturbing, R, atol=1e-12)
    b = lossless + disturbing
    printed = [-0.9475, 1.4830, 5.0402, -2.7315, 0.5902, -1.2634, 0.4285, 0.2739]
    assert np.allclose(b, printed, atol=1e-4)
    assert abs(M @ lossless) < 1e-12
    assert M @ disturbing == pytest.approx(0.0292, abs=1e-12)
    assert M @ b == pytest.approx(0.0292, abs=1e-12)


def test_the_covariance_of_example_2() -> None:
    """Noise is linear in the normals: the images of unit vectors give its covariance exactly."""
    linear = np.stack([noise(unit, 1.0, math.sqrt(0.1)) for unit in np.eye(8)], axis=1)
    found = linear @ linear.T
    assert np.allclose(found[:4, :4], 2.1 * np.eye(4), atol=1e-12)
    assert np.allclose(found[4], [0, 0, 0, 0, 2.1, -1, 0, -1], atol=1e-12)
    assert np.allclose(found[5], [0, 0, 0, 0, -1, 2.1, -1, 0], atol=1e-12)


@pytest.mark.parametrize(("n_left", "C", "sigma2"), [(3, 4.0, 0.5), (40, 9.0, 1.0)])
def test_variance_of_a_sum_and_kappa(n_left, C, sigma2) -> None:
    """Var(m^T <g>) = n_A C sigma2^2, whatever sigma1; the printed kappa has C outside the root (E39)."""
    m = np.r_[np.ones(n_left, int), np.zeros(5, int)]
    linear = np.stack([noise(unit, 7.0, sigma2, m) for unit in np.eye(len(m))], axis=1)
    variance = C * ((m @ linear) ** 2).sum()
    assert variance == pytest.approx(n_left * C * sigma2**2)
    cal = calibrate(1.0, 1e-3, 1.0, 1e-4, 1000)
    assert cal.kappa(n_left) == pytest.approx(cal.sigma2 * math.sqrt(n_left * cal.C))


def test_fewer_than_three_rows_on_the_left() -> None:
    """E40: with one row the lossless noise is 0, with two it is (a, -a); such nodes are not shaped."""
    one, two = np.array([0, 1, 0]), np.array([1, 0, 1])
    normals = np.array([0.3, 0.7, -0.2])
    assert noise(normals, 1.0, 0.0, one)[1] == 0.0
    pair = noise(normals, 1.0, 0.0, two)
    assert pair[0] == -pair[2]
    plain = shaped_noise(normals, 1.0, 0.0, one, np.array([False]))
    assert np.allclose(plain, math.sqrt(2) * normals)
    with pytest.raises(ProtocolParameterError, match="n_left=2"):
        calibrate(1.0, 1e-3, 1.0, 1e-4, 1000, n_left=2)


def test_theorem_2() -> None:
    assert theorem2_right(1.0, 1e-3) == pytest.approx(0.0675739, abs=5e-8)
    assert theorem2_epsilon(theorem2_right(1.7, 1e-5), 1e-5) == pytest.approx(1.7)


def test_the_noise_of_theorem_2() -> None:
    """E42: n = 30000, n_A = 15000; the paper's range 1.462 gives at least 4.7e5, and a useless sum."""
    cal = calibrate(1.0, 1e-3, 1.0, 1 / 30000, 30000, n_left=15000, mu=2 * math.e / (math.e + 1))
    assert cal.C * cal.sigma2**2 > 4.7e5
    assert cal.kappa(15000) > 84_400
    each, delta = advanced_budget(1.0, 1e-3, 720)
    assert each == pytest.approx(0.009, abs=5e-5)
    assert 15000 * 2 / math.sqrt(theorem2_right(each, delta)) == pytest.approx(1.8e7, rel=0.02)
    assert calibrate(1.0, 1e-3, 1.0, 1e-4, 720, releases=720).epsilon_ap == each


@pytest.mark.parametrize(
    ("epsilon", "printed", "large", "wanted"),
    [(1, 0.033, 0.0879, 0.0327), (2, 0.155, 0.1780, 0.147), (4, 0.467, 0.3947, 0.276), (8, 1.339, 1.022, 0.523)],
)
def test_the_ratio_of_theorem_3(epsilon, printed, large, wanted) -> None:
    """E44 and E45: the printed limit, the exact one for many rows on the left, and what is used, the least of all."""
    delta = 1 / 30000
    assert theorem3_delta(printed * 0.985, epsilon, 30000) < delta < theorem3_delta(printed * 1.015, epsilon, 30000)
    assert exact_delta(large * 0.99, epsilon, 64) < delta < exact_delta(large * 1.01, epsilon, 64)
    assert largest_ratio(epsilon, delta, 30000) == pytest.approx(wanted, rel=5e-3)


def test_exact_delta_by_simulation() -> None:
    rng = np.random.default_rng(0)
    k = np.array([0.5, 0.3, -0.2])
    y = rng.normal(size=(200_000, 3)) ** 2 @ k
    for threshold in (1.0, 0.4, -0.3):
        p = tail(k, threshold)
        assert abs((y >= threshold).mean() - p) < 4 * math.sqrt(p * (1 - p) / len(y))
    # Four rows on the left, one leaves: the loss and its expectation from draws.
    rho, epsilon = 1.0, 2.0
    before = np.array([[3.0, -1, 0, -1], [-1, 3, -1, 0], [0, -1, 3, -1], [-1, 0, -1, 3]])
    after = np.array([[3.0, 0, 0, 0], [0, 3, -1, -1], [0, -1, 3, -1], [0, -1, -1, 3]])
    found = []
    for first, second in ((before, after), (after, before)):
        x = rng.multivariate_normal(np.zeros(4), first, size=200_000)
        form = np.linalg.inv(second) - np.linalg.inv(first)
        shift = np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1]
        loss = (np.einsum("ni,ij,nj->n", x, form, x) + shift) / 2
        found.append(np.maximum(0.0, 1 - np.exp(epsilon - loss)))
    best = max(found, key=lambda draws: draws.mean())
    error = best.std() / math.sqrt(len(best))
    assert abs(best.mean() - exact_delta(rho, epsilon, 4)) < 4 * error


@pytest.mark.parametrize("W", [1, 2, 5])
def test_the_error_of_scores_by_simulation(W) -> None:
    """Each side's probability is exact, so with one side that never errs the bound is the probability."""
    rng = np.random.default_rng(W)
    n, kappa, alpha, reg_lambda = 200_000, 3.0, 4.0, 1.0
    g, h = -40.0, 50.0
    drawn = rng.normal(size=(n, W))
    c, d = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.normal(size=(2, n, W)))
    x = g + kappa * (c * drawn).sum(axis=1)
    y = h + reg_lambda + kappa * (d * drawn).sum(axis=1)
    off = np.abs(x**2 / y - g**2 / (h + reg_lambda)) >= alpha
    # Nothing on the right can be off: its denominator is enormous.
    bound = score_error_bound(alpha, kappa, (g, h), (1.0, 1e12), reg_lambda, W)
    assert abs(off.mean() - bound) < 4 * math.sqrt(bound * (1 - bound) / n) + 1e-3
    assert score_error_bound(alpha, 1e-3, (g, h), (30.0, 60.0), reg_lambda, W) < 1e-12
    # More than the score itself, so that only a negative denominator can do it.
    assert score_error_bound(60.0, kappa, (g, h), (30.0, 60.0), reg_lambda, W) < 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eps_pp": 0.69}, "W ln 2 = 0.6931"),
        ({"eps_pp": 1.5, "W": 3}, "take fewer noise vectors"),
        ({"eps_ap": 0.0}, "eps_ap"),
        ({"delta_ap": 1.0}, "delta_ap"),
        ({"delta_pp": 0.0}, "delta_pp"),
        ({"n": 2}, "n_left=2"),
        ({"mu": math.inf}, "mu"),
        ({"releases": 0}, "releases"),
        ({"eps_pp": 0.69315, "delta_pp": 1e-12}, "no sigma1 above 0"),
    ],
)
def test_budgets_without_a_solution(change, message) -> None:
    given = {"eps_ap": 1.0, "delta_ap": 1e-3, "eps_pp": 1.0, "delta_pp": 1e-4, "n": 1000} | change
    with pytest.raises(ProtocolParameterError, match=message):
        calibrate(**given)
