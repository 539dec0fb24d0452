"""Two columns in a word (`ring="pairs"`): widths, bytes, sums at the edges, comparisons that noise cannot decide."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import lattice_twin as twin
from lattice_runs import Table, draw_level, parties
from property_tests import examples
from two_party_runs import argmax_by_text, play, sides
from vfxgb import _native
from vfxgb.errors import CapacityError, LatticeError
from vfxgb.lattice import HolderSettings, Level, choose_params, open_sums
from vfxgb.lattice.params import DELTA_DEVIATIONS, WIDE, widths
from vfxgb.two_party import NOT_YOURS, ActiveArgmax, PassiveArgmax, noise_limit, plan_argmax

PAIRS = HolderSettings(ring="pairs", threads=1, ahead=4)
KEY = bytes(range(32))


@pytest.mark.parametrize(
    ("rows", "value_bits", "norm_bits", "word_bits", "node_bytes"),
    [(10**4, 20, 11.0, 64, 29_184), (30_000, 20, 11.0, 64, 29_184), (150_000, 20, 11.0, 63, 29_184)],
)
def test_the_table_of_the_readme(rows: int, value_bits: int, norm_bits: float, word_bits: int, node_bytes: int) -> None:
    params = choose_params(rows, ring="pairs")
    assert (params.ring, params.columns_per_word, params.words(3151)) == (WIDE, 2, 1576)
    found = (params.value_bits, params.norm_bits, params.column_bits, params.node_bytes())
    assert found == (value_bits, norm_bits, word_bits, node_bytes)
    assert "a row and two columns" in params.describe()


def test_bytes_of_wide_tables() -> None:
    """A set-up of 3,150 columns takes a fifth fewer bytes, and the active party keeps half as many."""
    one, two = (choose_params(30_000, ring=ring) for ring in ("auto", "pairs"))
    assert 8 * two.setup_bytes(3150) / 30_000 / 3150 == pytest.approx(32 * (1 + 4096 / 30_000), rel=1e-3)
    assert two.setup_bytes(3150) < 0.8 * one.setup_bytes(3150)
    assert 2 * two.words(3150) == one.words(3150)


@given(rows=st.integers(1, 180_000))
def test_whatever_is_chosen_keeps_both_sums_apart(rows: int) -> None:
    params = choose_params(rows, ring="pairs")
    bits = params.value_bits
    assert params.deviations >= DELTA_DEVIATIONS
    assert params.failure_bits > 600
    assert params.comparison_failure_bits > 80
    assert params.precision_bits >= 0
    assert 2**params.norm_bits >= params.root_norm
    upper, lower = params.message_shifts
    assert (upper, lower) == (62 - bits, params.log_delta)
    # The lower sum, its noise up to where it would be wrong itself, and nothing else stand below the upper one.
    below = ((1 << bits) - 1 << lower) + (1 << lower - 1)
    assert below <= (1 << upper) // 8 < noise_limit(bits)
    # Sums and differences of two lower sums do not reach the upper one's bits.
    assert 2 * below <= 1 << (64 - params.lower_shift - 1)
    assert widths(WIDE, rows, bits + 1, 2) is None or choose_params(rows).value_bits == bits


@given(words=st.integers(1, 9), odd=st.booleans(), nodes=st.integers(0, 3), seed=st.integers(0, 1 << 32))
def test_shares_of_columns_from_shares_of_words(words: int, odd: bool, nodes: int, seed: int) -> None:
    params, columns = choose_params(5000, ring="pairs"), 2 * words - odd
    drawn = np.random.default_rng(seed).integers(0, 1 << 64, (nodes, words), dtype=np.uint64)
    found = params.spread(drawn, columns)
    assert found.shape == (nodes, columns)
    for node in range(nodes):
        for column in range(columns):
            word = int(drawn[node, column // 2])
            assert found[node, column] == (word << params.lower_shift * (column % 2)) % (1 << 64)


def test_too_many_rows_and_too_much_precision() -> None:
    with pytest.raises(CapacityError, match=r"two columns a word; the largest precision_bits that fits is -\d.*'auto'"):
        choose_params(500_000, ring="pairs")
    with pytest.raises(CapacityError, match=r"precision_bits=4\.\d .*fits is 2\.\d; take ring='auto'") as error:
        choose_params(30_000, 4, "pairs")
    largest = float(str(error.value).split("fits is ")[1].split(";")[0])
    assert choose_params(30_000, largest, "pairs").precision_bits >= largest


@pytest.mark.parametrize("path", _native.lattice.available_paths())
def test_every_byte_of_words_with_two_messages(path: str) -> None:
    degree, rows, first, block, bits, shifts = 128, 77, 30, 5, 62, [42, 19]
    generator = np.random.default_rng(1)
    element = generator.integers(0, 1 << 64, degree, dtype=np.uint64)
    left = generator.integers(0, 2, (6, rows), dtype=np.uint8)
    weights = np.array([8, 32, 1, 9, 31, 16], dtype=np.int32)
    native = _native.lattice.SecretColumns(degree, 64, 3, KEY, 2, path)
    packed = np.packbits(left, axis=1, bitorder="little")
    found = native.encrypt(block, element, first, rows, packed, weights, shifts, bits, 2)
    wanted = b""
    for word in range(3):
        c = twin.product([int(a) for a in element], twin.secret(KEY, word, degree), 1 << 64)
        e = twin.noise(KEY, block, word, degree)
        messages = [
            sum(int(weights[2 * word + k]) * int(left[2 * word + k, row]) << shifts[k] for k in range(2))
            for row in range(rows)
        ]
        wanted += twin.pack([c[first + i] + e[first + i] + messages[i] for i in range(rows)], 64, bits)
    assert found == wanted
    for wrong in ([], [42, 64]):
        with pytest.raises(ValueError, match="shifts must be some, each below 64"):
            native.encrypt(block, element, first, rows, packed, weights, wrong, bits)
    with pytest.raises(ValueError, match="left must have shape"):
        native.encrypt(block, element, first, rows, packed[:3], weights, shifts, bits)


@pytest.mark.parametrize("columns", [40, 41])
def test_sums_at_both_ends_and_the_noise_below_them(columns: int) -> None:
    """Every sum of largest and of smallest value next to any other; noise as computed, and far from the upper sum."""
    rows, some = 4000, 125
    table = Table(np.zeros((columns, rows), dtype=bool), np.full(columns, 32, dtype=np.int32))
    table.left[::3, :some] = True
    table.left[1::3, some : 2 * some] = True
    both = parties(table, PAIRS)
    with both.holder:
        both.set_up()
        params = both.holder.params
        largest = np.full(some, ((1 << params.value_bits) - 1) // 32 // some)
        first = np.arange(some)
        level = Level.of([(first, largest), (first, -largest), (first + some, largest), (first + some, -largest)])
        assert np.abs(table.sums(level)).max() > 0.99 * 2**params.value_bits
        np.testing.assert_array_equal(both.sums(level), table.sums(level))
        lower, rests = [], []
        for seed in range(30):
            level = draw_level(both.holder, 6, seed)
            total = both.total(level)
            sums = open_sums(total, params)
            np.testing.assert_array_equal(sums, table.sums(level))
            gap = (total - (sums.view(np.uint64) << np.uint64(params.delta_shift))).view(np.int64)
            norms = np.sqrt(np.add.reduceat(level.weights.astype(np.float64) ** 2, level.offsets[:-1]))
            deviations = np.sqrt([params.noise_variance(norm) for norm in norms])
            lower.append((gap[:, 1::2] >> params.lower_shift) / deviations[:, np.newaxis])
            rests.append(gap[:, ::2])
    noise = np.concatenate(lower)
    assert noise.std() == pytest.approx(1, rel=0.05)
    assert np.abs(noise).max() < 6
    assert np.abs(np.concatenate(rests)).max() <= 2 ** (params.delta_shift - 3)


@pytest.mark.parametrize("value_bits", [12, 16, 20])
def test_no_comparison_is_decided_by_the_other_column_of_a_word(value_bits: int) -> None:
    """Ties and neighbours in the upper half, the largest and smallest sums and noise below them, and the reverse."""
    generator = np.random.default_rng(value_bits)
    nodes, columns, most = 150, 9, (1 << value_bits) - 1
    words = (columns + 1) // 2
    params = choose_params(30_000, value_bits - math.log2(math.sqrt(32) * 30_000) - 1e-6, "pairs")
    assert params.value_bits == value_bits
    # The share of a lower column has its noise moved up with it.
    noise_most = noise_limit(value_bits) - 1 >> params.lower_shift
    upper_shift, lower_shift = params.message_shifts
    kinds = [np.array([-most, -most + 1, most - 1, most]), np.array([-3, -2, 2, 3])]
    values = np.empty((nodes, 2 * words), dtype=np.int64)
    for node in range(nodes):
        values[node, ::2] = generator.choice(kinds[node % 2], words)
        values[node, 1::2] = generator.choice(kinds[(node + 1) // 2 % 2], words)
    noise = np.where(generator.integers(0, 2, (nodes, words)) == 1, noise_most, -noise_most)
    total = (values[:, ::2] << upper_shift) + (values[:, 1::2] << lower_shift) + noise
    x = generator.integers(0, 1 << 64, total.shape, dtype=np.uint64)
    y = total.view(np.uint64) - x
    plan = plan_argmax(value_bits, nodes, columns, False, 0)
    both = sides(value_bits)
    both.make(plan.demand)
    active = ActiveArgmax(plan, both.active, params.spread(x, columns), None)
    passive = PassiveArgmax(plan, both.passive, params.spread(y, columns))
    play(active, passive)
    wanted = [argmax_by_text(values[node, :columns].tolist(), 1, range(columns), ()) for node in range(nodes)]
    assert passive.won.tolist() == wanted
    assert NOT_YOURS not in passive.won


def test_wrong_lengths_are_those_of_words() -> None:
    both = parties(Table.draw(5000, 7, 1), PAIRS)
    other = parties(Table.draw(5000, 7, 1))
    with both.holder, other.holder:
        seed = both.holder.accept(both.owner.offer(both.holder.open()))
        assert seed is not None
        both.owner.accept(seed)
        other.set_up()
        with pytest.raises(LatticeError, match=r"encryptions of zero, wanted \d+ for 7 columns of 4096 words"):
            both.holder.add_zeros(other.owner.zeros())


def test_words_with_two_messages_look_uniform_whatever_they_hold() -> None:
    """C on the wire where both columns are all left, none, or one of each: 2^12 cells of upper and of lower bits."""
    left = np.zeros((120, 20_000), dtype=bool)
    left[:40] = True
    left[80:120:2] = True
    both = parties(Table(left, np.full(120, 8, dtype=np.int32)), PAIRS)
    with both.holder:
        seed = both.holder.accept(both.owner.offer(both.holder.open()))
        both.owner.accept(seed)
        bits = both.holder.params.column_bits
        words = [_native.lattice.unpack_words(each.words, 60, each.rows, bits) for each in both.owner.blocks()]
    c = np.concatenate(words, axis=1) >> np.uint64(64 - bits)
    for kind in range(3):
        flat = c[20 * kind : 20 * kind + 20].ravel()
        for values in (flat >> np.uint64(bits - 12), flat & np.uint64(0xFFF)):
            counts = np.bincount(values.astype(np.int64), minlength=4096)
            expected = len(flat) / 4096
            assert 1e-6 < chi2.sf(float(np.sum((counts - expected) ** 2) / expected), 4095) < 1 - 1e-6


@examples(3)
@given(seed=st.integers(0, 1 << 32))
def test_a_set_up_of_pairs_is_another_one(seed: int) -> None:
    table = Table.draw(500, 4, seed)
    names = set()
    for ring in ("auto", "wide", "pairs"):
        both = parties(table, HolderSettings(ring=ring, threads=1, ahead=1))
        with both.holder:
            both.set_up()
            level = draw_level(both.holder, 2, seed)
            np.testing.assert_array_equal(both.sums(level), table.sums(level))
            names.add((both.holder.params.ring, both.holder.params.columns_per_word))
    assert len(names) == 3
