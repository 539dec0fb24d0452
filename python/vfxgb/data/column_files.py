"""A table as one file of float32 numbers per column, for processes that share a folder.

A table that is in memory here, or whose rows are to stand in another order than in its own files, reaches the party's
other processes through these files: a process reads the rows it works on and nothing else. They hold the data in the
clear, so only their owner may read them; whoever writes them removes them.
"""

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.places import check_rows, place_of, reading
from vfxgb.data.source import Source, StackedSource
from vfxgb.data.table import Float32Array, Table
from vfxgb.errors import TableError
from vfxgb.files import naming

# Little-endian wherever the files are read.
FORMAT = np.dtype("<f4")


@dataclass(frozen=True)
class ColumnFiles:
    """Columns in an absolute `folder`; make one with `write` or `arrange`. Missing values are NaN in the files.

    `ids` are those of the rows, as in Table, or None where nobody knows any.
    """

    names: tuple[str, ...]
    n_rows: int
    folder: str
    party: str = ""
    missing: float = math.nan
    ids: tuple[NDArray[Any], ...] | None = field(default=None, compare=False)

    @classmethod
    def write(cls, table: Table, folder: Path) -> "ColumnFiles":
        """Write the columns of `table`, one at a time, into `folder`, which is made if it is not there.

        Files are readable and writable by their owner only, and so is a folder made here. Filled values are written as
        filled. Raises TableError when the files cannot be written; those already written are then removed.
        """
        files = cls(table.names, table.n_rows, str(Path(folder).absolute()), table.party)
        files._fill(table.column)
        return files

    @classmethod
    def arrange(
        cls,
        parts: Sequence[tuple[Source, NDArray[np.int64]]],
        folder: Path,
        ids: tuple[NDArray[Any], ...] | None = None,
    ) -> "ColumnFiles":
        """Write some rows of tables with the same columns: those of the first in the order given, then the next one's.

        Tables are read a column at a time, which is then in memory with all its rows. Raises what `write` and reading
        a Source raise.
        """
        stacked = StackedSource(tuple(source for source, _ in parts))
        n_rows = sum(len(rows) for _, rows in parts)
        files = cls(stacked.names, n_rows, str(Path(folder).absolute()), stacked.party, ids=ids)
        files._fill(
            lambda feature: np.concatenate([source.column(feature, 0, source.n_rows)[rows] for source, rows in parts])
        )
        return files

    def _fill(self, column: Callable[[int], Float32Array]) -> None:
        try:
            Path(self.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            for feature in range(len(self.names)):
                _write(self.path(feature), column(feature).astype(FORMAT, copy=False))
        except BaseException as error:
            self.remove()
            if isinstance(error, OSError):
                raise TableError(
                    f"writing a table into {self.folder!r}: {error.strerror or error}; choose a folder with "
                    f"{self.n_rows * len(self.names) * FORMAT.itemsize} bytes of room"
                ) from error
            raise

    @property
    def parts(self) -> tuple[int, ...]:
        """(0, n_rows): any rows of a file are read as easily as others."""
        return (0, self.n_rows)

    def path(self, feature: int) -> Path:
        """The file of a feature, by position; names of columns may hold what names of files may not."""
        return Path(self.folder) / f"column-{feature:05d}.f32"

    def column(self, feature: int | str, first: int, stop: int) -> Float32Array:
        """See Source."""
        check_rows(self.n_rows, first, stop, self.party)
        path = self.path(place_of(feature, self.names, self.party))
        wanted = self.n_rows * FORMAT.itemsize
        where = f"{reading(self.party)} from {path.name}"
        try:
            size = path.stat().st_size
            if size != wanted:
                raise TableError(f"{where}: the file has {size} bytes, wanted {wanted}; write the table again")
            read = np.fromfile(path, dtype=FORMAT, count=stop - first, offset=first * FORMAT.itemsize)
        except OSError as error:
            raise TableError(
                f"{where}: the file cannot be read in {self.folder!r} ({error.strerror or error}); the folder must lie "
                "at the same path wherever it is read"
            ) from error
        return read.astype(np.float32, copy=False)

    def values(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """See Source; the files hold features only."""
        return self.column(name, first, stop)

    def remove(self) -> None:
        """Remove the files, as far as they are there; the folder stays."""
        for feature in range(len(self.names)):
            with suppress(OSError):
                self.path(feature).unlink()


def _write(path: Path, values: NDArray[np.float32]) -> None:
    # A file that was there may be readable by others: its place is taken by a new one.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    # Not by `tofile`, whose error does not say that the disk is full.
    with naming(path), os.fdopen(descriptor, "wb") as file:
        file.write(np.ascontiguousarray(values).data)
