"""The encoded gradients of a round at the active party: what the slots of each row hold, encrypted chunk by chunk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.code import PairCode
from vfxgb.codec.plan import Lane
from vfxgb.crypto import PrivateKey
from vfxgb.rows.parts import Nodes, OwnPartition, Partition


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

    def totals(self, partition: OwnPartition, nodes: Nodes, outputs: set[int]) -> list[NDArray[np.int64]]:
        """Per output the sums int64[len(nodes), 2]; empty ones for outputs that are not asked for."""

    def start_pool(self, key: PrivateKey, count: int) -> None:
        """From now on make randomness for `count` ciphertexts, in the background, where they will be encrypted."""

    def decrypt(self, key: PrivateKey, data: memoryview, threads: int) -> bytes:
        """Check ciphertexts as they came and return their plaintexts, with `threads` threads of this process."""


class MemoryValues:
    """RowValues in this process. Raises CapacityError for gradients that the code has no room for."""

    def __init__(
        self,
        pairs: Sequence[NDArray[np.int64]],
        sampled: Nodes | None,
        code: PairCode,
        step: float,
        n_train: int,
        threads: int,
    ) -> None:
        self._sampled = sampled
        self._count = n_train if sampled is None else len(sampled)
        self._threads = threads
        self._values = [code.encode(each, step) for each in pairs]
        for values in self._values:
            code.check_total(sampled_sum(values, sampled))

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
            _native.gbdt.node_sums(partition.here, nodes, values, self._threads) if output in outputs else values[:0]
            for output, values in enumerate(self._values)
        ]

    def start_pool(self, key: PrivateKey, count: int) -> None:
        """See RowValues."""
        key.start_pool(count, self._threads)

    def decrypt(self, key: PrivateKey, data: memoryview, threads: int) -> bytes:
        """See RowValues."""
        return key.native.decrypt(key.public_key.native.from_wire(data, threads), threads)


def sampled_sum(values: NDArray[np.int64], sampled: Nodes | None) -> NDArray[np.int64]:
    """The sum over the sampled rows, None for all."""
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
