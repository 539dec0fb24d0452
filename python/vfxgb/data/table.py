"""A party's table: named numeric columns over the same rows.

A Table holds the caller's columns as they came and converts one at a time when asked (`column`), so that reading a
table costs no second copy of the data. Values are float32, as in XGBoost: a model's thresholds are float32, and a
comparison has to come out alike here and wherever the model is exported to. NaN is missing, and so is the value
`missing`. Everything that would have to be altered silently is refused when the table is read.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.categories import NUMBERS, Coded, ColumnKinds, Encoding, recode
from vfxgb.data.intake import Features, read_features, row_ids
from vfxgb.data.places import check_rows, place_of, reading, refuse_empty, refuse_repeated, stacked_ranges
from vfxgb.errors import ColumnNameError, ColumnTypeError, ColumnValueError, TableError

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one party; make one with `Table.read`.

    `names` are unique. `pieces` holds the parts of each column from top to bottom, real numbers; those of a column of
    categories are codes, and `encodings` says what they stand for (None: numbers; (): all are). Error messages name
    `party`, "" if there is none. `missing` is the value that counts as missing beside NaN. `fills` holds for each
    column what replaces missing values, or None. `ids` are the rows' ids, in parts from top to bottom, or None; those
    of a pandas frame are its index, unless it only counts.
    """

    names: tuple[str, ...]
    pieces: tuple[tuple[NDArray[Any], ...], ...]
    party: str = ""
    missing: float = math.nan
    fills: tuple[float | None, ...] = ()
    ids: tuple[NDArray[Any], ...] | None = None
    encodings: tuple[Encoding | None, ...] = ()

    @classmethod
    def read(
        cls,
        data: Any,
        *,
        names: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        party: str = "",
        missing: float = math.nan,
        kinds: ColumnKinds = NUMBERS,
    ) -> "Table":
        """A table from numpy [n, F], pandas, polars or pyarrow frames, a mapping of columns, or a file.

        Files: a path to .csv, .csv.gz or .parquet with a header. `names` names the columns of an array (f0, f1, ... if
        None). `columns` keeps those only, in that order. `kinds` names columns that hold categories or dates; those
        that a frame holds as categories need no name. A Table comes back with the party and missing given here.
        Raises TableError (no table), ColumnNameError (duplicated or absent), ColumnTypeError (not numbers),
        ColumnValueError (infinite), MissingPackageError (Parquet without a reader).
        """
        if isinstance(data, Table):
            table = replace(data, party=party or data.party)
            return table if columns is None else table.select(columns)
        source = read_features(data, names, party, columns, kinds)
        _check_shape(source, reading(party))
        encodings = tuple(values.encoding if isinstance(values, Coded) else None for _, values in source)
        table = cls(
            tuple(name for name, _ in source),
            tuple((values.codes if isinstance(values, Coded) else values,) for _, values in source),
            party,
            float(missing),
            (None,) * len(source),
            row_ids(data),
            encodings if any(encoding is not None for encoding in encodings) else (),
        )
        for feature in range(table.n_features):
            table._refuse_infinite(feature)
        return table

    @property
    def n_features(self) -> int:
        """Count the columns."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return sum(len(piece) for piece in self.pieces[0])

    def column(self, feature: int | str, first: int = 0, stop: int | None = None) -> Float32Array:
        """One column by position or name: float32, contiguous, the caller's to keep; NaN is missing.

        Rows `first` to `stop` - 1, all if not given.
        """
        place = place_of(feature, self.names, self.party)
        stop = self.n_rows if stop is None else stop
        check_rows(self.n_rows, first, stop, self.party)
        values = np.empty(stop - first, dtype=np.float32)
        done = 0
        for piece in self._raw(place, first, stop):
            missing = self.missing if self.encoding(place) is None else math.nan
            fill_float32(values[done : done + len(piece)], piece, missing)
            done += len(piece)
        fill = self.fills[place]
        if fill is not None:
            values[np.isnan(values)] = fill
        return values

    def encoding(self, feature: int) -> Encoding | None:
        """The categories that the codes of a column stand for, None for a column of numbers."""
        return self.encodings[feature] if self.encodings else None

    def coded_as(self, wanted: Sequence[Encoding | None], what: str) -> "Table":
        """The same table with the codes of training, for `what`; a category that training had not is missing.

        Raises ColumnTypeError for numbers in a column that held categories in training, and the reverse.
        """
        for name, held, encoding in zip(self.names, self.encodings or (None,) * len(wanted), wanted, strict=True):
            if (held is None) != (encoding is None):
                kind = "numbers" if held is None else "categories"
                raise ColumnTypeError(
                    f"reading {what}{_of(self.party)}: column {name!r} holds {kind}, and in training it held "
                    f"{'categories' if held is None else 'numbers'}; read the column as in training"
                )
        if tuple(wanted) == self.encodings or not self.encodings:
            return self
        pieces = tuple(
            column if encoding is None or held is None else tuple(recode(piece, held, encoding) for piece in column)
            for column, held, encoding in zip(self.pieces, self.encodings, wanted, strict=True)
        )
        return replace(self, pieces=pieces, encodings=tuple(wanted))

    @property
    def parts(self) -> tuple[int, ...]:
        """See Source: any rows of a table are read as easily as others."""
        return (0, self.n_rows)

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """See Source; a table has no other columns than its features."""
        check_rows(self.n_rows, first, stop, self.party)
        return np.concatenate(self._raw(place_of(name, self.names, self.party), first, stop))

    def _raw(self, place: int, first: int, stop: int) -> list[NDArray[Any]]:
        """Rows of a column as they came, in pieces."""
        pieces = self.pieces[place]
        return [pieces[k][low:high] for k, low, high in stacked_ranges([len(piece) for piece in pieces], first, stop)]

    def matrix(self) -> Float32Array:
        """All columns, float32[n_rows, n_features]. Raises ColumnTypeError for categories, which are no numbers."""
        for name, encoding in zip(self.names, self.encodings, strict=False):
            if encoding is not None:
                raise ColumnTypeError(
                    f"{reading(self.party)}: column {name!r} holds categories, wanted numbers: rows at users have "
                    "nothing else; encode it as numbers or leave it out"
                )
        values = np.empty((self.n_rows, self.n_features), dtype=np.float32)
        for feature in range(self.n_features):
            values[:, feature] = self.column(feature)
        return values

    def select(self, names: Sequence[str]) -> "Table":
        """These columns, in this order. Raises ColumnNameError for an absent or repeated name."""
        refuse_repeated(names, reading(self.party))
        places = [place_of(name, self.names, self.party) for name in names]
        return replace(
            self,
            names=tuple(names),
            pieces=tuple(self.pieces[place] for place in places),
            fills=tuple(self.fills[place] for place in places),
            encodings=tuple(self.encodings[place] for place in places) if self.encodings else (),
        )

    def take(self, rows: NDArray[Any]) -> "Table":
        """The given rows, by number or mask: a table of its own, converted."""
        pieces = tuple((self.column(feature)[rows],) for feature in range(self.n_features))
        ids = None if self.ids is None else (np.concatenate(self.ids)[rows],)
        return replace(self, pieces=pieces, missing=math.nan, fills=(None,) * self.n_features, ids=ids)

    def with_party(self, party: str) -> "Table":
        """The same table under a party's name."""
        return replace(self, party=party)

    def with_fills(self, fills: Sequence[float | None]) -> "Table":
        """The same table with missing values of column f read as fills[f], where that is not None."""
        return replace(self, fills=tuple(fills))

    def with_pieces(self, pieces: Sequence[tuple[NDArray[Any], ...]], missing: float) -> "Table":
        """The same table with other values: per column its parts from top to bottom, as many rows as before."""
        return replace(self, pieces=tuple(pieces), missing=missing)

    def align(self, names: Sequence[str], what: str) -> "Table":
        """The columns `names` of training in their order, for `what` ("eval set 0", "prediction").

        Raises ColumnNameError when a column is absent or one too many is there.
        """
        if tuple(names) == self.names:
            return self
        refuse_other_features(self.names, names, what, self.party)
        return self.select(names)

    @staticmethod
    def stack(tables: Sequence["Table"]) -> "Table":
        """Tables below each other, without copying: training rows, then eval sets.

        Raises TableError when columns or missing values are not those of the first.
        """
        first = tables[0]
        if first.encodings or any(table.encodings for table in tables):
            wanted = first.encodings or (None,) * first.n_features
            tables = [
                table.coded_as(wanted, "tables to stack") if table.names == first.names else table for table in tables
            ]
        for table in tables[1:]:
            same_missing = table.missing == first.missing or (math.isnan(table.missing) and math.isnan(first.missing))
            if table.names != first.names or table.fills != first.fills or not same_missing:
                raise TableError(
                    f"stacking tables{_of(first.party)}: found columns {_listed(table.names)} or other missing values, "
                    f"wanted those of the first, {_listed(first.names)}; align them first"
                )
        pieces = tuple(
            tuple(piece for table in tables for piece in table.pieces[feature]) for feature in range(first.n_features)
        )
        ids = [table.ids for table in tables if table.ids is not None]
        return replace(first, pieces=pieces, ids=sum(ids, ()) if len(ids) == len(tables) else None)

    def _refuse_infinite(self, feature: int) -> None:
        if all(piece.dtype.kind in "biu" for piece in self.pieces[feature]):
            return
        values = self.column(feature)
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argmax(infinite))
            raw = np.concatenate(self.pieces[feature])[row]
            raise infinite_value(self.names[feature], self.party, row, raw, int(infinite.sum()))


def fill_float32(values: Float32Array, raw: NDArray[Any], missing: float) -> None:
    """Write real numbers `raw` into `values`, as features are read: float32, and NaN where one is `missing`.

    What is beyond float32 becomes infinite; whoever reads a table refuses that with `infinite_value`.
    """
    with np.errstate(over="ignore"):
        values[:] = raw
        if not math.isnan(missing):
            values[values == np.float32(missing)] = np.nan


def infinite_value(name: str, party: str, row: int, raw: Any, count: int) -> ColumnValueError:
    """The error for a column whose row `row` holds `raw`, which float32 cannot hold, the first of `count` such rows."""
    kind = "infinite (inf)" if np.isinf(raw) else "too large for dtype float32"
    return ColumnValueError(
        f"reading column {name!r}{_of(party)}: row {row} holds {raw}, which is {kind} "
        f"({count} such rows), wanted finite values; replace them by NaN if they mean missing"
    )


def _check_shape(source: Features, where: str) -> None:
    n_rows = len(source[0][1]) if source else 0
    refuse_repeated([name for name, _ in source], where)
    for name, values in source:
        if len(values) != n_rows:
            raise TableError(
                f"{where}: column {name!r} has {len(values)} rows and column {source[0][0]!r} has {n_rows}, wanted the "
                "same number in every column"
            )
    refuse_empty(n_rows, len(source), where)


def refuse_other_features(names: Sequence[str], wanted: Sequence[str], what: str, party: str) -> None:
    """Raise ColumnNameError unless `what` ("eval set 0", "prediction") has the features of training, in any order."""
    here, there = set(names), set(wanted)
    unexpected = [name for name in names if name not in there]
    absent = [name for name in wanted if name not in here]
    if unexpected or absent:
        raise ColumnNameError(
            f"reading {what}{_of(party)}: X has {len(names)} features, wanted the {len(wanted)} of training: absent "
            f"{_listed(absent)}, unexpected {_listed(unexpected)}; pass the columns of training"
        )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:10])
    return f"[{shown}{', ...' if len(names) > 10 else ''}]"


def _of(party: str) -> str:
    return f" of party {party!r}" if party else ""
