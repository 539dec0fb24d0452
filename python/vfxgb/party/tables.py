"""A party's tables as its configuration describes them: ids, columns in use, labels and weights.

Ids are read as they stand and normalised by the steps of [data] (vfxgb.align.ids); everything else must be numbers.
After alignment a table is its common rows in the agreed order, and the digest of that order stands for their ids.

A party that has an engine leaves its features in their Parquet files: here are ids, labels and weights, and once, while
the common rows are put in order, one column at a time.
"""

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import Ids, join_ids
from vfxgb.checks import closest_name
from vfxgb.data.categories import ColumnKinds
from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.files import read_text_column
from vfxgb.data.intake import read_source
from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.parquet import ENDING, ParquetSource, parquet_files
from vfxgb.data.source import read_all
from vfxgb.data.table import Table
from vfxgb.engine.base import Engine
from vfxgb.engine.shard import new_file
from vfxgb.errors import ColumnNameError, ConfigError, MissingPackageError, TableError
from vfxgb.party.config import PartyConfig


@dataclass(frozen=True)
class PartyTable:
    """Holds one table: `ids` and the columns in use, row by row, and `labels` and `weights` where there are any."""

    ids: Ids
    table: Table | ParquetSource
    labels: NDArray[Any] | None = None
    weights: NDArray[np.float32] | None = None


def read_table(
    config: PartyConfig, path: Path | None, what: str, labelled: bool = False, in_files: bool = False
) -> PartyTable:
    """Read the table at `path`, which is `what` of [data], with labels and weights if `labelled`.

    With `in_files`, features in Parquet files stay where they are; what is wrong with them shows when they are read.
    Raises ConfigError, TableError, ColumnNameError and what else is wrong with the data.
    """
    if path is None:
        raise ConfigError(f"party {config.party!r}: [data] has no {what}, which this needs; give the path of a table")
    data = config.data
    features = feature_names(config, path, f"reading {what} of party {config.party!r}")
    parts, table = open_table(config, path, features, in_files)
    ids = join_ids(parts, party=config.party, normalise=data.normalise)
    if not labelled:
        return PartyTable(ids, table)
    return PartyTable(ids, table, *read_targets(config, path, table.n_rows))


def read_targets(config: PartyConfig, path: Path, n_rows: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """Read the labels of a table of so many rows, and its weights if [data] names any. Raises what reading raises."""
    data, party = config.data, config.party
    numbers = read_numbers(path, [name for name in (data.label, data.weight) if name], party)
    labels = read_labels(numbers[data.label], n_rows, party)
    return labels, read_weights(numbers[data.weight], n_rows, party) if data.weight else None


def open_table(
    config: PartyConfig, path: Path, features: Sequence[str], in_files: bool
) -> tuple[Iterable[Any], Table | ParquetSource]:
    """Open a file, or a folder of Parquet files: (the ids as they stand, part by part; the columns `features`).

    `in_files` is that of read_table. Raises what reading raises.
    """
    data = config.data
    if path.is_dir() or (in_files and path.suffix.lower() == ENDING):
        if data.categorical or data.dates:
            raise TableError(
                f"reading {str(path)!r} of party {config.party!r}: categorical and dates of [data] are for tables that "
                "are read whole from one file; join the files, and leave out engine and memory_limit"
            )
        source = ParquetSource.open(path, columns=features, party=config.party, missing=data.missing)
        return source.groups(data.id), source if in_files else read_all(source)
    kinds = column_kinds(config)
    for name in (*kinds.categorical, *kinds.dates):
        if name not in features:
            raise ColumnNameError(
                f"reading {str(path)!r} of party {config.party!r}: categorical or dates of [data] names {name!r}, "
                f"wanted columns in use: {', '.join(features[:20])}"
            )
    table = Table.read(path, columns=features, party=config.party, missing=data.missing, kinds=kinds)
    return [read_ids_of(config, path)], table


def column_kinds(config: PartyConfig) -> ColumnKinds:
    """Return which columns hold categories and dates. Raises OSError.

    The order of categories follows from the party's private key: it is the same in every session of a run, and nobody
    else can tell from a code, or from the place of a sum, which category it is.
    """
    data, key = config.data, config.tls.key
    # Without a key no party can be met: only `vfxgb check` reads tables then.
    secret = key.read_bytes() if data.categorical and key.is_file() else b""
    return ColumnKinds(data.categorical, data.dates, secret)


def read_ids_of(config: PartyConfig, path: Path) -> Any:
    """Read the id column of a file as it stands. Raises what reading raises."""
    return read_text_column(path, config.data.id, f"reading ids of party {config.party!r}")


def read_numbers(path: Path, names: Sequence[str], party: str) -> dict[str, NDArray[Any]]:
    """Read columns of numbers, such as labels and weights, by name. Raises what reading raises."""
    if path.is_dir():
        source = ParquetSource.open(path, columns=names, party=party)
        return {name: source.column(name, 0, source.n_rows) for name in names}
    return dict(read_source(str(path), None, party, names))


def feature_names(config: PartyConfig, path: Path, where: str) -> tuple[str, ...]:
    """List the columns in use: those [data] names, or all but id, label, weight. Raises ColumnNameError, TableError."""
    data = config.data
    special = [name for name in (data.id, data.label, data.weight) if name]
    if data.features is None and path.is_dir():
        # Whatever the files do not agree on is refused.
        return ParquetSource.open(path, without=special, party=config.party).names
    columns = column_names(path, where)
    if data.features is None:
        # A table to predict has no labels; what it lacks of these is told by whoever needs it.
        return tuple(name for name in columns if name not in special)
    for name in data.features:
        if name not in columns:
            near = closest_name(name, columns)
            hint = f"did you mean {near!r}?" if near else f"the columns are {', '.join(columns[:20])}"
            raise ColumnNameError(f"{where}: features of [data] names {name!r}, which the table lacks; {hint}")
        if name in special:
            raise ColumnNameError(f"{where}: features of [data] names {name!r}, which is the id, label or weight")
    return data.features


def column_names(path: Path, where: str) -> list[str]:
    """Read the names in a table's header; of a folder, in its first file. Raises TableError, MissingPackageError."""
    if path.is_dir():
        return _parquet_names(parquet_files(path, where)[0], where)
    if not path.is_file():
        raise TableError(f"{where}: there is no file {str(path)!r}; check the path")
    if path.suffix.lower() == ".parquet":
        return _parquet_names(path, where)
    try:
        opened = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as text:
            header = next(csv.reader(text), None)
    except (UnicodeDecodeError, csv.Error, EOFError, OSError) as error:
        raise TableError(f"{where}: {str(path)!r} cannot be read ({error})") from None
    if not header:
        raise TableError(f"{where}: {str(path)!r} is empty, wanted a header line with column names")
    return header


def _parquet_names(path: Path, where: str) -> list[str]:
    for package, read in (("pyarrow.parquet", "read_schema"), ("polars", "read_parquet_schema")):
        try:
            module = import_module(package)
        except ImportError:
            continue
        try:
            schema = getattr(module, read)(path)
        except Exception as error:
            raise TableError(f"{where}: the Parquet file cannot be read ({error})") from error
        return list(getattr(schema, "names", schema))
    raise MissingPackageError(f"{where}: Parquet needs pyarrow or polars, and neither is installed")


def agreed(
    parts: Sequence[tuple[Table | ParquetSource, NDArray[np.int64]]], digest: bytes, engine: Engine | None = None
) -> Table | ColumnFiles:
    """Take the rows at the positions given of each table, in that order, one table's below the other's.

    The digest, which all parties share, stands for their ids. With an engine they are in files of its folder.
    """
    ids = (np.array([digest.hex()]),)
    if engine is not None:
        return ColumnFiles.arrange(parts, Path(new_file(str(engine.folder))), ids)
    taken = []
    for table, rows in parts:
        assert isinstance(table, Table)  # noqa: S101 - in_files is for parties with an engine
        taken.append(table.take(rows))
    return replace(Table.stack(taken), ids=ids)
