"""Encrypted gradients of a passive party whose rows are in shards: each shard keeps those of its rows and sums them.

As chunks arrive they are divided among the shards. With an engine in this process they go into memory-mapped arrays.
On a cluster they go into files of the run's folder first, from which the shards read them: they come from another
party, so they could not be made again if a worker were lost with them.

A shard sums all its rows but those in each feature's heaviest bucket, of which only the whole is known: the node's
total, which the active party sends, less all other sums. Partial sums are joined in a tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import PublicKey
from vfxgb.engine.base import Engine, ShardHandle, join_all
from vfxgb.engine.parts import Division, ShardedPartition
from vfxgb.engine.shard import new_file
from vfxgb.engine.worker import public_key
from vfxgb.rows.ciphers import CipherRound, Share, bad_ciphertext, places, share_of
from vfxgb.rows.parts import Nodes

_ROOT = np.zeros(1, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class ShardCiphers:
    """The ciphertexts of one lane of a shard's sampled rows under `key`; can go from process to process with it."""

    key: PublicKey
    rows: _native.crypto.CipherRows

    def __sizeof__(self) -> int:
        return self.rows.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _ciphers_again, (self.key.to_bytes(), self.rows.to_wire(0, len(self.rows), 1), len(self.rows))


def _ciphers_again(data: bytes, wire: bytes, count: int) -> ShardCiphers:
    key = public_key(data)
    rows = _native.crypto.CipherRows(key.native, count)
    rows.fill(0, wire, 1)
    return ShardCiphers(key, rows)


@dataclass(frozen=True, eq=False)
class ShardSums:
    """Sums that one shard, or several together, made under `key`; can go from process to process with it."""

    key: PublicKey
    sums: _native.he_sums.CipherSums

    def under(self, key: PublicKey) -> _native.he_sums.CipherSums:
        """The sums under an equal key: native objects of one key object go together, and a process may have several."""
        if key is self.key:
            return self.sums
        return _native.he_sums.CipherSums.from_bytes(key.native, self.sums.to_bytes(1), 1)

    def __sizeof__(self) -> int:
        return self.sums.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _sums_again, (self.key.to_bytes(), self.sums.to_bytes(1))


def _sums_again(key_data: bytes, data: bytes) -> ShardSums:
    key = public_key(key_data)
    return ShardSums(key, _native.he_sums.CipherSums.from_bytes(key.native, data, 1))


@dataclass
class _Shard:
    """One shard while ciphertexts arrive: `count` of them per lane, numbered in the sample from `first` on.

    `place`: handle of int32, position of each row's ciphertext; None for the row's own number. `left`: how many of all
    lanes are still to come. `files`: where a lane's bytes go; `lanes`: where its ciphertexts are once they are
    complete. `summed`: the sums of its roots have been asked for.
    """

    number: int
    first: int
    count: int
    place: ShardHandle
    left: int
    files: list[BufferedWriter] = field(default_factory=list)
    lanes: list[ShardHandle] = field(default_factory=list)
    summed: bool = False


class ShardedCiphers:
    """See RowCiphers. `bins`: per shard a handle of _native.gbdt.Bins. `heaviest`: see ShardedRows."""

    def __init__(
        self,
        of: CipherRound,
        engine: Engine,
        division: Division,
        bins: Sequence[ShardHandle],
        heaviest: NDArray[np.int32],
    ) -> None:
        self._of = of
        self._engine = engine
        self._bins = bins
        self._heaviest = heaviest
        self._key_bytes = of.key.to_bytes()
        self._shards = self._divide(division)
        # Per shard that is complete the sums of the root.
        self._roots: dict[Share, list[ShardHandle]] = {share_of(root.lane, root.features): [] for root in of.roots}

    def _divide(self, division: Division) -> list[_Shard]:
        of, engine, shards, first = self._of, self._engine, [], 0
        sizes, counts = division.sizes.tolist(), division.used(of.sampled).tolist()
        for number, rows in enumerate(division.hold(engine, of.sampled)):
            place = None if rows is None else engine.run(number, places, rows, sizes[number])
            shards.append(_Shard(number, first, counts[number], place, counts[number] * of.lanes))
            first += counts[number]
        return shards

    def take(self, lane: int, first: int, data: memoryview) -> None:
        """See RowCiphers; on a cluster a bad ciphertext shows when sums are made."""
        width = self._of.key.wire_bytes
        stop = first + len(data) // width
        for shard in self._shards:
            begin, end = max(first, shard.first), min(stop, shard.first + shard.count)
            if begin < end:
                part = data[(begin - first) * width : (end - first) * width]
                self._put(shard, lane, begin - shard.first, part)
                shard.left -= end - begin
                if shard.left == 0:
                    self._load(shard)

    def _put(self, shard: _Shard, lane: int, first: int, data: memoryview) -> None:
        of, engine = self._of, self._engine
        if not engine.mapped:
            while len(shard.files) <= lane:
                shard.files.append(Path(new_file(str(engine.folder))).open("xb"))  # noqa: SIM115 - closed in `_load`, or `close`
            shard.files[lane].write(data)
            return
        while len(shard.lanes) <= lane:
            rows = _native.crypto.CipherRows(of.key.native, shard.count, new_file(str(engine.folder)))
            shard.lanes.append(engine.keep(shard.number, ShardCiphers(of.key, rows)))
        (held,) = engine.get([shard.lanes[lane]])
        bad = held.rows.fill(first, data, of.threads)
        if bad >= 0:
            raise bad_ciphertext(of.party, of.round, lane, shard.first + first + bad)

    def _load(self, shard: _Shard) -> None:
        """All ciphertexts of a shard are there: have it read those that are in files."""
        of, engine = self._of, self._engine
        for lane, file in enumerate(shard.files):
            file.close()
            where = (of.party, of.round, lane, shard.first)
            shard.lanes.append(
                engine.run(shard.number, load_ciphers, file.name, self._key_bytes, shard.count, where, engine.threads)
            )

    def sum_roots(self, lane: int, first: int, count: int) -> None:  # noqa: ARG002 - a shard is summed as a whole
        """See RowCiphers: the roots of shards that have become complete."""
        for shard in self._shards:
            if shard.left == 0 and shard.count and not shard.summed:
                shard.summed = True
                for root in self._of.roots:
                    sums = self._partial(shard, root.lane, root.features, root.partition, _ROOT)
                    self._roots[share_of(root.lane, root.features)].append(sums)

    def _partial(
        self, shard: _Shard, lane: int, features: Nodes, partition: ShardedPartition, nodes: Nodes
    ) -> ShardHandle:
        number, heaviest = shard.number, np.ascontiguousarray(self._heaviest[features])
        held = (shard.lanes[lane], shard.place, self._bins[number], partition.parts[number])
        asked = (nodes, features, self._of.joint, heaviest, self._engine.threads)
        return self._engine.run(number, partial_sums, *held, *asked)

    def sums(
        self, lane: int, features: Nodes, partition: ShardedPartition, nodes: Nodes, totals: _native.crypto.Ciphertexts
    ) -> _native.he_sums.CipherSums:
        """See RowCiphers."""
        parts = self._roots.pop(share_of(lane, features), [])
        if not parts:
            parts = [self._partial(shard, lane, features, partition, nodes) for shard in self._shards if shard.count]
        return self._fetch(join_all(self._engine, parts, join_sums)).with_totals(totals)

    def _fetch(self, joined: ShardHandle) -> _native.he_sums.CipherSums:
        """The joined sums, here, under this process's own key object."""
        engine, of = self._engine, self._of
        if engine.mapped:
            (here,) = engine.get([joined])
            sums: _native.he_sums.CipherSums = here.under(of.key)
            return sums
        (data,) = engine.get([engine.run(0, sums_bytes, joined)])
        return _native.he_sums.CipherSums.from_bytes(of.key.native, data, of.threads)

    def end_roots(self) -> None:
        """See RowCiphers."""
        self._roots = {}

    def close(self) -> None:
        """Forget the ciphertexts, and their files."""
        for shard in self._shards:
            for file in shard.files:
                file.close()
                Path(file.name).unlink(missing_ok=True)
        self._shards, self._roots = [], {}


def load_ciphers(path: str, data: bytes, count: int, where: tuple[str, int, int, int], threads: int) -> ShardCiphers:
    """The ciphertexts in a file, under the public key in `data`.

    `where`: party, round, lane and number of the first, for the error of a bad one.
    """
    key = public_key(data)
    rows = _native.crypto.CipherRows(key.native, count)
    # The file is whole: it was closed before this was asked for.
    bad = rows.fill(0, np.memmap(path, dtype=np.uint8, mode="r"), threads)
    if bad >= 0:
        party, round_index, lane, first = where
        raise bad_ciphertext(party, round_index, lane, first + bad)
    return ShardCiphers(key, rows)


def partial_sums(
    ciphers: ShardCiphers,
    place: NDArray[np.int32] | None,
    bins: _native.gbdt.Bins,
    partition: _native.gbdt.RowPartition,
    nodes: NDArray[np.int32],
    features: NDArray[np.int32],
    joint: bool,
    heaviest: NDArray[np.int32],
    threads: int,
) -> ShardSums:
    """The sums of a shard's rows but for the heaviest buckets."""
    sums = _native.he_sums.cipher_histogram(
        ciphers.rows, place, bins, partition, nodes, None, features, joint, threads, heaviest
    )
    ciphers.rows.drop()
    bins.drop()
    return ShardSums(ciphers.key, sums)


def join_sums(parts: list[ShardSums]) -> ShardSums:
    """Sums over the rows of all of them."""
    key = parts[0].key
    return ShardSums(key, _native.he_sums.CipherSums.join([part.under(key) for part in parts], 1))


def sums_bytes(joined: ShardSums) -> bytes:
    """Write the sums as bytes."""
    return joined.sums.to_bytes(1)
