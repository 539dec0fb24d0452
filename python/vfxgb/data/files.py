"""Tables in files: CSV, plain or gzipped, and Parquet.

CSV is read with the standard library: a header line, comma-separated numbers, an empty cell (or NA, NaN, null) is
missing. Cells are converted in blocks, so that the text of a large file is never in memory at once.
"""

import csv
import gzip
import io
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.places import absent_column, refuse_repeated
from vfxgb.errors import ColumnTypeError, MissingPackageError, TableError

BLOCK_ROWS = 16_384
MISSING_CELLS = frozenset(("", "na", "nan", "null", "none"))


def read_file(
    path: str | os.PathLike[str],
    where: str = "reading a table",
    columns: Sequence[str] | None = None,
    texts: Sequence[str] = (),
) -> Any:
    """The columns of a file: a dict of float64 arrays (CSV) or a frame (Parquet).

    `columns`: those to read, all if None. `texts`: columns of CSV that stay lists of cells. Raises TableError for an
    unknown ending, a missing file or a ragged line, ColumnNameError for a duplicated or absent column, ColumnTypeError
    for a cell that is no number.
    """
    file = Path(path)
    where = f"{where} from {file.name}"
    if not _is_csv(file, where):
        return _read_parquet(file, where, columns)
    kept: dict[str, list[NDArray[np.float64]]] = {}
    as_they_stand: dict[str, list[str]] = {}
    for first_line, cells in _csv_blocks(file, where, columns):
        for name, column in cells.items():
            if name in texts:
                as_they_stand.setdefault(name, []).extend(column)
            else:
                kept.setdefault(name, []).append(_parse(column, name, first_line, where))
    read: dict[str, Any] = {name: np.concatenate(blocks) for name, blocks in kept.items()}
    # Every block has the columns in the order of the file.
    return {name: as_they_stand[name] if name in as_they_stand else read[name] for name in cells}


def read_text_column(path: str | os.PathLike[str], column: str, where: str = "reading a column") -> Any:
    """One column of a file as it stands: a list of texts (CSV) or the column of a frame (Parquet).

    Raises TableError and ColumnNameError as `read_file` does.
    """
    file = Path(path)
    where = f"{where} from {file.name}"
    if not _is_csv(file, where):
        return _read_parquet(file, where, [column])[column]
    return [cell for _, cells in _csv_blocks(file, where, [column]) for cell in cells[column]]


def _is_csv(file: Path, where: str) -> bool:
    """Whether a file is CSV, else it is Parquet. Raises TableError for any other ending and for no file."""
    if file.is_dir():
        raise TableError(f"{where}: {str(file)!r} is a folder, wanted a file")
    if not file.is_file():
        raise TableError(f"{where}: there is no file {str(file)!r}; check the path")
    ending = "".join(file.suffixes[-2:]).lower() if file.suffix.lower() == ".gz" else file.suffix.lower()
    if not ending.endswith((".csv", ".csv.gz", ".parquet")):
        raise TableError(f"{where}: the file ends in {ending!r}, wanted .csv, .csv.gz or .parquet")
    return ending != ".parquet"


def _open_text(file: Path) -> io.TextIOBase:
    if file.suffix.lower() == ".gz":
        return io.TextIOWrapper(gzip.open(file, "rb"), encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _csv_blocks(
    file: Path, where: str, columns: Sequence[str] | None
) -> Iterator[tuple[int, dict[str, Sequence[str]]]]:
    """(number of its first line, the wanted columns' cells) of each block of lines, the first of which is empty."""
    with _open_text(file) as text:
        try:
            lines = csv.reader(text, strict=True)
            header = _header(lines, where)
            wanted = header if columns is None else columns
            for name in wanted:
                if name not in header:
                    raise absent_column(name, header, where)
            yield 2, dict.fromkeys(wanted, ())
            for first_line, rows in _blocks(lines):
                _refuse_ragged(rows, len(header), first_line, where)
                cells = list(zip(*rows, strict=True))
                yield first_line, {name: cells[header.index(name)] for name in wanted}
        except (UnicodeDecodeError, csv.Error, gzip.BadGzipFile, EOFError) as error:
            raise TableError(f"{where}: the file is no CSV in UTF-8 ({error})") from error


def _header(lines: Iterator[list[str]], where: str) -> list[str]:
    header = next(lines, None)
    if not header:
        raise TableError(f"{where}: the file is empty, wanted a header line with column names")
    refuse_repeated(header, where)
    return header


def _blocks(lines: Iterator[list[str]]) -> Iterator[tuple[int, list[list[str]]]]:
    """(number of the first line, rows) block by block; line 1 is the header. Blank lines at the end are dropped."""
    first_line = 2
    while rows := list(islice(lines, BLOCK_ROWS)):
        count = len(rows)
        if count < BLOCK_ROWS:
            while rows and not rows[-1]:
                rows.pop()
        if rows:
            yield first_line, rows
        first_line += count


def _refuse_ragged(rows: list[list[str]], width: int, first_line: int, where: str) -> None:
    for place, row in enumerate(rows):
        # The csv module returns a blank line as no cell at all; in a table of one column it is a missing value.
        if not row and width == 1:
            row.append("")
        if len(row) != width:
            raise TableError(
                f"{where}: line {first_line + place} has {len(row)} cells, wanted {width}, as many as the header"
            )


def _parse(cells: Sequence[str], name: str, first_line: int, where: str) -> NDArray[np.float64]:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    except ValueError:
        return np.array([_number(cell, name, first_line + row, where) for row, cell in enumerate(cells)])


def _number(cell: str, name: str, line: int, where: str) -> float:
    if cell.strip().lower() in MISSING_CELLS:
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        raise ColumnTypeError(
            f"{where}: column {name!r} holds {cell!r} in line {line}, wanted a number or an empty cell; name the "
            "column "
            "in `categorical` or `dates` of [data] if it holds categories or dates, encode it as numbers or leave it "
            "out"
        ) from None


def _read_parquet(file: Path, where: str, columns: Sequence[str] | None) -> Any:
    wanted = None if columns is None else list(columns)
    for package, read in (("pyarrow.parquet", "read_table"), ("polars", "read_parquet")):
        try:
            module = import_module(package)
        except ImportError:
            continue
        try:
            return getattr(module, read)(file, columns=wanted)
        except Exception as error:
            raise TableError(f"{where}: the Parquet file cannot be read ({error})") from error
    raise MissingPackageError(
        f"{where}: Parquet needs pyarrow or polars, and neither is installed; pip install pyarrow"
    )
