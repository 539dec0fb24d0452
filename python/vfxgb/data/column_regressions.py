"""What a row's value in one column probably is, judged by its values in the party's other columns: ridge regressions.

Every party fits its own columns on training rows, on its own machine. A column is put on a common scale first:

    z = (x - median) / spread, cut off at +-LIMIT, in steps of 1 / ONE, and 0 where x is missing

so that outliers weigh little and a missing value pulls nowhere. With C the covariance of all z and P the inverse of C
with a ridge on its diagonal, the ridge regression of column j on all others has the weights -P[j, k] / P[j, j]: one
inverse gives the regressions of all columns. Missing values shrink C, so the result m is set right by a straight line
from m to z, fitted on the rows that have a value.

All sums are sums of integers below 2^53, and the inverse is made element by element, so that the number of threads and
the order of rows change nothing.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.data.table import Float32Array, Table
from vfxgb.errors import ImputationError, ImputationWarning

Float64Array = NDArray[np.float64]
# A column by its position; rows are those that the caller wants.
Columns: TypeAlias = Callable[[int], Float32Array]

# Steps of z in one spread, and how many spreads from the median a value counts at most: z is below 2^15.
ONE = 1 << 12
LIMIT = 7.9
# Weights are multiples of 1 / ONE as well, below 2^15: a row's sum is exact for as many columns as there may be.
MAX_WEIGHT = 1 << 15
MAX_COLUMNS = 1000
# The ridge, in variances of the columns; small tables get more.
RIDGE = 0.01
# A line steeper than this would be a fit of noise.
MAX_SLOPE = 4.0
# The distance from the 10% to the 90% quantile of normal values, in standard deviations.
NORMAL_SPREAD = 2.5631
MEDIAN_STANDS_IN = "their median stands in for missing values"
# Rows whose columns are in memory together, and how many cells they have at most.
CHUNK, CHUNK_CELLS = 1 << 16, 1 << 24


class ColumnRegressions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How each of F columns is predicted from the others. Private to its party: it is made of the training rows.

    `median`, `spread`: float64[F], the scale of a column; the spread is 0 where all values are equal. `low`, `high`:
    float64[F], the smallest and largest training value. `weights`: int32[F * F], row j has those that predict column j,
    in steps of 1 / ONE. `slope`, `offset`: float64[F], the line from weighted sums to z, the offset in steps of z.
    `known`: bool[F], whether a training row has a value at all.
    """

    median: NDArray[np.float64]
    spread: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weights: NDArray[np.int32]
    slope: NDArray[np.float64]
    offset: NDArray[np.float64]
    known: NDArray[np.bool_]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.median)

    def scores(self, feature: int, columns: Columns, n_rows: int) -> Float64Array:
        """The z that is expected of a column, float64[n_rows], in whole spreads; its own values are not looked at."""
        sums = np.zeros(n_rows, dtype=np.int64)
        weights = self.weights.reshape(self.n_columns, -1)[feature]
        for other in np.flatnonzero(weights).tolist():
            sums += int(weights[other]) * self.scaled(other, columns(other)).astype(np.int64)
        return self._score(feature, _steps(sums))

    def fill(self, feature: int, values: Float32Array, columns: Columns) -> None:
        """Write what is expected into `values` of a column where one is missing.

        `columns`: gives the same rows of the others, their missing values as NaN. A column without any training value
        stays as it is.
        """
        rows = np.flatnonzero(np.isnan(values))
        if not len(rows) or not self.known[feature]:
            return
        scores = self.scores(feature, lambda other: columns(other).take(rows), len(rows))
        values[rows] = self._values(feature, scores)

    def fill_matrix(self, matrix: NDArray[np.float32] | Float64Array) -> None:
        """Write what is expected into rows [n, F] of all columns, wherever a value is missing."""
        known = matrix.astype(np.float32)
        for feature in range(self.n_columns):
            values = known[:, feature].copy()
            self.fill(feature, values, lambda other: known[:, other])
            matrix[:, feature] = np.where(np.isnan(matrix[:, feature]), values, matrix[:, feature])

    def scaled(self, feature: int, values: Float32Array) -> Float64Array:
        """The column on the common scale, whole numbers of steps."""
        spread = float(self.spread[feature])
        if spread == 0.0:
            return np.zeros(len(values))
        exact = (values.astype(np.float64) - self.median[feature]) / spread
        steps: Float64Array = np.nan_to_num(np.rint(np.clip(exact, -LIMIT, LIMIT) * ONE), nan=0.0)
        return steps

    def _score(self, feature: int, steps: NDArray[np.int64]) -> Float64Array:
        line = self.offset[feature] + self.slope[feature] * steps
        score: Float64Array = np.clip(line / ONE, -LIMIT, LIMIT)
        return score

    def _values(self, feature: int, scores: Float64Array) -> Float32Array:
        expected = self.median[feature] + self.spread[feature] * scores
        inside: Float64Array = np.clip(expected, self.low[feature], self.high[feature])
        return inside.astype(np.float32)


def fit_regressions(table: Table, n_train: int, otherwise: str = MEDIAN_STANDS_IN) -> ColumnRegressions:
    """Fit every column of a table on its first `n_train` rows.

    A column that no other column can predict gets its median, and one without any training value nothing. Each is
    named in an ImputationWarning, which says `otherwise`: what follows for its missing values. Raises ImputationError
    for more columns than MAX_COLUMNS.
    """
    count = table.n_features
    if count > MAX_COLUMNS:
        raise ImputationError(
            f"fitting regressions of party {table.party!r}: found {count} columns, wanted at most {MAX_COLUMNS}; use "
            "another missing_strategy, or bring fewer columns"
        )
    scale = _scale(table, n_train)
    covariance = _covariance(table, n_train, scale)
    usable = np.diag(covariance) > 0.0
    weights = _ridge_weights(covariance, usable, RIDGE + count / n_train)
    predicted = (weights != 0).any(axis=1)
    _warn(table, predicted | (scale.known & (scale.spread == 0.0)), scale.known, otherwise)
    sloped = msgspec.structs.replace(scale, weights=weights.reshape(-1))
    slope, offset = _lines(table, n_train, sloped, predicted)
    return msgspec.structs.replace(sloped, slope=slope, offset=offset)


def filled_by_regression(table: Table, regressions: ColumnRegressions) -> Table:
    """A table with the expected values in place of missing ones, in all its rows.

    Columns that miss nothing are not copied.
    """
    # Beside another value that counts as missing, none of the expected values may be read again as if it were that.
    copied = not math.isnan(table.missing)
    pieces: list[tuple[NDArray[np.float32], ...] | None] = []
    for feature in range(table.n_features):
        values = table.column(feature)
        pieces.append((values,) if copied or np.isnan(values).any() else None)
    for first, stop in _chunks(table, table.n_rows):
        chunk = _ChunkColumns(table, first, stop)
        for feature, piece in enumerate(pieces):
            if piece is not None:
                regressions.fill(feature, piece[0][first:stop], chunk.column)
    kept = [old if new is None else new for old, new in zip(table.pieces, pieces, strict=True)]
    return table.with_pieces(kept, math.nan if copied else table.missing)


@dataclass
class _ChunkColumns:
    """Rows first to stop - 1 of a table; a column is converted once."""

    table: Table
    first: int
    stop: int

    def __post_init__(self) -> None:
        self._read: dict[int, Float32Array] = {}

    def column(self, feature: int) -> Float32Array:
        values = self._read.get(feature)
        if values is None:
            values = self._read[feature] = self.table.column(feature, self.first, self.stop)
        return values


def _chunks(table: Table, n_rows: int) -> Iterator[tuple[int, int]]:
    """The first `n_rows` rows of a table, in ranges of which all columns fit into memory."""
    size = min(CHUNK, CHUNK_CELLS // table.n_features)
    for first in range(0, n_rows, size):
        yield first, min(first + size, n_rows)


def _scale(table: Table, n_train: int) -> ColumnRegressions:
    """The scale of each column; weights and lines are still to be found."""
    count = table.n_features
    median, spread, low, high = np.zeros((4, count))
    known = np.zeros(count, dtype=np.bool_)
    for feature in range(count):
        values = table.column(feature, 0, n_train)
        # In their order, so that sums of them do not depend on that of the rows.
        present = np.sort(values[~np.isnan(values)].astype(np.float64))
        if len(present) == 0:
            continue
        known[feature] = True
        median[feature], tenth, ninetieth = np.quantile(present, (0.5, 0.1, 0.9)).tolist()
        low[feature], high[feature] = present[0], present[-1]
        # Columns of which most values are equal have no distance between quantiles.
        wide = (ninetieth - tenth) / NORMAL_SPREAD
        spread[feature] = wide if wide > 0.0 else present.std()
    empty = np.zeros(count)
    return ColumnRegressions(median, spread, low, high, np.zeros(count * count, np.int32), empty, empty, known)


def _covariance(table: Table, n_train: int, scale: ColumnRegressions) -> Float64Array:
    """The covariance of all z over the training rows, float64[F, F], in steps squared."""
    count = table.n_features
    products, sums = np.zeros((count, count), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for first, stop in _chunks(table, n_train):
        z = _scaled_rows(table, first, stop, scale)
        # Whole numbers below 2^15, at most 2^16 rows: every partial sum is exact, in any order.
        products += (z.T @ z).astype(np.int64)
        sums += z.sum(axis=0).astype(np.int64)
    mean = sums / n_train
    return products / n_train - mean[:, None] * mean[None, :]


def _scaled_rows(table: Table, first: int, stop: int, scale: ColumnRegressions) -> Float64Array:
    columns = [scale.scaled(feature, table.column(feature, first, stop)) for feature in range(table.n_features)]
    return np.stack(columns, axis=1)


def _ridge_weights(covariance: Float64Array, usable: NDArray[np.bool_], ridge: float) -> NDArray[np.int32]:
    """The weights of all regressions, int32[F, F] in steps of 1 / ONE; 0 from and for columns that are not usable."""
    weights = np.zeros(covariance.shape, dtype=np.int32)
    places = np.flatnonzero(usable)
    if len(places) < 2:
        return weights
    inner = covariance[np.ix_(places, places)].copy()
    # On the scale of correlations: a column of large spread is not shrunk less than another.
    deviation = np.sqrt(np.diag(inner))
    inner /= deviation[:, None] * deviation[None, :]
    inner[np.diag_indices(len(places))] += ridge
    inverse = _inverse(inner)
    exact = -inverse / np.diag(inverse)[:, None] * deviation[:, None] / deviation[None, :]
    np.fill_diagonal(exact, 0.0)
    steps = np.clip(np.rint(exact * ONE), 1 - MAX_WEIGHT, MAX_WEIGHT - 1)
    weights[np.ix_(places, places)] = steps.astype(np.int32)
    return weights


def _inverse(matrix: Float64Array) -> Float64Array:
    """The inverse of a positive definite matrix by Gauss and Jordan, element by element: alike with any library."""
    left, size = matrix.copy(), len(matrix)
    for pivot in range(size):
        scale = 1.0 / left[pivot, pivot]
        row, column = left[pivot] * scale, left[:, pivot].copy()
        left -= column[:, None] * row[None, :]
        left[:, pivot] = -column * scale
        left[pivot] = row
        left[pivot, pivot] = scale
    return left


def _lines(
    table: Table, n_train: int, scale: ColumnRegressions, predicted: NDArray[np.bool_]
) -> tuple[Float64Array, Float64Array]:
    """Slope and offset of every column's line from weighted sums m to z, by least squares over rows with a value."""
    count = table.n_features
    # Per column: rows, sum of m, of z, of m m, of m z, as Python's integers, which do not overflow.
    totals = [[0] * 5 for _ in range(count)]
    weights = scale.weights.reshape(count, count).astype(np.float64)
    for first, stop in _chunks(table, n_train):
        z = _scaled_rows(table, first, stop, scale)
        # Exact like the products above: MAX_COLUMNS times 2^30 is below 2^53.
        sums = _steps((z @ weights.T).astype(np.int64))
        for feature in np.flatnonzero(predicted).tolist():
            present = ~np.isnan(table.column(feature, first, stop))
            m, own = sums[present, feature], z[present, feature].astype(np.int64)
            parts = (len(m), m.sum(), own.sum(), (m * m).sum(), (m * own).sum())
            totals[feature] = [total + int(part) for total, part in zip(totals[feature], parts, strict=True)]
    slope, offset = np.zeros((2, count))
    for feature, (rows, m_sum, z_sum, m_square, product) in enumerate(totals):
        spread = rows * m_square - m_sum * m_sum
        if spread > 0:
            steep = (rows * product - m_sum * z_sum) / spread
            slope[feature] = min(max(steep, -MAX_SLOPE), MAX_SLOPE)
            offset[feature] = (z_sum - slope[feature] * m_sum) / rows
    return slope, offset


def _steps(sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weighted sums of z in steps of z, rounded and cut off: below 2^20, so that sums over rows stay exact."""
    return np.clip((sums + ONE // 2) // ONE, -(1 << 20), 1 << 20)


def _warn(table: Table, good: NDArray[np.bool_], known: NDArray[np.bool_], otherwise: str) -> None:
    """Say which columns have no regression, and what stands in for their missing values."""
    for kind, reason in (
        (known & ~good, f"no other column of this party can predict them; {otherwise}"),
        (~known, "no training row has a value; their missing values stay missing, and no split tests them"),
    ):
        names = [table.names[feature] for feature in np.flatnonzero(kind).tolist()]
        if names:
            shown = ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")
            warnings.warn(
                ImputationWarning(f"fitting regressions of party {table.party!r}: columns {shown}: {reason}"),
                stacklevel=2,
            )
