"""Cut points of columns that nobody sees whole (ERRATA E3): searched for by counting rows in cells, over all users.

A float32 number has a *key*, the 32-bit integer of its bits changed so that keys sort as numbers do. A *cell* is all
numbers whose keys begin with the same bits. The search starts with cells of few bits and, call by call, divides those
that matter into smaller ones, until they have `bits` bits: the cuts are then those that binning.cuts.make_cuts would
find if every value were rounded down to the first `bits` bits of its key. Whole numbers from 0 to 2**(bits - 8) come
out exact, negative ones are parted as exactly by cuts just below them; with 32 bits every column is exact.

Which cells matter: all of them while there may be at most `max_bin` different values; else those that hold one of the
ranks that make_cuts looks for, and the outermost two, on which these ranks depend.

Where a column's range is public, one call over evenly spaced cells does instead. Either way cells are counted over all
users together, and a cell that no longer matters is not looked into.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.binning.cuts import LARGEST, goal_ranks
from vfxgb.binning.keys import Keys, floats_of, keys_of
from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk, pack_array, unpack_array

Wide = NDArray[np.uint64]

KEY_BITS = 32
FIRST_BITS = 8
# How far values are told apart unless somebody says otherwise.
DEFAULT_BITS = 22
# Cells a column is divided into per call, about, and least bits gained by it; the more, the fewer calls.
CELLS_PER_COLUMN = 1024
LEAST_STEP = 3
MOST_CELLS = 1 << 16


class RangeCells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells of one column that begin at `cells` evenly spaced points from `low` to `high`."""

    column: int
    low: float
    high: float
    cells: int


class Cells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells to count, c columns of nested ones, then those of public ranges.

    `columns`: int32[c, 4], ascending: column, bits of its cells, bits more by which each is divided, number of cells.
    `starts`: uint32, first keys of the cells, ascending within a column. `ranges`: ascending by column.
    """

    columns: Bulk
    starts: Bulk
    ranges: list[RangeCells]
    n_counts: int


def pack_cells(asked: Sequence["Asked"], ranges: Sequence[RangeCells]) -> Cells:
    """One task of all columns' questions."""
    table = [(question.column, question.bits, question.step, len(question.starts)) for question in asked]
    return Cells(
        columns=pack_array(np.array(table, dtype=np.int32).reshape(-1, 4)),
        starts=pack_array(np.concatenate([question.starts for question in asked]) if asked else np.zeros(0, np.uint32)),
        ranges=list(ranges),
        n_counts=sum(question.n_counts for question in asked) + sum(cell_range.cells for cell_range in ranges),
    )


def values_of(keys: Keys) -> NDArray[np.float32]:
    """The numbers of keys; below the lowest finite number, that one."""
    lowest = keys < keys_of(np.array([-LARGEST], dtype=np.float32))[0]
    return np.where(lowest, -LARGEST, floats_of(keys)).astype(np.float32)


def fine_starts(low: float, high: float, cells: int) -> NDArray[np.float32]:
    """Where the evenly spaced cells of a public range begin, float32[cells]; the last holds `high` and all above."""
    return np.linspace(low, high, cells).astype(np.float32)


def most_calls_for(bits: int) -> int:
    """How many calls the search for cuts over so many bits of a value takes at most."""
    return 1 + -(-max(0, bits - FIRST_BITS) // LEAST_STEP)


def column_keys(X: NDArray[np.float32]) -> Wide:
    """The values of all columns, missing ones left out, ascending: column in the upper, key in the lower 32 bits."""
    column = np.broadcast_to(np.arange(X.shape[1], dtype=np.uint64) << np.uint64(KEY_BITS), X.shape)
    present = ~np.isnan(X)
    return np.sort(np.asarray(column[present] | keys_of(X[present]), dtype=np.uint64))


def count_cells(keys: Wide, cells: Cells, n_features: int, what: str) -> NDArray[np.int64]:
    """Rows in each cell, of `column_keys`. Raises MessageError for cells that cannot be."""
    columns = unpack_array(cells.columns, np.int32, (len(cells.columns) // 16, 4), what).astype(np.int64)
    starts = unpack_array(cells.starts, np.uint32, (len(cells.starts) // 4,), what)
    _check(columns, starts, cells, n_features, what)
    return np.concatenate([_count_nested(keys, columns, starts), *(_count_range(keys, part) for part in cells.ranges)])


def _count_nested(keys: Wide, columns: NDArray[np.int64], starts: Keys) -> NDArray[np.int64]:
    column, bits, step = (np.repeat(columns[:, i], columns[:, 3]) for i in range(3))
    first = (column.astype(np.uint64) << np.uint64(KEY_BITS)) | starts
    return _native.gbdt.count_cells(
        keys, first, (KEY_BITS - bits - step).astype(np.int32), (1 << step).astype(np.int32)
    )


def _count_range(keys: Wide, cell_range: RangeCells) -> NDArray[np.int64]:
    begin = keys_of(fine_starts(cell_range.low, cell_range.high, cell_range.cells)).astype(np.uint64)
    # Below the first cell counts as in it, and the last one ends with the column.
    begin[0] = 0
    ends = np.append(begin, np.uint64(1 << KEY_BITS)) + np.uint64(cell_range.column << KEY_BITS)
    return np.diff(np.searchsorted(keys, ends))


def _check(columns: NDArray[np.int64], starts: Keys, cells: Cells, n_features: int, what: str) -> None:
    """Raise MessageError for cells that cannot be.

    A cell of `bits` bits begins at a multiple of its size, and is asked for once: of cells that overlap, the difference
    would tell finer ones.
    """
    column, bits, step, number = columns.T
    counts = number << np.clip(step, 0, 16)
    ok = (
        ((column >= 0) & (column < n_features) & (bits >= 0) & (step >= 0) & (step <= 16) & (number >= 0)).all()
        and (bits + step <= KEY_BITS).all()
        and (np.diff(column) > 0).all()
        and int(number.sum()) == len(starts)
        and _are_cells(np.repeat(column, number), np.repeat(bits, number), starts)
        and all(
            0 <= cell_range.column < n_features
            and 1 < cell_range.cells <= MOST_CELLS
            and -LARGEST <= cell_range.low < cell_range.high <= LARGEST
            for cell_range in cells.ranges
        )
        and all(lower.column < upper.column for lower, upper in pairwise(cells.ranges))
        and int(counts.sum()) + sum(cell_range.cells for cell_range in cells.ranges) == cells.n_counts
    )
    if not ok:
        raise MessageError(
            f"{what}: found {len(columns)} columns with {len(starts)} cells and {len(cells.ranges)} ranges in "
            f"{cells.n_counts} parts that do not fit together"
        )


def _are_cells(column: NDArray[np.int64], bits: NDArray[np.int64], starts: Keys) -> bool:
    aligned = (starts & ((np.int64(1) << (KEY_BITS - bits)) - 1)) == 0
    apart = (np.diff(starts.astype(np.int64)) > 0) | (np.diff(column) > 0)
    return bool(aligned.all() and apart.all())


def cell_starts(prefixes: Keys, bits: int, step: int) -> Keys:
    """The first key of each part of each cell, uint32[len(prefixes), 2**step]; `prefixes` are first keys themselves."""
    part = np.arange(1 << step, dtype=np.uint32) << np.uint32(KEY_BITS - bits - step) if bits + step else np.zeros(1)
    return np.asarray(prefixes[:, None] + part[None, :], dtype=np.uint32)


@dataclass(frozen=True)
class Asked:
    """The cells of one column that begin at `starts` and have `bits` bits, each in 2**step parts."""

    column: int
    bits: int
    step: int
    starts: Keys

    @property
    def n_counts(self) -> int:
        """Count the parts of all cells."""
        return len(self.starts) << self.step


@dataclass
class _Known:
    """Non-empty cells of a column, ascending: first key, bits, rows."""

    starts: Keys
    bits: NDArray[np.int64]
    rows: NDArray[np.int64]


class ColumnSearch:
    """The server's search for the cuts of one column. `ask` and `tell` in turn, until `ask` returns None."""

    def __init__(self, column: int, max_bin: int, bits: int) -> None:
        self.column = column
        self._max_bin = max_bin
        self._final = bits
        # Everything is one cell of no bits.
        self._cells = _Known(np.zeros(1, np.uint32), np.zeros(1, np.int64), np.ones(1, np.int64))
        self._bits = 0
        self._asked: tuple[NDArray[np.int64], int] | None = None

    def ask(self) -> Asked | None:
        """The cells to count next, None when the cuts are known."""
        wanted = np.flatnonzero(self._matters() & (self._cells.bits == self._bits))
        if self._bits == self._final or len(wanted) == 0:
            return None
        step = FIRST_BITS if self._bits == 0 else max(LEAST_STEP, (CELLS_PER_COLUMN // len(wanted)).bit_length() - 1)
        step = min(step, self._final - self._bits)
        self._asked = wanted, step
        return Asked(self.column, self._bits, step, self._cells.starts[wanted])

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
        self._cells = _Known(starts[order], bits[order], rows[order])

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
            np.searchsorted(begin, goal_ranks(float(s), float(e), self._max_bin), side="right") - 1
            for s, e in zip(second, last, strict=True)
        )
        # A goal that lies anywhere between two ranks makes all cells between them matter.
        marks = np.zeros(count + 1, dtype=np.int64)
        np.add.at(marks, np.clip(low, 0, count - 1), 1)
        np.add.at(marks, np.clip(high, 0, count - 1) + 1, -1)
        matters = np.cumsum(marks[:-1]) > 0
        matters[[0, -1]] = True
        return np.asarray(matters)


def cuts_of_counts(values: NDArray[np.float32], rows: NDArray[np.int64], max_bin: int) -> NDArray[np.float32]:
    """binning.cuts.make_cuts of a column that holds `values`, ascending, each `rows` times (0: not at all)."""
    values, rows = values[rows > 0], rows[rows > 0]
    if len(values) <= max_bin:
        return np.asarray(values[1:])
    begin = np.cumsum(rows) - rows
    # The value that covers a goal's rank is its cut; the largest value is one too, if there is room.
    places = np.searchsorted(begin, goal_ranks(float(begin[1]), float(begin[-1]), max_bin), side="right") - 1
    chosen = np.unique(np.append(places, len(values) - 1))
    return np.asarray(values[chosen[chosen > 0][: max_bin - 1]])
