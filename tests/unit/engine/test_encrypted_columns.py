"""Encrypted columns in shards of any sizes: their sums are those of rows in one place, word for word."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lattice_runs import Table, parties
from property_tests import examples
from vfxgb import _native
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.encrypted_columns import ShardedEncrypted
from vfxgb.engine.integers import ShardedIntegers
from vfxgb.engine.local import LocalEngine
from vfxgb.engine.parts import Division, ShardedPartition
from vfxgb.errors import LatticeError
from vfxgb.lattice import HolderSettings, LatticeBlock, LevelSums, RingChoice, held_rows
from vfxgb.rows.encrypted_columns import EncryptedColumns, MemoryEncrypted, SlotRows
from vfxgb.rows.memory import MemoryPartition
from vfxgb.transport.messages import pack_bytes

COLUMNS = 5


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("engine")
    made = LocalEngine(1 << 30, 1, folder)
    yield made
    assert list(made.folder.iterdir()) == []
    made.close()


def set_up(rows: int, ring: RingChoice = "auto") -> Any:
    """A holder that has accepted a set-up, its blocks, and the plain table."""
    table = Table.draw(rows, COLUMNS, 3)
    both = parties(table, HolderSettings(ring=ring, threads=1, ahead=1, in_shards=True))
    seed = both.holder.accept(both.owner.offer(both.holder.open()))
    both.owner.accept(seed)
    return both.holder, list(both.owner.blocks()), table


def trees_of(engine: Any, division: Division, leaves: Any, integers: Any) -> tuple[list[SlotRows], list[SlotRows]]:
    """Two trees over the same rows, here and in shards; the slots are in another order than the nodes."""
    here, there = [], []
    n_train = division.n_train
    for tree, slots in enumerate(([3, 1, 2], [2, 1])):
        own = np.where(leaves[tree] > len(slots), 0, leaves[tree]).astype(np.int32)
        made = np.where(np.isin(own[:n_train], slots), integers[tree], 0)
        nodes = np.array(slots, dtype=np.int32)
        whole = _native.gbdt.RowPartition(len(own), np.arange(n_train, dtype=np.int32))
        parts, kept = [], []
        for number, (first, stop) in enumerate(division.ranges()):
            used = int(division.train_sizes[number])
            part = _native.gbdt.RowPartition(stop - first, np.arange(used, dtype=np.int32))
            put(part, own[first:stop], used)
            parts.append(engine.keep(number, part))
            kept.append(engine.keep(number, made[first : first + used].astype(np.int32)))
        put(whole, own, n_train)
        sharded = ShardedPartition(engine, division, None)
        sharded.parts = parts
        here.append(SlotRows(MemoryPartition(whole), nodes, made))
        there.append(SlotRows(sharded, nodes, ShardedIntegers(engine, tuple(kept))))
    return here, there


def put(partition: _native.gbdt.RowPartition, leaves: Any, used: int) -> None:
    """Split a chain of nodes off, so that every row stands in its leaf: 1, 2 and 3, the rest in node 6."""
    node = 0
    for leaf, rest in ((1, 4), (2, 5), (3, 6)):
        rows = [*(np.flatnonzero(partition.leaves()[part] == node) + part.start for part in parts_of(leaves, used))]
        bits = b"".join(np.packbits(leaves[each] == leaf, bitorder="little").tobytes() for each in rows)
        numbers = (np.array([each], dtype=np.int32) for each in (node, leaf, rest))
        partition.split(*numbers, bits)
        node = rest


def parts_of(leaves: Any, used: int) -> tuple[slice, slice]:
    return slice(0, used), slice(used, len(leaves))


def same(found: LevelSums, wanted: LevelSums) -> None:
    np.testing.assert_array_equal(found.w, wanted.w)
    np.testing.assert_array_equal(found.x, wanted.x)
    for name in ("squares", "plus", "minus"):
        np.testing.assert_array_equal(getattr(found.norms, name), getattr(wanted.norms, name))


def compare(engine: Any, n_train: int, n_rows: int, cuts: list[int], seed: int, ring: RingChoice = "auto") -> None:
    rng = np.random.default_rng(seed)
    holder, blocks, _ = set_up(n_train, ring)
    edges = np.array(sorted({0, n_rows, *(cut % n_rows for cut in cuts)}), dtype=np.int64)
    division = Division(edges, n_train)
    leaves, integers = rng.integers(0, 5, (2, n_rows)), rng.integers(-9, 10, (2, n_train))
    here, there = trees_of(engine, division, leaves, integers)
    one: EncryptedColumns = MemoryEncrypted(holder.setup, 1)
    many: EncryptedColumns = ShardedEncrypted(holder.setup, engine, division)
    for columns in (one, many):
        for block in blocks:
            columns.fill(block)
    same(many.sums(there), one.sums(here))
    many.close()


@given(
    n_train=st.integers(1, 7000),
    more=st.integers(0, 3000),
    cuts=st.lists(st.integers(0, 9999), max_size=6),
    ring=st.sampled_from(["auto", "wide", "pairs"]),
    at_once=st.sampled_from([1, 300_000, 1 << 28]),
    seed=st.integers(0, 999),
)
@example(n_train=4096, more=0, cuts=[2047, 2048, 2049, 4095], ring="auto", at_once=1, seed=1)
@example(n_train=6000, more=500, cuts=[1, 2, 3, 6100], ring="wide", at_once=1, seed=2)
@example(n_train=5000, more=0, cuts=[2047, 4097], ring="pairs", at_once=1, seed=3)
@examples(15)
def test_shards_of_any_sizes_in_mapped_files(
    n_train: int, more: int, cuts: list[int], ring: RingChoice, at_once: int, seed: int, local: LocalEngine
) -> None:
    """Blocks of 2048 or 4096 rows that lie in several shards, shards without training rows, groups of few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_rows, "MAPPED_BYTES", at_once)
        compare(local, n_train, n_train + more, cuts, seed, ring)


@pytest.mark.parametrize("cuts", [[], [2048], [100, 3000, 3001, 5200]])
def test_shards_on_a_cluster(cuts: list[int], dask_client: Any) -> None:
    engine = DaskEngine(dask_client)
    try:
        compare(engine, 5000, 5300, cuts, 5)
        assert [path for path in engine.folder.iterdir() if len(path.name) == 32] == []
    finally:
        engine.close()


def test_damaged_words_are_refused(local: LocalEngine, dask_client: Any) -> None:
    holder, (block,), _ = set_up(1001)
    damaged = LatticeBlock(block.first, block.rows, pack_bytes(bytes(block.words)[:-1] + b"\xff"))
    division = Division(np.array([0, 600, 1001]), 1001)
    with pytest.raises(LatticeError, match="keeping encrypted columns: 1001 rows from 0 on are malformed"):
        ShardedEncrypted(holder.setup, local, division).fill(damaged)
    engine = DaskEngine(dask_client)
    try:
        columns = ShardedEncrypted(holder.setup, engine, division)
        columns.fill(damaged)
        rng = np.random.default_rng(0)
        _, there = trees_of(engine, division, rng.integers(0, 5, (2, 1001)), rng.integers(-9, 10, (2, 1001)))
        with pytest.raises(LatticeError, match="keeping encrypted columns: 1001 rows from 0 on are malformed"):
            columns.sums(there)
        columns.close()
    finally:
        engine.close()
