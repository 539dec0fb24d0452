"""One party's answers to "does this row go left at your split?", and how sets of rows travel."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.table import Table
from vfxgb.errors import MessageError
from vfxgb.model.shares import SplitRecords
from vfxgb.transport.messages import Bulk

Rows = NDArray[np.int32]


class SplitTester:
    """Tests the rows of one party's table against its records. Columns are converted once."""

    def __init__(self, records: SplitRecords, table: Table) -> None:
        aligned = table.align(records.features, "prediction")
        self._table = aligned if records.fill is None else aligned.with_fills(records.fill)
        self._records = records
        self._columns: dict[int, NDArray[np.float32]] = {}

    def __len__(self) -> int:
        return len(self._records)

    def test(
        self, record: int, first: int, rows: Rows | None, count: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(goes left, value is missing) for the rows first + rows, or for all `count` rows from `first` on."""
        feature = int(self._records.feature[record])
        column = self._columns.get(feature)
        if column is None:
            column = self._columns[feature] = self._table.column(feature)
        values = column[first : first + count]
        if rows is not None:
            values = values.take(rows)
        # Cuts are float32 numbers: the comparison is the one that binning made.
        left = values < np.float32(self._records.cut[record])
        missing = np.isnan(values)
        if self._records.default_left[record]:
            left |= missing
        return left, missing


def pack_rows(sets: Sequence[Rows], count: int) -> bytes:
    """Sets of rows of a block of `count`, as Route carries them."""
    parts: list[bytes] = []
    for rows in sets:
        if len(rows) == count:
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
        if len(rows) != size or rows[0] < 0 or rows[-1] >= count or (np.diff(rows) <= 0).any():
            raise MessageError(f"{what}: found rows that are not {size} ascending numbers below {count}")
        sets.append(rows)
        begin = end
    if begin != len(data):
        raise MessageError(f"{what}: found {len(data) - begin} bytes too many")
    return sets


def _as_bits(size: int, count: int) -> bool:
    return (count + 7) // 8 < 4 * size
