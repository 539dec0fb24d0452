"""Short integer vectors orthogonal to given real vectors, by lattice reduction (attacks A2 and A4 of ERRATA 1.4).

The rows of [X | C X U^T], X an integer matrix of determinant 1 (at first the identity) and C a large number, span the
integer vectors x, each extended by C times its products with the rows of U. A reduced basis begins with vectors that
are short and nearly orthogonal to U. C grows in steps, so that the numbers at each step are small and double precision
does.

Reduction is LLL (Lenstra, Lenstra, Lovasz 1982) in its all-swap form: size-reduce everything, then exchange every
second pair of neighbours that violates Lovasz's condition, odd and even in turns. Each pass is a few matrix operations.
"""

import numpy as np
from numpy.typing import NDArray

IntMatrix = NDArray[np.int64]
Matrix = NDArray[np.float64]

DELTA = 0.99
# The last scale leaves products of orthogonal vectors, which double precision knows to some 2**-50, below 1.
SCALE_BITS = 44
STEP_BITS = 4
MOST_PASSES = 4000
# What orthogonal vectors may differ from orthogonal by; others are some 2**-SCALE_BITS off at least.
NOTHING = 2.0 ** -(SCALE_BITS + 2)


def orthogonal_integers(vectors: Matrix) -> IntMatrix:
    """A basis int64[n, n] of all integer vectors, reduced: those orthogonal to the rows of `vectors` come first.

    `vectors`: float64[r, n], orthonormal. Only rows x with |x U^T| near 0 are orthogonal; short ones are what attacks
    want.
    """
    n = vectors.shape[1]
    basis = np.eye(n, dtype=np.int64)
    for bits in range(STEP_BITS, SCALE_BITS + 1, STEP_BITS):
        # Only the last basis has to be reduced all the way.
        basis = _reduce(basis, vectors.T * 2.0**bits, 0 if bits == SCALE_BITS else n // 16)
    return basis


def _reduce(basis: IntMatrix, scaled: Matrix, enough: int) -> IntMatrix:
    """LLL of the rows of [X | X scaled], until no more than `enough` neighbours want to change; returns the new X."""
    n = len(basis)
    calm = 0
    for turn in range(MOST_PASSES):
        basis, triangle = _size_reduce(basis, scaled)
        # Rows turn % 2, turn % 2 + 2, ... against the next one.
        first = np.arange(turn % 2, n - 1, 2)
        norms = np.diag(triangle) ** 2
        beside = triangle[first, first + 1] ** 2
        swap = first[norms[first + 1] + beside < DELTA * norms[first]]
        calm = 0 if len(swap) > enough else calm + 1
        if calm == 2:
            break
        basis[swap], basis[swap + 1] = basis[swap + 1], basis[swap].copy()
    return basis


def _size_reduce(basis: IntMatrix, scaled: Matrix) -> tuple[IntMatrix, Matrix]:
    """Make every row as small as the rows before it allow; also the triangle R of the result, R[i, j] = <b_j, q_i>."""
    embedded = np.concatenate([basis.astype(np.float64), basis @ scaled], axis=1)
    triangle: Matrix = np.linalg.qr(embedded.T, mode="reduced")[1]
    n = len(basis)
    change = np.eye(n)
    diagonal = np.diag(triangle).copy()
    for row in range(n - 2, -1, -1):
        # All later rows at once: what they lose of row `row` changes nothing of the rows after it.
        factor = np.rint(triangle[row, row + 1 :] / diagonal[row])
        used = np.flatnonzero(factor) + row + 1
        if len(used):
            triangle[: row + 1, used] -= np.outer(triangle[: row + 1, row], factor[used - row - 1])
            change[used] -= np.outer(factor[used - row - 1], change[row])
    return np.rint(change @ basis).astype(np.int64), triangle


def orthogonal_sets(vectors: Matrix) -> list[NDArray[np.int64]]:
    """The positions of ones in every 0/1 vector, or its negative, that a reduced basis has orthogonal to `vectors`."""
    sets = []
    for row in orthogonal_integers(vectors):
        signs = np.unique(row[row != 0])
        if len(signs) == 1 and abs(int(signs[0])) == 1 and np.abs(vectors @ row).max(initial=0.0) < NOTHING:
            sets.append(np.flatnonzero(row))
    return sets


def vectors_wanted(n: int) -> int:
    """How many vectors single out the few short ones orthogonal to them; more only make the reduction slower.

    Each adds SCALE_BITS bits against the log2 of the number of short vectors, which is of the order of n.
    """
    return 4 + n // 8
