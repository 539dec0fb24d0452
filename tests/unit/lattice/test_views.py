"""What the passive party receives: w looks uniform, whatever the weights; sizes and counts tell the number of nodes."""

import numpy as np
import pytest
from scipy.stats import chi2

from lattice_runs import Table, parties
from vfxgb import _native
from vfxgb.lattice import LatticeNodes, Level
from vfxgb.transport.messages import encode

NODES = 1250
WORDS = 10_000_000


def messages(both, level: Level, words: int):
    """Messages of this level until so many words of w have been sent."""
    for _ in range(-(-words // (level.count * both.holder.params.ring.degree))):
        yield both.holder.sum(level)[0]


def chi_square(values: np.ndarray, cells: int) -> float:
    counts = np.bincount(values, minlength=cells)
    expected = len(values) / cells
    return float(np.sum((counts - expected) ** 2) / expected)


@pytest.mark.parametrize("kind", ["nothing", "one row", "all rows"])
def test_w_is_uniform_over_ten_million_words(kind: str) -> None:
    """Upper and lower halves of the words that are sent, 2^12 cells each, and neighbours; one level of many nodes."""
    both = parties(Table.draw(2048, 1, 1))
    rows = {"nothing": np.arange(0), "one row": np.arange(1), "all rows": np.arange(2048)}[kind]
    weights = np.where(rows % 2 == 0, 1, -1) * 7
    with both.holder:
        both.set_up()
        params = both.holder.params
        seen = 0
        found = {"upper": [], "lower": [], "neighbours": []}
        for message in messages(both, Level.of([(rows, weights)] * NODES), WORDS):
            w = _native.lattice.unpack_words(message.words, message.nodes, params.ring.degree, params.node_bits)
            flat = (w >> np.uint64(64 - params.node_bits)).ravel()
            seen += len(flat)
            found["upper"].append((flat >> np.uint64(params.node_bits - 12)).astype(np.int64))
            found["lower"].append((flat & np.uint64(0xFFF)).astype(np.int64))
            top = (flat >> np.uint64(params.node_bits - 6)).astype(np.int64)
            found["neighbours"].append(top[::2] * 64 + top[1::2])
    assert seen >= WORDS
    for what, values in found.items():
        statistic = chi_square(np.concatenate(values), 4096)
        assert 1e-6 < chi2.sf(statistic, 4095) < 1 - 1e-6, what


def test_words_are_uncorrelated_with_the_weights() -> None:
    """Masks off, w is u^T A and nothing else; masks on, the same level gives other words each time."""
    both = parties(Table.draw(300, 1, 1))
    level = Level.of([(np.arange(300), np.tile([3, -3], 150))])
    with both.holder:
        both.set_up()
        first, second = (bytes(both.holder.sum(level)[0].words) for _ in range(2))
    bits = [np.unpackbits(np.frombuffer(words, dtype=np.uint8)) for words in (first, second)]
    # Two independent strings of fair bits differ in half of their places, here within seven deviations.
    differing = np.count_nonzero(bits[0] != bits[1])
    assert abs(differing - len(bits[0]) / 2) < 7 * np.sqrt(len(bits[0])) / 2


def test_sizes_and_counts_are_those_of_the_number_of_nodes() -> None:
    both = parties(Table.draw(5000, 3, 1))
    every = np.arange(5000)
    with both.holder:
        both.set_up()
        sizes = set()
        for rows in (every[:0], every[:1], every[:40], every[::7], every):
            level = Level.of([(rows, np.where(rows % 2 == 0, 1, -1))] * 2)
            message, _ = both.holder.sum(level)
            assert (type(message), message.amount()) == (LatticeNodes, 2)
            sizes.add(len(encode(message)))
    assert len(sizes) == 1


def test_nodes_are_sent_in_random_order() -> None:
    both = parties(Table.draw(50, 2, 1))
    with both.holder:
        both.set_up()
        orders = {tuple(both.holder.sum(Level.of([([k], [1]) for k in range(8)]))[1].order) for _ in range(6)}
    assert len(orders) > 1
    assert all(sorted(order) == list(range(8)) for order in orders)


def test_encryptions_of_zero_look_uniform() -> None:
    """z on the wire, 2^12 cells of upper and of lower bits, and neighbours."""
    both = parties(Table(np.zeros((300, 40), dtype=bool), np.full(300, 32, dtype=np.int32)))
    with both.holder:
        seed = both.holder.accept(both.owner.offer(both.holder.open()))
        both.owner.accept(seed)
        params = both.holder.params
        z = _native.lattice.unpack_words(both.owner.zeros().words, 300, params.ring.degree, params.column_bits)
    flat = z.ravel() >> np.uint64(64 - params.column_bits)
    top = (flat >> np.uint64(params.column_bits - 6)).astype(np.int64)
    upper, lower = flat >> np.uint64(params.column_bits - 12), flat & np.uint64(0xFFF)
    for values in (upper, lower, top[::2] * 64 + top[1::2]):
        assert 1e-6 < chi2.sf(chi_square(values.astype(np.int64), 4096), 4095) < 1 - 1e-6


def test_encrypted_columns_look_uniform_whatever_they_hold() -> None:
    """C on the wire for columns of all left, of none, and of one row: 2^12 cells of upper and of lower bits."""
    left = np.zeros((90, 30_000), dtype=bool)
    left[:30] = True
    left[30:60, 17] = True
    both = parties(Table(left, np.full(90, 8, dtype=np.int32)))
    with both.holder:
        seed = both.holder.accept(both.owner.offer(both.holder.open()))
        both.owner.accept(seed)
        bits = both.holder.params.column_bits
        words = [_native.lattice.unpack_words(each.words, 90, each.rows, bits) for each in both.owner.blocks()]
    c = np.concatenate(words, axis=1) >> np.uint64(64 - bits)
    for kind in range(3):
        flat = c[30 * kind : 30 * kind + 30].ravel()
        for values in (flat >> np.uint64(bits - 12), flat & np.uint64(0xFFF)):
            assert 1e-6 < chi2.sf(chi_square(values.astype(np.int64), 4096), 4095) < 1 - 1e-6
