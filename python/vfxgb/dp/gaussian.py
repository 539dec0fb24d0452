"""How much Gaussian noise: the analytic Gaussian mechanism (Balle and Wang, 2018), with an allowance for the lattice.

Notation: k releases of integers that one item changes by at most w, each with discrete Gaussian noise of sigma. For
continuous noise, with mu = sqrt(k) w / sigma,

    delta(epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu).

The allowance: P(X >= m) of the discrete Gaussian is at most that of the continuous one at m - 1 (m >= 1) and at least
that at m. The privacy loss grows by w / sigma^2 with each step of the noise, so that of k discrete releases is, in
distribution, at most that of k continuous ones plus k w / sigma^2. Hence epsilon + k w / sigma^2 holds whenever epsilon
does for continuous noise. (Their normalisers differ by a factor 1 + 2 exp(-2 pi^2 sigma^2): below 1e-136 for the
sigma >= 4 that is enforced here.)
"""

import math

LEAST_SIGMA = 4


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of continuous Gaussian noise whose means are mu standard deviations apart."""
    a, b = mu / 2 - epsilon / mu, mu / 2 + epsilon / mu
    # e^epsilon Phi(-b) = exp(-a^2 / 2) * exp(b^2 / 2) Phi(-b), because b^2 - a^2 = 2 epsilon
    return max(0.0, 0.5 * math.erfc(-a / math.sqrt(2)) - math.exp(-a * a / 2) * _scaled_tail(b))


def _scaled_tail(b: float) -> float:
    """exp(b^2 / 2) Phi(-b) for b >= 0; beyond 20 from below, by its asymptotic series."""
    if b < 20:
        return 0.5 * math.exp(b * b / 2) * math.erfc(b / math.sqrt(2))
    square = b * b
    return (1 - 1 / square + 3 / square**2 - 15 / square**3) / (b * math.sqrt(2 * math.pi))


def delta_of(sigma: int, epsilon: float, width: int, releases: int = 1) -> float:
    """A delta that holds at this epsilon; 1 where the allowance eats up epsilon."""
    left = epsilon - releases * width / sigma**2
    return gaussian_delta(left, math.sqrt(releases) * width / sigma) if left > 0 else 1.0


def epsilon_of(sigma: int, delta: float, width: int, releases: int = 1) -> float:
    """The least epsilon that holds at this delta, up to a rounding upwards in the ninth digit."""
    return continuous_epsilon(math.sqrt(releases) * width / sigma, delta) + releases * width / sigma**2


def continuous_epsilon(mu: float, delta: float) -> float:
    """The least epsilon of continuous noise whose means are mu standard deviations apart, rounded as above."""
    low, high = 0.0, 1.0
    while gaussian_delta(high, mu) > delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(middle, mu) <= delta else (middle, high)
    return high


def sigma_for(epsilon: float, delta: float, width: int, releases: int = 1) -> int:
    """The least integer sigma, at least 4, for which `delta_of` is at most delta."""
    low, high = LEAST_SIGMA - 1, LEAST_SIGMA
    while delta_of(high, epsilon, width, releases) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if delta_of(middle, epsilon, width, releases) <= delta else (middle, high)
    return high
