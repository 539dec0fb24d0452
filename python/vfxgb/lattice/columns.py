"""A passive party's columns before they are encrypted: for each candidate split which rows go left, and its weight."""

import hashlib
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vfxgb.errors import LatticeError
from vfxgb.lattice.params import COLUMN_NORM_SQUARED, MAX_WEIGHT

# Columns of z travel in one message of at most a gigabyte.
MAX_COLUMNS = 30_000
_DIGEST_ROWS = 1 << 16


class ColumnSource(Protocol):
    """Columns of rows in one place or in shards."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def weights(self) -> NDArray[np.int32]:
        """The weight omega of each column, 1 to 32."""

    @property
    def left_counts(self) -> NDArray[np.int64]:
        """How many rows of each column go left."""

    def left_bits(self, first: int, stop: int) -> NDArray[np.uint8]:
        """uint8[columns, ceil((stop - first) / 8)]: a bit for each of these rows, lowest first, set if it goes left."""

    def digest(self) -> bytes:
        """32 bytes that differ whenever a bit, a weight or the order of columns does: they tie secrets to columns."""


class BitColumns:
    """Columns in memory: left[columns, rows], true where a row goes left; weights[columns]."""

    def __init__(self, left: ArrayLike, weights: ArrayLike) -> None:
        table = np.asarray(left, dtype=bool)
        if table.ndim != 2:
            raise LatticeError(f"columns: found an array of {table.ndim} dimensions, wanted left[columns, rows]")
        self._bits = np.packbits(table, axis=1, bitorder="little")
        self._rows: int = table.shape[1]
        self._counts: NDArray[np.int64] = np.count_nonzero(table, axis=1).astype(np.int64)
        self._weights = np.asarray(weights).astype(np.int32)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._rows

    @property
    def weights(self) -> NDArray[np.int32]:
        """The weight of each column."""
        return self._weights

    @property
    def left_counts(self) -> NDArray[np.int64]:
        """How many rows of each column go left."""
        return self._counts

    def left_bits(self, first: int, stop: int) -> NDArray[np.uint8]:
        """The bits of some rows."""
        if first % 8 == 0:
            bits = self._bits[:, first // 8 : -(-stop // 8)].copy()
            if stop % 8:
                bits[:, -1] &= (1 << stop % 8) - 1
            return bits
        whole = np.unpackbits(self._bits[:, first // 8 : -(-stop // 8)], axis=1, bitorder="little")
        return np.packbits(whole[:, first % 8 : first % 8 + stop - first], axis=1, bitorder="little")

    def digest(self) -> bytes:
        """A digest of all bits and weights."""
        return digest_of(self)


def digest_of(columns: ColumnSource) -> bytes:
    """The digest of columns that can be read from the first row to the last."""
    shape = np.array([columns.rows, len(columns.weights)], dtype="<u8").tobytes()
    found = hashlib.sha256(b"vfxgb lattice columns 1" + shape + columns.weights.astype("<i4").tobytes())
    for first in range(0, columns.rows, _DIGEST_ROWS):
        found.update(columns.left_bits(first, min(columns.rows, first + _DIGEST_ROWS)).tobytes())
    return found.digest()


def check_columns(columns: ColumnSource, step: str) -> None:
    """Raise LatticeError for columns whose sums the parameters do not cover, naming the first of them."""
    weights, counts = columns.weights.astype(np.int64), columns.left_counts
    if not 1 <= len(weights) <= MAX_COLUMNS:
        raise LatticeError(
            f"{step}: found {len(weights)} columns, wanted 1 to {MAX_COLUMNS}; use fewer bins or features"
        )
    if counts.shape != weights.shape or np.any((counts < 0) | (counts > columns.rows)):
        raise LatticeError(
            f"{step}: found {counts.shape} counts of left rows, wanted one from 0 to rows for each column"
        )
    if np.any((weights < 1) | (weights > MAX_WEIGHT)):
        column = int(np.argmax((weights < 1) | (weights > MAX_WEIGHT)))
        raise LatticeError(f"{step}: column {column} has weight {weights[column]}, wanted 1 to {MAX_WEIGHT}")
    heavy = weights**2 * np.minimum(counts, columns.rows - counts) > COLUMN_NORM_SQUARED * columns.rows
    if np.any(heavy):
        column = int(np.argmax(heavy))
        raise LatticeError(
            f"{step}: column {column} has weight {weights[column]} and {counts[column]} of {columns.rows} rows on the "
            f"left, wanted weight^2 times the rows of the smaller side to be at most {COLUMN_NORM_SQUARED} times all "
            "rows; lower its weight"
        )
