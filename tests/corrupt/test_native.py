"""The native boundary refuses what the Python layer would never send: nothing crashes."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.crypto import PrivateKey

# A negative number where an unsigned one is wanted fails the conversion already.
REFUSALS = (ValueError, TypeError)


@pytest.fixture
def ring() -> _native.bigint.Ring:
    return _native.bigint.Ring((2**127 - 1).to_bytes(16, "little"))


def test_ring_buffers_of_wrong_length(ring: _native.bigint.Ring) -> None:
    good = bytes(2 * ring.width)
    for call in (
        lambda: ring.mul(good, good[:-1]),
        lambda: ring.mul(good, bytes(ring.width)),
        lambda: ring.square(good[:-1]),
        lambda: ring.product(good[:-1]),
        lambda: ring.power(good[:-1], bytes(8)),
        lambda: ring.power_each(good, bytes(8), 8),
        lambda: ring.power_each(good, bytes(16), 7),
        lambda: ring.fixed_power(good, bytes(8), 8),
        lambda: ring.fixed_power(bytes(ring.width), bytes(9), 8),
        lambda: ring.digit_products(good[:-1], bytes(8), 8, 2, 4),
        lambda: ring.digit_products(b"", bytes(8), 8, 2, 4),
        lambda: ring.digit_products(good, bytes(9), 8, 2, 4),
        lambda: ring.digit_products(good, bytes(8), 8, 1, 4),
        lambda: ring.digit_products(good, bytes(8), 8, 17, 4),
        lambda: ring.digit_products(good, bytes(8), 8, 2, 0),
        lambda: ring.inverse(good[:-1]),
    ):
        with pytest.raises(ValueError, match=r".+"):
            call()


@pytest.mark.parametrize("window", [-1, 17, 100])
def test_ring_window_out_of_range(ring: _native.bigint.Ring, window: int) -> None:
    with pytest.raises(REFUSALS):
        ring.fixed_power(bytes(ring.width), bytes(8), 8, window)
    with pytest.raises(REFUSALS):
        ring.digit_products(bytes(ring.width), bytes(8), 8, 1, window)


def test_key_buffers_of_wrong_length(key: PrivateKey) -> None:
    native = key.public_key.native
    c = key.encrypt([1, 2, 3])._native
    for call in (
        lambda: native.encrypt(bytes(9), 8),
        lambda: native.encrypt(bytes(7), 7),
        lambda: native.encrypt(bytes(8), 0),
        lambda: native.check_wire(bytes(native.wire_bytes + 1)),
        lambda: native.from_wire(bytes(native.wire_bytes + 1)),
        lambda: native.check_integers(bytes(native.integer_bytes + 1)),
        lambda: native.from_integers(bytes(native.integer_bytes + 1)),
        lambda: c.add_plain(bytes(16), 8),
        lambda: c.scale(bytes(16), 8),
        lambda: c.scale(bytes(23), 8),
        lambda: c.add(key.encrypt([1, 2])._native),
    ):
        with pytest.raises(ValueError, match=r".+"):
            call()


@pytest.mark.parametrize("row", [3, -1, 2**62, -(2**62)])
def test_rows_out_of_range(key: PrivateKey, row: int) -> None:
    c = key.encrypt([1, 2, 3])._native
    rows = np.array([0, row], dtype=np.int64)
    with pytest.raises(ValueError, match=r".+"):
        c.take(rows)
    with pytest.raises(ValueError, match=r".+"):
        c.sum(rows)


@pytest.mark.parametrize("threads", [0, -1])
def test_thread_counts_out_of_range(ring: _native.bigint.Ring, threads: int) -> None:
    with pytest.raises(REFUSALS):
        ring.square(bytes(ring.width), threads)


def test_mixed_native_keys(make_key) -> None:
    a = make_key("paillier").encrypt([1])._native
    for other in (make_key("paillier", randomness="short"), make_key("ou")):
        b = other.encrypt([1])._native
        with pytest.raises(ValueError, match=r".+"):
            a.add(b)
        with pytest.raises(ValueError, match=r".+"):
            a.concat(b)
        with pytest.raises(ValueError, match=r".+"):
            make_key("paillier").native.decrypt(b)


def test_even_modulus_of_a_key() -> None:
    with pytest.raises(ValueError, match=r".+"):
        _native.crypto.PublicKey.paillier((2**512).to_bytes(72, "little"), bytes([3] + 71 * [0]), 256)


def test_chacha20_arguments() -> None:
    for key, nonce in ((bytes(31), bytes(12)), (bytes(32), bytes(11))):
        with pytest.raises(ValueError, match=r".+"):
            _native.rand.chacha20_block(key, 0, nonce)
