"""Buffers of the wrong size or content at the native boundary of set intersection are ValueErrors."""

from collections.abc import Callable

import numpy as np
import pytest

from vfxgb import _native

K, S = bytes(16), bytes(32)
IDS = np.zeros((2, 16), dtype=np.uint8)
PAIRS, SEEDS = np.zeros((768, 2, 16), dtype=np.uint8), np.zeros((768, 16), dtype=np.uint8)
OPENING = bytes(2 * 768 * 16)
RECEIVER = _native.psi.OprfReceiver(S, PAIRS)
SENDER = _native.psi.OprfSender(S, bytes(96), SEEDS, OPENING)
EMPTY = np.full(128, 2**32 - 1, dtype=np.uint32)
ORDER = np.arange(6, dtype=np.uint32)
OFFSETS = np.full(129, 6, dtype=np.uint32)
OFFSETS[0] = 0
VALUES = np.zeros(6, dtype=np.uint64)
STORE = np.zeros(_native.psi.store_size(6), dtype=np.uint64)


def evaluate(
    group: int = 0, u: bytes = bytes(3072), order: object = ORDER, offsets: object = OFFSETS, values: object = VALUES
) -> None:
    SENDER.evaluate(group, u, IDS, order, offsets, values)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: _native.psi.cuckoo_table(IDS[:, :15], K, 3), "ids must have shape"),
        (lambda: _native.psi.cuckoo_table(IDS, bytes(15), 3), "key takes 16 bytes"),
        (lambda: _native.psi.cuckoo_table(IDS, K, 2), "bins must be from 3"),
        (lambda: _native.psi.bin_order(IDS, K, 2**32), "bins must be from 3"),
        (lambda: _native.psi.bin_order(IDS, K, 3, 0), "threads must be at least 1"),
        (lambda: _native.psi.OprfReceiver(bytes(31), PAIRS), "session takes 32 bytes"),
        (lambda: _native.psi.OprfReceiver(S, PAIRS[:128]), "pairs must have shape"),
        (lambda: _native.psi.OprfSender(S, bytes(95), SEEDS, OPENING), "choices holds 95 bytes; wanted 96"),
        (lambda: _native.psi.OprfSender(S, bytes(96), PAIRS, OPENING), "seeds must have shape"),
        (lambda: _native.psi.OprfSender(S, bytes(96), SEEDS, OPENING[1:]), "opening holds 24575 bytes; wanted 24576"),
        (lambda: RECEIVER.mask(0, IDS, EMPTY[:127]), "whole groups"),
        (lambda: RECEIVER.mask(0, IDS, EMPTY - np.uint32(1)), "entries must be below"),
        (lambda: evaluate(u=bytes(8191)), "whole items"),
        (lambda: evaluate(group=1), "behind the last bin"),
        (lambda: evaluate(group=2**63), "behind the last bin"),
        (lambda: evaluate(offsets=OFFSETS[:0]), "behind the last bin"),
        (lambda: evaluate(offsets=OFFSETS[::-1].copy()), "offsets must ascend"),
        (lambda: evaluate(offsets=OFFSETS + np.uint32(1)), "offsets must ascend"),
        (lambda: evaluate(order=ORDER[:5]), "order must have shape"),
        (lambda: evaluate(order=ORDER + np.uint32(1)), "entries must be below"),
        (lambda: evaluate(values=VALUES[:5]), "values must have shape"),
        (lambda: _native.psi.store_size(-1), "keys must not be negative"),
        (lambda: _native.psi.store_encode(bytes(15), IDS, VALUES), "seed takes 16 bytes"),
        (lambda: _native.psi.store_encode(K, IDS, VALUES[:5]), "values must have shape"),
        (lambda: _native.psi.store_decode(K, IDS, ORDER + np.uint32(1), 6, STORE), "entries must be below"),
        (lambda: _native.psi.store_decode(K, IDS, ORDER, 7, STORE[:-1]), "store must have shape"),
        (lambda: _native.psi.store_decode(K, IDS, ORDER, 2**40, STORE), "too many keys"),
    ],
)
def test_wrong_sizes(call: Callable[[], object], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        call()


def test_values_are_written_in_place_or_not_at_all() -> None:
    with pytest.raises(TypeError):
        evaluate(values=np.zeros(6, dtype=np.uint32))
    frozen = np.zeros(6, dtype=np.uint64)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="not writeable"):
        evaluate(values=frozen)
