"""Gaussian noise that many users make together: each adds its part, and no part alone protects anything.

Notation: t honest users each add to every entry of a vector of integers a draw of the discrete Gaussian of an integer
sigma; W is a discrete Gaussian of variance t sigma^2, and the vector has d entries, of which one protected item changes
those of column c by at most `steps` each, `entries` of them.

The sum of discrete Gaussians is not one, but nearly: for t of them every probability is that of W, times at most
e^(+-gap), with gap = 5 sum over k < t of exp(-2 pi^2 sigma^2 k / (k + 1)) for sigma^2 >= 1/2 (Kairouz, Liu and Steinke,
"The Distributed Discrete Gaussian Mechanism for Federated Learning with Secure Aggregation", ICML 2021, theorem 9 and
its corollary). So the privacy loss of the sum is that of W plus at most 2 d gap. W has that of continuous noise plus
sum of steps / (t sigma^2) over what the item changes (gaussian.py). Both terms are the `slack` of a release; what is
left is Gaussian: releases add up by the squares of mu, the distance of the means in standard deviations. More honest
users than t only add noise.

The bound in terms of concentrated privacy (their theorem 1) is `rho`: zCDP adds up too, is a little looser, and
stands beside the other in the ledger.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.dp.bounds import check_delta, check_epsilon
from vfxgb.dp.event import Event
from vfxgb.dp.gaussian import LEAST_SIGMA, continuous_epsilon, gaussian_delta
from vfxgb.errors import CapacityError, DpError

SEED_BYTES = 32
# Sums, noise included, stay below this in magnitude: what an aggregator can hold (secagg/base.py).
SUM_LIMIT = 2**62
# No draw is farther out than so many standard deviations but with probability below 1e-300.
FARTHEST = 40
_CLIP = 2**58
_WORDS, _MOST_WORDS = 3, 3 << 8


def sum_gap(sigma: float, users: int) -> float:
    """How far the logarithm of any probability of the sum of `users` draws is from that of one discrete Gaussian."""
    if sigma * sigma < 0.5:
        raise DpError(f"noise of several users: found sigma {sigma}, wanted sigma**2 of at least 1/2 at each")
    # k / (k + 1) grows with k; beyond the first hundred terms the smallest exponent bounds the rest.
    head = math.fsum(math.exp(-2 * math.pi**2 * sigma**2 * k / (k + 1)) for k in range(1, min(users, 100)))
    rest = max(0, users - 100) * math.exp(-2 * math.pi**2 * sigma**2 * 100 / 101)
    return 5 * (head + rest)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP gives at `delta` (Canonne, Kamath and Steinke 2020, proposition 12)."""
    check_delta(delta, "zero-concentrated privacy")
    if rho == 0.0:
        return 0.0

    def at(alpha: float) -> float:
        rest = math.log(1 / delta) + (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)
        return alpha * rho + max(0.0, rest) / (alpha - 1)

    # Every alpha gives a bound; the least lies near 1 + sqrt(log(1 / delta) / rho).
    middle = math.sqrt(math.log(1 / delta) / rho)
    return min(at(1 + middle * 2 ** (power / 16)) for power in range(-64, 65))


def largest_mu(epsilon: float, delta: float) -> float:
    """The largest distance of means, in standard deviations, at which Gaussian noise is (epsilon, delta)-private."""
    check_epsilon(epsilon, "planning noise")
    check_delta(delta, "planning noise")
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(epsilon, middle) <= delta else (low, middle)
    return low


@dataclass(frozen=True)
class Column:
    """Every so many-th entry of a vector: one item changes at most `entries` of them, each by at most `steps`."""

    steps: int
    entries: int


@dataclass(frozen=True)
class SharedGaussian:
    """One release of a vector whose entries belong to `columns` in turn, with noise that `users` users make together.

    `mu`: what the release may cost at most, as a distance of means; columns share it equally by its square. Raises
    DpError where a user's part would be too small to count as Gaussian, CapacityError where sums would not hold it.
    """

    mu: float
    columns: tuple[Column, ...]
    users: int

    def __post_init__(self) -> None:
        if self.users < 1 or not self.columns or not self.mu > 0.0:
            raise DpError(f"noise of several users: found {self}, wanted users, columns and a positive mu")
        if max(self.sigmas) * FARTHEST * math.sqrt(self.users) >= SUM_LIMIT / 4:
            raise CapacityError(
                f"noise of several users: deviations of {max(self.sigmas)} steps at each of {self.users} users "
                "do not fit the 62 bits of a sum; raise epsilon, or train fewer or flatter trees"
            )

    @cached_property
    def sigmas(self) -> tuple[int, ...]:
        """The standard deviation of each column that every user draws with, in steps: rounded up."""
        share = self.mu / math.sqrt(len(self.columns))
        return tuple(
            max(LEAST_SIGMA, math.ceil(column.steps * math.sqrt(column.entries / self.users) / share * (1 + 1e-12)))
            for column in self.columns
        )

    def distance(self, honest: int) -> float:
        """mu of the noise that `honest` users have made: larger than planned where they are fewer."""
        if honest < 1:
            return math.inf
        pairs = zip(self.columns, self.sigmas, strict=True)
        return math.sqrt(math.fsum(c.entries * (c.steps / sigma) ** 2 for c, sigma in pairs) / honest)

    def slack(self, honest: int, n_entries: int) -> float:
        """What the lattice, and the sum of several draws, add to the privacy loss of continuous noise."""
        pairs = tuple(zip(self.columns, self.sigmas, strict=True))
        lattice = math.fsum(c.entries * c.steps / sigma**2 for c, sigma in pairs) / honest
        return lattice + 2 * n_entries * max(sum_gap(sigma, honest) for sigma in self.sigmas)

    def rho(self, honest: int, n_entries: int) -> float:
        """Zero-concentrated privacy of the release (Kairouz, Liu and Steinke 2021, theorem 1): rho = epsilon^2 / 2."""
        tau = 2 * max(sum_gap(sigma, honest) for sigma in self.sigmas)
        square = self.distance(honest) ** 2
        return min(square + tau * n_entries / 2, (math.sqrt(square) + tau * math.sqrt(n_entries)) ** 2) / 2

    def deviation(self, column: int, users: int) -> float:
        """Standard deviation of the noise in a sum over `users` users, in steps."""
        return self.sigmas[column] * math.sqrt(users)

    def draw(self, n_entries: int, key: bytes) -> NDArray[np.int64]:
        """One user's part for a vector of `n_entries`. The same key gives the same noise; nobody else may know it."""
        width = len(self.columns)
        if n_entries % width:
            raise DpError(f"noise of several users: found {n_entries} entries, wanted a multiple of {width} columns")
        noise = np.empty((n_entries // width, width), dtype=np.int64)
        for number, sigma in enumerate(self.sigmas):
            noise[:, number] = _draws(sigma, len(noise), column_key(key, number))
        return noise.reshape(-1)

    def event(
        self, receiver: str, protects: str, round_: int, honest: int, n_entries: int, delta: float, releases: int
    ) -> Event:
        """This release for the accountant, one of `releases` whose total was asked for at `delta`."""
        mu, slack = self.distance(honest), self.slack(honest, n_entries)
        parameters = (
            *((f"sigma of column {number}", float(sigma)) for number, sigma in enumerate(self.sigmas)),
            ("users", float(honest)),
            ("rho", self.rho(honest, n_entries)),
        )
        return Event(
            "shared gaussian",
            continuous_epsilon(mu, delta / releases) + slack,
            receiver,
            protects,
            round_,
            delta / releases,
            parameters,
            noise_multiplier=1 / mu,
            slack=slack,
            total_delta=delta,
        )


def noise_key(seed: bytes, task: bytes) -> bytes:
    """The key of the noise for one task, 32 bytes: a pseudorandom function of the user's secret seed."""
    if len(seed) != SEED_BYTES:
        raise DpError(f"noise of several users: found a seed of {len(seed)} bytes, wanted {SEED_BYTES}")
    digest = hashlib.sha256(task).digest()
    return hashlib.blake2b(digest, key=seed, digest_size=32, person=b"vfxgb noise").digest()


def new_seed() -> bytes:
    """A secret of one user for one run, from the CSPRNG."""
    return _native.rand.random_bytes(SEED_BYTES)


def column_key(key: bytes, number: int) -> bytes:
    """The key of one column's draws."""
    return hashlib.blake2b(number.to_bytes(4, "little"), key=key, digest_size=32, person=b"vfxgb column").digest()


def _draws(sigma: int, count: int, key: bytes) -> NDArray[np.int64]:
    """`count` draws of the discrete Gaussian from the ChaCha20 key stream of `key`."""
    keys, signs = np.frombuffer(key, np.uint8).reshape(1, -1), np.ones(1, dtype=np.int8)
    zeros = np.zeros(count, dtype=np.int64)
    per_draw = _WORDS
    while True:
        words = np.zeros(per_draw * count + 256, dtype=np.uint64)
        _native.crypto.add_masks(keys, signs, words)
        try:
            return _native.noise.perturb_replay("gaussian", [0, sigma, _CLIP], zeros, words)[0]
        except ValueError:
            # More words are needed the larger sigma is; the stream begins as before.
            if per_draw >= _MOST_WORDS:
                raise
            per_draw *= 2
