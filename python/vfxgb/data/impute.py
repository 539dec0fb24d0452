"""Predictive imputation of missing values (SecureBoost): from a column's own training rows, or from other columns.

Each party fits its own columns, on training rows only, so that eval rows and rows to be predicted cannot leak into the
model; what was fitted belongs to the party's share of the model and is used again at prediction. "mean", "median" and
"mode" put one number in the place of every missing value of a column, "regression" what the row's other columns at this
party make likely (column_regressions.py).
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.column_regressions import ColumnRegressions, filled_by_regression, fit_regressions
from vfxgb.data.table import Table
from vfxgb.errors import ImputationError, UnknownNameError

CENTRES = ("mean", "median", "mode")
REGRESSION = "regression"
STRATEGIES = (*CENTRES, REGRESSION)

# What stands in for missing values: one number per column, or what predicts them.
StandIns: TypeAlias = tuple[float, ...] | ColumnRegressions


def fit_fills(table: Table, strategy: str, n_train: int) -> tuple[float, ...]:
    """What replaces missing values of each column, by its first `n_train` rows; float32 numbers.

    The median of an even number of values is the mean of the middle two; the lowest of equally frequent values is the
    mode. Raises ImputationError for a column without any value there, UnknownNameError for an unknown strategy.
    """
    if strategy not in CENTRES:
        raise UnknownNameError(f"imputing: there is no strategy {strategy!r}; known: {', '.join(CENTRES)}")
    fills = []
    for feature, name in enumerate(table.names):
        column = table.column(feature)[:n_train]
        present = column[~np.isnan(column)]
        if len(present) == 0:
            raise ImputationError(
                f"imputing column {name!r} of party {table.party!r}: none of its {n_train} training rows has a value, "
                "wanted at least one; drop the column or use missing_strategy='learned'"
            )
        fills.append(_centre(present, strategy))
    return tuple(fills)


def filled(table: Table, strategy: str, n_train: int) -> tuple[Table, StandIns | None]:
    """The table as training sees it, and what stands in for missing values.

    With another `strategy` than those here, missing values stay and nothing stands in. Raises ImputationError.
    """
    if strategy == REGRESSION:
        regressions = fit_regressions(table, n_train)
        return filled_by_regression(table, regressions), regressions
    if strategy not in CENTRES:
        return table, None
    fills = fit_fills(table, strategy, n_train)
    return table.with_fills(fills), fills


def _centre(present: NDArray[np.float32], strategy: str) -> float:
    exact = present.astype(np.float64)
    if strategy == "mean":
        return float(np.float32(exact.mean()))
    if strategy == "median":
        return float(np.float32(np.median(exact)))
    distinct, counts = np.unique(present, return_counts=True)
    return float(distinct[np.argmax(counts)])
