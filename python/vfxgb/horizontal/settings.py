"""Settings of a horizontal training that need a look: what cannot be had, and what has bounds of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vfxgb.checks import is_int
from vfxgb.errors import ColumnNameError, ParameterError
from vfxgb.params import TrainParams
from vfxgb.secagg.guard import Compare

# Training parameters that have no meaning over users' rows, and why.
REFUSED: Mapping[str, str] = {
    "sampling_method": "GOSS keeps the largest gradients of all users, which nobody may see; use subsample",
    "top_rate": "it belongs to GOSS, which needs the largest gradients of all users; use subsample",
    "other_rate": "it belongs to GOSS, which needs the largest gradients of all users; use subsample",
    "told_sample": "it belongs to GOSS, which needs the largest gradients of all users; use subsample",
    "min_bucket_rows": "no user knows how many rows a bucket has at the others; use max_bin or min_child_weight",
    "reduced_leakage": "it protects labels from parties with other columns, of which there are none here",
}

SUPPORTED_MISSING = ("learned", "probabilistic")


def check_missing(params: TrainParams) -> None:
    """Raise ParameterError for a treatment of missing values that would need all users' values in one place."""
    if params.missing_strategy not in SUPPORTED_MISSING:
        raise ParameterError(
            f"reading parameters: missing_strategy={params.missing_strategy!r}, wanted one of "
            f"{', '.join(map(repr, SUPPORTED_MISSING))}; impute at the users before training"
        )


def read_ranges(
    ranges: Mapping[str | int, tuple[float, float]] | None, names: Sequence[str]
) -> dict[str, tuple[float, float]] | None:
    """Public ranges by column name. Raises ColumnNameError or ParameterError."""
    if ranges is None:
        return None
    by_name: dict[str, tuple[float, float]] = {}
    for column, pair in ranges.items():
        name = names[column] if is_int(column) and 0 <= column < len(names) else column
        if name not in names:
            raise ColumnNameError(f"reading ranges: there is no column {column!r}; the columns are {list(names[:20])}")
        low, high = map(float, pair) if np.shape(pair) == (2,) else (np.nan, np.nan)
        if not -np.inf < low < high < np.inf:
            raise ParameterError(f"reading ranges: column {column!r} has {pair!r}, wanted (low, high), low below high")
        by_name[str(name)] = (low, high)
    return by_name


def read_compare(given: object) -> Compare:
    """Over which sums users compare sets. Raises ParameterError."""
    if given == "tree":
        return "tree"
    if given == "run":
        return "run"
    raise ParameterError(f"reading parameters: compare={given!r}, wanted 'tree' or 'run'")


def read_whole(params: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`. Raises ParameterError."""
    value = params[name]
    if not is_int(value) or not low <= value <= high:
        raise ParameterError(f"reading parameters: {name}={value!r}, wanted an integer from {low} to {high}")
    return value
