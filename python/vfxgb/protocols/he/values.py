"""The encoded gradients of a round at the active party: what the slots of each row hold, encrypted chunk by chunk.

In this process, or in the shards where the gradients are: there each shard encrypts its own rows, with the private key
only if the engine may hold it, else with the public one. Chunks leave in the order of rows; what later shards have
ready waits where it was made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.code import PairCode
from vfxgb.codec.plan import Lane
from vfxgb.crypto import PrivateKey
from vfxgb.engine.base import Engine, Held
from vfxgb.engine.kernels import Partition, node_sums
from vfxgb.engine.sharded import Division, ShardedPairs
from vfxgb.engine.worker import private_key, public_key, start_pool
from vfxgb.protocols.base import Gradients

# Chunks that one function of a shard encrypts, and results of such functions that are fetched together.
CHUNKS_AT_ONCE = 4
FETCHED_AT_ONCE = 4
# Fewer ciphertexts for a shard than this are not worth the way there.
DECRYPTED_AT_LEAST = 8

Nodes = NDArray[np.int32]


@dataclass(frozen=True)
class Chunk:
    """Rows `first` to `first + count - 1` of the sample; `lanes`: the ciphertexts of each lane."""

    first: int
    count: int
    lanes: list[bytes]


class RowValues(Protocol):
    """The encoded gradients of a round."""

    def chunks(self, key: PrivateKey, lanes: Sequence[Lane], chunk_rows: int) -> Iterator[Chunk]:
        """All rows of the sample, encrypted."""

    def totals(self, partition: Partition, nodes: Nodes, outputs: set[int]) -> list[NDArray[np.int64]]:
        """Per output the sums int64[len(nodes), 2]; empty ones for outputs that are not asked for."""

    def start_pool(self, key: PrivateKey, count: int) -> None:
        """From now on make randomness for `count` ciphertexts, in the background, where they will be encrypted."""

    def decrypt(self, key: PrivateKey, data: memoryview, threads: int) -> bytes:
        """The plaintexts of ciphertexts as they came, checked; `threads`: in this process."""


class MemoryValues:
    """RowValues in this process. Raises CapacityError for gradients that the code has no room for."""

    def __init__(self, gradients: Gradients, code: PairCode, n_train: int, threads: int) -> None:
        self._sampled = gradients.sampled
        self._count = n_train if gradients.sampled is None else len(gradients.sampled)
        self._threads = threads
        self._values = [code.encode(pairs, gradients.step) for pairs in gradients.arrays]
        for values in self._values:
            code.check_total((values if self._sampled is None else values[self._sampled]).sum(axis=0))

    def chunks(self, key: PrivateKey, lanes: Sequence[Lane], chunk_rows: int) -> Iterator[Chunk]:
        """See RowValues."""
        for first in range(0, self._count, chunk_rows):
            stop = min(first + chunk_rows, self._count)
            rows = slice(first, stop) if self._sampled is None else self._sampled[first:stop]
            yield Chunk(
                first, stop - first, [encrypt(key.native, lane, self._values, rows, self._threads) for lane in lanes]
            )

    def totals(self, partition: Partition, nodes: Nodes, outputs: set[int]) -> list[NDArray[np.int64]]:
        """See RowValues."""
        return [
            node_sums(partition, nodes, values, self._threads) if output in outputs else values[:0]
            for output, values in enumerate(self._values)
        ]

    def start_pool(self, key: PrivateKey, count: int) -> None:
        """See RowValues."""
        key.start_pool(count, self._threads)

    def decrypt(self, key: PrivateKey, data: memoryview, threads: int) -> bytes:
        """See RowValues."""
        return key.native.decrypt(key.public_key.native.from_wire(data, threads), threads)


class ShardedValues:
    """RowValues in the shards of an engine."""

    def __init__(self, gradients: Gradients, code: PairCode, engine: Engine, division: Division) -> None:
        self._engine = engine
        self._division = division
        self._sampled = within = division.hold(engine, gradients.sampled)
        self._counts: list[int] = division.used(gradients.sampled).tolist()
        self._values = [
            ShardedPairs(
                engine,
                division,
                tuple(engine.run(s, encode, part, code, gradients.step) for s, part in enumerate(pairs.parts)),
            )
            for pairs in gradients.pairs
            if isinstance(pairs, ShardedPairs)
        ]
        for values in self._values:
            sums = [engine.run(s, sum_of, part, within[s]) for s, part in enumerate(values.parts)]
            code.check_total(sum(engine.get(sums)))

    def chunks(self, key: PrivateKey, lanes: Sequence[Lane], chunk_rows: int) -> Iterator[Chunk]:
        """See RowValues."""
        engine = self._engine
        secret = engine.holds_key
        data = key.to_bytes() if secret else key.public_key.to_bytes()

        def ask(shard: int, ranges: list[tuple[int, int]]) -> Held:
            values = [one.parts[shard] for one in self._values]
            return engine.run(
                shard, encrypt_rows, values, list(lanes), self._sampled[shard], ranges, data, secret, engine.threads
            )

        asked = (ask(shard, ranges) for shard, ranges in self._tasks(chunk_rows))
        ready = iter(list(asked)) if engine.ahead is None else asked
        at_once = FETCHED_AT_ONCE if engine.ahead is None else engine.ahead
        first, held = 0, [b""] * len(lanes)
        count, total = 0, sum(self._counts)
        width = key.public_key.wire_bytes
        while some := list(islice(ready, at_once)):
            for pieces in engine.get(some):
                for piece in pieces:
                    count += len(piece[0]) // width
                    held = [before + after for before, after in zip(held, piece, strict=True)]
                    if count == min(chunk_rows, total - first):
                        yield Chunk(first, count, held)
                        first, count, held = first + count, 0, [b""] * len(lanes)

    def _tasks(self, chunk_rows: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Shards and ranges of their sampled rows, in the order of rows; a range is within one chunk."""
        first = 0
        for shard, count in enumerate(self._counts):
            edges = [0, *range(chunk_rows - first % chunk_rows, count, chunk_rows), count]
            ranges = [(a, b) for a, b in pairwise(edges) if a < b]
            for place in range(0, len(ranges), CHUNKS_AT_ONCE):
                yield shard, ranges[place : place + CHUNKS_AT_ONCE]
            first += count

    def totals(self, partition: Partition, nodes: Nodes, outputs: set[int]) -> list[NDArray[np.int64]]:
        """See RowValues."""
        nothing = np.zeros((0, 2), dtype=np.int64)
        return [
            node_sums(partition, nodes, values, 1) if output in outputs else nothing
            for output, values in enumerate(self._values)
        ]

    def start_pool(self, key: PrivateKey, count: int) -> None:
        """See RowValues."""
        engine = self._engine
        secret = engine.holds_key
        data = key.to_bytes() if secret else key.public_key.to_bytes()
        share = max(1, count // len(self._division))
        engine.get([engine.run(s, start_pool, data, secret, share, engine.threads) for s in range(len(self._division))])

    def decrypt(self, key: PrivateKey, data: memoryview, threads: int) -> bytes:
        """See RowValues; by the shards if they may hold the key."""
        engine, width = self._engine, key.public_key.wire_bytes
        shards = len(self._division)
        count = len(data) // width
        if not engine.holds_key or engine.mapped or count < DECRYPTED_AT_LEAST * shards:
            return key.native.decrypt(key.public_key.native.from_wire(data, threads), threads)
        edges = [count * s // shards * width for s in range(shards + 1)]
        owner = key.to_bytes()
        parts = [
            engine.run(s, decrypt_part, bytes(data[edges[s] : edges[s + 1]]), owner, engine.threads)
            for s in range(shards)
        ]
        return b"".join(engine.get(parts))


def make_values(gradients: Gradients, code: PairCode, n_train: int, threads: int) -> RowValues:
    """The encoded gradients, where the gradients are."""
    pairs = gradients.pairs[0]
    if isinstance(pairs, ShardedPairs):
        return ShardedValues(gradients, code, pairs.engine, pairs.division)
    return MemoryValues(gradients, code, n_train, threads)


def encode(pairs: NDArray[np.int64], code: PairCode, step: float) -> NDArray[np.int64]:
    """What the slots of a shard's rows hold."""
    return code.encode(pairs, step)


def sum_of(values: NDArray[np.int64], sampled: Nodes | None) -> NDArray[np.int64]:
    """The sum over the sampled rows of a shard."""
    return np.asarray((values if sampled is None else values[sampled]).sum(axis=0))


def encrypt(
    key: _native.crypto.PrivateKey | _native.crypto.PublicKey,
    lane: Lane,
    outputs: Sequence[NDArray[np.int64]],
    rows: slice | Nodes,
    threads: int,
) -> bytes:
    """The ciphertexts of some rows in one lane, as bytes."""
    return key.encrypt(lane.encode(outputs, rows, threads), lane.plaintext_bytes, threads).to_wire(threads)


def encrypt_rows(
    values: list[NDArray[np.int64]],
    lanes: list[Lane],
    sampled: Nodes | None,
    ranges: list[tuple[int, int]],
    key: bytes,
    secret: bool,
    threads: int,
) -> list[list[bytes]]:
    """Per range of a shard's sampled rows the ciphertexts of every lane. `secret`: `key` is the private one."""
    native = private_key(key).native if secret else public_key(key).native
    return [
        [
            encrypt(native, lane, values, slice(first, stop) if sampled is None else sampled[first:stop], threads)
            for lane in lanes
        ]
        for first, stop in ranges
    ]


def decrypt_part(data: bytes, key: bytes, threads: int) -> bytes:
    """The plaintexts of some ciphertexts, which have been checked."""
    owner = private_key(key)
    return owner.native.decrypt(owner.public_key.native.from_wire(data, threads), threads)
