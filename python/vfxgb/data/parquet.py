"""Parquet files as a source: one file, folders of them, or lists of both, read a row group and a column at a time.

Opening reads the footers only. The natural parts are row groups, the smallest piece that Parquet can read by itself. A
call holds the rows it returns and one column of one row group. Names of partitioned folders (year=2026) are no columns.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.intake import is_arrow_number, not_numbers, numbers
from vfxgb.data.places import absent_column, check_rows, place_of, reading, refuse_empty, refuse_repeated
from vfxgb.data.table import Float32Array, fill_float32, infinite_value
from vfxgb.errors import ColumnNameError, ColumnTypeError, MissingPackageError, TableError

ENDING = ".parquet"
AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class ParquetFile:
    """One file as it was when it was opened: absolute `path`, `size` in bytes, rows of each row group."""

    path: str
    size: int
    group_rows: tuple[int, ...]


@dataclass(frozen=True)
class ParquetSource:
    """A table in Parquet files, below each other; make one with `ParquetSource.open`.

    `columns`: all columns that every file has, features among them.
    """

    names: tuple[str, ...]
    files: tuple[ParquetFile, ...]
    columns: tuple[str, ...]
    n_rows: int
    parts: tuple[int, ...]
    party: str = ""
    missing: float = math.nan

    @classmethod
    def open(
        cls,
        path: AnyPath | Sequence[AnyPath],
        *,
        columns: Sequence[str] | None = None,
        without: Sequence[str] = (),
        party: str = "",
        missing: float = math.nan,
    ) -> "ParquetSource":
        """The table at `path`: a file, a folder (its files and those of its folders, by name), or several, in order.

        In folders, names that begin with . or _ are left out. `columns` are the features, in that order; None: all
        but those of `without`. `values` reads the others too. Paths are kept as absolute ones: other processes must
        find the files there.
        Raises TableError (no file, unreadable, without rows or columns), ColumnNameError (duplicated, or absent in some
        file), ColumnTypeError (not numbers, or of another kind in another file), MissingPackageError.
        """
        where = reading(party)
        paths = [
            file
            for some in ([path] if isinstance(path, (str, os.PathLike)) else path)
            for file in parquet_files(some, where)
        ]
        footers = [_footer(file, where) for file in paths]
        names, others = _agree(footers, columns, without, where)
        files = tuple(file for file, _ in footers)
        rows = [count for file in files for count in file.group_rows if count]
        refuse_empty(sum(rows), len(names), where)
        return cls(names, files, others, sum(rows), (0, *accumulate(rows)), party, float(missing))

    @property
    def ids(self) -> tuple[NDArray[Any], ...] | None:
        """See Source: a file has none."""
        return None

    def column(self, feature: int | str, first: int, stop: int) -> Float32Array:
        """See Source."""
        check_rows(self.n_rows, first, stop, self.party)
        name = self.names[place_of(feature, self.names, self.party)]
        values = np.empty(stop - first, dtype=np.float32)
        for row, column in self._read(name, first, stop):
            raw = numbers(column, name, reading(self.party))
            kept = values[row - first : row - first + len(raw)]
            fill_float32(kept, raw, self.missing)
            infinite = np.isinf(kept)
            if infinite.any():
                place = int(np.argmax(infinite))
                raise infinite_value(name, self.party, row + place, raw[place], int(infinite.sum()))
        return values

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """See Source; text is an array of objects."""
        check_rows(self.n_rows, first, stop, self.party)
        self._need(name)
        pieces = [_as_it_stands(column) for _, column in self._read(name, first, stop)]
        return np.concatenate(pieces) if pieces else np.empty(0)

    def select(self, names: Sequence[str]) -> "ParquetSource":
        """These features, in this order. Raises ColumnNameError."""
        refuse_repeated(names, reading(self.party))
        return replace(self, names=tuple(self.names[place_of(name, self.names, self.party)] for name in names))

    def groups(self, name: str) -> Iterator[Any]:
        """Any column as it stands, one Arrow column per row group that has rows. Raises ColumnNameError, TableError."""
        self._need(name)
        return (column for _, column in self._read(name, 0, self.n_rows))

    def _need(self, name: str) -> None:
        if name not in self.columns:
            raise absent_column(name, self.columns, reading(self.party))

    def _read(self, name: str, first: int, stop: int) -> Iterator[tuple[int, Any]]:
        """(number of its first row, Arrow column) of each row group that has some of the rows, cut to these."""
        start = 0
        for file in self.files:
            end = start + sum(file.group_rows)
            if first < end and start < stop:
                yield from _read_groups(file, name, first, stop, start, reading(self.party))
            start = end


def parquet_files(path: AnyPath, where: str) -> list[Path]:
    """The files that `path`, a file or a folder, means, in order. Raises TableError if there is none."""
    place = Path(path).absolute()
    if place.is_file():
        if place.suffix.lower() != ENDING:
            raise TableError(f"{where}: the file {place.name!r} ends in {place.suffix!r}, wanted {ENDING}")
        return [place]
    if not place.is_dir():
        raise TableError(f"{where}: there is no file or folder {str(place)!r}; check the path")
    inside = [file.relative_to(place) for file in place.rglob("*") if file.suffix.lower() == ENDING and file.is_file()]
    # What begins so is not data: hidden files, and what other programs write beside their tables.
    shown = sorted(file.parts for file in inside if not any(part.startswith((".", "_")) for part in file.parts))
    if not shown:
        raise TableError(f"{where}: the folder {str(place)!r} holds no {ENDING} file; check the path")
    return [place.joinpath(*parts) for parts in shown]


def _footer(path: Path, where: str) -> tuple[ParquetFile, Any]:
    """What a file's footer says: (groups, schema)."""
    with _opened(path, where) as opened:
        metadata = opened.metadata
        groups = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        return ParquetFile(str(path), path.stat().st_size, groups), opened.schema_arrow


def _opened(path: Path, where: str) -> Any:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingPackageError(
            f"{where}: Parquet files that stay where they are need pyarrow, which is not installed; pip install pyarrow"
        ) from error
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError as error:
        raise TableError(
            f"{where}: there is no file {str(path)!r} here; it must lie at the same path wherever it is read"
        ) from error
    except Exception as error:
        raise TableError(f"{where} from {path.name}: the Parquet file cannot be read ({error})") from error


def _agree(
    footers: list[tuple[ParquetFile, Any]], columns: Sequence[str] | None, without: Sequence[str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(features, all columns that can be read) of files that must agree on them."""
    if not footers:
        raise TableError(f"{where}: found an empty list of files, wanted at least one")
    first_file, first = footers[0]
    names = tuple(name for name in first.names if name not in without) if columns is None else tuple(columns)
    refuse_repeated(names, where)
    others = tuple(name for name in first.names if all(name in schema.names for _, schema in footers))
    for file, schema in footers:
        here = f"{where} from {Path(file.path).name}"
        refuse_repeated(schema.names, where)
        for name in names:
            if name not in schema.names:
                raise absent_column(name, tuple(schema.names), here)
            kind = schema.field(name).type
            if not is_arrow_number(kind):
                raise not_numbers(name, here, str(kind))
        unexpected = [name for name in schema.names if name not in first.names]
        if columns is None and unexpected:
            raise ColumnNameError(
                f"{here}: there is a column {unexpected[0]!r}, which {Path(first_file.path).name} lacks, wanted the "
                "same columns in every file; name the features"
            )
        for name in others:
            _refuse_other_kind(name, schema, first, f"{here}: column {name!r}", Path(first_file.path).name)
    return names, others


def _refuse_other_kind(name: str, schema: Any, first: Any, what: str, first_file: str) -> None:
    kinds = [fields.field(name).type for fields in (schema, first)]
    kind_here, wanted = (_kind(kind) for kind in kinds)
    if kind_here != wanted and "null" not in (kind_here, wanted):
        raise ColumnTypeError(
            f"{what} holds {kinds[0]} and in {first_file} {kinds[1]}, wanted one kind of values in every file; "
            "write the files alike"
        )


def _kind(kind: Any) -> str:
    """The same word for Arrow types whose values can stand below each other."""
    types = import_module("pyarrow").types
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if types.is_null(kind):
        return "null"
    if is_arrow_number(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return str(kind)


def _read_groups(
    file: ParquetFile, name: str, first: int, stop: int, start: int, where: str
) -> Iterator[tuple[int, Any]]:
    """The rows `first` to `stop` - 1 of one column in a file whose first row is number `start`."""
    path = Path(file.path)
    with _opened(path, where) as opened:
        changed = path.stat().st_size != file.size or opened.metadata.num_row_groups != len(file.group_rows)
        for group, count in enumerate(file.group_rows):
            low, high = max(first, start), min(stop, start + count)
            if low < high:
                if changed or opened.metadata.row_group(group).num_rows != count:
                    raise TableError(
                        f"{where} from {path.name}: the file is another one than when it was opened, wanted "
                        f"{file.size} bytes and {sum(file.group_rows)} rows; leave it alone while it is in use"
                    )
                yield low, _read_group(opened, group, name, f"{where} from {path.name}").slice(low - start, high - low)
            start += count


def _read_group(opened: Any, group: int, name: str, where: str) -> Any:
    try:
        return opened.read_row_group(group, columns=[name], use_threads=False).column(name)
    except Exception as error:
        raise TableError(f"{where}: column {name!r} of row group {group} cannot be read ({error})") from error


def _as_it_stands(column: Any) -> NDArray[Any]:
    if import_module("pyarrow").types.is_dictionary(column.type):
        # numpy would get some value of the dictionary where there is none.
        column = column.cast(column.type.value_type)
    return np.asarray(column)
