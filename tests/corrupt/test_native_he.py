"""The codec, encrypted rows and encrypted sums refuse what does not fit: nothing crashes."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import PrivateKey

N = 12
NAN = float("nan")
FEATURES = np.array([0, 1], dtype=np.int32)
MISSING = np.array([False, True])
NODES = np.array([0], dtype=np.int32)


def int32(*values: int) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def refuse(*calls: Callable[[], object]) -> None:
    for call in calls:
        with pytest.raises(ValueError, match=r".+"):
            call()


@pytest.fixture
def bins() -> _native.gbdt.Bins:
    out = _native.gbdt.Bins(N, [np.array([0.5]), np.array([1.0, 2.0])])
    out.fill(0, np.linspace(0, 1, N))
    return out


@pytest.fixture
def wire(key: PrivateKey) -> bytes:
    return key.encrypt(list(range(N)))._native.to_wire()


@pytest.fixture
def rows(key: PrivateKey, wire: bytes) -> _native.crypto.CipherRows:
    out = _native.crypto.CipherRows(key.public_key.native, N)
    assert out.fill(0, wire) == -1
    return out


def test_encode() -> None:
    one = np.ones((2, 1), dtype=np.int64)
    refuse(
        lambda: _native.codec.encode_slots(one, int32(0), 0),
        lambda: _native.codec.encode_slots(one, int32(0), 7),
        lambda: _native.codec.encode_slots(one, int32(0), -8),
        lambda: _native.codec.encode_slots(one, int32(0), 2**40),
        lambda: _native.codec.encode_slots(one, int32(64), 8),
        lambda: _native.codec.encode_slots(one, int32(-1), 8),
        lambda: _native.codec.encode_slots(one, int32(0, 1), 8),
        lambda: _native.codec.encode_slots(one[0], int32(0), 8),
        lambda: _native.codec.encode_slots(one, int32(63), 8),
        lambda: _native.codec.encode_slots(one * 2**62, int32(1), 8),
        lambda: _native.codec.encode_slots(-one * 2**62 - 1, int32(1), 8),
        lambda: _native.codec.encode_slots(one, int32(0), 8, 0),
    )
    with pytest.raises(ValueError, match="row 1 does not fit 8 bytes"):
        _native.codec.encode_slots(np.array([[1], [2]], dtype=np.int64), int32(62), 8)
    with pytest.raises(TypeError):
        _native.codec.encode_slots(one.astype(np.float64), int32(0), 8)  # type: ignore[arg-type]


def test_decode() -> None:
    unsigned = np.array([False])
    refuse(
        lambda: _native.codec.decode_slots(bytes(8), 0, int32(1), unsigned),
        lambda: _native.codec.decode_slots(bytes(8), 9, int32(1), unsigned),
        lambda: _native.codec.decode_slots(bytes(9), 8, int32(1), unsigned),
        lambda: _native.codec.decode_slots(bytes(8), 8, int32(0), unsigned),
        lambda: _native.codec.decode_slots(bytes(8), 8, int32(64), unsigned),
        lambda: _native.codec.decode_slots(bytes(8), 8, int32(-1), unsigned),
        lambda: _native.codec.decode_slots(bytes(8), 8, int32(1, 1), unsigned),
        lambda: _native.codec.decode_slots(b"\2" + bytes(7), 8, int32(1), unsigned),
        lambda: _native.codec.decode_slots(b"\xff" * 8, 8, int32(63), unsigned),
        lambda: _native.codec.decode_slots(bytes(8), 8, int32(1), unsigned, -1),
    )


def test_quantise() -> None:
    v = np.zeros(2)
    refuse(
        lambda: _native.codec.quantise_shifted(v, 0.0, 0.0, 1.0, 8),
        lambda: _native.codec.quantise_shifted(v, 0.0, -1.0, 1.0, 8),
        lambda: _native.codec.quantise_shifted(v, 0.0, 2.0, 1.0, 8),
        lambda: _native.codec.quantise_shifted(v, 0.0, NAN, 1.0, 8),
        lambda: _native.codec.quantise_shifted(v, NAN, 1.0, 1.0, 8),
        lambda: _native.codec.quantise_shifted(v, 0.0, 1.0, float("inf"), 8),
        lambda: _native.codec.quantise_shifted(v, 0.0, 1.0, 1.0, 0),
        lambda: _native.codec.quantise_shifted(v, 0.0, 1.0, 1.0, 53),
        lambda: _native.codec.quantise_shifted(np.array([NAN]), 0.0, 1.0, 1.0, 8),
    )


def test_fill(key: PrivateKey, wire: bytes) -> None:
    native = key.public_key.native
    size = native.wire_bytes
    rows = _native.crypto.CipherRows(native, N)
    refuse(
        lambda: _native.crypto.CipherRows(native, -1),
        lambda: rows.fill(-1, wire),
        lambda: rows.fill(1, wire),
        lambda: rows.fill(N + 1, b""),
        lambda: rows.fill(2**62, b""),
        lambda: rows.fill(0, wire[:-1]),
        lambda: rows.fill(0, wire, 0),
    )
    assert rows.filled == 0
    assert rows.fill(0, wire) == -1
    bad_range = wire[: 3 * size] + b"\xff" * size + wire[4 * size :]
    assert rows.fill(0, bad_range) == 3
    assert rows.filled == 0
    assert rows.fill(0, wire[: 5 * size]) == -1
    zero = wire[: 2 * size] + bytes(size)
    assert rows.fill(4, zero) == 2
    assert rows.filled == 4
    p = key.export_primes()[0]
    factor = p.to_bytes(size, "little")
    assert rows.fill(0, wire[:size] + factor + bytes(size), 2) == 1
    assert rows.filled == 1


def test_fill_points_at_the_first_of_many(toy: PrivateKey) -> None:
    """Several chunks of a piece, on two threads, with bad items in more than one of them."""
    native = toy.public_key.native
    good = toy.encrypt([1])._native.to_wire() * 5000
    size = native.wire_bytes
    rows = _native.crypto.CipherRows(native, 5000)
    assert rows.fill(0, good, 2) == -1
    for place in (0, 1023, 1024, 4999):
        data = bytearray(good)
        for later in {place, 4999}:
            data[later * size : (later + 1) * size] = bytes(size)
        assert rows.fill(0, data, 2) == place


def test_histogram(key: PrivateKey, rows: _native.crypto.CipherRows, bins: _native.gbdt.Bins, make_key) -> None:
    partition = _native.gbdt.RowPartition(N)
    total = key.encrypt([1])._native
    other = make_key("paillier" if key.scheme == "ou" else "ou").encrypt([1])._native

    def call(**changes: object) -> _native.he_sums.CipherSums:
        arguments: dict[str, object] = {
            "rows": rows,
            "place": None,
            "bins": bins,
            "partition": partition,
            "nodes": NODES,
            "totals": total,
            "features": FEATURES,
            "joint": True,
            "threads": 1,
        }
        return _native.he_sums.cipher_histogram(**(arguments | changes))  # type: ignore[arg-type]

    empty = _native.crypto.CipherRows(key.public_key.native, N)
    short = _native.crypto.CipherRows(key.public_key.native, 0)
    refuse(
        lambda: call(rows=empty),
        lambda: call(rows=short),
        lambda: call(place=int32(0)),
        lambda: call(place=np.full(N, N, dtype=np.int32)),
        lambda: call(place=np.full(N, -1, dtype=np.int32)),
        lambda: call(partition=_native.gbdt.RowPartition(N + 1)),
        lambda: call(nodes=int32(1)),
        lambda: call(nodes=int32(-1)),
        lambda: call(totals=other),
        lambda: call(totals=key.encrypt([1, 2])._native),
        lambda: call(features=int32(2)),
        lambda: call(features=int32(-1)),
        lambda: call(features=int32(1, 0)),
        lambda: call(features=int32(0, 0)),
        lambda: call(threads=0),
    )
    sums = call()
    refuse(
        lambda: sums.left_sums(MISSING[:1]),
        lambda: sums.left_sums(MISSING, np.zeros(5, dtype=np.int64)),
        lambda: sums.left_sums(MISSING, np.arange(4)),
        lambda: sums.left_sums(MISSING, None, np.ones((1, 4), dtype=np.bool_)),
        lambda: sums.left_sums(MISSING, None, np.ones(5, dtype=np.bool_)),
        lambda: sums.left_sums(MISSING, threads=0),
        lambda: sums.buckets(0),
    )
    for bad in ({"place": np.zeros(N)}, {"totals": 1}, {"rows": None}):
        with pytest.raises(TypeError):
            call(**bad)


def test_root(key: PrivateKey, rows: _native.crypto.CipherRows, bins: _native.gbdt.Bins) -> None:
    total = key.encrypt([1])._native
    refuse(
        lambda: _native.he_sums.RootSums(rows, bins, int32(0), None, FEATURES, True),
        lambda: _native.he_sums.RootSums(rows, bins, np.zeros(N, dtype=np.int32), None, FEATURES, True),
        lambda: _native.he_sums.RootSums(rows, bins, np.full(N, -1, dtype=np.int32), None, FEATURES, True),
        lambda: _native.he_sums.RootSums(rows, bins, None, int32(1, 0), FEATURES, True),
        lambda: _native.he_sums.RootSums(rows, bins, None, int32(N), FEATURES, True),
        lambda: _native.he_sums.RootSums(rows, bins, None, None, int32(2), True),
    )
    empty = _native.crypto.CipherRows(key.public_key.native, N)
    waiting = _native.he_sums.RootSums(empty, bins, None, None, FEATURES, True)
    refuse(lambda: waiting.add(0, 1), lambda: waiting.finish(total))
    root = _native.he_sums.RootSums(rows, bins, None, None, FEATURES, True)
    root.add(2, N - 2)
    refuse(
        lambda: root.add(2, 1),
        lambda: root.add(N, 1),
        lambda: root.add(-1, 1),
        lambda: root.add(0, -1),
        lambda: root.add(0, 2**62),
        lambda: root.add(0, 1, 0),
        lambda: root.finish(total),
    )
    root.add(0, 2)
    refuse(lambda: root.finish(key.encrypt([1, 2])._native), lambda: root.finish(None, 0))
    root.finish(total)
    refuse(lambda: root.finish(total), lambda: root.add(0, 0))


def test_totals_of_a_hostile_peer(key: PrivateKey, rows: _native.crypto.CipherRows, bins: _native.gbdt.Bins) -> None:
    """A total that is none gives wrong sums, as the wrong gradients would, and nothing else."""
    partition = _native.gbdt.RowPartition(N)
    for joint in (True, False):
        sums = _native.he_sums.cipher_histogram(
            rows, None, bins, partition, NODES, key.encrypt([-5])._native, FEATURES, joint
        )
        assert len(sums.left_sums(MISSING)) == 5


def test_pack(key: PrivateKey) -> None:
    x = key.encrypt([1, 2])._native
    refuse(
        lambda: _native.he_sums.pack_sums(x, 0, 8),
        lambda: _native.he_sums.pack_sums(x, -1, 8),
        lambda: _native.he_sums.pack_sums(x, 1, -8),
        lambda: _native.he_sums.pack_sums(x, 1, 8, 0),
    )


def test_rows_outlive_their_names(key: PrivateKey, wire: bytes) -> None:
    """What a RootSums reads stays alive as long as it."""
    rows = _native.crypto.CipherRows(key.public_key.native, N)
    bins = _native.gbdt.Bins(N, [np.array([0.5]), np.array([1.0, 2.0])])
    root = _native.he_sums.RootSums(rows, bins, None, None, FEATURES, True)
    rows.fill(0, wire)
    del rows, bins
    root.add(0, N)
    sums = root.finish(None)
    del root
    assert len(sums.buckets()) == 3 + 4
