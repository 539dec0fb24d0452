"""Secure matrix multiplication (cpp/smm).

`bins` uint16[F, n]: the bins of a node's rows, feature by feature, where n_bins[f] means missing; feature f has
n_bins[f] + 1 cells. B: the n x C matrix of the cells' indicators, features one after the other, the missing cell of
each last. Vectors are rows. ValueError for a bin that does not exist.
"""

import numpy as np
from numpy.typing import NDArray

def cell_sums(
    bins: NDArray[np.uint16], n_bins: NDArray[np.int32], vectors: NDArray[np.float64], threads: int = 1
) -> NDArray[np.float64]:
    """Sums of the vectors, float64[r, n], over each cell: B^T vectors^T, float64[C, r]. The same for all threads."""

def subtract_cells(
    bins: NDArray[np.uint16],
    n_bins: NDArray[np.int32],
    weights: NDArray[np.float64],
    vectors: NDArray[np.float64],
    threads: int = 1,
) -> None:
    """vectors -= (B weights)^T, in place; weights float64[C, r], vectors float64[r, n], C-ordered."""

def cell_pairs(bins: NDArray[np.uint16], n_bins: NDArray[np.int32], threads: int = 1) -> NDArray[np.int64]:
    """B^T B, int64[C, C]: rows that lie in both cells."""

def add_left(
    bins: NDArray[np.uint16],
    n_bins: NDArray[np.int32],
    features: NDArray[np.int32],
    split_bins: NDArray[np.int32],
    default_left: NDArray[np.bool_],
    out: NDArray[np.float64],
    threads: int = 1,
) -> None:
    """out[j, i] += 1 where row i goes left at split j: its bin is <= split_bins[j], or missing and default_left[j].

    `features` count from 0 over the rows of `bins`; out float64[k, n], C-ordered, changed in place.
    """

def inner_products(a: NDArray[np.float64], b: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]:
    """a b^T, float64[m, k], of float64[m, n] and float64[k, n]; both may be some columns of a larger array.

    The same for all threads and processors; the error of a long sum is about that of a sum of its square root's length.
    """

def combine(
    weights: NDArray[np.float64],
    vectors: NDArray[np.float64],
    out: NDArray[np.float64],
    add: bool = False,
    threads: int = 1,
) -> None:
    """out = weights vectors, or out += weights vectors, in place: float64[m, k] times float64[k, n].

    `vectors` and `out` may be some columns of larger arrays, and the same array unless `add`.
    """

def independent_columns(
    gram: NDArray[np.float64], zero: float, threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Independent columns of a matrix, by its Gram matrix float64[m, m]: (chosen int64[k], X float64[k, k]).

    Chosen by diagonal pivoting until no column is further than sqrt(zero) from their span. X is lower triangular, and
    X^T X the inverse of the Gram matrix of the chosen columns.
    """

def keyed_normals(key: bytes, first: int, count: int, threads: int = 1) -> NDArray[np.float64]:
    """Numbers first .. first + count - 1 of the standard normal numbers that belong to a key of 32 bytes."""
