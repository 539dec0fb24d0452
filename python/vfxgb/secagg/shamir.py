"""Shamir's secret sharing over a prime field, in batches (Shamir 1979; FEDXGB, section II-C with ERRATA E5, E6).

A secret s becomes the values at the points x of a random polynomial of degree below t with f(0) = s: any t of them
give s back, fewer say nothing. Shares are arrays uint8[secrets, points, w], w = share_bytes(prime): little-endian
integers modulo the prime.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.checks import is_int
from vfxgb.crypto import primes
from vfxgb.errors import ShareError
from vfxgb.threads import resolve_threads

# The least prime above 2**256: the smallest field that holds every secret of 32 bytes.
PRIME = 2**256 + 297
MAX_PRIME_BITS = 8192
MAX_POINT = 2**32 - 1

SHARING = "sharing a secret"
RECONSTRUCTING = "reconstructing a secret"


def share_bytes(prime: int = PRIME) -> int:
    """Bytes of one share."""
    return -(-prime.bit_length() // 8)


def share(
    secrets: Sequence[int], threshold: int, points: Sequence[int], prime: int = PRIME, threads: int | None = None
) -> NDArray[np.uint8]:
    """Shares uint8[len(secrets), len(points), w] of secrets in [0, prime), any `threshold` of which give them back.

    `points`: distinct integers in [1, 2**32), not 0 modulo the prime. Raises ShareError.
    """
    _check(points, threshold, prime, SHARING)
    for index, secret in enumerate(secrets):
        if not is_int(secret) or not 0 <= secret < prime:
            raise ShareError(
                f"{SHARING}: the secret at index {index} is no integer in [0, prime), with a prime of "
                f"{prime.bit_length()} bits; use a larger prime, in which every secret has a value of its own"
            )
    width = share_bytes(prime)
    rows = b"".join([secret.to_bytes(width, "little") for secret in secrets])
    return _native.crypto.shamir_share(
        prime.to_bytes(width, "little"),
        np.frombuffer(rows, np.uint8).reshape(len(secrets), width),
        threshold,
        np.array(points, dtype=np.uint32),
        resolve_threads(threads),
    )


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
    _check(points, threshold, prime, RECONSTRUCTING)
    width = share_bytes(prime)
    if shares.dtype != np.uint8 or shares.ndim != 3 or shares.shape[1:] != (len(points), width):
        raise ShareError(
            f"{RECONSTRUCTING}: found shares of type {shares.dtype} and shape {shares.shape}, wanted uint8 of shape "
            f"[secrets, {len(points)}, {width}]; they belong to other points or to another field"
        )
    _check_shares(shares, prime)
    at = np.array(points, dtype=np.uint32)

    def secrets(first: int) -> NDArray[np.uint8]:
        chosen = slice(first, first + threshold)
        return _native.crypto.shamir_reconstruct(
            prime.to_bytes(width, "little"), at[chosen], shares[:, chosen], resolve_threads(threads)
        )

    rows = secrets(0)
    # Two sets of points that together hold all (or all but some of no use) must say the same.
    spare = len(points) - threshold
    if spare > 0 and not np.array_equal(secrets(spare), rows):
        raise ShareError(
            f"{RECONSTRUCTING}: the {len(points)} shares do not lie on one polynomial of degree below {threshold}; "
            "some of them are wrong, ask their holders again"
        )
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def _check(points: Sequence[int], threshold: int, prime: int, step: str) -> None:
    """Raise ShareError unless the prime is one, the points are distinct, modulo it too, and as many as the threshold.

    None is 0 modulo the prime: there is the secret itself.
    """
    odd = is_int(prime) and prime >= 3 and prime.bit_length() <= MAX_PRIME_BITS
    if not odd or not (prime == PRIME or primes.is_prime(prime)):
        raise ShareError(
            f"{step}: found no odd prime of at most {MAX_PRIME_BITS} bits, wanted one, such as 2**256 + 297"
        )
    for point in points:
        if not is_int(point) or not 0 < point <= MAX_POINT or point % prime == 0:
            raise ShareError(
                f"{step}: found point {point!r}, wanted an integer from 1 to {MAX_POINT} that is not 0 in the field"
            )
    if len({point % prime for point in points}) != len(points):
        raise ShareError(
            f"{step}: found the same point twice among {len(points)}, wanted distinct ones; one holder, one point"
        )
    if not is_int(threshold) or threshold < 1:
        raise ShareError(f"{step}: found threshold {threshold!r}, wanted an integer of at least 1")
    if len(points) < threshold:
        raise ShareError(f"{step}: found {len(points)} shares, wanted at least the threshold, {threshold}")


def _check_shares(shares: NDArray[np.uint8], prime: int) -> None:
    """Shares not below the prime are of another field. Their highest bytes, compared first, settle nearly all cases."""
    top = np.frombuffer(prime.to_bytes(share_bytes(prime), "little"), np.uint8)[-1]
    for secret, point in np.argwhere(shares[..., -1] >= top):
        if int.from_bytes(shares[secret, point].tobytes(), "little") >= prime:
            raise ShareError(
                f"{RECONSTRUCTING}: the share of secret {secret} at position {point} is not below the prime of "
                f"{prime.bit_length()} bits; it is damaged or of another field"
            )
