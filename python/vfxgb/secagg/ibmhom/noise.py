"""Gaussian noise in the sums, each user adding its part (papers/003, equation (6); Truex et al. 2019).

For noise of standard deviation sigma in a sum over at least k users, each adds discrete Gaussian noise (dp/README.md)
of sigma_u = ceil(sigma / sqrt(k)), at least 4, to every entry before it encrypts. The sum of k' >= k of them has the
variance k' sigma_u**2 >= sigma**2. Users that pool what they know take their own parts away: c of them leave
(k' - c) sigma_u**2.

The sum of discrete Gaussians is not quite one itself; for sigma_u >= 4 the difference is below 1e-100 (Kairouz, Liu and
Steinke 2021, theorem 9), and `epsilon` counts the sum as one draw of its standard deviation.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.gaussian import LEAST_SIGMA, epsilon_of

TAIL = 9  # standard deviations beyond which a draw is clipped: probability 2e-19


def user_sigma(sigma: int, k: int) -> int:
    """sigma_u of each of k users, 0 for no noise."""
    return max(LEAST_SIGMA, math.isqrt((sigma * sigma - 1) // k) + 1) if sigma > 0 else 0


def add_noise(values: NDArray[np.int64], sigma_u: int) -> NDArray[np.int64]:
    """The values, each with a draw of its own."""
    if sigma_u == 0:
        return values
    return values + _native.perturb("gaussian", [1, sigma_u, 1 + TAIL * sigma_u], np.zeros_like(values))


def epsilon(sigma: int, k: int, width: int, delta: float, entries: int = 1, colluding: int = 0) -> float:
    """Epsilon at `delta` of `entries` sums over k users, if what is protected changes each by at most `width`.

    `colluding`: users whose parts of the noise count for nothing. Infinite without noise.
    """
    kept = math.isqrt((k - colluding) * user_sigma(sigma, k) ** 2)
    return epsilon_of(kept, delta, width, entries) if kept >= LEAST_SIGMA else math.inf
