"""Cut points of columns that nobody sees whole (ERRATA E3): searched for by counting rows in cells, over all users.

A float32 number has a *key*, the 32-bit integer of its bits changed so that keys sort as numbers do. A *cell* is all
numbers whose keys begin with the same bits. The search starts with cells of few bits and, call by call, divides those
that matter into smaller ones, until they have `bits` bits: the cuts are then those that binning.cuts.make_cuts would
find if every value were rounded down to the first `bits` bits of its key. Whole numbers below 2**(bits - 8), and
columns of few such values, come out exact; with 32 bits every column does.

Which cells matter: all of them while there may be at most `max_bin` different values; else those that hold one of the
ranks that make_cuts looks for, and the outermost two, on which these ranks depend.

Where a column's range is public, one call over evenly spaced cells does instead. Either way cells are counted over all
users together, and a cell that no longer matters is not looked into.
"""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.cuts import LARGEST
from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk, pack_array, unpack_array

Keys = NDArray[np.uint32]

KEY_BITS = 32
FIRST_BITS = 8
# Cells a column is divided into per call, about; the more, the fewer calls.
CELLS_PER_COLUMN = 1024
MOST_CELLS = 1 << 16

_SIGN = np.uint32(0x80000000)


class ColumnCells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells of one column to count: those with the first `bits` bits `prefixes` (uint32, ascending), in 2**step parts
    each; or, with `cells` above 0, those that begin at so many evenly spaced points from `low` to `high`."""

    column: int
    bits: int = 0
    step: int = 0
    prefixes: Bulk = memoryview(b"")
    low: float = 0.0
    high: float = 0.0
    cells: int = 0

    def entries(self) -> int:
        """Number of counts."""
        return self.cells if self.cells else (len(self.prefixes) // 4) << self.step


def keys_of(values: NDArray[np.float32]) -> Keys:
    """The keys of numbers; -0 is 0. NaN has none."""
    bits = (values + np.float32(0)).view(np.uint32)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN).astype(np.uint32)


def values_of(keys: Keys) -> NDArray[np.float32]:
    """The numbers of keys; below the lowest finite number, that one."""
    bits = np.where(keys & _SIGN, keys & ~_SIGN, ~keys).astype(np.uint32)
    values = bits.view(np.float32)
    lowest = keys < keys_of(np.array([-LARGEST], dtype=np.float32))[0]
    return np.where(lowest, -LARGEST, values).astype(np.float32)


def fine_starts(low: float, high: float, cells: int) -> NDArray[np.float32]:
    """Where the evenly spaced cells of a public range begin, float32[cells]; the last holds `high` and all above."""
    return np.linspace(low, high, cells).astype(np.float32)


class SortedColumns:
    """A user's columns, sorted once: X float32[n, F], NaN is missing."""

    def __init__(self, X: NDArray[np.float32]) -> None:
        missing = np.isnan(X)
        self._present = len(X) - missing.sum(axis=0)
        keys = np.where(missing, np.uint32(0xFFFFFFFF), keys_of(X)).astype(np.uint32)
        self._keys = np.sort(np.ascontiguousarray(keys.T), axis=1)

    def count(self, asked: ColumnCells, what: str) -> NDArray[np.int64]:
        """Rows in each cell. Raises MessageError for cells that cannot be."""
        _check(asked, len(self._keys), what)
        keys = self._keys[asked.column, : self._present[asked.column]]
        if asked.cells:
            starts = keys_of(fine_starts(asked.low, asked.high, asked.cells))
            # Below the first cell counts as in it.
            reached = np.searchsorted(keys, starts[1:], side="left")
            return np.diff(np.concatenate([[0], reached, [len(keys)]])).astype(np.int64)
        prefixes = unpack_array(asked.prefixes, np.uint32, (len(asked.prefixes) // 4,), what)
        starts = cell_starts(prefixes, asked.bits, asked.step)
        begin = np.searchsorted(keys, starts, side="left")
        width = np.uint32((1 << (KEY_BITS - asked.bits)) - 1)
        last = np.searchsorted(keys, starts[:, 0] + width, side="right")
        return np.diff(begin, axis=1, append=last[:, None]).reshape(-1).astype(np.int64)


def _check(asked: ColumnCells, n_features: int, what: str) -> None:
    """Raise MessageError for cells that cannot be."""
    even = not asked.cells or (1 < asked.cells <= MOST_CELLS and -LARGEST <= asked.low < asked.high <= LARGEST)
    nested = asked.bits >= 0 and 0 <= asked.step <= 16 and asked.bits + asked.step <= KEY_BITS
    if not (0 <= asked.column < n_features and asked.cells >= 0 and even and nested):
        raise MessageError(f"{what}: found column {asked.column}, {asked.cells} cells, bits {asked.bits}+{asked.step}")


def cell_starts(prefixes: Keys, bits: int, step: int) -> Keys:
    """The first key of each part of each cell, uint32[len(prefixes), 2**step]; `prefixes` are first keys themselves."""
    part = np.arange(1 << step, dtype=np.uint32) << np.uint32(KEY_BITS - bits - step) if bits + step else np.zeros(1)
    return np.asarray(prefixes[:, None] + part[None, :], dtype=np.uint32)


@dataclass
class _Cells:
    """Non-empty cells of a column, ascending: first key, bits, rows."""

    starts: Keys
    bits: NDArray[np.int64]
    rows: NDArray[np.int64]


class ColumnSearch:
    """The server's search for the cuts of one column. `ask` and `tell` in turn, until `ask` returns None."""

    def __init__(self, column: int, max_bin: int, bits: int) -> None:
        self._column = column
        self._max_bin = max_bin
        self._final = bits
        # Everything is one cell of no bits.
        self._cells = _Cells(np.zeros(1, np.uint32), np.zeros(1, np.int64), np.ones(1, np.int64))
        self._bits = 0
        self._asked: tuple[NDArray[np.int64], int] | None = None

    def ask(self) -> ColumnCells | None:
        """The cells to count next, None when the cuts are known."""
        wanted = np.flatnonzero(self._matters() & (self._cells.bits == self._bits))
        if self._bits == self._final or len(wanted) == 0:
            return None
        step = FIRST_BITS if self._bits == 0 else max(2, (CELLS_PER_COLUMN // len(wanted)).bit_length() - 1)
        step = min(step, self._final - self._bits)
        self._asked = wanted, step
        return ColumnCells(
            column=self._column, bits=self._bits, step=step, prefixes=pack_array(self._cells.starts[wanted])
        )

    def tell(self, counts: NDArray[np.int64]) -> None:
        """The counts of the cells last asked for, over all users."""
        assert self._asked is not None  # noqa: S101 - ask came first
        wanted, step = self._asked
        cells = self._cells
        inner = cell_starts(cells.starts[wanted], self._bits, step).reshape(-1)
        kept = np.ones(len(cells.rows), dtype=np.bool_)
        kept[wanted] = False
        filled = counts > 0
        self._bits += step
        starts = np.concatenate([cells.starts[kept], inner[filled]])
        order = np.argsort(starts, kind="stable")
        bits = np.concatenate([cells.bits[kept], np.full(int(filled.sum()), self._bits, dtype=np.int64)])
        rows = np.concatenate([cells.rows[kept], counts[filled]])
        self._cells = _Cells(starts[order], bits[order], rows[order])

    def cuts(self) -> NDArray[np.float32]:
        """At most max_bin - 1 cuts, strictly ascending."""
        return cuts_of_counts(values_of(self._cells.starts), self._cells.rows, self._max_bin)

    def _matters(self) -> NDArray[np.bool_]:
        cells = self._cells
        count = len(cells.rows)
        if count <= self._max_bin:
            return np.ones(count, dtype=np.bool_)
        begin = np.cumsum(cells.rows) - cells.rows
        exact = cells.bits == self._final
        # The second value begins at `second`, the last at `last`: known only as far as the outermost cells are.
        second = (cells.rows[0] if exact[0] else 1, cells.rows[0])
        last = (begin[-1], begin[-1] if exact[-1] else begin[-1] + cells.rows[-1] - 1)
        low, high = (
            np.searchsorted(begin, goals(float(s), float(e), self._max_bin), side="right") - 1
            for s, e in zip(second, last, strict=True)
        )
        # A goal that lies anywhere between two ranks makes all cells between them matter.
        marks = np.zeros(count + 1, dtype=np.int64)
        np.add.at(marks, np.clip(low, 0, count - 1), 1)
        np.add.at(marks, np.clip(high, 0, count - 1) + 1, -1)
        matters = np.cumsum(marks[:-1]) > 0
        matters[[0, -1]] = True
        return np.asarray(matters)


def goals(second: float, last: float, max_bin: int) -> NDArray[np.float64]:
    """The ranks at which make_cuts looks for cuts when the second value begins at rank `second`, the last at `last`."""
    return np.asarray(second + np.arange(1, max_bin) * (last - second) / max_bin)


def cuts_of_counts(values: NDArray[np.float32], rows: NDArray[np.int64], max_bin: int) -> NDArray[np.float32]:
    """binning.cuts.make_cuts of a column that holds `values`, ascending, each `rows` times (0: not at all)."""
    values, rows = values[rows > 0], rows[rows > 0]
    if len(values) <= max_bin:
        return np.asarray(values[1:])
    begin = np.cumsum(rows) - rows
    # The value that covers a goal's rank is its cut; the largest value is one too, if there is room.
    found = np.searchsorted(begin, goals(float(begin[1]), float(begin[-1]), max_bin), side="right") - 1
    chosen = np.unique(np.append(found, len(values) - 1))
    return np.asarray(values[chosen[chosen > 0][: max_bin - 1]])
