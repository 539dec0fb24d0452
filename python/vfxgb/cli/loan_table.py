"""The loan table of the demo: real when the folder VFXGB_DATA has it, generated otherwise."""

import csv
import gzip
import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import FormatError

DATA_VARIABLE = "VFXGB_DATA"
FILE_NAME = "give_credit.csv.gz"
LABEL = "label"
SCORE_FEATURE = "RevolvingUtilizationOfUnsecuredLines"
BUCKET_FEATURE = "age"
GENERATED_SEED = 20240501


@dataclass(frozen=True)
class LoanTable:
    """Rows of one table, all arrays of the same length. Missing values are NaN.

    `labels`: 0 or 1, held by the bank, as is `score`. `feature`: held by the other party. `source` says where the
    rows come from.
    """

    source: str
    labels: NDArray[np.float64]
    score: NDArray[np.float64]
    feature: NDArray[np.float64]
    feature_name: str


def load_loan_table(rows: int) -> LoanTable:
    """The first `rows` rows of the real table (fewer if it is shorter), or a generated one.

    Raises FormatError when the file is there but is not the expected table.
    """
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder) / FILE_NAME if folder else None
    if path is not None and path.is_file():
        return _read(path, rows)
    return _generate(rows)


def _read(path: Path, rows: int) -> LoanTable:
    columns: dict[str, list[float]] = {name: [] for name in (LABEL, SCORE_FEATURE, BUCKET_FEATURE)}
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for record in islice(csv.DictReader(file), rows):
                for name, values in columns.items():
                    values.append(float(record[name]) if record[name] else float("nan"))
    except (KeyError, TypeError, ValueError, EOFError, gzip.BadGzipFile) as error:
        raise FormatError(
            f"reading {FILE_NAME}: {type(error).__name__} {error}, wanted a gzip CSV with numeric columns "
            f"{', '.join(columns)}; unset {DATA_VARIABLE} to use a generated table"
        ) from error
    labels = np.array(columns[LABEL])
    if labels.size == 0 or not np.isin(labels, (0.0, 1.0)).all():
        raise FormatError(
            f"reading {FILE_NAME}: the column {LABEL} is empty or has values other than 0 and 1; "
            f"unset {DATA_VARIABLE} to use a generated table"
        )
    source = f"{FILE_NAME}, first {labels.size} rows (Give Me Some Credit)"
    return LoanTable(
        source, labels, np.array(columns[SCORE_FEATURE]), np.array(columns[BUCKET_FEATURE]), BUCKET_FEATURE
    )


def _generate(rows: int) -> LoanTable:
    generator = np.random.default_rng(GENERATED_SEED)
    age = np.rint(generator.uniform(21, 85, rows))
    age[generator.random(rows) < 0.02] = np.nan
    usage = generator.beta(0.7, 1.5, rows)
    log_odds = -3.2 + 2.5 * usage - 0.02 * (np.nan_to_num(age, nan=50.0) - 50)
    labels = (generator.random(rows) < 1 / (1 + np.exp(-log_odds))).astype(np.float64)
    source = f"generated loan table of {rows} rows (set {DATA_VARIABLE} to a folder with {FILE_NAME} for real ones)"
    return LoanTable(source, labels, usage, age, BUCKET_FEATURE)
