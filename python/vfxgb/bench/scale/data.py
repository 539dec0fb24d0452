"""Tables for `vfxgb bench scale`: Parquet files of a bank and a shop, of any number of rows.

They are written block by block, so that memory does not grow with the rows, and block b depends on b alone: the same
numbers every time. Features are float32; the label depends on features of both parties, so that both win splits.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.bench.datasets import ACTIVE, LABEL, PASSIVE
from vfxgb.errors import MissingPackageError, ParameterError

SEED = 20_260_411
# A row group, the piece that is read at once; small tables have at least so many of them.
GROUP_ROWS, LEAST_GROUPS = 1 << 16, 8
# Features of each party that the label depends on, at most.
TELLING = 3


@dataclass(frozen=True)
class ScaleData:
    """Where the files are: `bank` has half of the features and the label, `shop` the other half."""

    bank: str
    shop: str
    rows: int
    features: tuple[int, int]

    @property
    def paths(self) -> dict[str, str]:
        """Party -> file, as an estimator takes them."""
        return {ACTIVE: self.bank, PASSIVE: self.shop}

    @property
    def nbytes(self) -> int:
        """Bytes of both files."""
        return sum(Path(path).stat().st_size for path in self.paths.values())


def write_data(folder: Path, rows: int, features: int) -> ScaleData:
    """Write the two files of a table into a folder; those of the same shape that are there are used again.

    Both parties have `features` features together; the bank has half of them, rounded down. Raises ParameterError for
    fewer than two, MissingPackageError without pyarrow, OSError.
    """
    if features < 2:
        raise ParameterError(f"making data for bench scale: found {features} features, wanted one per party at least")
    own = features // 2
    paths = [folder / f"{party}-{rows}x{features}.parquet" for party in (ACTIVE, PASSIVE)]
    if not all(path.is_file() for path in paths):
        _write(paths, rows, (own, features - own))
    return ScaleData(str(paths[0]), str(paths[1]), rows, (own, features - own))


def _write(paths: list[Path], rows: int, features: tuple[int, int]) -> None:
    arrow, parquet = _pyarrow()
    names = [[f"{party}_{i}" for i in range(count)] for party, count in zip((ACTIVE, PASSIVE), features, strict=True)]
    columns = [[LABEL, *names[0]], names[1]]
    schemas = [arrow.schema([(name, arrow.float32()) for name in some]) for some in columns]
    # A file appears under its name when it is whole.
    drafts = [path.with_suffix(".draft") for path in paths]
    # Random numbers do not get smaller: neither a dictionary nor compression is worth its time.
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    writers = [parquet.ParquetWriter(draft, schema, **plain) for draft, schema in zip(drafts, schemas, strict=True)]
    try:
        size = min(GROUP_ROWS, -(-rows // LEAST_GROUPS))
        for number, first in enumerate(range(0, rows, size)):
            X, y = make_block(number, min(size, rows - first), features)
            parts = [[y, *X[: features[0]]], list(X[features[0] :])]
            for writer, schema, part in zip(writers, schemas, parts, strict=True):
                writer.write_table(arrow.Table.from_arrays([arrow.array(column) for column in part], schema=schema))
    finally:
        for writer in writers:
            writer.close()
    for draft, path in zip(drafts, paths, strict=True):
        draft.replace(path)


def make_block(number: int, rows: int, features: tuple[int, int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Block `number`: columns float32[features of both, rows], the bank's first, and 0/1 labels float32[rows]."""
    rng = np.random.default_rng([SEED, number])
    X = rng.standard_normal((sum(features), rows), dtype=np.float32)
    own, other = X[: features[0]][:TELLING], X[features[0] :][:TELLING]
    # Weights that fall, and one product across parties: trees of some depth have something to find.
    falling = np.float32(0.7) ** np.arange(TELLING, dtype=np.float32)
    score = falling[: len(own)] @ own - falling[: len(other)] @ other + own[0] * other[0]
    return X, (score + rng.logistic(size=rows) > 0).astype(np.float32)


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackageError(
            "making data for bench scale: pyarrow, which writes Parquet, is not installed; pip install pyarrow"
        ) from None
