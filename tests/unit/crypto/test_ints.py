import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.crypto.ints import integer_list, pack_signed, unpack_signed, unpack_unsigned, width_for_bits
from vfxgb.errors import IntegerTypeError, PlaintextRangeError

BOUND = 2**1000


def as_bytes(data: object) -> bytes:
    return data.tobytes() if isinstance(data, np.ndarray) else bytes(data)


@given(st.lists(st.integers(-BOUND, BOUND)))
def test_round_trip_of_any_size(values: list[int]) -> None:
    packed = pack_signed(values, BOUND, "test")
    assert packed.count == len(values)
    assert packed.width % 8 == 0
    assert unpack_signed(as_bytes(packed.data), packed.width) == values


@given(st.lists(st.integers(0, BOUND)))
def test_unsigned_round_trip(values: list[int]) -> None:
    assert unpack_unsigned(b"".join(value.to_bytes(128, "little") for value in values), 128) == values


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**127 - 1, -(2**127), 2**127])
def test_width_boundaries(value: int) -> None:
    packed = pack_signed([value, 0], BOUND, "test")
    assert unpack_signed(as_bytes(packed.data), packed.width) == [value, 0]


@pytest.mark.parametrize(("bits", "width"), [(0, 8), (1, 8), (64, 8), (65, 16), (128, 16), (3072, 384)])
def test_width_for_bits(bits: int, width: int) -> None:
    assert width_for_bits(bits) == width


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_every_integer_dtype(dtype: type) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 0, 1, limits.max], dtype=dtype)
    packed = pack_signed(values, BOUND, "test")
    assert unpack_signed(as_bytes(packed.data), packed.width) == values.tolist()


def test_int64_array_is_not_copied() -> None:
    values = np.arange(5, dtype=np.int64)
    packed = pack_signed(values, BOUND, "test")
    assert isinstance(packed.data, np.ndarray)
    assert np.shares_memory(packed.data, values)


def test_strided_and_big_endian_arrays() -> None:
    strided = np.arange(10, dtype=np.int64)[::2]
    swapped = np.array([1, -2, 3], dtype=">i8")
    for values in (strided, swapped):
        packed = pack_signed(values, BOUND, "test")
        assert unpack_signed(as_bytes(packed.data), packed.width) == values.tolist()


def test_numpy_scalars_ranges_and_object_arrays() -> None:
    assert integer_list([np.int32(3), 4], "test") == [3, 4]
    assert all(type(item) is int for item in integer_list([np.int32(3), 4], "test"))
    assert integer_list(range(3), "test") == [0, 1, 2]
    assert integer_list(np.array([2**80, -1], dtype=object), "test") == [2**80, -1]


@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [1, 2.5],
        [True],
        [None],
        ["1"],
        [[1]],
        "12",
        b"12",
        None,
        7,
        {1, 2},
        np.array([1.0]),
        np.array([True]),
        np.array(["1"]),
        np.array(5),
        np.zeros((2, 2), dtype=np.int64),
        np.array([1.5], dtype=object),
        np.array([1 + 0j]),
    ],
    ids=repr,
)
def test_everything_else_is_refused(values: object) -> None:
    with pytest.raises(IntegerTypeError, match="test: found"):
        pack_signed(values, BOUND, "test")


def test_floats_are_told_about_fixed_point() -> None:
    for values in ([0.5], np.array([0.5])):
        with pytest.raises(IntegerTypeError, match="fixed point"):
            pack_signed(values, BOUND, "test")


@pytest.mark.parametrize("bound", [5, 2**63, 2**100])
@pytest.mark.parametrize("sign", [1, -1])
def test_range_is_inclusive_and_names_the_index(bound: int, sign: int) -> None:
    pack_signed([0, sign * bound], bound, "test")
    with pytest.raises(PlaintextRangeError, match="index 1 has") as caught:
        pack_signed([0, sign * (bound + 1)], bound, "test")
    assert str(bound + 1) not in str(caught.value)


def test_range_of_arrays() -> None:
    pack_signed(np.array([5, -5]), 5, "test")
    for values in (np.array([0, 6]), np.array([0, -6]), np.array([0, -(2**63)])):
        with pytest.raises(PlaintextRangeError, match="index 1"):
            pack_signed(values, 5, "test")
    with pytest.raises(PlaintextRangeError, match="index 0"):
        pack_signed(np.array([2**64 - 1], dtype=np.uint64), 2**63, "test")
