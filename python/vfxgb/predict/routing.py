"""How sets of rows travel: to another party, and to where a party's rows lie."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.transport.messages import Bulk

Rows = NDArray[np.int32]


def pack_rows(sets: Sequence[Rows | None], count: int) -> bytes:
    """Sets of rows of a block of `count`, None for all of it, as Route carries them."""
    parts: list[bytes] = []
    for rows in sets:
        if rows is None or len(rows) == count:
            continue
        if _as_bits(len(rows), count):
            bits = np.zeros(count, dtype=np.uint8)
            bits[rows] = 1
            parts.append(np.packbits(bits, bitorder="little").tobytes())
        else:
            parts.append(rows.astype("<i4", copy=False).tobytes())
    return b"".join(parts)


def unpack_rows(data: Bulk, sizes: NDArray[np.int32], count: int, what: str) -> list[Rows | None]:
    """The sets that pack_rows wrote, None for a whole block. Raises MessageError for anything it does not write."""
    sets: list[Rows | None] = []
    begin = 0
    for size in sizes.tolist():
        if not 0 < size <= count:
            raise MessageError(f"{what}: found a question about {size} rows, wanted 1 to {count}")
        if size == count:
            sets.append(None)
            continue
        dense = _as_bits(size, count)
        end = begin + ((count + 7) // 8 if dense else 4 * size)
        part = data[begin:end]
        if len(part) != end - begin:
            raise MessageError(f"{what}: its rows end early")
        if dense:
            # As bool: numpy looks for what is not 0 in eight of them at once.
            bits = np.unpackbits(np.frombuffer(part, dtype=np.uint8), bitorder="little").view(np.bool_)
            rows = np.flatnonzero(bits).astype(np.int32)
        else:
            rows = np.frombuffer(part, dtype="<i4").astype(np.int32, copy=False)
        # Bits give ascending numbers whatever they are.
        ascending = dense or bool((np.diff(rows) > 0).all())
        if len(rows) != size or not ascending or rows[0] < 0 or rows[-1] >= count:
            raise MessageError(f"{what}: found rows that are not {size} ascending numbers below {count}")
        sets.append(rows)
        begin = end
    if begin != len(data):
        raise MessageError(f"{what}: found {len(data) - begin} bytes too many")
    return sets


def _as_bits(size: int, count: int) -> bool:
    return (count + 7) // 8 < 4 * size
