"""Keys: float32 numbers as 32-bit integers in the same order, so that they can be searched for bit by bit.

cpp/gbdt/column_keys.h counts the same keys.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint32]

_SIGN = np.uint32(1 << 31)


def keys_of(values: NDArray[np.float32]) -> Keys:
    """The keys of numbers, an array of its own; -0.0 has the key of 0.0, NaN has none."""
    bits = (values + np.float32(0.0)).view(np.uint32)
    # Negative numbers ascend as their bits descend: all bits are flipped there, the sign alone elsewhere.
    flip = (bits.view(np.int32) >> np.int32(31)).view(np.uint32)
    flip |= _SIGN
    bits ^= flip
    return bits


def floats_of(keys: Keys) -> NDArray[np.float32]:
    """The numbers of keys: the inverse of `keys_of`."""
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).astype(np.uint32).view(np.float32)
