"""Masks of secure aggregation against one block of the key stream after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb import _native


def random_keys(count: int) -> np.ndarray:
    return np.frombuffer(_native.rand.random_bytes(32 * count), np.uint8).reshape(count, 32)


def stream(key: np.ndarray, size: int) -> bytes:
    return b"".join(_native.rand.chacha20_block(key.tobytes(), i, bytes(12)) for i in range(-(-size // 64)))[:size]


signs_of = st.lists(st.sampled_from([1, -1]), max_size=5).map(lambda signs: np.array(signs, dtype=np.int8))


@given(signs=signs_of, size=st.integers(0, 40), start=st.integers(0, 2**64 - 1), threads=st.integers(1, 2))
def test_words(signs: np.ndarray, size: int, start: int, threads: int) -> None:
    keys, values = random_keys(len(signs)), np.full(size, start, np.uint64)
    _native.crypto.add_masks(keys, signs, values, threads)
    wanted = [start] * size
    for key, sign in zip(keys, signs.tolist(), strict=True):
        words = np.frombuffer(stream(key, 8 * size), "<u8").tolist()
        wanted = [(value + sign * word) % 2**64 for value, word in zip(wanted, words, strict=True)]
    assert values.tolist() == wanted


@pytest.mark.parametrize("size", [4095, 4096, 4097, 40_000])
def test_long_vectors(size: int) -> None:
    """Several stretches, with few keys and with many."""
    for count in (1, 70):
        keys, signs = random_keys(count), np.where(np.arange(count) % 3, 1, -1).astype(np.int8)
        values, wanted = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        _native.crypto.add_masks(keys, signs, values, 2)
        for key, sign in zip(keys, signs, strict=True):
            words = np.frombuffer(_native.rand.chacha20_keystream(key.tobytes(), -(-size // 8)), "<u8")[:size]
            wanted = wanted + words if sign > 0 else wanted - words
        assert np.array_equal(values, wanted)


def test_opposite_signs_cancel() -> None:
    keys, ones = random_keys(9), np.ones(9, np.int8)
    values = np.arange(100, dtype=np.uint64)
    _native.crypto.add_masks(keys, ones, values)
    assert not np.array_equal(values, np.arange(100))
    _native.crypto.add_masks(keys, -ones, values)
    assert np.array_equal(values, np.arange(100))


@given(
    signs=signs_of,
    count=st.integers(0, 5),
    modulus=st.one_of(st.integers(1, 300), st.integers(2**127, 2**130), st.integers(2**511, 2**513)),
    threads=st.integers(1, 2),
)
def test_wide(signs: np.ndarray, count: int, modulus: int, threads: int) -> None:
    """ERRATA E13 and E20: modulo N, from pieces at least 128 bits longer than N."""
    keys = random_keys(len(signs))
    width, piece = -(-modulus.bit_length() // 8), -(-(modulus.bit_length() + 128) // 64) * 8
    found = _native.crypto.wide_masks(keys, signs, count, modulus.to_bytes(width, "little"), threads)
    assert found.shape == (count, width)
    wanted = [0] * count
    for key, sign in zip(keys, signs.tolist(), strict=True):
        data = stream(key, count * piece)
        for e in range(count):
            wanted[e] += sign * int.from_bytes(data[e * piece : (e + 1) * piece], "little")
    assert [int.from_bytes(row.tobytes(), "little") for row in found] == [value % modulus for value in wanted]


@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_wide_stretches(count: int) -> None:
    keys, modulus = random_keys(40), 2**255 - 19
    signs = np.where(np.arange(40) % 2, 1, -1).astype(np.int8)
    found = _native.crypto.wide_masks(keys, signs, count, modulus.to_bytes(32, "little"), 2)
    for e in (0, 62, count - 1):
        total = sum(
            int(sign) * int.from_bytes(stream(key, (e + 1) * 48)[e * 48 :], "little")
            for key, sign in zip(keys, signs, strict=True)
        )
        assert int.from_bytes(found[e].tobytes(), "little") == total % modulus
    # The first entries do not depend on how many there are.
    assert np.array_equal(_native.crypto.wide_masks(keys, signs, 5, modulus.to_bytes(32, "little")), found[:5])
