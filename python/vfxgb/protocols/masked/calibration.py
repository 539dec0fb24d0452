"""From privacy budgets to the parameters of MaskedXGBoost: theorems 1 to 3 of its paper, corrected.

Notation: n rows, n_A of them on the left of a candidate, W noise vectors per candidate, C the squared length of the
active party's secret factors, sigma1 and sigma2 of the noise, rho = sigma1^2 / sigma2^2, mu the range of a gradient.

What the theorems promise, and what of it is true (ERRATA E38 to E46):
- theorem 1 (utility): the sum on the left is off by a normal error of deviation kappa = sigma2 sqrt(n_A C). The errors
  of g and h come from the same noise vectors, so they are not independent; `score_error_bound` takes that into account;
- theorem 2 (active party): true only against somebody who does not know the noise vectors. The passive party made them:
  no guarantee holds against it, whatever the numbers. It covers the whole vector, hence the enormous noise;
- theorem 3 (passive party): needs epsilon > W ln 2 for each single message; where it fails, rho is lowered to what
  the exact privacy loss allows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ProtocolParameterError
from vfxgb.protocols.masked.quadratic import exact_delta, tail

LOGISTIC_RANGE = 2.0  # g of binary:logistic lies in (-1, 1): E38
LEAST_LEFT = 3  # rows on the left of a candidate: E40
# Rows on the left for which the exact privacy loss is computed; it no longer changes beyond.
_LEFT = (3, 4, 5, 6, 8, 12, 24, 64)
_MOST_TERMS = 4096  # of the sums of theorem 3, whose terms are smooth and periodic: more change nothing


@dataclass(frozen=True)
class Calibration:
    """Parameters for `n` rows; each epsilon and delta holds for one release, as the theorems claim."""

    sigma1: float
    sigma2: float
    C: float
    W: int
    n: int
    epsilon_ap: float
    delta_ap: float
    epsilon_pp: float
    delta_pp: float

    @property
    def rho(self) -> float:
        """sigma1^2 / sigma2^2."""
        return (self.sigma1 / self.sigma2) ** 2

    def kappa(self, n_left: int) -> float:
        """The deviation of a sum over `n_left` rows."""
        return self.sigma2 * math.sqrt(n_left * self.C)

    def bound(
        self, alpha: float, n_left: int, left: tuple[float, float], right: tuple[float, float], reg_lambda: float
    ) -> float:
        """U(alpha, kappa): see score_error_bound; `left` and `right` are sums (g, h)."""
        return score_error_bound(alpha, self.kappa(n_left), left, right, reg_lambda, self.W)

    def params(self) -> dict[str, float | int]:
        """Return them as protocol_params of `masked`."""
        return {"sigma1": self.sigma1, "sigma2": self.sigma2, "C": self.C, "W": self.W}


def calibrate(
    eps_ap: float,
    delta_ap: float,
    eps_pp: float,
    delta_pp: float,
    n: int,
    *,
    n_left: int | None = None,
    W: int = 1,
    mu: float = LOGISTIC_RANGE,
    releases: int = 1,
) -> Calibration:
    """sigma1, sigma2, C and W with which theorems 2 and 3 claim (eps_ap, delta_ap) and (eps_pp, delta_pp).

    `n`: rows. `n_left`: the most rows on the left of a candidate; all of them by default, which covers every candidate.
    `W`: noise vectors. `mu`: the range of gradients and hessians. `releases`: messages of the active party that share
    its budget, by advanced composition (section 2.3); the passive party's budget is always that of one message, as
    theorem 3 cannot be composed to less than W ln 2 for each. The noise is that of a message about all n rows; one
    about a node of fewer has the same epsilon with noise_scale="node", and a smaller one with "root". The claim about
    the active party is false against the passive party. Raises ProtocolParameterError where there is no solution.
    """
    left = n if n_left is None else n_left
    least = W * math.log(2)
    remedy = "take fewer noise vectors" if W > 1 and eps_pp > math.log(2) else "give the passive party more"
    checks: list[tuple[str, float, bool, str]] = [
        ("eps_ap", eps_ap, 0 < eps_ap < math.inf, "a positive number"),
        ("eps_pp", eps_pp, 0 < eps_pp < math.inf, "a positive number"),
        ("mu", mu, 0 < mu < math.inf, "a positive number"),
        ("delta_ap", delta_ap, 0 < delta_ap < 1, "a number between 0 and 1"),
        ("delta_pp", delta_pp, 0 < delta_pp < 1, "a number between 0 and 1"),
        ("W", W, W >= 1, "at least 1"),
        ("releases", releases, releases >= 1, "at least 1"),
        ("n_left", left, LEAST_LEFT <= left <= n, f"{LEAST_LEFT} to n={n} rows on the left of a candidate"),
        ("eps_pp", eps_pp, eps_pp > least, f"more than W ln 2 = {least:.4g}: theorem 3 covers nothing less; {remedy}"),
    ]
    for name, value, good, wanted in checks:
        if not good:
            raise ProtocolParameterError(f"calibrating masked noise: found {name}={value!r}, wanted {wanted}")
    eps, delta = (eps_ap, delta_ap) if releases == 1 else advanced_budget(eps_ap, delta_ap, releases)
    rho = largest_ratio(eps_pp, delta_pp, n, W)
    energy = mu**2 * ((n - left) / (2 * rho + 1) + left) / theorem2_right(eps, delta)  # C sigma2^2
    sigma2 = math.sqrt(energy)
    return Calibration(sigma2 * math.sqrt(rho), sigma2, 1.0, W, n, eps, delta, eps_pp, delta_pp)


def theorem2_right(epsilon: float, delta: float) -> float:
    """The right side of theorem 2: the squared distance in standard deviations that (epsilon, delta) allows."""
    log_delta = math.log(delta)
    return 2 * (epsilon - 2 * log_delta - 2 * math.sqrt(log_delta * (log_delta - epsilon)))


def theorem2_epsilon(left_side: float, delta: float) -> float:
    """The least epsilon at which theorem 2 claims something for this left side: the inverse of theorem2_right."""
    return left_side / 2 + math.sqrt(-2 * math.log(delta) * left_side)


def advanced_budget(epsilon: float, delta: float, releases: int) -> tuple[float, float]:
    """(epsilon, delta) of each release by the advanced composition of section 2.3, half of delta paying for it."""
    spread = math.sqrt(2 * releases * math.log(2 / delta))
    each = _bisect(lambda e: e * spread + releases * e * math.expm1(e) <= epsilon, 0.0, epsilon)
    return max(each, epsilon / releases), delta / (2 * releases)


def largest_ratio(eps_pp: float, delta_pp: float, n: int, W: int = 1) -> float:
    """The largest rho for which theorem 3 claims (eps_pp, delta_pp) for one message, and it is true.

    Each of W vectors gets eps_pp / W and delta_pp / W. Raises ProtocolParameterError where even tiny rho is too much.
    """
    eps, delta = eps_pp / W, delta_pp / W

    def allowed(rho: float) -> bool:
        if theorem3_delta(rho, eps, n) > delta:
            return False
        return all(exact_delta(rho, eps, left) <= delta for left in _LEFT if left <= n)

    if not allowed(1e-6):
        raise ProtocolParameterError(
            f"calibrating masked noise: found eps_pp={eps_pp!r}, delta_pp={delta_pp!r} with W={W}, for which no "
            "sigma1 above 0 is allowed; raise eps_pp or delta_pp, or take fewer noise vectors"
        )
    return _bisect(allowed, 1e-6, 1e3)


def theorem3_delta(rho: float, epsilon: float, n: int) -> float:
    """Pr(y^T k y >= 2 epsilon - 2 ln 2) of theorem 3 for one noise vector."""
    terms = min(n, _MOST_TERMS)
    cosine = np.cos(2 * math.pi * np.arange(terms) / terms)
    weight = rho / (2 * rho * (1 - cosine) + 1)
    a, b, c = float(weight.mean()), float((weight * cosine).mean()), float((weight * (2 * cosine**2 - 1)).mean())
    matrix = np.array([[b - c, a + c, b - a], [a - b, 2 * b, a - b], [b - a, a + c, b - c]])
    return tail(np.linalg.eigvals(matrix).real, 2 * epsilon - 2 * math.log(2))


def _bisect(good: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value in (low, high] that is good, to a part in ten thousand, from below; `low` is good."""
    if good(high):
        return high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2 if low == 0 else math.sqrt(low * high)
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def score_error_bound(
    alpha: float,
    kappa: float,
    left: tuple[float, float],
    right: tuple[float, float],
    reg_lambda: float,
    W: int = 1,
) -> float:
    """U(alpha, kappa) of theorem 1: Pr(a score is off by alpha or more) is at most that.

    `left`, `right`: true sums (g, h). A score is half of g_L^2 / (h_L + lambda) + g_R^2 / (h_R + lambda), so one of
    the two has to be off by alpha. For each the probability is computed, not bounded: given the error kappa s of g,
    that of h is normal with mean kappa tau s and deviation kappa sqrt(1 - tau^2), tau the cosine between two random
    vectors in W dimensions.
    """
    if not (alpha > 0 and kappa > 0 and reg_lambda >= 0):
        raise ProtocolParameterError(
            f"bounding the error of scores: found alpha={alpha!r}, kappa={kappa!r}, reg_lambda={reg_lambda!r}, wanted "
            "the first two above 0 and the last not below"
        )
    return min(1.0, math.fsum(_side(alpha, kappa, g, h + reg_lambda, W) for g, h in (left, right)))


def _side(alpha: float, kappa: float, g: float, y: float, W: int) -> float:
    """Pr(|X^2 / Y - g^2 / y| >= alpha), X and Y around g and y."""
    s = np.linspace(-9, 9, 8001 if W == 1 else 401)  # W = 1 leaves a step function
    weight = np.exp(-(s**2) / 2)
    cosines, chances = _cosines(W)
    squares = (g + kappa * s) ** 2
    true = g * g / y
    above = squares / (true + alpha)
    below = np.full_like(s, -np.inf)
    beyond = np.full_like(s, np.inf)
    if alpha < true:
        beyond = squares / (true - alpha)
    elif alpha > true:
        below = squares / (true - alpha)
    total = 0.0
    for cosine, chance in zip(cosines, chances, strict=True):
        middle = y + kappa * cosine * s
        spread = kappa * math.sqrt(max(0.0, 1 - cosine**2))
        # Y up to `above` makes the ratio too large, or negative; down to `below`, or from `beyond`, too small.
        bad = _within(middle, spread, below, above) + _within(middle, spread, beyond, np.full_like(s, np.inf))
        total += chance * float(weight @ bad) / float(weight.sum())
    return total


def _cosines(W: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and probabilities of the cosine between two random directions in W dimensions."""
    if W == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    angle = (np.arange(32) + 0.5) * (math.pi / 32)
    density = np.sin(angle) ** (W - 2)
    return np.cos(angle), density / density.sum()


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _within(
    middle: NDArray[np.float64], spread: float, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Pr(low <= Y <= high) for Y normal around `middle`."""
    if spread < 1e-12 * float(np.abs(middle).max()):
        return ((low <= middle) & (middle <= high) & (low < np.inf)).astype(np.float64)

    def below(bound: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((1 + _erf((bound - middle) / (spread * math.sqrt(2)))) / 2)

    return below(high) - below(low)
