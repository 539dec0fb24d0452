"""Tables for `vfxgb bench train`: two credit tables split as FATE splits them, four more, or generated ones.

The real tables are files of the folder VFXGB_DATA. Without them a generated table of the same shape stands in, and
`Loaded.source` says so.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.table import Table
from vfxgb.errors import FormatError, ParameterError

DATA_VARIABLE = "VFXGB_DATA"
SYNTHETIC = "synthetic"
LABEL = "label"
ACTIVE, PASSIVE = "bank", "shop"
SYNTHETIC_ROWS = 150_000
SYNTHETIC_FEATURES = (5, 5)
GENERATED_SEED = 20240502


@dataclass(frozen=True)
class DataSet:
    """A real table: its number of rows and of columns, and the columns of the active party. The others are passive."""

    rows: int
    columns: int
    active: tuple[str, ...]


# How nomao compares two places, by words and by numbers.
_WORDS = (
    *("intersect_min", "intersect_max", "levenshtein_sim", "trigram_sim", "levenshtein_term", "trigram_term"),
    *("including", "equality"),
)
_NUMBERS = ("diff", "levenshtein", "trigram", "equality")

# Of the credit tables the active party has the columns of FATE's guest, which holds the label; of adult what an
# employer knows, of higgs what the detector measured, of bank what the bank knows of its client; of nomao how the
# entries compare as they were typed, the other what a geocoder makes of them.
DATA_SETS = {
    "give_credit": DataSet(
        150_000,
        10,
        (
            *("NumberOfOpenCreditLinesAndLoans", "NumberOfTimes90DaysLate", "NumberRealEstateLoansOrLines"),
            *("NumberOfTime60-89DaysPastDueNotWorse", "NumberOfDependents"),
        ),
    ),
    "default_credit": DataSet(
        30_000,
        23,
        ("PAY_6", *(f"BILL_AMT{month}" for month in range(1, 7)), *(f"PAY_AMT{month}" for month in range(1, 7))),
    ),
    "adult": DataSet(
        32_561, 14, ("age", "workclass", "fnlwgt", "education", "education-num", "occupation", "hours-per-week")
    ),
    "higgs": DataSet(
        57_592,
        28,
        (
            *("lepton_pT", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi"),
            *(f"jet_{jet}_{what}" for jet in range(1, 5) for what in ("pt", "eta", "phi", "btag")),
        ),
    ),
    "bank": DataSet(45_211, 16, ("age", "job", "marital", "education", "default", "balance", "housing", "loan")),
    "nomao": DataSet(
        34_465,
        118,
        (
            *(
                f"{what}_{how}"
                for what in ("clean_name", "city", "zip", "street", "website", "countryname")
                for how in _WORDS
            ),
            *(f"{what}_{how}" for what in ("phone", "fax", "street_number") for how in _NUMBERS),
        ),
    ),
}


@dataclass(frozen=True)
class Loaded:
    """Features of both parties, the active one's first, and 0/1 labels. `source` says where the rows come from."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    n_active: int
    source: str

    @property
    def parties(self) -> dict[str, list[int]]:
        """Party -> positions of its columns."""
        return {ACTIVE: list(range(self.n_active)), PASSIVE: list(range(self.n_active, self.X.shape[1]))}

    def head(self, rows: int) -> "Loaded":
        """The first rows, copied."""
        return Loaded(self.X[:rows].copy(), self.y[:rows].copy(), self.n_active, self.source)


def data_names() -> tuple[str, ...]:
    """What `load` knows."""
    return (*DATA_SETS, SYNTHETIC)


def load(name: str, rows: int | None = None, features: tuple[int, int] | None = None) -> Loaded:
    """The first `rows` rows (None: all) of a table.

    `features`: columns of the active and of the passive party, for generated tables only. Raises ParameterError for
    settings that do not fit the table, FormatError when its file is not the expected table.
    """
    if name == SYNTHETIC:
        return generate(rows or SYNTHETIC_ROWS, features or SYNTHETIC_FEATURES)
    data_set = DATA_SETS[name]
    if features is not None:
        raise ParameterError(f"loading {name}: its columns are fixed; features are for data {SYNTHETIC!r}")
    wanted = data_set.rows if rows is None else rows
    if wanted > data_set.rows:
        raise ParameterError(f"loading {name}: found {data_set.rows} rows, wanted {wanted}; use data {SYNTHETIC!r}")
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder) / f"{name}.csv.gz" if folder else None
    if path is not None and path.is_file():
        return _read(path, data_set, wanted)
    n_active = len(data_set.active)
    made = generate(wanted, (n_active, data_set.columns - n_active))
    hint = f"set {DATA_VARIABLE} to a folder with {name}.csv.gz for the real one"
    return Loaded(made.X, made.y, n_active, f"{made.source} in place of {name} ({hint})")


def _read(path: Path, expected: DataSet, rows: int) -> Loaded:
    table = Table.read(path)
    missing = [name for name in (LABEL, *expected.active) if name not in table.names]
    if missing or table.n_features != expected.columns + 1 or table.n_rows < rows:
        raise FormatError(
            f"reading {path.name}: found {table.n_rows} rows of {table.n_features} columns, without {missing}, wanted "
            f"{expected.rows} of {expected.columns + 1}; unset {DATA_VARIABLE} to use a generated table"
        )
    passive = [name for name in table.names if name not in (LABEL, *expected.active)]
    X = table.select([*expected.active, *passive]).matrix()[:rows]
    shape = f"{rows:,} x ({len(expected.active)}+{len(passive)})"
    return Loaded(
        np.ascontiguousarray(X), table.column(LABEL)[:rows].copy(), len(expected.active), f"{path.name}, {shape}"
    )


def generate(rows: int, features: tuple[int, int]) -> Loaded:
    """Normal features, and labels that depend on one feature of each party and on their product."""
    rng = np.random.default_rng(GENERATED_SEED)
    n_active, n_passive = features
    X = rng.standard_normal((rows, n_active + n_passive), dtype=np.float32)
    mine, theirs = X[:, 0], X[:, -1]
    y = (mine + theirs + mine * theirs + 0.5 * rng.standard_normal(rows) > 1.0).astype(np.float32)
    if rows > 1:
        y[0], y[-1] = 0.0, 1.0
    return Loaded(X, y, n_active, f"generated table, {rows:,} x ({n_active}+{n_passive})")
