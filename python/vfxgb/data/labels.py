"""Labels and sample weights of the active party: one of each per row, checked before anything is trained."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import LabelError, WeightError


def read_labels(labels: Any, n_rows: int, party: str = "") -> NDArray[Any]:
    """Labels as a one-dimensional array of n_rows values, of whatever type: classes may be strings.

    Takes anything numpy can read (lists, numpy, pandas, polars, pyarrow); shape [n, 1] counts as [n].
    Raises LabelError for another shape or length and for NaN or None.
    """
    if labels is None:
        raise LabelError(f"{_where('labels', party)}: requires y to be passed, but the target y is None")
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n_rows:
        raise LabelError(
            f"{_where('labels', party)}: shape {array.shape}, wanted ({n_rows},), one label per row; "
            "pass labels and rows of the same people"
        )
    if array.dtype.kind == "c":
        raise LabelError(f"{_where('labels', party)}: Complex data not supported, wanted real labels")
    # NaN is the one value that differs from itself; None appears in columns of objects.
    absent = array != array if array.dtype.kind == "f" else np.zeros(n_rows, dtype=np.bool_)
    if array.dtype.kind == "O":
        absent = np.fromiter((value is None or value != value for value in array), dtype=np.bool_, count=n_rows)
    if absent.any():
        raise LabelError(
            f"{_where('labels', party)}: row {int(np.argmax(absent))} has no label (NaN or None; "
            f"{int(absent.sum())} such rows), wanted a label in every row; drop these rows"
        )
    return array


def numeric_labels(labels: NDArray[Any], party: str = "") -> NDArray[np.float32]:
    """Labels as float32[n]. Raises LabelError where one is not a number, not finite, or beyond float32."""
    try:
        exact = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LabelError(
            f"{_where('labels', party)}: labels are not numbers ({error}); encode classes as 0, 1, ..."
        ) from error
    if exact.ndim != 1:
        raise LabelError(f"{_where('labels', party)}: labels have shape {exact.shape}, wanted one label per row")
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    refuse_labels(exact, ~np.isfinite(values), party, "a finite label (no NaN, no inf); drop the row or mend the label")
    return values


def refuse_labels(values: NDArray[np.floating], wrong: NDArray[np.bool_], party: str, wanted: str) -> None:
    """Raise LabelError for the first row where `wrong` is true, if any."""
    if wrong.any():
        row = int(np.argmax(wrong))
        count = int(wrong.sum())
        raise LabelError(
            f"{_where('labels', party)}: row {row} has label {values[row]:g} ({count} such rows), wanted {wanted}"
        )


def read_weights(weights: Any, n_rows: int, party: str = "", *, whole: bool = True) -> NDArray[np.float32] | None:
    """Sample weights as float32[n_rows]; None stays None, a single number becomes that weight for every row.

    Raises WeightError for another shape, for a negative, NaN or infinite weight, and when all are 0, unless they are
    some rows' only (not `whole`).
    """
    if weights is None:
        return None
    try:
        array = np.asarray(weights, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise WeightError(f"{_where('sample weights', party)}: not numbers ({error})") from error
    if array.ndim == 0:
        array = np.full(n_rows, array, dtype=np.float32)
    if array.shape != (n_rows,):
        raise WeightError(
            f"{_where('sample weights', party)}: Sample weights must be 1D array or scalar, found shape {array.shape}, "
            f"wanted ({n_rows},), one weight per row"
        )
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise WeightError(
            f"{_where('sample weights', party)}: row {row} has weight {array[row]:g}, "
            "wanted a finite weight of at least 0"
        )
    if whole and not array.any():
        raise WeightError(f"{_where('sample weights', party)}: every weight is zero, wanted at least one above 0")
    return array


def _where(what: str, party: str) -> str:
    return f"reading {what} of party {party!r}" if party else f"reading {what}"
