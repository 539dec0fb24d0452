"""Arrays of nodes, positions and bits as the messages of training carry them, read and checked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk, unpack_array


def unpack_list(data: Bulk, dtype: type[np.generic], what: str) -> NDArray[Any]:
    """A one-dimensional array of any length. Raises MessageError for a broken number of bytes."""
    return unpack_array(data, dtype, (len(data) // np.dtype(dtype).itemsize,), what)


def unpack_bits(data: Bulk, count: int, what: str) -> NDArray[np.bool_] | None:
    """`count` bits, or None for none at all. Raises MessageError for another number of bytes or a spare bit set."""
    if len(data) == 0:
        return None
    packed = unpack_array(data, np.uint8, ((count + 7) // 8,), what)
    bits = np.unpackbits(packed, bitorder="little")
    if bits[count:].any():
        raise MessageError(f"{what}: found bits beyond the {count} wanted")
    return bits[:count].astype(np.bool_)


def valid_positions(positions: NDArray[np.integer], count: int) -> bool:
    """Whether positions are ascending and below count."""
    return len(positions) == 0 or bool(
        positions[0] >= 0 and positions[-1] < count and (positions[1:] > positions[:-1]).all()
    )
