"""Buffers of the wrong size at the native boundary of hidden routing are ValueErrors."""

from collections.abc import Callable

import numpy as np
import pytest

from vfxgb import _native

S, D = bytes(32), bytes(16)
TWO = np.array([3, 1], dtype=np.int32)
WANTED = np.zeros((2, 5), dtype=np.uint16)
RANDOM = np.zeros(15, dtype=np.uint8)
T = bytes(15 * 16)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda n: n.choose_bits(S, 0, 0, TWO, 1, 0, T[:-1], RANDOM, WANTED), "t holds 239 bytes; wanted 240"),
        (lambda n: n.choose_bits(S, 0, 0, TWO, 1, 0, T, RANDOM[:-1], WANTED), "random must have shape"),
        (lambda n: n.choose_bits(S, 0, 0, TWO, 1, 0, T, RANDOM, WANTED[:1]), "wanted must have shape"),
        (lambda n: n.choose_bits(S, 0, 0, TWO, 1, 0, T, RANDOM, WANTED + np.uint16(2)), "an entry that is none"),
        (lambda n: n.choose_bits(S, 0, 0, TWO, 3, 0, T, RANDOM, WANTED), "1 or 2 planes"),
        (lambda n: n.choose_bits(S, 0, 0, TWO - np.int32(1), 1, 0, T, RANDOM, WANTED), "a group of 0 entries"),
        (lambda n: n.choose_bits(S[1:], 0, 0, TWO, 1, 0, T, RANDOM, WANTED), "session takes 32 bytes"),
        (lambda n: n.choose_bits(S, 0, 0, TWO, 1, 0, T, RANDOM, WANTED, threads=0), "threads must be at least 1"),
        (lambda n: n.mask_bits(S, 0, 0, D[1:], TWO, 1, 0, T, bytes(3), bytes(4), 5), "delta takes 16 bytes"),
        (lambda n: n.mask_bits(S, 0, 0, D, TWO, 1, 0, T, bytes(2), bytes(4), 5), "corrections holds 2 bytes; wanted 3"),
        (lambda n: n.mask_bits(S, 0, 0, D, TWO, 1, 0, T, bytes(3), bytes(5), 5), "bits holds 5 bytes; wanted 4"),
        (lambda n: n.mask_bits(S, 0, 0, D, TWO, 1, 0, T, bytes(3), bytes(4), -1), "rows must not be negative"),
        (lambda n: n.mask_bits(S, 0, 0, D, TWO, 1, 0, bytes(16), bytes(3), bytes(4), 5), "q holds 16 bytes"),
        (lambda n: n.read_bits(TWO, 1, WANTED, bytes(1), bytes(4)), "masks holds 1 bytes; wanted 2"),
        (lambda n: n.read_bits(TWO, 1, WANTED, bytes(2), bytes(3)), "sent holds 3 bytes; wanted 4"),
        (lambda n: n.read_bits(TWO, 1, WANTED + np.uint16(9), bytes(2), bytes(4)), "an entry that is none"),
    ],
)
def test_wrong_sizes(call: Callable[..., object], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        call(_native.routing)


def test_no_rows() -> None:
    nothing = np.zeros((2, 0), dtype=np.uint16)
    assert _native.routing.choose_bits(S, 0, 0, TWO, 1, 0, b"", RANDOM[:0], nothing) == (b"", b"")
    assert _native.routing.mask_bits(S, 0, 0, D, TWO, 1, 0, b"", b"", b"", 0) == b""
    assert _native.routing.read_bits(TWO, 1, nothing, b"", b"").shape == (2, 1, 0)
