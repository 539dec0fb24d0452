"""Settings of a horizontal training: what can be chosen, and what cannot be had."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from vfxgb.checks import is_int
from vfxgb.errors import ColumnNameError, ParameterError
from vfxgb.horizontal.directory import MAX_USERS
from vfxgb.horizontal.privacy import Splits
from vfxgb.horizontal.quantiles import FIRST_BITS, KEY_BITS, MOST_CELLS
from vfxgb.params import TrainParams
from vfxgb.secagg.guard import Compare

# Settings that simulated and real users share.
UsersPerRound = Annotated[
    Annotated[int, Meta(ge=2)] | None,
    Meta(
        description="So many users, drawn each round, take part; the others step in for those who leave. Without it, "
        "all take part."
    ),
]
HideAmong = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_USERS)] | None,
    Meta(
        description="Sums that can be compared are over the same users, or over sets that differ by at least so many. "
        "Without it, ten or a tenth of all users, whichever is more; 1 compares no sets (vfxgb.secagg.guard)."
    ),
]
CompareOver = Annotated[
    Compare,
    Meta(
        description="Which sums can be compared: those of a tree, the set-up belonging to the first one; or all of a "
        "run."
    ),
]
EvalUsers = Annotated[
    bool,
    Meta(description="The metrics are measured on the users' rows after every round, by sums over users."),
]
Holdout = Annotated[
    Annotated[float, Meta(ge=0, lt=1)],
    Meta(
        description="Each user keeps this share of its rows out of training; metrics are measured on them after every "
        "round, by sums over users, and early stopping can watch them."
    ),
]
QuantileBits = Annotated[
    int,
    Meta(
        ge=FIRST_BITS,
        le=KEY_BITS,
        description="Cut points are searched among values rounded down to so many bits of 32; 32 searches among the "
        "values themselves.",
    ),
]
FineCells = Annotated[
    int,
    Meta(ge=2, le=MOST_CELLS, description="A column whose range is public has so many evenly spaced cells."),
]

Epsilon = Annotated[
    Annotated[float, Meta(gt=0)] | None,
    Meta(
        description="The whole training may cost one row of one user so much under differential privacy: every user "
        "adds noise to every sum. Without it, sums are exact."
    ),
]
Delta = Annotated[float, Meta(gt=0, lt=1, description="The delta of epsilon, well below 1 / rows.")]
DpSplits = Annotated[
    Splits,
    Meta(
        description="With epsilon, where splits come from: noisy histograms of every level, or draws at random, which "
        "leave all of epsilon to the leaves."
    ),
]
DpColluding = Annotated[
    int,
    Meta(ge=0, description="With epsilon, so many users of every sum are assumed to tell the server their noise."),
]

# Training parameters that have no meaning over users' rows, and why.
REFUSED: Mapping[str, str] = {
    "sampling_method": "GOSS keeps the largest gradients of all users, which nobody may see; use subsample",
    "top_rate": "it belongs to GOSS, which needs the largest gradients of all users; use subsample",
    "other_rate": "it belongs to GOSS, which needs the largest gradients of all users; use subsample",
    "told_sample": "it belongs to GOSS, which needs the largest gradients of all users; use subsample",
    "rounding": "leaf weights would need sums of gradients that are not rounded, which nobody may see",
    "split_rule": "each user would have to weigh splits by counts of all users' rows; use the gain, which needs none",
    "max_cat_to_onehot": "rows at users have no categories; encode these as numbers",
    "max_cat_threshold": "rows at users have no categories; encode these as numbers",
    "score_bits": "it belongs to split_rule='centred', which users' rows do not have",
    "min_bucket_rows": "no user knows how many rows a bucket has at the others; use max_bin or min_child_weight",
    "reduced_leakage": "it protects labels from parties with other columns, of which there are none here",
}

SUPPORTED_MISSING = ("learned", "probabilistic")


def check_missing(params: TrainParams) -> None:
    """Raise ParameterError for a treatment of missing values that would need all users' values in one place."""
    if params.missing_strategy not in SUPPORTED_MISSING:
        raise ParameterError(
            f"reading parameters: missing_strategy={params.missing_strategy!r}, wanted one of "
            f"{', '.join(map(repr, SUPPORTED_MISSING))}; no user has all values of a column: impute at the users "
            "before training"
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


def check_users_per_round(given: int | None, n_users: int) -> None:
    """Raise ParameterError for more users in a round than there are."""
    if given is not None and given > n_users:
        raise ParameterError(f"reading parameters: users_per_round={given}, wanted an integer from 2 to {n_users}, all")
