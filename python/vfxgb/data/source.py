"""Sources: descriptions of a party's table that any process of the party can read piece by piece.

A Table is in the memory of one process. A Source says where the columns lie and reads rows of one of them when asked,
with the values, types and refusals of `Table.column`. It can be pickled, and but for a Table, which is a Source too, it
holds no data: whoever works on some rows reads only these, and reads them again if what was made of them is lost.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.places import check_rows, place_of, stacked_ranges
from vfxgb.data.table import Float32Array, Table
from vfxgb.errors import ColumnValueError, TableError


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
        check_rows(self.n_rows, first, stop, self.party)
        name = self.names[place_of(feature, self.names, self.party)]
        pieces = [self._column(place, name, low, high) for place, low, high in self._ranges(first, stop)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """See Source; the column is wanted in every table."""
        check_rows(self.n_rows, first, stop, self.party)
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


def join_values(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Pieces of a column below each other; what is not all numbers or all text stays as it stands, as objects."""
    if len(pieces) == 1:
        return pieces[0]
    numbers = [piece.dtype.kind in "biuf" for piece in pieces]
    if any(numbers) and not all(numbers):
        # numpy would write numbers as text.
        pieces = [piece.astype(object) for piece in pieces]
    return np.concatenate(pieces)
