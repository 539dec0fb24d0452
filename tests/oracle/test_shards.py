"""Left bits and partitions of rows in shards against those of all rows: equal to the last bit."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vfxgb import _native

SEEDS = st.integers(0, 2**32 - 1)


def int32(values: object) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


def packed(bits: NDArray[np.bool_]) -> bytes:
    return np.packbits(bits, bitorder="little").tobytes()


@given(seed=SEEDS, nodes=st.integers(0, 4), shards=st.integers(0, 5), longest=st.sampled_from([1, 9, 70, 300]))
def test_left_bits(seed: int, nodes: int, shards: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, longest + 1, size=(nodes, shards, 2))
    counts[rng.random(counts.shape) < 0.3] = 0
    goes_left = [[[rng.random(n) < 0.5 for n in own] for own in node] for node in counts]
    whole, parts = b"", [b""] * shards
    for node in goes_left:
        for area in (0, 1):
            whole += packed(np.concatenate([np.zeros(0, dtype=np.bool_), *(own[area] for own in node)]))
        for s, own in enumerate(node):
            parts[s] += packed(own[0]) + packed(own[1])
    found, lefts = _native.gbdt.split_left_bits(whole, counts)
    assert found == parts
    assert lefts.tolist() == [[[int(bits.sum()) for bits in own] for own in node] for node in goes_left]
    assert _native.gbdt.join_left_bits(parts, counts) == whole
    assert _native.gbdt.join_left_bits([bytearray(part) for part in parts], counts) == whole


def grown(rng: np.random.Generator, n: int, sampling: bool, splits: int) -> _native.gbdt.RowPartition:
    sampled = int32(np.flatnonzero(rng.random(n) < 0.6)) if sampling else None
    partition = _native.gbdt.RowPartition(n, sampled)
    for split in range(splits):
        nodes = partition.nodes()
        split_at_random(rng, partition, int(nodes[rng.integers(len(nodes))]), 2 * split + 1)
    return partition


def split_at_random(rng: np.random.Generator, partition: _native.gbdt.RowPartition, node: int, child: int) -> bytes:
    bits = b"".join(packed(rng.random(n) < 0.4) for n in partition.counts(int32([node]))[0])
    partition.split(int32([node]), int32([child]), int32([child + 1]), bits)
    return bits


def described(partition: _native.gbdt.RowPartition) -> object:
    nodes = partition.nodes().tolist()
    rows = [(partition.rows(node).tolist(), partition.other_rows(node).tolist()) for node in nodes]
    return partition.n_rows, partition.n_sampled, nodes, rows, partition.leaves().tolist()


@given(seed=SEEDS, n=st.sampled_from([0, 1, 7, 200, 3000]), sampling=st.booleans(), splits=st.integers(0, 6))
def test_copies_of_a_partition(seed: int, n: int, sampling: bool, splits: int) -> None:
    rng = np.random.default_rng(seed)
    partition = grown(rng, n, sampling, splits)
    before = described(partition)
    copies = [partition.copy(), pickle.loads(pickle.dumps(partition)), pickle.loads(pickle.dumps(partition.copy()))]
    assert [described(copy) for copy in copies] == [before] * 3
    gh = rng.integers(-100, 100, size=(n, 2))
    node = int(partition.nodes()[-1])
    for copy in copies:
        assert np.array_equal(
            _native.gbdt.node_sums(copy, partition.nodes(), gh),
            _native.gbdt.node_sums(partition, partition.nodes(), gh),
        )
        split_at_random(np.random.default_rng(1), copy, node, 100)
    assert described(partition) == before
    split_at_random(np.random.default_rng(1), partition, node, 100)
    assert [described(copy) for copy in copies] == [described(partition)] * 3


@given(seed=SEEDS, sampling=st.booleans(), shards=st.integers(1, 5))
def test_shards_grow_as_one(seed: int, sampling: bool, shards: int) -> None:
    """Bits of all rows, split among the shards' partitions, make them the ranges of the whole partition."""
    rng = np.random.default_rng(seed)
    n = 500
    ends = np.sort(rng.integers(0, n + 1, shards - 1)).tolist()
    ranges = list(zip([0, *ends], [*ends, n], strict=True))
    sampled = int32(np.flatnonzero(rng.random(n) < 0.6)) if sampling else None
    whole = _native.gbdt.RowPartition(n, sampled)
    parts = [
        _native.gbdt.RowPartition(
            b - a, None if sampled is None else sampled[(a <= sampled) & (sampled < b)] - int32(a)
        )
        for a, b in ranges
    ]
    for split in range(5):
        node = int(rng.choice(whole.nodes()))
        counts = np.stack([part.counts(int32([node])) for part in parts], axis=1)
        bits = split_at_random(rng, whole, node, 2 * split + 1)
        shares, lefts = _native.gbdt.split_left_bits(bits, counts)
        for part, share in zip(parts, shares, strict=True):
            part.split(int32([node]), int32([2 * split + 1]), int32([2 * split + 2]), share)
        assert np.array_equal(lefts[0], [part.counts(int32([2 * split + 1]))[0] for part in parts])
    assert np.array_equal(np.concatenate([part.leaves() for part in parts]), whole.leaves())
