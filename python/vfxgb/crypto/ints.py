"""Python and numpy integers to and from the buffers of the native core.

A batch crosses that boundary as one buffer of little-endian integers of one fixed width, a multiple of 8 bytes;
signed values are two's complement. An int64 array is such a buffer already and is passed on without a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import IntegerTypeError, PlaintextRangeError

Integers: TypeAlias = Sequence[int] | NDArray[np.integer]

LIMB_BYTES = 8
INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


@dataclass(frozen=True)
class PackedIntegers:
    """A batch of signed integers: `count` of them, each of `width` bytes (a multiple of 8)."""

    data: bytes | NDArray[np.int64]
    width: int
    count: int


def width_for_bits(bits: int) -> int:
    """The smallest multiple of 8 bytes that holds `bits` bits, at least 8."""
    return max(1, -(-bits // (8 * LIMB_BYTES))) * LIMB_BYTES


def to_fixed(value: int) -> bytes:
    """One non-negative integer as little-endian bytes, the length a multiple of 8."""
    return value.to_bytes(width_for_bits(value.bit_length()), "little")


def from_fixed(data: bytes) -> int:
    """Inverse of to_fixed."""
    return int.from_bytes(data, "little")


def pack_signed(values: Integers, bound: int, step: str) -> PackedIntegers:
    """Pack signed integers of absolute value at most `bound`.

    `values`: a sequence of Python ints (any size) or a one-dimensional integer array. `step` names the caller's
    operation in error messages. Raises IntegerTypeError for anything that is not an integer and
    PlaintextRangeError, naming the index, for a value out of range.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        if values.ndim != 1:
            raise IntegerTypeError(
                f"{step}: found an array of {values.ndim} dimensions, wanted one; flatten it with .ravel() first"
            )
        if values.dtype.kind == "i" or values.size == 0 or int(values.max()) <= INT64_MAX:
            return _pack_array(values, bound, step)
    return _pack_sequence(integer_list(values, step), bound, step)


def integer_list(values: Integers, step: str) -> list[int]:
    """A sequence or array of integers as a list of Python ints; IntegerTypeError for anything else."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iuO" or values.ndim != 1:
            raise IntegerTypeError(
                f"{step}: found an array of dtype {values.dtype} with {values.ndim} dimension(s), wanted a "
                "one-dimensional integer array; convert real values to fixed point first, e.g. "
                "numpy.rint(x * 2**f).astype(numpy.int64)"
            )
        items: list[Any] = values.tolist()
    elif _is_number_sequence(values):
        items = list(values)
    else:
        raise IntegerTypeError(
            f"{step}: found {type(values).__name__}, wanted a sequence of integers or an integer array; "
            "put a single integer into a list"
        )
    for kind in set(map(type, items)):
        if kind is not int and not issubclass(kind, np.integer):
            index = next(i for i, item in enumerate(items) if type(item) is kind)
            raise IntegerTypeError(
                f"{step}: found {kind.__name__} at index {index}, wanted an integer; convert real values to fixed "
                "point first, e.g. round(x * 2**f), and booleans with int()"
            )
    return [int(item) for item in items]


def unpack_signed(data: bytes, width: int) -> list[int]:
    """Python ints from a buffer of two's complement integers of `width` bytes each."""
    limbs = np.frombuffer(data, dtype="<i8").reshape(-1, width // LIMB_BYTES)
    low = limbs[:, 0]
    # When all upper limbs only repeat the sign, numpy converts the whole batch without a Python loop.
    if bool((limbs[:, 1:] == (low >> 63)[:, None]).all()):
        small: list[int] = low.tolist()
        return small
    view = memoryview(data)
    return [int.from_bytes(view[i : i + width], "little", signed=True) for i in range(0, len(data), width)]


def unpack_unsigned(data: bytes, width: int) -> list[int]:
    """Python ints from a buffer of unsigned integers of `width` bytes each."""
    view = memoryview(data)
    return [int.from_bytes(view[i : i + width], "little") for i in range(0, len(data), width)]


def _is_number_sequence(values: object) -> TypeGuard[Sequence[object]]:
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray, memoryview))


def _pack_array(values: NDArray[np.integer], bound: int, step: str) -> PackedIntegers:
    if values.size:
        for index in (int(values.argmax()), int(values.argmin())):
            _check_range(int(values[index]), index, bound, step)
    return PackedIntegers(np.ascontiguousarray(values, dtype="<i8"), LIMB_BYTES, values.size)


def _pack_sequence(items: list[int], bound: int, step: str) -> PackedIntegers:
    if not items:
        return PackedIntegers(b"", LIMB_BYTES, 0)
    low, high = min(items), max(items)
    for extreme in (high, low):
        if abs(extreme) > bound:
            _check_range(extreme, items.index(extreme), bound, step)
    if low >= INT64_MIN and high <= INT64_MAX:
        return PackedIntegers(np.array(items, dtype="<i8"), LIMB_BYTES, len(items))
    # One bit more for the sign.
    width = width_for_bits(max(abs(low), abs(high)).bit_length() + 1)
    return PackedIntegers(b"".join([item.to_bytes(width, "little", signed=True) for item in items]), width, len(items))


def _check_range(value: int, index: int, bound: int, step: str) -> None:
    # The value is a secret of the caller: only its size goes into the message.
    if abs(value) > bound:
        raise PlaintextRangeError(
            f"{step}: the value at index {index} has {value.bit_length()} bits, wanted an absolute value of at most "
            f"the key's max_plaintext ({bound.bit_length()} bits); use a larger key or fewer fixed-point bits"
        )
