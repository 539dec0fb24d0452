"""Orthonormal vectors, null-space vectors and random choices: the linear algebra of FedXGBoost.

Vectors are rows: U is float64[r, n]. Nothing here is larger than its argument plus a block of columns, and nothing is
ever n x n (ERRATA E35).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import PrecisionError

BLOCK = 4096
KEY_BYTES = 32
ORTHONORMAL_TOLERANCE = 1e-12
NULL_TOLERANCE = 1e-10
# The squared distance of a unit vector from the span of those before it. Cholesky QR squares condition numbers: with
# less than this its first round would be noise.
LEAST_DISTANCE = 1e-13

Random = Callable[[int], bytes]
Vectors = NDArray[np.float64]


def blocks(n: int) -> Iterator[slice]:
    """The columns 0 to n - 1 in pieces."""
    return (slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK))


def orthonormalise(vectors: Vectors, threads: int) -> bool:
    """Make the rows orthonormal, in place, without leaving their span (Cholesky QR, repeated).

    False, with `vectors` undefined, when they are not finite, not independent, or so nearly dependent that nothing can
    be said.
    """
    for block in blocks(vectors.shape[1]):
        if not np.isfinite(vectors[:, block]).all():
            return False
    # Only ratios matter: the largest component of each vector becomes 1, so that no square leaves float64.
    largest = np.maximum(vectors.max(axis=1, initial=0.0), -vectors.min(axis=1, initial=0.0))
    if not (largest > 0.0).all():
        return False
    vectors /= largest[:, None]
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    for _ in range(3):
        gram = _native.smm.inner_products(vectors, vectors, threads)
        if np.abs(gram - np.eye(len(gram))).max(initial=0.0) < ORTHONORMAL_TOLERANCE / 100:
            return True
        chosen, inverse = _native.smm.independent_columns(gram, LEAST_DISTANCE, threads)
        if len(chosen) < len(gram):
            return False
        # Pivoting took the vectors in another order; the columns of the matrix follow it.
        mixed = np.zeros_like(gram)
        mixed[:, chosen] = inverse
        _native.smm.combine(mixed, vectors, vectors, False, threads)
    return departure(vectors, threads) < ORTHONORMAL_TOLERANCE


def departure(vectors: Vectors, threads: int = 1) -> float:
    """max |U^T U - I|."""
    gram = _native.smm.inner_products(vectors, vectors, threads)
    return float(np.abs(gram - np.eye(len(vectors))).max(initial=0.0))


def remove(vectors: Vectors, basis: Vectors, threads: int) -> None:
    """Take out of each vector, in place, its part in the span of the orthonormal rows of `basis`."""
    if len(basis):
        shares = _native.smm.inner_products(vectors, basis, threads)
        _native.smm.combine(-shares, basis, vectors, True, threads)


def random_vectors(count: int, n: int, random: Random, threads: int) -> Vectors:
    """float64[count, n] of independent standard normal numbers, out of the CSPRNG."""
    return _native.smm.keyed_normals(random(KEY_BYTES), 0, count * n, threads).reshape(count, n)


def null_vectors(pairs: Vectors, rank: int, random: Random, threads: int) -> Vectors:
    """Algorithm 1, line 1: `rank` orthonormal vectors orthogonal to both rows of pairs, float64[2, n]; rank <= n - 2.

    Which ones is random. Raises PrecisionError if they did not come out orthogonal.
    """
    basis = column_space(pairs, threads)
    vectors = random_vectors(rank, pairs.shape[1], random, threads)
    for _ in range(2):
        remove(vectors, basis, threads)
    good = orthonormalise(vectors, threads)
    remove(vectors, basis, threads)
    left = np.abs(_native.smm.inner_products(vectors, basis, threads)).max(initial=0.0)
    if not (good and left < NULL_TOLERANCE and departure(vectors, threads) < ORTHONORMAL_TOLERANCE):
        raise PrecisionError(
            f"making null-space vectors of {pairs.shape[1]} rows: found vectors that are {left:.1e} from orthogonal to "
            f"the gradients, wanted {rank} that are so to {NULL_TOLERANCE:g}; choose a smaller r"
        )
    return vectors


def column_space(pairs: Vectors, threads: int = 1) -> Vectors:
    """An orthonormal basis, as rows, of the span of g and h: none, one or two vectors (h may be a multiple of g)."""
    basis = np.empty((0, pairs.shape[1]))
    for row in pairs:
        size = np.abs(row).max(initial=0.0)
        if size == 0.0:
            continue
        rest = (row / size)[None, :]
        before = np.linalg.norm(rest)
        for _ in range(2):
            remove(rest, basis, threads)
        # What is left of a multiple of the other row is rounding noise: a direction like any other, unless it is 0.
        after = np.linalg.norm(rest)
        if after > 4 * np.finfo(float).eps * before:
            basis = np.concatenate([basis, rest / after])
    return basis


def draw_below(bound: int, random: Random) -> int:
    """An integer uniform in [0, bound), bound >= 1."""
    limit = (1 << 64) - (1 << 64) % bound
    while (drawn := int.from_bytes(random(8), "little")) >= limit:
        pass
    return drawn % bound


def draw_subset(rank: int, random: Random) -> NDArray[np.int64]:
    """Algorithm 2, lines 1 and 2: r' uniform in [1, rank], and r' of the numbers 0 to rank - 1, ascending."""
    chosen = 1 + draw_below(rank, random)
    keys = np.frombuffer(random(8 * rank), dtype="<u8")
    return np.sort(np.argsort(keys, kind="stable")[:chosen]).astype(np.int64)


def draw_basis(received: Vectors, random: Random, threads: int) -> Vectors | None:
    """Z^T: a random subset of the received vectors, made orthonormal by their receiver (ERRATA E30).

    Vectors that are not orthonormal would let their sender solve for what the answer hides; the span is all that counts
    here. None if they are not independent.
    """
    chosen = received[draw_subset(len(received), random)]
    return chosen if orthonormalise(chosen, threads) else None


def answerable(basis: Vectors) -> bool:
    """Whether every row of Z has at least two non-zeros (algorithm 3; both readings of its guard, ERRATA E33).

    A row with none leaves its gradient as it is. What counts as zero is far below the size 1 / sqrt(n) of others.
    """
    n = basis.shape[1]
    zero = 1e-8 / np.sqrt(n)
    return all(((np.abs(basis[:, block]) > zero).sum(axis=0) >= 2).all() for block in blocks(n))
