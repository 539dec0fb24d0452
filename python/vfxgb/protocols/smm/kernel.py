"""Null-space vectors of M* = [M M' Y], algorithm 5 of FedXGBoost ("Secure-Kernel"), without making M*.

M and M' are 0/1 columns of thresholds; their span has a better basis, the indicators of cells, in which products are
sums over the rows of a cell (cpp/smm/cells.h). Y, l2 columns of normal numbers, is drawn anew, block by block, from a
secret key whenever it is needed. So the largest thing in memory is the result, and one block of Y.

M*^T M* is l' x l'. After restriction to a node it is often singular (ERRATA E34): Cholesky's decomposition with
pivoting picks columns that are independent and have the same span. Random vectors are projected off it several times,
since once is only as good as the inverse.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import PrecisionError
from vfxgb.protocols.smm.cells import NodeMatrix, first_cells
from vfxgb.protocols.smm.vectors import (
    KEY_BYTES,
    ORTHONORMAL_TOLERANCE,
    Random,
    Vectors,
    blocks,
    departure,
    draw_below,
    orthonormalise,
    random_vectors,
)

# The squared distance, of a column of unit length from the span of others, that rounding alone may show.
ZERO_DISTANCE = 1e-12
MOST_PROJECTIONS = 8
# |m^T u| of unit vectors: what rounding leaves, and what is taken for a failure.
ROUNDING = 1e-14
SPAN_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Cover:
    """What covers M: `l1` dummy columns M', `l2` columns Y of normal(mu, sigma).

    `uniform`: M' is of fair bits, as algorithm 5 is printed, and not of thresholds.
    """

    l1: int
    l2: int
    mu: float
    sigma: float
    uniform: bool = False


def too_small(rows: int, columns: int, cover: Cover, rank: int) -> bool:
    """Whether a node has too few rows: n <= l' + r, l' = l + l1 + l2 (ERRATA E34)."""
    return rows <= columns + cover.l1 + cover.l2 + rank


@dataclass(frozen=True)
class Independent:
    """Independent columns of a matrix: which, the X of _native.smm.independent_columns, and the lengths of all."""

    chosen: NDArray[np.int64]
    inverse: Vectors
    sizes: Vectors


def independent_columns(gram: Vectors, threads: int) -> Independent:
    """Those of a matrix A; gram = A^T A is overwritten. A column of zeros counts as one of length 1."""
    sizes = np.sqrt(np.diag(gram))
    sizes[sizes == 0.0] = 1.0
    gram /= sizes[:, None]
    gram /= sizes[None, :]
    chosen, inverse = _native.smm.independent_columns(gram, ZERO_DISTANCE, threads)
    return Independent(chosen, inverse, sizes)


class SecureKernel:
    """M* of one node."""

    def __init__(self, matrix: NodeMatrix, cover: Cover, random: Random) -> None:
        self._rows, self._columns = matrix.rows, matrix.columns
        self._cover, self._random, self._threads = cover, random, matrix.threads
        self._key = random(KEY_BYTES)
        bins, n_bins, missing = matrix.merged()
        if cover.uniform:
            dummies, widths = uniform_features(matrix.rows, cover.l1, random)
        else:
            dummies, widths = dummy_features(bins, n_bins, cover.l1, random)
        self._bins = np.concatenate([bins, dummies])
        self._n_bins = np.concatenate([n_bins, widths])
        self._cells = basis_cells(self._n_bins, np.concatenate([missing, np.zeros(len(widths), dtype=np.bool_)]))

    def null_vectors(self, rank: int) -> Vectors:
        """`rank` orthonormal vectors, float64[rank, n], orthogonal to every column of M*.

        Raises PrecisionError for a node that is too small, and if the vectors do not come out orthogonal.
        """
        if too_small(self._rows, self._columns, self._cover, rank):
            raise PrecisionError(
                f"making null-space vectors of [M M' Y]: found {self._rows} rows, wanted more than "
                f"{self._columns} + {self._cover.l1} + {self._cover.l2} + {rank} (l + l1 + l2 + r); use fewer bins or "
                "a smaller r"
            )
        basis = self._basis()
        vectors = random_vectors(rank, self._rows, self._random, self._threads)
        left = np.inf
        good = True
        for turn in range(MOST_PROJECTIONS):
            left = self._project(vectors, basis)
            if turn > 0 and left <= ROUNDING:
                break
            good = orthonormalise(vectors, self._threads)
        if not (good and left <= SPAN_TOLERANCE and departure(vectors, self._threads) < ORTHONORMAL_TOLERANCE):
            raise PrecisionError(
                f"making null-space vectors of [M M' Y] for {self._rows} rows: after {MOST_PROJECTIONS} projections "
                f"{left:.1e} remains, wanted at most {SPAN_TOLERANCE:g}; use fewer bins"
            )
        return vectors

    def _basis(self) -> Independent:
        """Independent columns of M*."""
        k, l2 = len(self._cells), self._cover.l2
        gram = np.empty((k + l2, k + l2))
        pairs = _native.smm.cell_pairs(self._bins, self._n_bins, self._threads)
        gram[:k, :k] = pairs[np.ix_(self._cells, self._cells)]
        if l2:
            gram[k:] = 0.0
            for block, normals in self._normals():
                gram[k:, :k] += self._cell_sums(normals, block)[self._cells].T
                gram[k:, k:] += _native.smm.inner_products(normals, normals, self._threads)
            gram[:k, k:] = gram[k:, :k].T
        return independent_columns(gram, self._threads)

    def _project(self, vectors: Vectors, basis: Independent) -> float:
        """Take out of each vector its part in the span of M*; returns the largest |m^T u| there was."""
        k = len(self._cells)
        shares = np.zeros((k + self._cover.l2, len(vectors)))
        shares[:k] = self._cell_sums(vectors)[self._cells]
        for block, normals in self._normals():
            shares[k:] += _native.smm.inner_products(normals, vectors[:, block], self._threads)
        shares /= basis.sizes[:, None]
        weights = np.zeros_like(shares)
        weights[basis.chosen] = self._solve(basis.inverse, shares[basis.chosen])
        weights /= basis.sizes[:, None]
        by_cell = np.zeros((int((self._n_bins + 1).sum()), len(vectors)))
        by_cell[self._cells] = weights[:k]
        _native.smm.subtract_cells(self._bins, self._n_bins, by_cell, vectors, self._threads)
        for block, normals in self._normals():
            _native.smm.combine(-weights[k:].T.copy(), normals, vectors[:, block], True, self._threads)
        return float(np.abs(shares).max(initial=0.0))

    def _solve(self, inverse: Vectors, right: Vectors) -> Vectors:
        """X^T X right."""
        half = np.empty_like(right)
        _native.smm.combine(inverse, right, half, False, self._threads)
        _native.smm.combine(inverse.T.copy(), half, half, False, self._threads)
        return half

    def _cell_sums(self, vectors: Vectors, block: slice | None = None) -> Vectors:
        bins = self._bins if block is None else np.ascontiguousarray(self._bins[:, block])
        return _native.smm.cell_sums(bins, self._n_bins, vectors, self._threads)

    def _normals(self) -> Iterator[tuple[slice, Vectors]]:
        """Y^T, block by block: (rows, float64[l2, rows])."""
        cover = self._cover
        for block in blocks(self._rows) if cover.l2 else ():
            count = block.stop - block.start
            drawn = _native.smm.keyed_normals(self._key, block.start * cover.l2, count * cover.l2, self._threads)
            yield block, np.ascontiguousarray(cover.mu + cover.sigma * drawn.reshape(count, cover.l2).T)


def dummy_features(
    real: NDArray[np.uint16], n_bins: NDArray[np.int32], count: int, random: Random
) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Bins uint16[k, n] of made-up features with `count` cuts in all, and the bins of each.

    Each has the cuts of a real feature (or some of them) and values drawn from it, row by row with replacement: nested
    columns of the very densities of the real ones. The paper's uniform columns are neither (ERRATA 1.4). Missing values
    count as large. No row is alone between two cuts: it would be zero in every vector that is orthogonal to them.
    """
    bins: list[NDArray[np.uint16]] = []
    widths: list[int] = []
    # Of a feature that parts no two rows from two others no such values can be drawn.
    widest = int(n_bins.max(initial=0)) + 1
    donors = np.array([f for f in range(len(real)) if len(shared_cuts(np.bincount(real[f], minlength=widest)))])
    while count > 0 and len(donors):
        donor = int(donors[draw_below(len(donors), random)])
        n_cuts = int(n_bins[donor]) - 1
        rows = np.frombuffer(random(8 * real.shape[1]), dtype="<u8") % np.uint64(real.shape[1])
        values = real[donor][rows]
        possible = shared_cuts(np.bincount(values, minlength=n_cuts + 2))
        keys = np.frombuffer(random(8 * len(possible)), dtype="<u8")
        cuts = np.sort(possible[np.argsort(keys, kind="stable")[:count]])
        # As in NodeMatrix.merged.
        below = np.searchsorted(cuts, np.arange(n_cuts + 2), side="left").astype(np.uint16)
        bins.append(below[values])
        widths.append(len(cuts) + 1)
        count -= len(cuts)
    stacked = np.stack(bins) if bins else np.empty((0, real.shape[1]), dtype=np.uint16)
    return stacked, np.array(widths, dtype=np.int32)


def uniform_features(rows: int, count: int, random: Random) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Bins uint16[count, rows] of features of two bins each, by fair bits: M' as it is printed, a column for each.

    No two of them are nested and each is half ones, as thresholds of a real feature hardly ever are: who has found the
    columns of M* tells them from those of M.
    """
    row_bytes = (rows + 7) // 8
    packed = np.frombuffer(random(count * row_bytes), dtype=np.uint8).reshape(count, row_bytes)
    bits = np.unpackbits(packed, axis=1, count=rows).astype(np.uint16)
    return bits, np.full(count, 2, dtype=np.int32)


def shared_cuts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cuts, ascending, between which and beyond which there are two rows or more. counts: int64[bins], rows per bin."""
    cuts: list[int] = []
    held, left = 0, int(counts.sum())
    for position, count in enumerate(counts.tolist()):
        held, left = held + count, left - count
        if held >= 2 and left >= 2:
            cuts.append(position)
            held = 0
    return np.array(cuts, dtype=np.int64)


def basis_cells(n_bins: NDArray[np.int32], has_missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The cells that span the columns of M: of a feature all but its last bin, and the missing one if there is any."""
    first = first_cells(n_bins)
    cells = [np.empty(0, dtype=np.int64)]
    for feature, bins in enumerate(n_bins.tolist()):
        cells.append(np.arange(first[feature], first[feature] + bins - 1))
        if has_missing[feature]:
            cells.append(np.array([first[feature] + bins]))
    return np.concatenate(cells)
