"""The encoded gradients of an active party whose rows are in shards: each shard encrypts its own rows.

It does so with the private key only if the engine may hold it, else with the public one. Chunks leave in the order of
rows; what later shards have ready waits where it was made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from vfxgb.codec.code import PairCode
from vfxgb.codec.plan import Lane
from vfxgb.crypto import PrivateKey
from vfxgb.engine.base import Engine, ShardHandle
from vfxgb.engine.parts import Division, ShardedPairs, ShardedPartition
from vfxgb.engine.worker import private_key, public_key, start_pool
from vfxgb.rows.parts import Nodes
from vfxgb.rows.values import Chunk, encrypt, sampled_sum

# Chunks that one function of a shard encrypts, and results of such functions that are fetched together.
CHUNKS_AT_ONCE = 4
FETCHED_AT_ONCE = 4
# Fewer ciphertexts for a shard than this are not worth the way there.
DECRYPTED_AT_LEAST = 8


@dataclass(frozen=True)
class ChunkPart:
    """Rows `first` to `stop - 1` of a shard's sample, all within one chunk.

    `whole`: they are all of it. `last`: they are the last of it.
    """

    first: int
    stop: int
    whole: bool
    last: bool


class ShardedValues:
    """See RowValues: in the shards of an engine."""

    def __init__(
        self,
        pairs: Sequence[ShardedPairs],
        sampled: Nodes | None,
        code: PairCode,
        step: float,
        engine: Engine,
        division: Division,
    ) -> None:
        self._engine = engine
        self._division = division
        self._sampled = within = division.hold(engine, sampled)
        self._counts: list[int] = division.used(sampled).tolist()
        self._values = [
            ShardedPairs(engine, tuple(engine.run(s, encode, part, code, step) for s, part in enumerate(each.parts)))
            for each in pairs
        ]
        for values in self._values:
            sums = [engine.run(s, sampled_sum, part, within[s]) for s, part in enumerate(values.parts)]
            code.check_total(sum(engine.get(sums)))

    def chunks(self, key: PrivateKey, lanes: Sequence[Lane], chunk_rows: int) -> Iterator[Chunk]:
        """See RowValues."""
        engine = self._engine
        secret = engine.holds_key
        data = key.to_bytes() if secret else key.public_key.to_bytes()

        def ask(shard: int, ranges: list[tuple[int, int]]) -> ShardHandle:
            values = [held.parts[shard] for held in self._values]
            return engine.run(
                shard, encrypt_rows, values, list(lanes), self._sampled[shard], ranges, data, secret, engine.threads
            )

        asked = (
            ask(shard, [(p.first, p.stop) for p in parts]) for shard, parts in chunk_tasks(self._counts, chunk_rows)
        )
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

    def totals(self, partition: ShardedPartition, nodes: Nodes, outputs: set[int]) -> list[NDArray[np.int64]]:
        """See RowValues."""
        nothing = np.zeros((0, 2), dtype=np.int64)
        return [
            partition.node_sums(nodes, values) if output in outputs else nothing
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


def chunk_tasks(counts: Sequence[int], chunk_rows: int) -> Iterator[tuple[int, list[ChunkPart]]]:
    """Shards and some parts of chunks that lie in them, in the order of rows.

    `counts`: sampled rows of each shard.
    """
    first, total = 0, sum(counts)
    for shard, count in enumerate(counts):
        edges = [0, *range(chunk_rows - first % chunk_rows, count, chunk_rows), count]
        parts = []
        for begin, end in pairwise(edges):
            begun = (first + begin) // chunk_rows * chunk_rows
            stop = min(begun + chunk_rows, total)
            parts.append(ChunkPart(begin, end, first + begin == begun and first + end == stop, first + end == stop))
        parts = [part for part in parts if part.first < part.stop]
        for place in range(0, len(parts), CHUNKS_AT_ONCE):
            yield shard, parts[place : place + CHUNKS_AT_ONCE]
        first += count


def encode(pairs: NDArray[np.int64], code: PairCode, step: float) -> NDArray[np.int64]:
    """What the slots of a shard's rows hold."""
    return code.encode(pairs, step)


def encrypt_rows(
    values: list[NDArray[np.int64]],
    lanes: list[Lane],
    sampled: Nodes | None,
    ranges: list[tuple[int, int]],
    key: bytes,
    secret: bool,
    threads: int,
) -> list[list[bytes]]:
    """Encrypt every lane of each range of a shard's sampled rows; where `secret`, `key` is the private one."""
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
