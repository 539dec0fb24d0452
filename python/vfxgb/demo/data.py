"""The tables of the demo: one public data set, divided between a bank and a shop that both lack some of the people.

scikit-learn's breast cancer data where it is installed, a generated table where it is not. The bank holds the label and
a third of the columns, the weaker ones, so that there is something to gain from the shop's.
"""

import csv
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GENERATED_ROWS = 2000
GENERATED_COLUMNS = 12
SEED = 20240501
# People of whom the bank, or the shop, has never heard.
ABSENT = 0.04
TEST = 0.3
# Bins of a column, the same in all models that are compared.
BINS = 32


@dataclass(frozen=True)
class Pooled:
    """All columns in one place, which no party has. `bank` and `shop` are the positions of their columns.

    `train` and `test` are the rows that both parties have.
    """

    source: str
    names: tuple[str, ...]
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    bank: tuple[int, ...]
    shop: tuple[int, ...]
    ids: tuple[str, ...]
    train: NDArray[np.int64]
    test: NDArray[np.int64]


def make_tables(folder: Path) -> Pooled:
    """Write bank.csv, bank_test.csv and shop.csv to `folder`. Raises OSError."""
    source, names, X, y = _load()
    rng = np.random.default_rng(SEED)
    n = len(y)
    ids = tuple(f"C-{number}" for number in rng.permutation(np.arange(100_000, 100_000 + n)))
    third = len(names) // 3
    # The middle third of the breast cancer columns are standard errors: weak by themselves.
    bank, shop = tuple(range(third, 2 * third)), (*range(third), *range(2 * third, len(names)))
    at_bank, at_shop = rng.random(n) >= ABSENT, rng.random(n) >= ABSENT
    is_test = rng.random(n) < TEST
    train, test = np.flatnonzero(at_bank & at_shop & ~is_test), np.flatnonzero(at_bank & at_shop & is_test)
    pooled = Pooled(source, names, X, y, bank, shop, ids, train, test)
    _write(folder / "bank.csv", pooled, bank, rng.permutation(np.flatnonzero(at_bank & ~is_test)), label=True)
    _write(folder / "bank_test.csv", pooled, bank, rng.permutation(np.flatnonzero(at_bank & is_test)), label=False)
    _write(folder / "shop.csv", pooled, shop, rng.permutation(np.flatnonzero(at_shop)), label=False)
    return pooled


def _load() -> tuple[str, tuple[str, ...], NDArray[np.float64], NDArray[np.int64]]:
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError:
        return _generate()
    dataset = datasets.load_breast_cancer()
    names = tuple(str(name).replace(" ", "_") for name in dataset.feature_names)
    # 1 is what is looked for: malignant.
    return "breast cancer (scikit-learn)", names, np.asarray(dataset.data), 1 - np.asarray(dataset.target)


def _generate() -> tuple[str, tuple[str, ...], NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(SEED + 1)
    X = rng.normal(size=(GENERATED_ROWS, GENERATED_COLUMNS)).round(4)
    score = X[:, 0] + X[:, 1] * X[:, 5] + 0.7 * X[:, 8] + 0.5 * X[:, 6] + rng.logistic(size=GENERATED_ROWS)
    names = tuple(f"x{number}" for number in range(GENERATED_COLUMNS))
    return "a generated table (install scikit-learn for a real one)", names, X, (score > 0).astype(np.int64)


def _write(path: Path, pooled: Pooled, columns: tuple[int, ...], rows: NDArray[np.int64], label: bool) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *(pooled.names[column] for column in columns), *(["label"] if label else [])])
        for row in rows.tolist():
            cells = [repr(float(pooled.X[row, column])) for column in columns]
            writer.writerow([pooled.ids[row], *cells, *([int(pooled.y[row])] if label else [])])
