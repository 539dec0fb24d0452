"""The largest of many numbers by magnitude, with the ties of a tournament on shares (tree/CENTRED.md).

Numbers meet in pairs first, where the sign of a - b and that of a + b say which is larger in magnitude: both agree iff
a is, and of equal magnitudes a wins iff it is not negative. The winners' magnitudes meet after that, and of equal ones
the first wins.
"""

import numpy as np
from numpy.typing import NDArray


def largest(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(index, magnitude) of the winner in each row of `values`, int64[m, c]; index 0 and magnitude 0 where c is 0."""
    m, c = values.shape
    if c == 0:
        return np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    # A last number without a partner meets 0, which stands after it.
    a = values[:, 0::2]
    b = np.zeros_like(a)
    b[:, : c // 2] = values[:, 1::2]
    keeps = (a - b >= 0) == (a + b >= 0)
    sizes = np.abs(np.where(keeps, a, b))
    pair = np.argmax(sizes, axis=1)
    rows = np.arange(m)
    return 2 * pair + ~keeps[rows, pair], sizes[rows, pair]
