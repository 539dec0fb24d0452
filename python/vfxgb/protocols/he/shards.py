"""Encrypted gradients of a passive party whose rows are in shards: each shard keeps those of its rows and sums them.

As chunks arrive they are divided among the shards. With an engine in this process they go into memory-mapped arrays.
On a cluster they go into files of the run's folder first, from which the shards read them: they come from another
party, so they could not be made again if a worker were lost with them.

A shard sums all its rows but those in each feature's heaviest bucket, of which only the whole is known: the node's
total, which the active party sends, less all other sums. Partial sums are joined in a tree.
"""

from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import PublicKey
from vfxgb.engine.base import Held, join_all
from vfxgb.engine.shard import new_file
from vfxgb.engine.sharded import ShardedBins, ShardedPartition
from vfxgb.engine.worker import public_key
from vfxgb.protocols.base import PassiveContext, PassiveTree
from vfxgb.protocols.he.messages import HeGradients
from vfxgb.protocols.he.rows import ArrivingRows, EncryptedRows, Round, bad_ciphertext, places

_ROOT = np.zeros(1, dtype=np.int32)


class ShardCiphers:
    """The ciphertexts of one lane of a shard's sampled rows under `key`; can go from process to process with it."""

    def __init__(self, key: PublicKey, rows: _native.crypto.CipherRows) -> None:
        self.key = key
        self.rows = rows

    def __sizeof__(self) -> int:
        return self.rows.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _ciphers_again, (self.key.to_bytes(), self.rows.to_wire(0, len(self.rows), 1), len(self.rows))


def _ciphers_again(data: bytes, wire: bytes, count: int) -> ShardCiphers:
    key = public_key(data)
    rows = _native.crypto.CipherRows(key.native, count)
    rows.fill(0, wire, 1)
    return ShardCiphers(key, rows)


class ShardSums:
    """Sums that one shard, or several together, made under `key`; can go from process to process with it."""

    def __init__(self, key: PublicKey, sums: _native.he_sums.CipherSums) -> None:
        self.key = key
        self.sums = sums

    def under(self, key: PublicKey) -> _native.he_sums.CipherSums:
        """The sums under an equal key: native objects of one key object go together, and a process may have several."""
        return (
            self.sums
            if key is self.key
            else _native.he_sums.CipherSums.from_bytes(key.native, self.sums.to_bytes(1), 1)
        )

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

    `place`: handle of int32, position of each row's ciphertext; None for the row's own number. `got`: how many of all
    lanes. `files`: where a lane's bytes go; `lanes`: where its ciphertexts are once they are complete.
    """

    number: int
    first: int
    count: int
    place: Held
    got: int
    files: list[BufferedWriter]
    lanes: list[Held]


class EncryptedShards(ArrivingRows):
    """See EncryptedRows."""

    def __init__(self, of: Round) -> None:
        super().__init__(of)
        assert isinstance(of.context.binned, ShardedBins)  # noqa: S101 - see make_rows
        self._bins: ShardedBins = of.context.binned
        self._engine = self._bins.engine
        self._key_bytes = of.key.to_bytes()
        self._shards = self._divide(of.sampled)
        # (lane, features) -> per shard the sums of the root.
        self._roots: dict[tuple[int, bytes], list[Held]] = {}
        self._finished: dict[tuple[int, bytes], _native.he_sums.CipherSums] = {}

    def _divide(self, sampled: NDArray[np.int32] | None) -> list[_Shard]:
        division, engine, shards, first = self._bins.division, self._engine, [], 0
        sizes, counts = division.sizes.tolist(), division.used(sampled).tolist()
        for number, rows in enumerate(division.hold(engine, sampled)):
            place = None if rows is None else engine.run(number, places, rows, sizes[number])
            shards.append(_Shard(number, first, counts[number], place, 0, [], []))
            first += counts[number]
        return shards

    def _take(self, message: HeGradients) -> None:
        width, stop = self._key.wire_bytes, message.first + message.count
        with self._context.timings.phase("read gradients"):
            for shard in self._shards:
                begin, end = max(message.first, shard.first), min(stop, shard.first + shard.count)
                if begin < end:
                    part = message.ciphertexts[(begin - message.first) * width : (end - message.first) * width]
                    self._put(shard, message, begin - shard.first, part)
                    shard.got += end - begin
                    if shard.got == shard.count * len(self._plan.lanes):
                        self._completed(shard, message.round)

    def _put(self, shard: _Shard, message: HeGradients, first: int, data: memoryview) -> None:
        if not self._engine.mapped:
            while len(shard.files) <= message.lane:
                shard.files.append(Path(new_file(str(self._engine.folder))).open("xb"))  # noqa: SIM115 - closed in `_completed`, or `close`
            shard.files[message.lane].write(data)
            return
        while len(shard.lanes) <= message.lane:
            rows = _native.crypto.CipherRows(self._key.native, shard.count, new_file(str(self._engine.folder)))
            shard.lanes.append(self._engine.keep(shard.number, ShardCiphers(self._key, rows)))
        (held,) = self._engine.get([shard.lanes[message.lane]])
        bad = held.rows.fill(first, data, self._context.threads)
        if bad >= 0:
            raise bad_ciphertext(self._context.party, message.round, message.lane, shard.first + first + bad)

    def _completed(self, shard: _Shard, round_index: int) -> None:
        """All ciphertexts of a shard are there: the sums of its roots can be made."""
        engine, context = self._engine, self._context
        for lane, file in enumerate(shard.files):
            file.close()
            where = (context.party, round_index, lane, shard.first)
            shard.lanes.append(
                engine.run(shard.number, load_ciphers, file.name, self._key_bytes, shard.count, where, engine.threads)
            )
        if self._params.stream:
            for tree in self._trees:
                for lane in self._plan.lanes_of(tree.tree):
                    share = (lane, tree.features.tobytes())
                    parts = self._roots.setdefault(share, [])
                    if len(parts) < shard.number + 1 and len(tree.features):
                        parts += [None] * (shard.number - len(parts))
                        parts.append(self._partial(shard, lane, tree, _ROOT))

    def _partial(self, shard: _Shard, lane: int, tree: PassiveTree, nodes: NDArray[np.int32]) -> Held:
        partition, engine = tree.partition, self._engine
        assert isinstance(partition, ShardedPartition)  # noqa: S101 - as the bins
        return engine.run(
            shard.number,
            partial_sums,
            shard.lanes[lane],
            shard.place,
            self._bins.parts[shard.number],
            partition.parts[shard.number],
            nodes,
            tree.features,
            self._params.joint_buckets,
            np.ascontiguousarray(self._bins.heaviest[tree.features]),
            engine.threads,
        )

    def sums(
        self, lane: int, tree: PassiveTree, nodes: NDArray[np.int32], totals: _native.crypto.Ciphertexts, depth: int
    ) -> _native.he_sums.CipherSums:
        """See EncryptedRows."""
        share = (lane, tree.features.tobytes())
        if depth > 0:
            self._roots, self._finished = {}, {}
        elif share in self._finished:
            return self._finished[share]
        parts = [one for one in self._roots.pop(share, []) if one is not None]
        if not parts:
            parts = [self._partial(shard, lane, tree, nodes) for shard in self._shards if shard.count]
        sums = self._fetch(join_all(self._engine, parts, join_sums)).with_totals(totals)
        if depth == 0:
            self._finished[share] = sums
        self._context.timings.count("additions", sums.additions)
        self._context.timings.count("row additions", sums.rows_additions)
        return sums

    def _fetch(self, joined: Held) -> _native.he_sums.CipherSums:
        """The joined sums, here, under this process's own key object."""
        engine = self._engine
        if engine.mapped:
            (here,) = engine.get([joined])
            found: _native.he_sums.CipherSums = here.under(self._key)
            return found
        (data,) = engine.get([engine.run(0, sums_bytes, joined)])
        return _native.he_sums.CipherSums.from_bytes(self._key.native, data, self._context.threads)

    def close(self) -> None:
        """Forget the ciphertexts, and their files."""
        for shard in self._shards:
            for file in shard.files:
                file.close()
                Path(file.name).unlink(missing_ok=True)
        self._shards, self._roots, self._finished = [], {}, {}


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
    """Sums as bytes."""
    return joined.sums.to_bytes(1)


def prepare(context: PassiveContext) -> None:
    """Find out before training what sums of shards need: later it would wait behind whatever else the shards do."""
    if isinstance(context.binned, ShardedBins):
        with context.timings.phase("bin"):
            _ = context.binned.heaviest


def make_rows(of: Round) -> ArrivingRows:
    """Room for the ciphertexts of a round, where the party's rows are."""
    return EncryptedShards(of) if isinstance(of.context.binned, ShardedBins) else EncryptedRows(of)
