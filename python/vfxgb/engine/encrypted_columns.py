"""Encrypted columns of passive parties where the active party's rows are in shards: each shard keeps those of its rows.

They come from another party and could not be made again, so on a cluster the blocks go into a file of the run's folder
for each shard, as they came, from which the shard reads them. With an engine in this process they go into mapped files.
A block that lies in several shards goes to each of them as a whole; a shard takes its own rows of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vfxgb import _native
from vfxgb.engine.base import Engine, ShardHandle, join_all
from vfxgb.engine.mask_pieces import LoadedState, PieceFile, PieceReader
from vfxgb.engine.parts import Division
from vfxgb.engine.shard import new_file
from vfxgb.lattice import ColumnSetup, HeldRows, LatticeBlock, LevelSums
from vfxgb.rows.encrypted_columns import SlotRows, level_of, nodes_of
from vfxgb.rows.parts import Nodes


@dataclass
class _Shard:
    """Training rows `first` to `stop` - 1.

    `blocks`: (first row, rows) of those in `file`. `held`: handle of a LoadedState of HeldRows, None at first.
    """

    number: int
    first: int
    stop: int
    blocks: list[tuple[int, int]] = field(default_factory=list)
    file: PieceFile | None = None
    held: ShardHandle = None


class ShardedEncrypted:
    """See EncryptedColumns: in the shards of an engine."""

    def __init__(self, setup: ColumnSetup, engine: Engine, division: Division) -> None:
        self._setup = setup
        self._engine = engine
        rows = enumerate(division.train_ranges())
        self._shards = [_Shard(number, first, stop) for number, (first, stop) in rows if first < stop]

    def fill(self, block: LatticeBlock) -> None:
        """See EncryptedColumns."""
        end = block.first + block.rows
        for shard in self._shards:
            if max(block.first, shard.first) < min(end, shard.stop):
                if self._engine.mapped:
                    self._map(shard, block)
                else:
                    self._write(shard, block)

    def _map(self, shard: _Shard, block: LatticeBlock) -> None:
        engine = self._engine
        if shard.held is None:
            path = Path(new_file(str(engine.folder)))
            held = HeldRows(self._setup, shard.first, shard.stop, path, engine.threads)
            shard.held = engine.keep(shard.number, LoadedState(held, load_encrypted, ()))
        (state,) = engine.get([shard.held])
        state.native.fill(block)

    def _write(self, shard: _Shard, block: LatticeBlock) -> None:
        engine = self._engine
        if shard.file is None:
            shard.file = PieceFile(engine)
        shard.file.add(block.rows, block.words)
        shard.blocks.append((block.first, block.rows))
        if block.first + block.rows >= shard.stop:
            shard.file.finish()
            where = (shard.file.path, shard.blocks, self._setup, shard.first, shard.stop)
            shard.held = engine.run(shard.number, load_encrypted, *where, engine.threads)

    def sums(self, trees: Sequence[SlotRows]) -> LevelSums:
        """See EncryptedColumns."""
        engine, nodes = self._engine, nodes_of(trees)
        parts = (
            engine.run(
                shard.number,
                encrypted_sums,
                shard.held,
                [tree.partition.parts[shard.number] for tree in trees],
                [tree.integers.parts[shard.number] for tree in trees],
                nodes,
                engine.threads,
            )
            for shard in self._shards
        )
        (total,) = engine.get([_added(engine, parts)])
        sums: LevelSums = total
        return sums

    def close(self) -> None:
        """Forget the columns, and their files."""
        for shard in self._shards:
            if shard.file is not None:
                shard.file.remove()
        self._shards = []


def _added(engine: Engine, parts: Iterable[ShardHandle]) -> ShardHandle:
    """The sum of shards' sums; one after the other where that is how shards run, so that two are there at a time."""
    if engine.ahead is None:
        return join_all(engine, list(parts), add_sums)
    total = None
    for part in parts:
        total = part if total is None else engine.run(0, add_sums, [total, part])
    return total


def add_sums(parts: list[LevelSums]) -> LevelSums:
    """Add up the sums of two shards."""
    return sum(parts[1:], parts[0])


def load_encrypted(
    path: str, blocks: list[tuple[int, int]], setup: ColumnSetup, first: int, stop: int, threads: int
) -> LoadedState:
    """The columns of a shard, training rows `first` to `stop` - 1, from its file."""
    held = HeldRows(setup, first, stop, None, threads)
    with PieceReader(path) as reader:
        for begin, rows in blocks:
            size = setup.words * _native.lattice.packed_bytes(rows, setup.params.column_bits)
            held.fill_rows(begin, rows, reader.take(size))
    return LoadedState(held, load_encrypted, (path, blocks, setup, first, stop, threads))


def encrypted_sums(
    held: LoadedState,
    partitions: list[_native.gbdt.RowPartition],
    integers: list[Nodes],
    nodes: list[Nodes],
    threads: int,
) -> LevelSums:
    """The sums of a level over a shard's rows; its first training row is the first row of its partitions."""
    rows: HeldRows = held.native
    leaves = [partition.leaves(threads) for partition in partitions]
    return rows.sums(level_of(leaves, integers, nodes, rows.first))
