"""Shamir's secret sharing over a prime field, in batches (Shamir 1979; papers/003 section II-C with ERRATA E5, E6).

A secret s becomes the values at the points x of a random polynomial of degree below t with f(0) = s: any t of them
give s back, fewer say nothing. Shares are arrays uint8[secrets, points, w], w = share_bytes(prime): little-endian
integers modulo the prime.
"""

from collections.abc import Sequence

import gmpy2
import numpy as np
from numpy.typing import NDArray

from vfxgb.checks import is_int
from vfxgb.crypto import primes
from vfxgb.errors import ShareError

# The least prime above 2**256: the smallest field that holds every secret of 32 bytes.
PRIME = 2**256 + 297
MAX_POINT = 2**32 - 1


def share_bytes(prime: int = PRIME) -> int:
    """Bytes of one share."""
    return -(-prime.bit_length() // 8)


def share(
    secrets: Sequence[int], threshold: int, points: Sequence[int], prime: int = PRIME, threads: int | None = None
) -> NDArray[np.uint8]:
    """Shares uint8[len(secrets), len(points), w] of secrets in [0, prime), any `threshold` of which give them back.

    `points`: distinct integers in [1, 2**32), not 0 modulo the prime. Raises ShareError.
    """
    check_points(points, prime, "sharing a secret")
    if not is_int(threshold) or not 1 <= threshold <= len(points):
        raise ShareError(
            f"sharing a secret: found threshold {threshold!r}, wanted an integer from 1 to the {len(points)} shares"
        )
    for index, secret in enumerate(secrets):
        if not is_int(secret) or not 0 <= secret < prime:
            raise ShareError(
                f"sharing a secret: the secret at index {index} is not in [0, prime) with a prime of "
                f"{prime.bit_length()} bits; use a larger field (ERRATA E6)"
            )
    width = share_bytes(prime)
    out = np.empty((len(secrets), len(points), width), np.uint8)
    for i, secret in enumerate(secrets):
        coefficients = [secret, *(primes.random_below(prime) for _ in range(threshold - 1))]
        for j, point in enumerate(points):
            value = 0
            for coefficient in reversed(coefficients):
                value = (value * point + coefficient) % prime
            out[i, j] = np.frombuffer(value.to_bytes(width, "little"), np.uint8)
    return out


def reconstruct(
    points: Sequence[int],
    shares: NDArray[np.uint8],
    threshold: int,
    prime: int = PRIME,
    threads: int | None = None,
) -> list[int]:
    """The secrets of shares[i, j] at points[j].

    Raises ShareError for fewer than `threshold` points, for duplicates and point 0, for shares of another field, and,
    where more than `threshold` are given, for shares that do not lie on one polynomial.
    """
    step = "reconstructing a secret"
    check_points(points, prime, step)
    if len(points) < threshold:
        raise ShareError(f"{step}: found {len(points)} shares, wanted at least the threshold, {threshold}")
    width = share_bytes(prime)
    if shares.dtype != np.uint8 or shares.ndim != 3 or shares.shape[1:] != (len(points), width):
        raise ShareError(
            f"{step}: found shares of shape {shares.shape}, wanted [secrets, {len(points)}, {width}] bytes; "
            "they belong to other points or to another field"
        )
    first = list(points[:threshold])
    weights = []
    for x in first:
        top = bottom = 1
        for y in first:
            if y != x:
                top, bottom = top * y % prime, bottom * (y - x) % prime
        weights.append(top * int(gmpy2.invert(bottom, prime)) % prime)
    values = [[int.from_bytes(one.tobytes(), "little") for one in row[:threshold]] for row in shares]
    for row in values:
        if any(value >= prime for value in row):
            raise ShareError(f"{step}: found a share not below the prime, wanted shares of this field; it is damaged")
    return [sum(w * v for w, v in zip(weights, row, strict=True)) % prime for row in values]


def check_points(points: Sequence[int], prime: int, step: str) -> None:
    """Raise ShareError unless the points are distinct, modulo the prime too, and none is 0."""
    for point in points:
        if not is_int(point) or not 0 < point <= MAX_POINT or point % prime == 0:
            raise ShareError(
                f"{step}: found point {point!r}, wanted an integer from 1 to {MAX_POINT} that is not 0 in the field"
            )
    if len({point % prime for point in points}) != len(points):
        raise ShareError(f"{step}: found the same point twice among {len(points)}, wanted distinct ones")
