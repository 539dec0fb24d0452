"""A party's tables as its configuration describes them: ids, columns in use, labels and weights.

Ids are read as they stand and normalised by the steps of [data] (vfxgb.align.ids); everything else must be numbers.
After alignment a table is its common rows in the agreed order, and the digest of that order stands for their ids.
"""

import csv
import gzip
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import Ids, read_ids
from vfxgb.data.intake import read_source
from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError, ConfigError, MissingPackageError, TableError
from vfxgb.params import closest_name
from vfxgb.party.config import PartyConfig


@dataclass(frozen=True)
class PartyTable:
    """One table: `ids` and the columns in use, row by row; `labels` and `weights` None where there are none."""

    ids: Ids
    table: Table
    labels: NDArray[Any] | None = None
    weights: NDArray[np.float32] | None = None


def read_table(config: PartyConfig, path: Path | None, what: str, labelled: bool = False) -> PartyTable:
    """The table at `path`, which is `what` of [data]; with labels and weights if `labelled`.

    Raises ConfigError, TableError, ColumnNameError and what else is wrong with the data.
    """
    if path is None:
        raise ConfigError(f"party {config.party!r}: [data] has no {what}, which this needs; give the path of a table")
    data = config.data
    where = f"reading {what} of party {config.party!r}"
    features = feature_names(config, path, where)
    ids = read_ids(path, data.id, party=config.party, normalise=data.normalise)
    table = Table.read(path, columns=features, party=config.party, missing=data.missing)
    if not labelled:
        return PartyTable(ids, table)
    named = [name for name in (data.label, data.weight) if name]
    found = dict(read_source(str(path), None, config.party, named))
    labels = read_labels(found[data.label], table.n_rows, config.party)
    weights = read_weights(found[data.weight], table.n_rows, config.party) if data.weight else None
    return PartyTable(ids, table, labels, weights)


def feature_names(config: PartyConfig, path: Path, where: str) -> tuple[str, ...]:
    """The columns in use: those [data] names, or all but id, label and weight. Raises ColumnNameError, TableError."""
    columns = column_names(path, where)
    data = config.data
    special = [name for name in (data.id, data.label, data.weight) if name]
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
    """The names in a table's header. Raises TableError, MissingPackageError."""
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


def agreed(table: Table, positions: NDArray[np.int64], digest: bytes) -> Table:
    """The rows at `positions`, in that order, marked by the digest that all parties share."""
    return marked(table.take(positions), digest)


def marked(table: Table, digest: bytes) -> Table:
    """The same table; the digest of the agreed order stands for the ids of its rows."""
    return replace(table, ids=(np.array([digest.hex()]),))
