"""Sets of rows as they travel: what is written is read, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.errors import MessageError
from vfxgb.predict.routing import Rows, pack_rows, unpack_rows


def read(data: bytes, sizes: list[int], count: int) -> list[Rows | None]:
    return unpack_rows(memoryview(data), np.array(sizes, dtype=np.int32), count, "shop predicting, level 2")


def rows_of(*numbers: int) -> Rows:
    return np.array(numbers, dtype=np.int32)


@given(st.integers(1, 200), st.data())
def test_sets_come_back(count: int, data: st.DataObject) -> None:
    one = st.sets(st.integers(0, count - 1), min_size=1).map(lambda rows: rows_of(*sorted(rows)))
    sets = data.draw(st.lists(one, max_size=5))
    packed = pack_rows(sets, count)
    # Nothing for a whole block, else the shorter of the two forms.
    assert len(packed) == sum(min((count + 7) // 8, 4 * len(rows)) for rows in sets if len(rows) < count)
    assert packed == pack_rows([None if len(rows) == count else rows for rows in sets], count)
    for wanted, found in zip(sets, read(packed, [len(rows) for rows in sets], count), strict=True):
        if len(wanted) == count:
            assert found is None
        else:
            assert found is not None
            assert found.dtype == np.int32
            assert np.array_equal(found, wanted)


@pytest.mark.parametrize("size", [0, -1, 101])
def test_sizes_that_cannot_be(size: int) -> None:
    with pytest.raises(MessageError, match=f"level 2: found a question about {size} rows, wanted 1 to 100"):
        read(b"", [size], 100)


@pytest.mark.parametrize(
    "numbers",
    [(5, 5), (7, 3), (-1, 4), (3, 100), (3, 2**31 - 1)],
)
def test_numbers_that_are_no_rows(numbers: tuple[int, int]) -> None:
    with pytest.raises(MessageError, match="found rows that are not 2 ascending numbers below 100"):
        read(rows_of(*numbers).tobytes(), [2], 100)


@pytest.mark.parametrize("bits", [[], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 100], [100, 101, 102, 103, 104]])
def test_bits_that_are_no_rows(bits: list[int]) -> None:
    mask = np.zeros(104 if max(bits, default=0) < 104 else 112, dtype=np.uint8)
    mask[bits] = 1
    data = np.packbits(mask, bitorder="little").tobytes()[:13]
    with pytest.raises(MessageError, match="found rows that are not 5 ascending numbers below 100"):
        read(data, [5], 100)


def test_too_little_and_too_much() -> None:
    good = pack_rows([rows_of(3, 9), rows_of(*range(50))], 100)
    assert len(read(good, [2, 50], 100)) == 2
    with pytest.raises(MessageError, match="its rows end early"):
        read(good[:-1], [2, 50], 100)
    with pytest.raises(MessageError, match="found 3 bytes too many"):
        read(good + b"abc", [2, 50], 100)
