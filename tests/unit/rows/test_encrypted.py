"""Encrypted rows of any RowStore: what its values encrypt and its ciphers sum up opens to the plain sums."""

import numpy as np
import pytest

from vfxgb.codec.exact import ExactCode
from vfxgb.codec.plan import plan_slots
from vfxgb.crypto import generate
from vfxgb.data.table import Table
from vfxgb.engine.local import LocalEngine
from vfxgb.errors import CapacityError, InvalidCiphertextError
from vfxgb.rows.ciphers import CipherRound, Root, places
from vfxgb.rows.values import encrypt
from vfxgb.train.placing import Placing, place_rows
from vfxgb.tree.candidates import CandidateList

ROWS, TRAIN, BITS = 90, 70, 12
ROOT, CHILDREN = np.zeros(1, dtype=np.int32), np.array([1, 2], dtype=np.int32)
FEATURES = np.array([0, 2], dtype=np.int32)


@pytest.fixture(scope="module")
def key():
    return generate("paillier", 256, "short", insecure=True)


@pytest.fixture(params=["memory", "shards"])
def binned(request, tmp_path):
    """The same rows in each kind of store."""
    X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype(np.float32)
    X[::7, 2] = np.nan
    engine = LocalEngine(1 << 28, 1, tmp_path, shards=3) if request.param == "shards" else None
    yield place_rows(Table.read(X, party="shop"), Placing("shop", TRAIN, 8, "learned", 1, engine)).bin(None)
    if engine is not None:
        engine.close()


def gradients() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(-(1 << BITS), 1 << BITS, TRAIN), rng.integers(0, 1 << BITS, TRAIN)], axis=1)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("subsampled", [False, True])
def test_sums_open_to_the_plain_ones(binned, key, streamed, subsampled) -> None:
    rows, public = binned.rows, key.public_key
    sampled = np.flatnonzero(np.random.default_rng(2).random(TRAIN) < 0.6).astype(np.int32) if subsampled else None
    count = TRAIN if sampled is None else len(sampled)
    code = ExactCode(TRAIN, BITS)
    (lane,) = plan_slots(code.widths, 1, public.max_plaintext.bit_length(), True, False, None).lanes
    partition, pairs = rows.partition(sampled), rows.pairs(gradients())
    values = rows.values([pairs], sampled, code, 1.0)
    rows.prepare_ciphers()
    roots = [Root(0, FEATURES, partition)] if streamed else []
    ciphers = rows.ciphers(CipherRound("shop", 0, public, 1, sampled, count, roots, joint=True, threads=1))
    firsts = []
    for chunk in values.chunks(key, [lane], 16):
        ciphers.take(0, chunk.first, memoryview(chunk.lanes[0]))
        ciphers.sum_roots(0, chunk.first, chunk.count)
        firsts.append(chunk.first)
    assert firsts == list(range(0, count, 16))
    plain = CandidateList(rows, binned.has_missing, FEATURES, None, None, 1)

    def check(nodes) -> None:
        totals = values.totals(partition, nodes, {0})
        assert totals[0].tolist() == rows.node_sums(partition, nodes, pairs).tolist()
        encrypted = public.native.from_wire(encrypt(key.native, lane, totals, slice(None), 1), 1)
        left = ciphers.sums(0, FEATURES, partition, nodes, encrypted).left_sums(plain.has_missing)
        data = values.decrypt(key, memoryview(left.to_wire(1)), 1)
        opened = lane.decode(data, key.native.plaintext_width, len(left), 1)[:, np.argsort(lane.channels)]
        wanted = plain.left_sums(partition, nodes, pairs)
        assert opened.reshape(wanted.shape).tolist() == wanted.tolist()

    check(ROOT)
    split = (ROOT, ROOT, np.array([3], dtype=np.int32), np.array([True]))
    partition.split(ROOT, CHILDREN[:1], CHILDREN[1:], rows.left_bits(partition, *split))
    ciphers.end_roots()
    check(CHILDREN)
    ciphers.close()


def test_a_value_outside_the_group(binned, key) -> None:
    """It is named by its place in the sample, whichever shard it belongs to."""
    code, public = ExactCode(TRAIN, BITS), key.public_key
    (lane,) = plan_slots(code.widths, 1, public.max_plaintext.bit_length(), True, False, None).lanes
    values = binned.rows.values([binned.rows.pairs(gradients())], None, code, 1.0)
    (chunk,) = values.chunks(key, [lane], TRAIN)
    spoilt = bytearray(chunk.lanes[0])
    width = public.wire_bytes
    spoilt[47 * width : 48 * width] = bytes(width)
    ciphers = binned.rows.ciphers(CipherRound("shop", 3, public, 1, None, TRAIN, (), joint=True, threads=1))
    with pytest.raises(InvalidCiphertextError, match=r"shop reading gradients of round 3, lane 0: .* row 47 of"):
        ciphers.take(0, 0, memoryview(bytes(spoilt)))
    ciphers.close()


def test_gradients_that_the_code_has_no_room_for(binned) -> None:
    large = np.full((TRAIN, 2), 1 << (BITS + 3), dtype=np.int64)
    with pytest.raises(CapacityError):
        binned.rows.values([binned.rows.pairs(large)], None, ExactCode(TRAIN, BITS), 1.0)


def test_places_of_sampled_rows() -> None:
    assert places(np.array([1, 4], dtype=np.int32), 6).tolist() == [-1, 0, -1, -1, 1, -1]
