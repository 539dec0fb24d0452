"""Buffers of the wrong size at the native boundary of oblivious transfer are ValueErrors."""

from collections.abc import Callable

import numpy as np
import pytest

from vfxgb import _native

S, D = bytes(32), bytes(16)
LEAVES = np.array([5], dtype=np.int32)
HOLES = np.array([[4, 0]], dtype=np.uint16)
SEEDS, PAIRS = np.zeros((128, 16), dtype=np.uint8), np.zeros((128, 2, 16), dtype=np.uint8)
SENDER = _native.ot.TransferSender(4, D, SEEDS, bytes(4096))
RECEIVER = _native.ot.TransferReceiver(4, PAIRS)
ONE = np.zeros(1, dtype=np.uint8)
HOLE = np.zeros(1, dtype=np.uint16)
SILENT_SENDER = _native.ot.SilentSender(S, 0, 0, D, D, bytes(160), 2, D)
SILENT_RECEIVER = _native.ot.SilentReceiver(S, 0, 0, D, bytes(160), bytes(2), 2, HOLE, bytes(32))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: _native.ot.aes_encrypt(bytes(15), D), "key takes 16 bytes"),
        (lambda: _native.ot.aes_encrypt(D, bytes(17)), "whole items"),
        (lambda: _native.ot.ot_hash(bytes(31), 0, 0, 0, D), "session takes 32 bytes"),
        (lambda: _native.ot.TransferSender(4, bytes(15), SEEDS, bytes(4096)), "delta takes 16 bytes"),
        (lambda: _native.ot.TransferSender(4, D, SEEDS[:127], bytes(4096)), "seeds must have shape"),
        (lambda: _native.ot.TransferSender(4, D, SEEDS, bytes(4095)), "opening holds 4095 bytes; wanted 4096"),
        (lambda: _native.ot.TransferSender(0, D, SEEDS, bytes(4096)), "pieces of 0 bits; wanted 1 to 8"),
        (lambda: _native.ot.TransferReceiver(9, PAIRS), "pieces of 9 bits; wanted 1 to 8"),
        (lambda: _native.ot.TransferReceiver(4, SEEDS), "pairs must have shape"),
        (lambda: SENDER.extend(0, True, bytes(511)), "whole items"),
        (lambda: SENDER.extend(0, True, bytes(16 * 31)), "whole groups of 512 bytes"),
        (lambda: SENDER.extend(0, False, bytes(16 * 32)), "whole groups of 496 bytes"),
        (lambda: SENDER.extend(0, True, bytes(512), threads=0), "threads must be at least 1"),
        (lambda: RECEIVER.extend(0, 1, bytes(15)), "choices holds 15 bytes; wanted 16"),
        (lambda: RECEIVER.extend(0, -1, None), "groups must not be negative"),
        (lambda: _native.ot.transfer_keys(S, 0, 0, bytes(8), 0, D), "shift takes 16 bytes"),
        (lambda: _native.ot.transfer_keys(S, 0, 0, D, 0, bytes(17)), "whole items"),
        (lambda: _native.ot.table_entries(S, 0, 0, D, 2, 3, 0, bytes(32)), "entries of 3 bits"),
        (lambda: _native.ot.table_entries(S, 0, 0, D, 9, 1, 0, bytes(144)), r"tables of 2\^9 entries"),
        (lambda: _native.ot.table_entries(S, 0, 0, D, 2, 1, 0, bytes(48)), "whole tables"),
        (lambda: _native.ot.chosen_entries(S, 0, 0, 2, 1, 0, ONE, bytes(64)), "choice must have shape"),
        (
            lambda: _native.ot.chosen_entries(S, 0, 0, 2, 1, 0, ONE + np.uint8(4), bytes(32)),
            "a choice that is no entry",
        ),
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
        (lambda: _native.ot.SilentSender(S, 0, 0, D, D, b"", 2, D), "rows must not be empty"),
        (lambda: _native.ot.SilentSender(S, 0, 0, D, D, D, 17, D), "depth 1 to 16"),
        (lambda: _native.ot.SilentSender(S, 0, 0, D, bytes(8), D, 2, D), "key takes 16 bytes"),
        (lambda: SILENT_SENDER.expand(1, 1), "a tree that is not there"),
        (lambda: SILENT_SENDER.expand(0, 2), "a tree that is not there"),
        (lambda: SILENT_RECEIVER.expand(-1, 1), "first must not be negative"),
        (lambda: SILENT_RECEIVER.expand(0, 2), "a tree that is not there"),
        (lambda: _native.ot.SilentReceiver(S, 0, 0, D, D, bytes(2), 2, HOLE, bytes(32)), "a bit for every row"),
        (lambda: _native.ot.SilentReceiver(S, 0, 0, D, D, bytes(1), 2, HOLE, bytes(16)), "copaths holds 16 bytes"),
        (lambda: _native.ot.SilentReceiver(S, 0, 0, D, D, bytes(1), 2, HOLE + np.uint16(4), bytes(32)), "is no leaf"),
        (lambda: _native.ot.compress(bytes(15), D), "key takes 16 bytes"),
        (lambda: _native.ot.compress(D, bytes(3)), "whole items"),
        (lambda: _native.ot.compress(D, b""), "at least one group"),
        (lambda: _native.ot.compress_columns(D, bytes(2032)), "whole groups of 2048 bytes"),
        (lambda: _native.ot.compress_columns(D, b""), "at least one group"),
    ],
)
def test_wrong_sizes(call: Callable[[], object], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        call()
