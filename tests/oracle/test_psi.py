"""Bins, the OPRF and the store against forms of their definitions in Python, over AES of `cryptography` and hashlib."""

import hashlib
from functools import reduce
from operator import xor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

import transfer_twin as twin
from instruction_sets import INSTRUCTION_SETS
from vfxgb import _native

SESSION = bytes(range(32))
KEY = bytes(range(100, 116))
NO_ENTRY = 2**32 - 1


@pytest.fixture(params=INSTRUCTION_SETS, autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VFXGB_SIMD", request.param)


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def random_bytes(count: int, width: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, width), dtype=np.uint8)


def words(block: bytes) -> list[int]:
    return [int.from_bytes(block[i : i + 4], "little") for i in (0, 4, 8)]


def naive_bins(identity: bytes, bins: int) -> list[int]:
    third = bins // 3
    return [which * third + (word * third >> 32) for which, word in enumerate(words(aes(KEY, identity)))]


def naive_code(identity: bytes, which: int) -> int:
    """C_w(x): 192 bits."""
    stream = _native.rand.chacha20_block(SESSION, which + 1, bytes(12))
    return int.from_bytes(b"".join(aes(stream[i : i + 16], identity) for i in (0, 16))[:24], "little")


def naive_hash(place: int, row: int) -> int:
    data = SESSION[:16] + place.to_bytes(8, "little") + row.to_bytes(96, "little")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def times_secret(code: int, secret: int) -> int:
    """The pieces of the secret where the code has a bit: bit 0 of all pieces, then bit 1 of all, and so on."""
    return sum((secret >> 4 * i + b & 1) << 192 * b + i for i in range(192) if code >> i & 1 for b in range(4))


def row_of(columns: list[int], place: int) -> int:
    return sum((some >> place & 1) << i for i, some in enumerate(columns))


@pytest.mark.parametrize(("count", "bins"), [(1, 3), (2, 384), (50, 384), (100, 512), (3000, 4096)])
@pytest.mark.parametrize("threads", [1, 2])
def test_bins(count: int, bins: int, threads: int) -> None:
    ids = random_bytes(count, 16, count)
    wanted = [naive_bins(row.tobytes(), bins) for row in ids]
    order, offsets = _native.psi.bin_order(ids, KEY, bins, threads)
    found = [order[offsets[b] : offsets[b + 1]].tolist() for b in range(bins)]
    naive: list[list[int]] = [[] for _ in range(bins)]
    for number, places in enumerate(wanted):
        for which, place in enumerate(places):
            naive[place].append(3 * number + which)
    assert found == naive
    table = _native.psi.cuckoo_table(ids, KEY, bins, threads)
    assert table is not None
    used = np.flatnonzero(table != NO_ENTRY)
    assert sorted(table[used] // 3) == list(range(count))
    assert all(wanted[table[place] // 3][table[place] % 3] == place for place in used)


def test_ids_without_a_place() -> None:
    assert _native.psi.cuckoo_table(random_bytes(4, 16, 1), KEY, 3) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_oprf(threads: int) -> None:
    """Two messages of one and two groups; the receiver has ids 0 .. 149, the sender 100 .. 249."""
    bins = 384
    ids = random_bytes(250, 16, 5)
    own, theirs = ids[:150], np.ascontiguousarray(ids[100:])
    pairs = random_bytes(2 * 768, 16, 6).reshape(768, 2, 16)
    choices = random_bytes(1, 96, 7).tobytes()
    secret = int.from_bytes(choices, "little")
    bits = [secret >> i & 1 for i in range(768)]
    receiver = _native.psi.OprfReceiver(SESSION, pairs)
    seeds = np.ascontiguousarray(pairs[np.arange(768), bits])
    sender = _native.psi.OprfSender(SESSION, choices, seeds, receiver.opening)
    numbers = [(twin.number(zero.tobytes()), twin.number(one.tobytes())) for zero, one in pairs]
    trees = twin.grow(numbers, 4)
    assert receiver.opening == twin.opening(trees)
    table = _native.psi.cuckoo_table(own, KEY, bins)
    order, offsets = _native.psi.bin_order(theirs, KEY, bins)
    assert table is not None

    found, values = np.zeros(bins, dtype=np.uint64), np.zeros(450, dtype=np.uint64)
    sent = b""
    for first, groups in ((0, 1), (1, 2)):
        some = slice(128 * first, 128 * (first + groups))
        u, found[some] = receiver.mask(first, own, table[some], threads)
        sent += u
        sender.evaluate(first, u, theirs, order, offsets, values, threads)

    q: list[int] = []
    for group in range(3):
        streams = [[tree.stream(y, group) for y in range(16)] for tree in trees]
        columns = [
            reduce(xor, (stream for y, stream in enumerate(some) if y >> b & 1)) for b in range(4) for some in streams
        ]
        entries = table[128 * group : 128 * (group + 1)].tolist()
        codes = [0 if e == NO_ENTRY else naive_code(own[e // 3].tobytes(), e % 3) for e in entries]
        for i in range(192):
            code_column = sum((code >> i & 1) << j for j, code in enumerate(codes))
            at = 16 * (192 * group + i)
            assert int.from_bytes(sent[at : at + 16], "little") == reduce(xor, streams[i]) ^ code_column
        for place in range(128):
            t = row_of(columns, place)
            assert found[128 * group + place] == naive_hash(128 * group + place, t)
            q.append(t ^ times_secret(codes[place], secret))
    by_entry = {}
    for number, row in enumerate(theirs):
        for which, place in enumerate(naive_bins(row.tobytes(), bins)):
            wanted = naive_hash(place, q[place] ^ times_secret(naive_code(row.tobytes(), which), secret))
            assert values[3 * number + which] == wanted
            by_entry[row.tobytes(), which] = wanted
    agreed = 0
    for place, entry in enumerate(table.tolist()):
        if entry != NO_ENTRY and entry // 3 >= 100:
            assert by_entry[own[entry // 3].tobytes(), entry % 3] == found[place]
            agreed += 1
    assert agreed == 50
    assert len(set(values.tolist())) == 450


def naive_value(seed: bytes, identity: bytes, which: int, store: list[int]) -> int:
    third = (len(store) - 64) // 3
    keys = [aes(seed, (2 * which + k).to_bytes(16, "little")) for k in (0, 1)]
    value = 0
    for h, word in enumerate(words(aes(keys[0], identity))):
        value ^= store[h * third + (word * third >> 32)]
    mask = int.from_bytes(aes(keys[1], identity)[:8], "little")
    for i in range(64):
        value ^= store[3 * third + i] * (mask >> i & 1)
    return value


@pytest.mark.parametrize("count", [1, 2, 40, 1000])
@pytest.mark.parametrize("threads", [1, 2])
def test_store(count: int, threads: int) -> None:
    ids, seed = random_bytes(count, 16, count), bytes(16)
    values = np.random.default_rng(1).integers(0, 2**64, 3 * count, dtype=np.uint64)
    store = _native.psi.store_encode(seed, ids, values, threads)
    assert store is not None
    assert len(store) == _native.psi.store_size(3 * count)
    entries = np.arange(3 * count, dtype=np.uint32)
    assert (_native.psi.store_decode(seed, ids, entries, 3 * count, store, threads) == values).all()
    numbers = store.tolist()
    for entry in range(0, 3 * count, max(1, count // 10)):
        assert naive_value(seed, ids[entry // 3].tobytes(), entry % 3, numbers) == values[entry]
    others = random_bytes(20, 16, 99)
    asked = np.arange(60, dtype=np.uint32)
    found = _native.psi.store_decode(seed, others, asked, 3 * count, store, threads)
    assert found.tolist() == [naive_value(seed, others[e // 3].tobytes(), e % 3, numbers) for e in asked.tolist()]
    assert not np.isin(found, values).any()


def test_stores_of_the_same_values_differ() -> None:
    ids, values = random_bytes(5, 16, 1), np.arange(15, dtype=np.uint64)
    one, other = (_native.psi.store_encode(bytes(16), ids, values) for _ in range(2))
    assert one is not None
    assert other is not None
    assert (one != other).mean() > 0.9


def test_equal_keys_do_not_fit() -> None:
    """Thirty ids that are one: more equations than the dense part takes."""
    ids = np.zeros((30, 16), dtype=np.uint8)
    assert _native.psi.store_encode(bytes(16), ids, np.arange(90, dtype=np.uint64)) is None
    assert _native.psi.store_encode(bytes(16), ids[:2], np.arange(6, dtype=np.uint64)) is None


@pytest.mark.parametrize("number", [6, 95, 156])
def test_a_core_is_solved(number: int) -> None:
    """Under these seeds two keys have the same three places, so that the dense part must tell them apart."""
    ids, seed = random_bytes(60, 16, 3), number.to_bytes(16, "little")
    third = (_native.psi.store_size(180) - 64) // 3
    places = set()
    for which in range(3):
        key = aes(seed, (2 * which).to_bytes(16, "little"))
        places |= {tuple(word * third >> 32 for word in words(aes(key, row.tobytes()))) for row in ids}
    assert len(places) == 179
    values = np.random.default_rng(2).integers(0, 2**64, 180, dtype=np.uint64)
    store = _native.psi.store_encode(seed, ids, values)
    assert store is not None
    assert (_native.psi.store_decode(seed, ids, np.arange(180, dtype=np.uint32), 180, store) == values).all()
