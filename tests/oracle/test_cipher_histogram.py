"""Encrypted sums, opened, against the plain kernels: equal to the last bit, whichever way they were made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cipher_cases import SCHEMES, Case, cases, check_left_sums, encrypt, int32, key_of, make_case, open_pairs, rows_of
from property_tests import examples
from vfxgb import _native
from vfxgb.crypto import PrivateKey


@pytest.mark.parametrize("scheme", SCHEMES)
@given(case=cases(), joint=st.booleans(), with_totals=st.booleans(), threads=st.sampled_from([1, 2]))
@examples(12)
def test_histogram(scheme: str, case: Case, joint: bool, with_totals: bool, threads: int) -> None:
    key = key_of(scheme)
    rows = rows_of(key, case.in_rows, threads)
    nodes = case.rng.permutation(case.partition.nodes()).astype(np.int32)
    totals = encrypt(key, case.plain(nodes)[1]) if with_totals else None
    sums = _native.he_sums.cipher_histogram(
        rows, case.place, case.bins, case.partition, nodes, totals, case.features, joint, threads
    )
    assert sums.nodes == len(nodes)
    assert sums.rows_additions == len(case.used) * len(case.features)
    assert sums.additions <= sums.rows_additions
    check_left_sums(case, key, sums, nodes, threads)
    assert np.array_equal(open_pairs(key, sums.buckets(threads)), case.plain_buckets(nodes))


@pytest.mark.parametrize("scheme", SCHEMES)
@given(case=cases(), joint=st.booleans(), with_totals=st.booleans(), threads=st.sampled_from([1, 2]))
@examples(8)
def test_root(scheme: str, case: Case, joint: bool, with_totals: bool, threads: int) -> None:
    """Fed in pieces of any size and order, the root is what cipher_histogram makes of it."""
    key = key_of(scheme)
    pairs = case.in_rows
    size = key.public_key.native.wire_bytes
    wire = encrypt(key, pairs).to_wire()
    rows = _native.crypto.CipherRows(key.public_key.native, len(pairs))
    root = _native.he_sums.RootSums(rows, case.bins, case.place, case.sampled, case.features, joint)
    ends = np.unique(np.append(case.rng.integers(0, len(pairs) + 1, 4), [0, len(pairs)]))
    for piece in case.rng.permutation(len(ends) - 1):
        first, last = int(ends[piece]), int(ends[piece + 1])
        assert rows.fill(first, wire[first * size : last * size], threads) == -1
        root.add(first, last - first, threads)
    case.partition = _native.gbdt.RowPartition(case.bins.n_rows, case.sampled)
    nodes = int32([0])
    sums = root.finish(encrypt(key, case.plain(nodes)[1]) if with_totals else None, threads)
    assert sums.rows_additions == len(case.used) * len(case.features)
    check_left_sums(case, key, sums, nodes, threads)
    assert np.array_equal(open_pairs(key, sums.buckets(threads)), case.plain_buckets(nodes))


def additions(case: Case, key: PrivateKey, rows: _native.crypto.CipherRows, joint: bool, with_totals: bool) -> int:
    nodes = case.partition.nodes()
    totals = encrypt(key, case.plain(nodes)[1]) if with_totals else None
    sums = _native.he_sums.cipher_histogram(
        rows, case.place, case.bins, case.partition, nodes, totals, case.features, joint, 2
    )
    check_left_sums(case, key, sums, nodes, 2)
    return _native.he_sums.cipher_histogram(
        rows, case.place, case.bins, case.partition, nodes, totals, case.features, joint
    ).additions


def test_fewer_additions() -> None:
    """Four features of four bins: 256 cells, so 3,000 rows take hardly more than 3,000 additions, not 12,000."""
    key = key_of("ou")
    case = make_case(np.random.default_rng(5), 3000, [3, 3, 3, 3], 0.0, 0.0, 1.0, 0)
    case.features = int32(np.arange(4))
    rows = rows_of(key, case.gh, 2)
    single, joint = additions(case, key, rows, False, False), additions(case, key, rows, True, False)
    assert single == 4 * 3000 - 16
    assert 3000 - 256 <= joint < 3600
    assert additions(case, key, rows, False, True) < single
    assert additions(case, key, rows, True, True) < joint


def test_large_groups_of_features_where_rows_are_many() -> None:
    """Six features of 16 bins: in two groups of three, each of 70,000 rows takes two additions, and three in pairs."""
    key = key_of("ou")
    n = 70_000
    case = make_case(np.random.default_rng(6), n, [15] * 6, 0.0, 0.0, 1.0, 0)
    case.features = int32(np.arange(6))
    case.gh //= 1 << 8  # so that sums of so many fit the key
    rows = rows_of(key, case.gh, 2)
    assert 2 * n < additions(case, key, rows, True, False) + 2 * 16**3 < 2.3 * n
    assert additions(case, key, rows, True, True) < 2.3 * n
    assert additions(case, key, rows, False, False) == 6 * (n - 16)


def test_many_features() -> None:
    """More features than pairs are counted for; a wide one among them; one batch of nodes after the other."""
    key = key_of("paillier")
    case = make_case(np.random.default_rng(7), 5000, [1, 300, *[2, 3, 1, 7] * 7], 0.3, 0.3, 1.0, 4)
    rows = rows_of(key, case.gh, 2)
    assert additions(case, key, rows, True, True) < 0.6 * additions(case, key, rows, False, True)


def test_no_features_no_nodes_no_rows() -> None:
    key = key_of("ou")
    case = make_case(np.random.default_rng(1), 50, [2, 1], 0.0, 0.0, 1.0, 0)
    rows = rows_of(key, case.gh, 1)
    nothing, none = int32([]), np.zeros(0, dtype=np.bool_)
    for joint in (True, False):
        sums = _native.he_sums.cipher_histogram(
            rows, None, case.bins, case.partition, nothing, None, int32([0, 1]), joint, 2
        )
        assert (sums.nodes, sums.additions) == (0, 0)
        assert len(sums.left_sums(np.zeros(2, dtype=np.bool_))) == 0
        sums = _native.he_sums.cipher_histogram(rows, None, case.bins, case.partition, int32([0]), None, nothing, joint)
        assert (sums.nodes, len(sums.left_sums(none)), len(sums.buckets())) == (1, 0, 0)
    empty = _native.crypto.CipherRows(key.public_key.native, 0)
    sampled = int32([])
    root = _native.he_sums.RootSums(empty, case.bins, np.full(50, -1, dtype=np.int32), sampled, int32([0, 1]), True)
    root.add(0, 0)
    sums = root.finish(encrypt(key, np.zeros((1, 2), dtype=np.int64)))
    assert not open_pairs(key, sums.left_sums(np.array([True, True]))).any()
    assert sums.additions == 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("count", "per"), [(0, 3), (1, 1), (1, 4), (7, 3), (30, 4), (20, 5)])
def test_pack_sums(scheme: str, count: int, per: int) -> None:
    key = key_of(scheme)
    rng = np.random.default_rng(count)
    values = [int(v) for v in rng.integers(-(2**30), 2**30, count)]
    packed = _native.he_sums.pack_sums(key.encrypt(values)._native, per, 32, 2)
    assert len(packed) == -(-count // per)
    width = key.native.plaintext_width
    data = key.native.decrypt(packed)
    found = [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]
    assert found == [sum(v << (32 * j) for j, v in enumerate(values[i : i + per])) for i in range(0, count, per)]


def test_sums_are_the_same_on_every_path() -> None:
    """Equal ciphertexts in, equal bytes out: thread counts and kernels leave no trace."""
    key = key_of("paillier")
    case = make_case(np.random.default_rng(3), 300, [7, 3, 1], 0.2, 0.5, 1.0, 2)
    wire = encrypt(key, case.gh).to_wire()
    nodes = case.partition.nodes()
    total_wire = encrypt(key, case.plain(nodes)[1]).to_wire()
    parameters = key.public_key.parameters
    found = set()
    for path in _native.bigint.available_paths():
        native = _native.crypto.PublicKey.paillier(
            parameters.n.to_bytes(64, "little"), parameters.bases[0].to_bytes(64, "little"), 256, path
        )
        for threads in (1, 2, 3):
            rows = _native.crypto.CipherRows(native, 300)
            assert rows.fill(0, wire, threads) == -1
            totals = native.from_wire(total_wire)
            sums = _native.he_sums.cipher_histogram(
                rows, None, case.bins, case.partition, nodes, totals, case.features, True, threads
            )
            left = sums.left_sums(np.ascontiguousarray(case.has_missing[case.features]), threads=threads)
            found.add((sums.additions, _native.he_sums.pack_sums(left, 3, 90, threads).to_wire()))
    assert len(found) == 1
