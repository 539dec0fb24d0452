import numpy as np
import pytest

from vfxgb.crypto.rows import row_indices
from vfxgb.errors import IntegerTypeError, RowIndexError


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_every_integer_dtype(dtype: type) -> None:
    found = row_indices(np.array([3, 0, 3], dtype=dtype), 4, "test")
    assert found.dtype == np.int64
    assert found.tolist() == [3, 0, 3]


@pytest.mark.parametrize("rows", [[], (), np.array([], dtype=np.int32), range(0)])
def test_no_rows(rows: object) -> None:
    assert row_indices(rows, 4, "test").tolist() == []


def test_masks() -> None:
    assert row_indices(np.array([True, False, True]), 3, "test").tolist() == [0, 2]
    assert row_indices([False, True], 2, "test").tolist() == [1]
    with pytest.raises(RowIndexError, match=r"mask of 2 entries.*\(3\)"):
        row_indices(np.array([True, False]), 3, "test")


def test_strided_rows() -> None:
    assert row_indices(np.arange(6)[::-2], 6, "test").tolist() == [5, 3, 1]


@pytest.mark.parametrize(
    "rows", [[0, 4], [0, -1], np.array([0, 4], np.uint8), [0, 2**70], np.array([2**64 - 1], np.uint64)]
)
def test_out_of_range(rows: object) -> None:
    with pytest.raises((RowIndexError, IntegerTypeError)):
        row_indices(rows, 4, "test")


def test_out_of_range_names_value_and_length() -> None:
    with pytest.raises(IndexError, match=r"row 9 at index 1.*4"):
        row_indices([1, 9], 4, "test")
    with pytest.raises(IndexError, match=r"row -3 at index 0.*4"):
        row_indices([-3], 4, "test")
    with pytest.raises(IndexError, match=r"row 0 at index 0"):
        row_indices([0], 0, "test")


@pytest.mark.parametrize(
    "rows", [[1.0], np.array([0.0]), np.array([], dtype=np.float64), 3, None, "01", ["0"], [[0]], [[0], [1, 2]], [None]]
)
def test_wrong_types(rows: object) -> None:
    with pytest.raises(TypeError):
        row_indices(rows, 4, "test")
