"""Gaussian noise in the sums, each user adding its part (FEDXGB, equation (6); Truex et al. 2019).

For noise of standard deviation sigma in a sum over at least k users, each adds discrete Gaussian noise (dp/README.md)
of sigma_u = ceil(sigma / sqrt(k)), at least 4, to every entry before it encrypts. The sum of k' >= k of them has the
variance k' sigma_u**2 >= sigma**2. Users that pool what they know take their own parts away: c of them leave
(k' - c) sigma_u**2.

The sum of discrete Gaussians is not quite one itself. Kairouz, Liu and Steinke 2021 bound the logarithm of the ratio of
any two probabilities by tau = 10 sum_{j < k} exp(-2 pi**2 sigma_u**2 j / (j + 1)). The first term decides: at the least
sigma_u of 4 tau is 10 exp(-16 pi**2), below 1e-67. `epsilon` counts the sum as one draw of its standard deviation and
adds 2 tau for each entry.

No draw is clipped where that could be seen. Clipping an output is post-processing, but noise that is clipped before it
is added has an end, and an entry beyond the end for one input and not for another tells them apart. So draws are cut
off at 2**60 only: at least 2**20 sigma_u, which has a probability below exp(-2**38).
"""

import math

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.gaussian import LEAST_SIGMA, epsilon_of
from vfxgb.errors import DpError

END = 1 << 60  # no draw is larger in magnitude


def user_sigma(sigma: int, k: int) -> int:
    """sigma_u of each of k users, 0 for no noise."""
    return max(LEAST_SIGMA, math.isqrt((sigma * sigma - 1) // k) + 1) if sigma > 0 else 0


def sampler(sigma_u: int) -> list[int]:
    """The integers that the native sampler draws the noise of one user with: bound of the input, sigma, END."""
    return [1, sigma_u, END]


def add_noise(values: NDArray[np.int64], sigma_u: int) -> NDArray[np.int64]:
    """The values, each with a draw of its own."""
    if sigma_u == 0:
        return values
    return values + _native.noise.perturb("gaussian", sampler(sigma_u), np.zeros_like(values))


def tau(sigma_u: int, k: int) -> float:
    """Bound how far log probabilities of a sum of k draws differ from those of one discrete Gaussian."""
    terms = (math.exp(-2.0 * math.pi**2 * sigma_u**2 * j / (j + 1)) for j in range(1, k))
    return 10.0 * math.fsum(terms)


def epsilon(sigma: int, k: int, width: int, delta: float, entries: int = 1, colluding: int = 0) -> float:
    """Epsilon at `delta` of `entries` sums over k users, if what is protected changes each by at most `width`.

    `colluding`: users whose parts of the noise count for nothing. Infinite without noise. Raises DpError for more
    colluding users than there are.
    """
    if not 0 <= colluding <= k:
        raise DpError(f"epsilon of a noisy sum: found {colluding} colluding users of {k}, wanted 0 to {k}")
    sigma_u = user_sigma(sigma, k)
    kept = math.isqrt((k - colluding) * sigma_u**2)
    if kept < LEAST_SIGMA:
        return math.inf
    return epsilon_of(kept, delta, width, entries) + 2.0 * entries * tau(sigma_u, k - colluding)
