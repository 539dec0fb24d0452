"""Buffers of the wrong size at the native boundary of oblivious transfer are ValueErrors."""

from collections.abc import Callable

import numpy as np
import pytest

from vfxgb import _native

S, D = bytes(32), bytes(16)
LEAVES = np.array([5], dtype=np.int32)
HOLES = np.array([[4, 0]], dtype=np.uint16)
SENDER = _native.ot.OtSender(D, np.zeros((128, 16), dtype=np.uint8))
RECEIVER = _native.ot.OtReceiver(np.zeros((128, 2, 16), dtype=np.uint8))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: _native.ot.aes_encrypt(bytes(15), D), "key takes 16 bytes"),
        (lambda: _native.ot.aes_encrypt(D, bytes(17)), "whole items"),
        (lambda: _native.ot.ot_hash(bytes(31), 0, 0, 0, D), "session takes 32 bytes"),
        (lambda: _native.ot.OtSender(bytes(15), np.zeros((128, 16), dtype=np.uint8)), "delta takes 16 bytes"),
        (lambda: _native.ot.OtSender(D, np.zeros((127, 16), dtype=np.uint8)), "seeds must have shape"),
        (lambda: _native.ot.OtReceiver(np.zeros((128, 16), dtype=np.uint8)), "seeds must have shape"),
        (lambda: SENDER.extend(0, bytes(2047)), "whole items"),
        (lambda: SENDER.extend(0, bytes(16 * 127)), "whole groups of 2048 bytes"),
        (lambda: SENDER.extend(0, bytes(2048), threads=0), "threads must be at least 1"),
        (lambda: RECEIVER.extend(0, bytes(15)), "whole items"),
        (lambda: _native.ot.tree_choices(np.array([0], dtype=np.int32), HOLES), "a tree of 0 leaves"),
        (lambda: _native.ot.tree_choices(np.array([65537], dtype=np.int32), HOLES), "a tree of 65537 leaves"),
        (lambda: _native.ot.tree_choices(LEAVES, HOLES + np.uint16(1)), "leaf 5 in row 0 of tree 0"),
        (lambda: _native.ot.tree_choices(LEAVES, HOLES[0]), "holes must have shape"),
        (lambda: _native.ot.tree_corrections(S, 0, 0, D, LEAVES, 2, bytes(5 * 16)), "q holds 80 bytes; wanted 96"),
        (lambda: _native.ot.tree_corrections(S, 0, 0, D, LEAVES, -1, b""), "rows must not be negative"),
        (lambda: _native.ot.tree_copaths(S, 0, 0, LEAVES, HOLES, bytes(95), bytes(64)), "t holds 95 bytes; wanted 96"),
        (lambda: _native.ot.tree_copaths(S, 0, 0, LEAVES, HOLES, bytes(96), bytes(48)), "corrections holds 48 bytes"),
        (
            lambda: _native.ot.tree_leaves(S, 0, 0, D, LEAVES, np.zeros((2, 1, 16), dtype=np.uint8)),
            "roots must have shape",
        ),
        (
            lambda: _native.ot.tree_leaves_punctured(S, 0, 0, LEAVES, HOLES, bytes(80)),
            "copaths holds 80 bytes; wanted 96",
        ),
        (lambda: _native.ot.weighted_sum(bytes(15), D), "key takes 16 bytes"),
        (lambda: _native.ot.weighted_choices(D, bytes(3)), "whole items"),
        (lambda: _native.ot.field_product(D, bytes(8)), "b takes 16 bytes"),
    ],
)
def test_wrong_sizes(call: Callable[[], object], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        call()
