"""Labels as `fit` is given them: classes of any type, which become 0, 1, ..., or numbers."""

import sys
import warnings
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_labels
from vfxgb.errors import LabelError

T = TypeVar("T", bound=Exception)


def read_target(y: Any, n_rows: int, party: str, what: str = "y") -> NDArray[Any]:
    """Labels [n] of any type, checked. A column vector is taken as [n] with the warning scikit-learn gives."""
    array = None if y is None else np.asarray(y)
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            as_sklearn(UserWarning, "DataConversionWarning")(
                f"A column-vector y was passed when a 1d array was expected ({what}); it is read as one label per row"
            ),
            stacklevel=4,
        )
    return read_labels(array, n_rows, party)


def find_classes(y: NDArray[Any], party: str) -> NDArray[Any]:
    """The classes in ascending order. Raises LabelError where y has no classes."""
    if y.dtype.kind == "f":
        read_numbers(y, party, "y")
        if (y != np.floor(y)).any():
            row = int(np.argmax(y != np.floor(y)))
            raise LabelError(
                f"reading labels of party {party!r}: Unknown label type: continuous; row {row} holds {y[row]}, wanted "
                "classes; use a regressor for numbers"
            )
    try:
        classes = np.unique(y)
    except TypeError as error:
        raise LabelError(
            f"reading labels of party {party!r}: Unknown label type: classes cannot be ordered ({error}); use one type"
        ) from error
    if len(classes) < 2:
        raise LabelError(
            f"reading labels of party {party!r}: found 1 class, {classes[0]!r}, in {len(y)} rows, wanted at least two "
            "classes; train on rows that have both"
        )
    return classes


def encode_labels(y: NDArray[Any], classes: NDArray[Any] | None, party: str, what: str) -> NDArray[np.floating]:
    """Positions in `classes`, float32; or numbers, float64, where it is None. Raises LabelError for other labels."""
    if classes is None:
        return read_numbers(y, party, what)
    try:
        codes = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
        wrong = np.asarray(classes[codes] != y)
    except TypeError as error:
        raise LabelError(
            f"reading {what} of party {party!r}: labels do not compare with the classes of training ({error})"
        ) from error
    if wrong.any():
        row = int(np.argmax(wrong))
        raise LabelError(
            f"reading {what} of party {party!r}: row {row} has label {y[row]!r} ({int(wrong.sum())} such rows), wanted "
            f"one of the classes of training, {classes[:20].tolist()}; drop these rows"
        )
    return codes.astype(np.float32)


def read_numbers(y: NDArray[Any], party: str, what: str) -> NDArray[np.float64]:
    """Labels as float64. Raises LabelError where one is not a finite number."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LabelError(
            f"reading {what} of party {party!r}: labels are not numbers ({error}); a classifier takes classes"
        ) from error
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise LabelError(
            f"reading {what} of party {party!r}: Input y contains infinity or a value too large for dtype('float64'): "
            f"row {row} holds {values[row]}, wanted a finite number; drop the row"
        )
    return values


def as_sklearn(ours: type[T], name: str) -> type[T]:
    """`ours`, made a subclass of that class of sklearn.exceptions as well if scikit-learn is loaded."""
    module = sys.modules.get("sklearn.exceptions")
    if module is None:
        return ours
    theirs = getattr(module, name)
    return theirs if issubclass(theirs, ours) else type(ours.__name__, (ours, theirs), {"__module__": ours.__module__})
