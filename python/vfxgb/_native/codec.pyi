"""Slots (cpp/codec): several integers in one plaintext."""

import numpy as np
from numpy.typing import NDArray

from . import Buffer

def encode_slots(values: NDArray[np.int64], offsets: NDArray[np.int32], width: int, threads: int = 1) -> bytes:
    """For each row of values[n, c] the integer sum_j values[i, j] << offsets[j], `width` bytes (what encrypt takes).

    0 <= offsets[j], in any order; values may be negative and slots may overlap. ValueError names the first row whose
    integer does not fit `width` bytes.
    """

def decode_slots(
    data: Buffer, width: int, bits: NDArray[np.int32], signed: NDArray[np.bool_], threads: int = 1
) -> NDArray[np.int64]:
    """The slots of integers of `width` bytes, int64[count, len(bits)], lowest slot first; slot j has bits[j] bits.

    A signed slot is the centred remainder, in [-2**(b - 1), 2**(b - 1)), an unsigned one lies in [0, 2**b);
    1 <= bits[j] <= 63. ValueError names the first integer of which something remains above the last slot.
    """

def quantise_shifted(
    values: NDArray[np.float64], shift: float, limit: float, alpha_max: float, bits: int
) -> NDArray[np.int64]:
    """rint((2**bits - 1) * clip(v - shift, 0, limit) / alpha_max), of the shape of `values`, in [0, 2**bits).

    0 < limit <= alpha_max, both finite, 1 <= bits <= 52. ValueError if a value is NaN.
    """
