"""Sources: descriptions of a party's table that any process of the party can read piece by piece.

A Table is in the memory of one process. A Source says where the columns lie and reads rows of one of them when asked,
with the values, types and refusals of `Table.column`. It can be pickled, and but for TableSource it holds no data:
whoever works on some rows reads only these, and reads them again if what was made of them is lost.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.checks import closest_name
from vfxgb.data.table import Float32Array, Table
from vfxgb.errors import ColumnNameError, ColumnValueError, TableError


class Source(Protocol):
    """A table that is read by column and rows. Implementations are immutable and can be pickled."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features, unique."""

    @property
    def n_rows(self) -> int:
        """Number of rows, at least 1."""

    @property
    def party(self) -> str:
        """Whose table it is, for messages; "" if nobody's."""

    @property
    def missing(self) -> float:
        """The value that counts as missing beside NaN."""

    @property
    def parts(self) -> tuple[int, ...]:
        """Row numbers, ascending from 0 to n_rows, between which rows are best read together."""

    @property
    def ids(self) -> tuple[NDArray[Any], ...] | None:
        """The ids of the rows, as in Table; None where nobody knows any: its owner answers for the order of rows."""

    def column(self, feature: int | str, first: int, stop: int) -> Float32Array:
        """Rows `first` to `stop` - 1 of a feature, by position or name: float32, contiguous, the caller's to keep.

        NaN is missing. Raises ColumnNameError, ColumnValueError (infinite or too large; rows are numbered in the whole
        table) and TableError (rows out of range, or files that cannot be read any more).
        """

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """Rows `first` to `stop` - 1 of any column as it stands, which may be text; NaN or None where there is none.

        Raises ColumnNameError and TableError.
        """


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory as a source, for work in this process: a pickle of it holds the data."""

    table: Table

    @property
    def names(self) -> tuple[str, ...]:
        """See Source."""
        return self.table.names

    @property
    def n_rows(self) -> int:
        """See Source."""
        return self.table.n_rows

    @property
    def party(self) -> str:
        """See Source."""
        return self.table.party

    @property
    def missing(self) -> float:
        """See Source."""
        return self.table.missing

    @property
    def parts(self) -> tuple[int, ...]:
        """(0, n_rows): any rows of a table are read as easily as others."""
        return (0, self.n_rows)

    @property
    def ids(self) -> tuple[NDArray[Any], ...] | None:
        """See Source."""
        return self.table.ids

    def column(self, feature: int | str, first: int, stop: int) -> Float32Array:
        """See Source; missing values are filled where the table fills them."""
        check_rows(self, first, stop)
        return self.table.column(place_of(self, feature), first, stop)

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """See Source; a table has no other columns than its features."""
        check_rows(self, first, stop)
        pieces = self.table.pieces[place_of(self, name)]
        ends = np.cumsum([len(piece) for piece in pieces])
        kept = [
            piece[max(first - int(end) + len(piece), 0) : max(stop - int(end) + len(piece), 0)]
            for piece, end in zip(pieces, ends, strict=True)
        ]
        return np.concatenate(kept)


@dataclass(frozen=True)
class StackedSource:
    """Tables below each other as one: training rows, then eval sets. The first one's party stands for all.

    Raises TableError when there is none, or when names of features or missing values are not those of the first.
    """

    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise TableError("stacking tables: found none, wanted at least one")
        for place, source in enumerate(self.sources):
            same_missing = source.missing == self.missing or (math.isnan(source.missing) and math.isnan(self.missing))
            if source.names != self.names or not same_missing:
                raise TableError(
                    f"stacking tables of party {self.party!r}: table {place + 1} has columns {list(source.names[:10])} "
                    f"and missing={source.missing}, wanted those of the first, {list(self.names[:10])} and "
                    f"missing={self.missing}; read them alike"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """See Source."""
        return self.sources[0].names

    @property
    def n_rows(self) -> int:
        """See Source."""
        return sum(source.n_rows for source in self.sources)

    @property
    def party(self) -> str:
        """See Source."""
        return self.sources[0].party

    @property
    def missing(self) -> float:
        """See Source."""
        return self.sources[0].missing

    @property
    def parts(self) -> tuple[int, ...]:
        """Those of all tables: what is read together never reaches over the end of one."""
        edges = [0]
        for source in self.sources:
            edges += [edges[-1] - source.parts[0] + edge for edge in source.parts[1:]]
        return tuple(edges)

    @property
    def ids(self) -> tuple[NDArray[Any], ...] | None:
        """See Source: those of the parts are not joined."""
        return None

    def column(self, feature: int | str, first: int, stop: int) -> Float32Array:
        """See Source; in a ColumnValueError rows are numbered in the table it names."""
        check_rows(self, first, stop)
        name = self.names[place_of(self, feature)]
        pieces = [self._column(place, name, low, high) for place, low, high in self._ranges(first, stop)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """See Source; the column is wanted in every table."""
        check_rows(self, first, stop)
        return join_values(
            [self.sources[place].values(name, low, high) for place, low, high in self._ranges(first, stop)]
        )

    def _ranges(self, first: int, stop: int) -> Iterator[tuple[int, int, int]]:
        return stacked_ranges([source.n_rows for source in self.sources], first, stop)

    def _column(self, place: int, name: str, first: int, stop: int) -> Float32Array:
        try:
            return self.sources[place].column(name, first, stop)
        except ColumnValueError as error:
            raise ColumnValueError(f"table {place + 1} of {len(self.sources)}: {error}") from error


def as_table(table: Table | Source) -> Table:
    """A table as it is, a source read whole. Raises what reading raises."""
    return table if isinstance(table, Table) else read_all(table)


def read_all(source: Source) -> Table:
    """A table in memory with all rows of a source. Raises what reading raises."""
    columns = tuple((source.column(feature, 0, source.n_rows),) for feature in range(len(source.names)))
    return Table(source.names, columns, source.party, fills=(None,) * len(columns))


def stacked_ranges(counts: Sequence[int], first: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """(table, first, stop within it) of those tables, of `counts` rows and below each other, that have the rows.

    Of no rows it is an empty range of the first table: what has no values still has a type.
    """
    if first == stop:
        yield 0, 0, 0
    start = 0
    for place, count in enumerate(counts):
        low, high = max(first - start, 0), min(stop - start, count)
        if low < high:
            yield place, low, high
        start += count


def join_values(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Pieces of a column below each other; what is not all numbers or all text stays as it stands, as objects."""
    if len(pieces) == 1:
        return pieces[0]
    numbers = [piece.dtype.kind in "biuf" for piece in pieces]
    if any(numbers) and not all(numbers):
        # numpy would write numbers as text.
        pieces = [piece.astype(object) for piece in pieces]
    return np.concatenate(pieces)


def check_rows(source: Source, first: int, stop: int) -> None:
    """Raise TableError unless 0 <= first <= stop <= n_rows."""
    if not 0 <= first <= stop <= source.n_rows:
        raise TableError(
            f"{reading(source.party)}: asked for rows {first} to {stop}, wanted an ascending range within 0 to "
            f"{source.n_rows}"
        )


def place_of(source: Source, feature: int | str) -> int:
    """The position of a feature given by position or name. Raises ColumnNameError."""
    if isinstance(feature, str):
        if feature in source.names:
            return source.names.index(feature)
        raise absent_column(feature, source.names, reading(source.party))
    if not 0 <= feature < len(source.names):
        raise ColumnNameError(
            f"{reading(source.party)}: asked for feature {feature}, wanted one of 0 to {len(source.names) - 1}"
        )
    return feature


def absent_column(name: str, names: tuple[str, ...], where: str) -> ColumnNameError:
    """The error for a column that is not among `names`."""
    meant = closest_name(name, names)
    hint = f"did you mean {meant!r}?" if meant else f"the columns are {list(names[:20])}"
    return ColumnNameError(f"{where}: there is no column {name!r}; {hint}")


def reading(party: str) -> str:
    """How messages about a party's table begin."""
    return f"reading a table of party {party!r}" if party else "reading a table"
