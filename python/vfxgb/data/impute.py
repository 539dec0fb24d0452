"""Predictive imputation of missing values (SecureBoost): mean, median or mode of a column's training rows.

Each party fits its own columns, on training rows only, so that eval rows and rows to be predicted cannot leak into the
model; the fitted values belong to the party's share of the model and are used again at prediction.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError, ImputationError, UnknownNameError

STRATEGIES = ("mean", "median", "mode")


@dataclass(frozen=True)
class Imputer:
    """What replaces missing values: `values[column]`, for every column of the table it was fitted on."""

    strategy: str
    values: Mapping[str, float]

    def apply(self, table: Table) -> Table:
        """`table` with missing values filled. Raises ColumnNameError for a column the imputer does not know."""
        for name in table.names:
            if name not in self.values:
                raise ColumnNameError(
                    f"imputing column {name!r} of party {table.party!r}: it was not there in training; "
                    "pass the columns of training"
                )
        return table.with_fills([self.values[name] for name in table.names])


def fit_imputer(table: Table, strategy: str, n_train: int) -> Imputer:
    """Fit `strategy` to the first `n_train` rows of `table`; values are float32 numbers.

    The median of an even number of values is the mean of the middle two; the lowest of equally frequent values is the
    mode. Raises ImputationError for a column without any value there, UnknownNameError for an unknown strategy.
    """
    if strategy not in STRATEGIES:
        raise UnknownNameError(f"imputing: there is no strategy {strategy!r}; known: {', '.join(STRATEGIES)}")
    values: dict[str, float] = {}
    for feature, name in enumerate(table.names):
        column = table.column(feature)[:n_train]
        present = column[~np.isnan(column)]
        if len(present) == 0:
            raise ImputationError(
                f"imputing column {name!r} of party {table.party!r}: none of its {n_train} training rows has a value, "
                "wanted at least one; drop the column or use missing_strategy='learned'"
            )
        values[name] = _centre(present, strategy)
    return Imputer(strategy, values)


def filled(table: Table, strategy: str, n_train: int) -> tuple[Table, tuple[float, ...] | None]:
    """The table as training sees it, and what replaced missing values, one number per column.

    With another `strategy` than those here, missing values stay and there is no such number. Raises ImputationError.
    """
    if strategy not in STRATEGIES:
        return table, None
    imputer = fit_imputer(table, strategy, n_train)
    return imputer.apply(table), tuple(imputer.values[name] for name in table.names)


def _centre(present: NDArray[np.float32], strategy: str) -> float:
    exact = present.astype(np.float64)
    if strategy == "mean":
        return float(np.float32(exact.mean()))
    if strategy == "median":
        return float(np.float32(np.median(exact)))
    distinct, counts = np.unique(present, return_counts=True)
    return float(distinct[np.argmax(counts)])
