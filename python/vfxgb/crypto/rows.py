"""Row selections (lists, integer arrays, boolean masks) to int64 indices the native core can trust."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import IntegerTypeError, RowIndexError

Rows: TypeAlias = Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]


def row_indices(rows: Rows, length: int, step: str) -> NDArray[np.int64]:
    """Indices in [0, length), in the order given, repeats kept.

    `rows`: a sequence of ints, a one-dimensional integer array, or a boolean mask of exactly `length` entries.
    Raises RowIndexError for a row out of range (negative rows included) or a mask of another length,
    IntegerTypeError for anything that is neither.
    """
    if isinstance(rows, (str, bytes)) or not isinstance(rows, (Sequence, np.ndarray)):
        raise IntegerTypeError(f"{step}: found rows of type {type(rows).__name__}, wanted a list or array of integers")
    try:
        array = np.asarray(rows)
    except (ValueError, OverflowError) as error:
        raise IntegerTypeError(f"{step}: the rows are no flat list of integers ({error}); pass row numbers") from error
    if array.ndim != 1:
        raise IntegerTypeError(f"{step}: found rows of {array.ndim} dimension(s), wanted one; pass a flat list")
    if array.size == 0 and not isinstance(rows, np.ndarray):
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind == "b":
        if array.size != length:
            raise RowIndexError(
                f"{step}: found a mask of {array.size} entries, wanted one per ciphertext ({length}); pass row numbers "
                "or a mask of that length"
            )
        return np.flatnonzero(array).astype(np.int64, copy=False)
    if array.dtype.kind not in "iu":
        raise IntegerTypeError(
            f"{step}: found rows of dtype {array.dtype}, wanted integers or a boolean mask; convert with .astype(int)"
        )
    for index in (int(array.argmin()), int(array.argmax())) if array.size else ():
        row = int(array[index])
        if not 0 <= row < length:
            raise RowIndexError(
                f"{step}: found row {row} at index {index}, wanted 0 <= row < {length} (the number of ciphertexts); "
                "negative rows do not count from the end here"
            )
    return np.ascontiguousarray(array, dtype=np.int64)
