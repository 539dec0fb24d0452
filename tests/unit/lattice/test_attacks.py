"""Attacks on lattice sums: each succeeds where a safeguard is taken away, and fails with it.

The passive party attacks w, knowing the public elements; the active party attacks encrypted columns. The last attack is
one that works: it is why outcomes are limited.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lattice_runs import Parties, Table, parties
from vfxgb import _native
from vfxgb.lattice import HolderSettings, Level
from vfxgb.lattice.elements import public_elements
from vfxgb.lattice.masks import MaskStock
from vfxgb.lattice.messages import LatticeNodes
from vfxgb.lattice.params import Ring
from vfxgb.transport.messages import pack_bytes

Words = NDArray[np.uint64]
ROWS = 3000


def unmasked(level: Level, name: bytes, ring: Ring) -> Words:
    """u^T A of each node, as whoever knows the set-up's name computes it for weights that it guesses."""
    elements = public_elements(name, 0, -(-ROWS // ring.degree), ring)
    native = _native.lattice.Elements(ring.degree, ring.log_q, 0, elements)
    return native.correlate(level.offsets, level.rows, level.weights)


def sent(both: Parties, level: Level) -> Words:
    """w of each node as the passive party gets them, in the order in which they are sent."""
    message, _ = both.holder.sum(level, shuffle=False)
    params = both.holder.params
    return _native.lattice.unpack_words(message.words, message.nodes, params.ring.degree, params.node_bits)


def explained(both: Parties, w: Words, guess: Level) -> float:
    """The share of words of w_0 - w_1 that the guessed weights explain up to rounding: 1, or that of chance."""
    params = both.holder.params
    a = unmasked(guess, both.holder.name, params.ring)
    gap = (w[0] - w[1] - (a[0] - a[1])).view(np.int64).astype(np.float64)
    return float(np.mean(np.abs(gap) <= 2.0 ** (64 - params.node_bits)))


def labels_level(seed: int, scale: int = 9) -> Level:
    """Two nodes over all rows, whose weights have the signs of random labels."""
    labels = np.random.default_rng(seed).integers(0, 2, ROWS)
    every = np.arange(ROWS)
    return Level.of([(every[k::2], np.where(labels[k::2], scale, -scale)) for k in range(2)])


@pytest.mark.parametrize("ring", ["auto", "wide"])
def test_a_mask_that_serves_twice_confirms_guessed_labels_and_fresh_masks_do_not(
    ring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, wrong = labels_level(1), labels_level(2)
    both = parties(Table.draw(ROWS, 2, 1), HolderSettings(threads=1, ahead=2, ring=ring))
    with both.holder:
        both.set_up()
        w = sent(both, true)
        chance = 2.0 ** (2 - both.holder.params.node_bits)
        for guess in (true, wrong):
            assert explained(both, w, guess) <= chance + 0.002
        take = MaskStock.take

        def again(self: MaskStock, count: int) -> tuple[Words, Words]:
            mask_w, mask_x = take(self, 1)
            return mask_w.repeat(count, axis=0), mask_x.repeat(count, axis=0)

        monkeypatch.setattr(MaskStock, "take", again)
        w = sent(both, true)
        assert explained(both, w, true) == 1.0
        assert explained(both, w, wrong) <= chance + 0.002


def test_one_w_confirms_no_guess_and_would_without_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    true = labels_level(3)
    both = parties(Table.draw(ROWS, 2, 1))
    with both.holder:
        both.set_up()
        params = both.holder.params

        def found() -> float:
            gap = (sent(both, true) - unmasked(true, both.holder.name, params.ring)).view(np.int64)
            return float(np.mean(np.abs(gap.astype(np.float64)) <= 2.0 ** (64 - params.node_bits)))

        assert found() <= 0.002
        take = MaskStock.take

        def none(self: MaskStock, count: int) -> tuple[Words, Words]:
            mask_w, mask_x = take(self, count)
            return mask_w * np.uint64(0), mask_x * np.uint64(0)

        monkeypatch.setattr(MaskStock, "take", none)
        assert found() == 1.0


def columns_of(both: Parties) -> Words:
    """All encrypted columns, words[columns, rows], as the active party gets them."""
    seed = both.holder.accept(both.owner.offer(both.holder.open()))
    assert seed is not None
    both.owner.accept(seed)
    both.owner.zeros()
    bits, blocks = both.holder.params.column_bits, list(both.owner.blocks())
    return np.concatenate(
        [_native.lattice.unpack_words(each.words, both.holder.columns, each.rows, bits) for each in blocks], axis=1
    )


def test_a_changed_bit_would_show_under_the_same_secrets_and_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two set-ups whose seeds and secret repeat, as after a restored snapshot, and whose columns differ in one bit.

    Secrets depend on the columns, so everything differs. Without that, the difference is the bit that changed.
    """
    monkeypatch.setattr("vfxgb.lattice.holder.draw_seed", lambda: bytes(range(32)))
    monkeypatch.setattr("vfxgb.lattice.owner.draw_seed", lambda: bytes(range(1, 33)))
    table = Table.draw(ROWS, 4, 1)
    changed = replace(table, left=table.left.copy())
    changed.left[2, 1234] ^= True

    def differing() -> NDArray[np.bool_]:
        first, second = (columns_of(parties(each)) for each in (table, changed))
        return first != second

    assert differing().mean() > 0.999
    monkeypatch.setattr("vfxgb.lattice.columns.digest_of", lambda columns: bytes(32))
    assert np.argwhere(differing()).tolist() == [[2, 1234]]


def test_an_active_party_that_chooses_w_reads_secrets_from_outcomes_one_by_one() -> None:
    """What the README says a party that deviates can do: every outcome answers a question about <w, s>.

    An outcome here is the sign of a shared sum, which is what a comparison shows. Two of them tell a coefficient.
    """
    both = parties(Table.draw(100, 1, 1))
    with both.holder:
        both.set_up()
        params, degree = both.holder.params, both.holder.params.ring.degree
        outcomes = 0
        found = []
        for place in range(20):
            w = np.zeros((1, degree), dtype=np.uint64)
            w[0, place] = np.uint64(1 << 61)
            signs = []
            for own in (1 << 60, -(1 << 60)):  # what the active party adds to its share
                words = _native.lattice.pack_words(w, params.node_bits)
                y = both.owner.shares(LatticeNodes(outcomes, 1, pack_bytes(words)))[0, 0]
                signs.append((int(y) + own) % (1 << 64) < 1 << 63)
                outcomes += 1
            found.append({(True, True): -1, (True, False): 0, (False, False): 1}[signs[0], signs[1]])
        secret = []
        for place in range(20):
            w = np.zeros((1, degree), dtype=np.uint64)
            w[0, place] = np.uint64(1 << 61)
            words = _native.lattice.pack_words(w, params.node_bits)
            y = both.owner.shares(LatticeNodes(outcomes + place, 1, pack_bytes(words)))[0, 0]
            secret.append(-(int(np.int64(y)) >> 61))
    assert found == secret
    assert set(secret) == {-1, 0, 1}
