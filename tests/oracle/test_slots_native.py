"""The slot codec against Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vfxgb import _native

THREADS = st.sampled_from([1, 2, 3])


def int32(values: object) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


def integers(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]


@st.composite
def slots(draw: st.DrawFn) -> tuple[list[int], list[bool], list[list[int]]]:
    """Widths, signs, and rows of values that fit them."""
    bits = draw(st.lists(st.integers(1, 63), min_size=0, max_size=8))
    signed = [draw(st.booleans()) for _ in bits]
    value = [
        st.integers(-(2 ** (b - 1)), 2 ** (b - 1) - 1) if s else st.integers(0, 2**b - 1)
        for b, s in zip(bits, signed, strict=True)
    ]
    rows = draw(st.lists(st.tuples(*value), min_size=0, max_size=20))
    return bits, signed, [list(row) for row in rows]


@given(slots(), THREADS)
def test_round_trip(case: tuple[list[int], list[bool], list[list[int]]], threads: int) -> None:
    bits, signed, rows = case
    offsets = [sum(bits[:j]) for j in range(len(bits))]
    width = (sum(bits) + 1) // 64 * 8 + 8
    values = np.array(rows, dtype=np.int64).reshape(len(rows), len(bits))
    data = _native.codec.encode_slots(values, int32(offsets), width, threads)
    assert integers(data, width) == [sum(v << o for v, o in zip(row, offsets, strict=True)) for row in rows]
    found = _native.codec.decode_slots(data, width, int32(bits), np.array(signed, dtype=np.bool_), threads)
    assert found.tolist() == rows


@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 200)), min_size=1, max_size=6),
    st.sampled_from([8, 16, 24, 40]),
)
def test_any_offsets(terms: list[tuple[int, int]], width: int) -> None:
    """Slots that overlap or come in any order; what does not fit is refused."""
    values, offsets = np.array([[v for v, _ in terms]], dtype=np.int64), int32([o for _, o in terms])
    wanted = sum(v << o for v, o in terms)
    # Bits shifted out of the width are lost before the sum: an offset beyond it is refused as such.
    if max(offsets) >= 8 * width or not -(2 ** (8 * width - 1)) <= wanted < 2 ** (8 * width - 1):
        if max(offsets) < 8 * width - 64 or abs(wanted) < 2 ** (8 * width + 62):
            with pytest.raises(ValueError, match=r"fit|outside"):
                _native.codec.encode_slots(values, offsets, width)
        return
    assert integers(_native.codec.encode_slots(values, offsets, width), width) == [wanted]


def test_known_answer() -> None:
    """ERRATA's packing example: f = 8, w_h = 20."""
    values = np.array([[-128, 64], [64, 48]], dtype=np.int64)
    data = _native.codec.encode_slots(values, int32([20, 0]), 8)
    assert integers(data, 8) == [-134217664, 67108912]
    total = sum(integers(data, 8))
    assert total == -67108752
    found = _native.codec.decode_slots(
        total.to_bytes(8, "little", signed=True), 8, int32([20, 30]), np.array([False, True])
    )
    assert found.tolist() == [[112, -64]]


@given(st.integers(-(2**127), 2**127 - 1), st.lists(st.tuples(st.integers(1, 63), st.booleans()), max_size=4))
def test_what_remains_is_refused(value: int, layout: list[tuple[int, bool]]) -> None:
    wanted, rest = [], value
    for bits, signed in layout:
        slot = rest % 2**bits
        if signed and slot >= 2 ** (bits - 1):
            slot -= 2**bits
        wanted.append(slot)
        rest = (rest - slot) >> bits
    arguments = (
        value.to_bytes(16, "little", signed=True),
        16,
        int32([bits for bits, _ in layout]),
        np.array([signed for _, signed in layout], dtype=np.bool_),
    )
    if rest:
        with pytest.raises(ValueError, match="integer 0 is wider"):
            _native.codec.decode_slots(*arguments)
    else:
        assert _native.codec.decode_slots(*arguments).tolist() == [wanted]


@given(
    st.lists(st.floats(-50, 50), max_size=30),
    st.floats(-20, 20),
    st.floats(0.001, 100),
    st.floats(1, 1e6),
    st.integers(1, 52),
)
def test_quantise_shifted(values: list[float], shift: float, limit: float, ratio: float, bits: int) -> None:
    v = np.array(values, dtype=np.float64)
    alpha_max = limit * ratio
    wanted = np.rint((2.0**bits - 1) * np.clip(v - shift, 0, limit) / alpha_max)
    found = _native.codec.quantise_shifted(v, shift, limit, alpha_max, bits)
    assert found.tolist() == wanted.tolist()
    assert ((found >= 0) & (found < 2**bits)).all()


def test_quantiser_of_the_paper() -> None:
    """E23 and E24: alpha_max takes 2**r - 1, so r bits are enough; 5 of 127 is 10 with 8 bits and 5 with 7."""
    assert _native.codec.quantise_shifted(np.array([[127.0], [5.0]]), 0.0, 127.0, 127.0, 8).tolist() == [[255], [10]]
    assert _native.codec.quantise_shifted(np.array([127.0, 5.0]), 0.0, 127.0, 127.0, 7).tolist() == [127, 5]
