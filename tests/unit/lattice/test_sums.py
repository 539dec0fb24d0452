"""Sums of both parties' shares against plaintext: exact whatever the rows, columns, precision, ring, threads, loops."""

import functools
import itertools
import operator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instruction_sets import INSTRUCTION_SETS
from lattice_runs import Table, draw_level, fitting, parties
from property_tests import examples
from vfxgb import _native
from vfxgb.errors import CapacityError, LatticeError
from vfxgb.lattice import (
    ColumnSetup,
    HeldRows,
    HolderSettings,
    Level,
    RingChoice,
    choose_params,
    open_sums,
    weight_scale,
)


@given(
    rows=st.integers(1, 5000),
    columns=st.integers(1, 20),
    precision=st.none() | st.floats(0, 9),
    ring=st.sampled_from(["auto", "wide", "pairs"]),
    threads=st.integers(1, 3),
    nodes=st.integers(0, 9),
    seed=st.integers(0, 1 << 32),
    path=st.sampled_from(["", "portable"]),
)
@example(rows=2048, columns=1, precision=None, ring="auto", threads=2, nodes=1, seed=0, path="portable")
@example(rows=2049, columns=9, precision=9, ring="auto", threads=1, nodes=3, seed=1, path="")
@example(rows=4097, columns=8, precision=0, ring="wide", threads=3, nodes=2, seed=2, path="portable")
@example(rows=4100, columns=7, precision=None, ring="pairs", threads=2, nodes=3, seed=3, path="")
@example(rows=5000, columns=1, precision=0, ring="pairs", threads=1, nodes=2, seed=4, path="portable")
@examples(20)
def test_sums_are_exact(
    rows: int, columns: int, precision: float | None, ring: RingChoice, threads: int, nodes: int, seed: int, path: str
) -> None:
    if ring == "pairs" and precision is not None:
        # As much as fits, or less.
        precision = min(precision, choose_params(rows, None, ring).precision_bits)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("VFXGB_SIMD", path)
        _compare_sums(rows, columns, HolderSettings(precision_bits=precision, ring=ring, threads=threads), nodes, seed)


def _compare_sums(rows: int, columns: int, settings: HolderSettings, nodes: int, seed: int) -> None:
    table = Table.draw(rows, columns, seed)
    both = parties(table, replace(settings, ahead=2))
    with both.holder:
        both.set_up()
        for full in (True, False):
            level = draw_level(both.holder, nodes, seed, full)
            np.testing.assert_array_equal(both.sums(level), table.sums(level))


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
def test_sums_on_either_set_of_loops(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("VFXGB_SIMD", path)
    table = Table.draw(6000, 13, 5)
    both = parties(table)
    with both.holder:
        both.set_up()
        level = draw_level(both.holder, 7, 5)
        np.testing.assert_array_equal(both.sums(level), table.sums(level))


def test_a_row_may_be_in_nodes_of_several_classes() -> None:
    table = Table.draw(3000, 6, 1)
    both = parties(table)
    with both.holder:
        both.set_up()
        generator, every = np.random.default_rng(2), np.arange(3000)
        level = Level.of([fitting(every[k:], both.holder.params, generator) for k in (0, 1, 1500)])
        np.testing.assert_array_equal(both.sums(level), table.sums(level))


def test_sums_of_shards_add_up() -> None:
    """Rows in three shards at the active party, cut within blocks, and mapped files: the same words before masks."""
    table = Table.draw(5000, 7, 3)
    both = parties(table, HolderSettings(threads=1, ahead=2, in_shards=True))
    whole = parties(table)
    with both.holder, whole.holder:
        seed = both.holder.accept(both.owner.offer(both.holder.open()))
        assert seed is not None
        both.owner.accept(seed)
        both.holder.add_zeros(both.owner.zeros())
        cuts = [0, 1234, 2048, 5000]
        shards = [both.holder.held_rows(first, stop) for first, stop in itertools.pairwise(cuts)]
        everything = both.holder.held_rows(0, 5000)
        for block in both.owner.blocks():
            both.holder.add(block)
            for shard in (*shards, everything):
                shard.fill(block)
        level = draw_level(both.holder, 5, 4)
        both.holder.check(level)
        parts = [shard.sums(level) for shard in shards]
        added, wanted = functools.reduce(operator.add, parts), everything.sums(level)
        for name in ("w", "x"):
            np.testing.assert_array_equal(getattr(added, name), getattr(wanted, name))
        for name in ("squares", "plus", "minus"):
            np.testing.assert_array_equal(getattr(added.norms, name), getattr(wanted.norms, name))
        nodes, shares = both.holder.mask(added)
        total = shares.x + both.owner.shares(nodes)
        np.testing.assert_array_equal(open_sums(total, both.holder.params), table.sums(level)[shares.order])
        with pytest.raises(LatticeError, match="in shards"):
            both.holder.sum(level)
        with pytest.raises(LatticeError, match="wanted some of 5000"):
            both.holder.held_rows(10, 5001)


def test_columns_in_a_mapped_file(tmp_path) -> None:
    table = Table.draw(2500, 5, 3)
    both = parties(table, HolderSettings(threads=1, ahead=1, file=tmp_path / "columns"))
    with both.holder:
        both.set_up()
        level = draw_level(both.holder, 3, 4)
        np.testing.assert_array_equal(both.sums(level), table.sums(level))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["columns", "missing/columns"])
def test_columns_that_there_is_no_room_for(name: str, tmp_path) -> None:
    """240 terabytes, as a passive party may offer, and a folder that is gone."""
    setup = ColumnSetup(choose_params(10**9), bytes(32), 30_000)
    rows = setup.params.rows if name == "columns" else 10
    with pytest.raises(LatticeError, match=r"keeping encrypted columns: 30000 columns of .* GB, which cannot be had"):
        HeldRows(setup, 0, rows, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_mapped_file_is_read_again_after_it_was_given_back(tmp_path) -> None:
    generator = np.random.default_rng(4)
    words = generator.integers(0, 1 << 64, (70, 11), dtype=np.uint64)
    for file in (None, str(tmp_path / "columns")):
        columns = _native.lattice.Columns(0, 70, 11, file)
        columns.set_rows(0, words)
        columns.drop()
        np.testing.assert_array_equal(columns.rows(0, 70), words)
        # Rows are padded to whole cache lines.
        assert columns.nbytes == 70 * 16 * 8


def test_noise_is_what_the_parameters_say() -> None:
    """Measured over 20,000 sums at the largest norm: variance, and no sum near the next one."""
    table = Table.draw(4000, 400, 7)
    both = parties(table)
    with both.holder:
        both.set_up()
        params = both.holder.params
        found = np.concatenate([both.noise(draw_level(both.holder, 10, seed)).ravel() for seed in range(5)])
        norms = []
        for seed in range(5):
            level = draw_level(both.holder, 10, seed)
            squares = np.concatenate([[0], np.cumsum(level.weights.astype(np.float64) ** 2)])[level.offsets]
            norms.append(np.diff(squares))
        predicted = np.sqrt(params.noise_variance(np.sqrt(np.mean(norms))))
    assert found.std() == pytest.approx(predicted, rel=0.03)
    assert abs(found.mean()) < 5 * predicted / np.sqrt(len(found))
    assert np.abs(found).max() < 6 * predicted
    assert predicted * 60 <= 2.0**params.log_delta * 1.001


def test_weights_that_could_be_too_large_are_refused_before_a_mask_is_taken() -> None:
    table = Table.draw(3000, 4, 1)
    both = parties(table)
    with both.holder:
        both.set_up()
        params = both.holder.params
        large = int(2.0**params.norm_bits) + 1
        with pytest.raises(
            CapacityError, match=r"columns of shop: node 1 has a norm of weights of .* at most 0\.9"
        ) as error:
            both.holder.sum(Level.of([([], []), ([5], [large])]))
        assert "core-SVP" in str(error.value)
        same = np.full(3000, int(2.0**params.norm_bits / np.sqrt(3000)))
        with pytest.raises(CapacityError, match="node 0 has a bound of sums"):
            both.holder.sum(Level.of([(np.arange(3000), same)]))
        with pytest.raises(CapacityError, match="beyond 31 bits"):
            Level.of([([1], [1 << 31])])
        level = draw_level(both.holder, 2, 1)
        np.testing.assert_array_equal(both.sums(level), table.sums(level))  # nothing was used up


@given(
    rows=st.integers(1, 200_000),
    share=st.floats(0, 1),
    mean=st.floats(-3, 3),
    magnitude=st.integers(-30, 30),
    precision=st.none() | st.floats(0, 6),
    seed=st.integers(0, 1 << 32),
)
@examples(30)
def test_scaled_weights_fit_and_use_the_room(
    rows: int, share: float, mean: float, magnitude: int, precision: float | None, seed: int
) -> None:
    params = choose_params(rows, precision)
    generator = np.random.default_rng(seed)
    own = np.flatnonzero(generator.random(rows) <= share)
    values = (generator.standard_normal(len(own)) + mean) * 2.0**magnitude
    scale = weight_scale(values, params)
    scaled = scale * values
    level = Level.of([(own, np.floor(scaled + generator.random(len(own))).astype(np.int64))])
    level.check(params, "shop")
    # With few bits for all rows, rounding alone can take up the room.
    assert scale > 0 or len(own) == 0 or precision is not None
    if len(own) and abs(mean) < 1e-3:
        # A third more does not fit, unless rounding itself takes up the room.
        more = Level.of([(own, np.rint(1.34 * scaled).astype(np.int64))])
        if np.linalg.norm(scaled) > 4 * np.sqrt(len(own)):
            with pytest.raises(CapacityError):
                more.check(params, "shop")


def test_no_weights_have_no_scale() -> None:
    assert weight_scale(np.zeros(5), choose_params(100)) == 0


def test_bad_levels() -> None:
    both = parties(Table.draw(100, 2, 1))
    with both.holder:
        both.set_up()
        with pytest.raises(LatticeError, match="found rows 3 to 100, wanted rows from 0 to 99"):
            both.holder.sum(Level.of([([3, 100], [1, -1])]))
        with pytest.raises(LatticeError, match="do not ascend"):
            both.holder.sum(Level.of([([3], [1]), ([5, 5], [1, -1])]))
        both.holder.sum(Level.of([([7], [1]), ([5], [1])]))  # nodes need not ascend
        with pytest.raises(LatticeError, match="a weight for each row"):
            Level.of([([3, 4], [1])])
        with pytest.raises(LatticeError, match="has rows -1 to 4, wanted row numbers"):
            Level.of([([-1, 4], [1, 1])])
        with pytest.raises(LatticeError, match="wanted integers"):
            Level.of([([3], [1.5])])


def test_the_words_of_a_part_are_those_of_the_whole() -> None:
    level = Level.of([([1, 5, 9], [1, 2, 3]), ([], []), ([0, 9], [4, 5])])
    part = level.part(5, 10)
    assert (part.offsets.tolist(), part.rows.tolist(), part.weights.tolist()) == ([0, 2, 2, 3], [5, 9, 9], [2, 3, 5])
    assert _native.lattice.path_in_use() in _native.lattice.available_paths()


@given(seed=st.integers(0, 1 << 32), rows=st.integers(0, 300), nodes=st.integers(0, 6))
@examples(30)
def test_nodes_of_leaves_are_the_naive_ones(seed: int, rows: int, nodes: int) -> None:
    generator = np.random.default_rng(seed)
    leaves = generator.integers(0, 8, rows).astype(np.int32)
    of_leaf = generator.integers(-1, nodes, 8).astype(np.int32)
    values = generator.integers(-2, 3, rows)
    offsets, own, weights = _native.lattice.nodes_of_leaves(leaves, of_leaf, values, nodes)
    level = Level(offsets, own, weights)
    assert level.count == nodes
    for node in range(nodes):
        wanted = [row for row in range(rows) if of_leaf[leaves[row]] == node and values[row]]
        part = slice(offsets[node], offsets[node + 1])
        assert own[part].tolist() == wanted
        assert weights[part].tolist() == values[wanted].tolist()
    squares, plus, minus = _native.lattice.node_norms(offsets, own, weights, rows)
    every = [weights[first:last].tolist() for first, last in itertools.pairwise(offsets.tolist())]
    assert squares.tolist() == [sum(u * u for u in us) for us in every]
    assert plus.tolist() == [sum(u for u in us if u > 0) for us in every]
    assert minus.tolist() == [sum(-u for u in us if u < 0) for us in every]


def test_leaves_that_are_none_are_refused() -> None:
    leaves, of_leaf, values = np.zeros(2, dtype=np.int32), np.zeros(1, dtype=np.int32), np.ones(2, dtype=np.int64)
    make = _native.lattice.nodes_of_leaves
    for arguments, words in (
        ((leaves + 1, of_leaf, values, 1), "a leaf that is none"),
        ((leaves - 1, of_leaf, values, 1), "a leaf that is none"),
        ((leaves, of_leaf + 1, values, 1), "a node that is none"),
        ((leaves, of_leaf, values[:1], 1), "one leaf and one weight"),
        ((leaves, of_leaf, values << 31, 1), "beyond 31 bits"),
        ((leaves, of_leaf, -values << 31, 1), "beyond 31 bits"),
    ):
        with pytest.raises(ValueError, match=words):
            make(*arguments)
