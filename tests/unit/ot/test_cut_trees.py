"""Trees whose leaves are no power of two, exhaustively: every hole that a request can name, also beyond the leaves.

A request that passes its consistency check names some path of D choices, that is some hole below 2^D. Whoever names a
leaf that does not exist knows all leaves that do (cpp/ot/ggm.h); it must not learn Delta from what it is sent, nor what
was masked for it.
"""

import secrets
from functools import reduce
from operator import xor

import numpy as np
import pytest

import ot_twin as twin
from instruction_sets import INSTRUCTION_SETS
from ot_cheater import Cheater
from ot_runs import masked_rows
from vfxgb import _native

SESSION = bytes(range(32))
RUN, COUNTER = 5, 9
SIZES = (1, 3, 5, 6, 7, 9, 11, 12, 13, 31, 33)
PAIR = (123456789, 987654321)


def number(block: bytes | np.ndarray) -> int:
    return int.from_bytes(bytes(block), "little")


def blocks(numbers: list[int]) -> bytes:
    return b"".join(one.to_bytes(16, "little") for one in numbers)


class Dealt:
    """One tree, its transfers dealt out for a hole, beyond the leaves or not, and what the owner sends."""

    def __init__(self, leaves: int, hole: int) -> None:
        self.leaves, self.hole, self.depth = leaves, hole, twin.depth_of(leaves)
        self.hash = twin.Hash(SESSION, _native.ot_shares.TREES_DOMAIN, 0)
        self.delta = secrets.randbits(128)
        self.choices = [1 - (hole >> (self.depth - level) & 1) for level in range(1, self.depth + 1)]
        self.q = [secrets.randbits(128) for _ in range(self.depth)]
        self.t = [q ^ (self.delta if chosen else 0) for q, chosen in zip(self.q, self.choices, strict=True)]
        self.shape = np.array([leaves], np.int32)
        delta = self.delta.to_bytes(16, "little")
        roots, sent = _native.ot.tree_corrections(
            SESSION, _native.ot_shares.TREES_DOMAIN, 0, delta, self.shape, 1, blocks(self.q)
        )
        self.corrections = [number(sent[16 * k : 16 * k + 16]) for k in range(self.depth - 1)]
        self.levels = twin.levels_of(self.hash, self.delta, leaves, self.q[0])
        owned = _native.ot_shares.OwnedTrees(SESSION, delta, self.shape, 1, 1)
        owned.fill(0, 1, roots)
        self.values = _native.ot.tree_leaves(SESSION, _native.ot_shares.TREES_DOMAIN, 0, delta, self.shape, roots)
        zero = np.zeros(1, np.int32)
        d, _ = owned.cover(COUNTER, RUN, zero, zero, np.array([PAIR], np.int64))
        self.d = tuple(int(one) for one in d[0, 0])


def cases() -> list[tuple[int, int]]:
    return [(leaves, hole) for leaves in SIZES for hole in range(2 ** twin.depth_of(leaves))]


@pytest.mark.parametrize("path", INSTRUCTION_SETS)
def test_every_honest_hole(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Corrections are those of the definition; the holder gets all leaves but one, C, and the pair from d."""
    monkeypatch.setenv("VFXGB_SIMD", path)
    for leaves, hole in [*cases(), *((2**k, hole) for k in (1, 2, 3) for hole in range(2**k))]:
        if hole >= leaves:
            continue
        one = Dealt(leaves, hole)
        assert one.corrections == twin.corrections_of(one.hash, one.levels, leaves, one.q)
        holes = np.array([[hole]], np.uint16)
        where = (SESSION, _native.ot_shares.TREES_DOMAIN, 0, one.shape, holes)
        copaths = _native.ot.tree_copaths(*where, blocks(one.t), blocks(one.corrections))
        assert [number(block) for block in copaths] == twin.copath_of(one.levels, hole)
        cut = twin.cut_of(one.levels, leaves)
        wanted = one.levels[-1][:leaves] + ([] if cut is None else [cut])
        assert (cut is None) == (leaves == 2**one.depth)
        assert [number(value) for value in one.values] == wanted
        found = [number(value) for value in _native.ot.tree_leaves_punctured(*where, copaths.tobytes())]
        assert found == [0 if b == hole else value for b, value in enumerate(wanted)]
        held = _native.ot_shares.HeldTrees(SESSION, one.shape, 1, 1)
        held.fill(0, holes, copaths.tobytes())
        zero = np.zeros(1, np.int32)
        share = held.row_sums(COUNTER, RUN, zero, zero, masked_rows(np.array([[one.d]], np.uint64)))
        tweak = twin.tree_tweak(COUNTER, RUN)
        mask = twin.pair_of(one.hash(one.levels[-1][hole], tweak))
        assert twin.minus(tuple(int(v) for v in share[hole]), mask) == PAIR


def test_no_hole_beyond_the_leaves_shows_delta_or_a_pair() -> None:
    """Whoever names such a hole knows every leaf, and neither Delta nor what d masks."""
    below = 0
    tweak = twin.tree_tweak(COUNTER, RUN)
    for leaves, hole in cases():
        if hole < leaves:
            continue
        dealt = Dealt(leaves, hole)
        for masked in (True, False):
            cheater = Cheater(dealt.hash, leaves, hole, dealt.t, dealt.corrections, masked)
            assert dealt.delta not in cheater.guesses, (leaves, hole)
            assert PAIR not in cheater.opened(dealt.d, tweak), (leaves, hole)
            if masked:
                assert cheater.known == dealt.levels[-1][:leaves]
            # A choice of 1 below the cut: the correction is Delta, masked, and what the cheater knows.
            below += masked and any(dealt.choices[dealt.depth - len(cheater.guesses) // 3 :])
    assert below > 20


def test_whoever_knew_c_would_know_delta() -> None:
    """The masks are what protects: with the true C, which takes Delta to compute, the same corrections show it."""
    dealt = Dealt(9, 12)
    cheater = Cheater(dealt.hash, 9, 12, dealt.t, dealt.corrections, masked=True)
    level = 3
    cut = twin.cut_of(dealt.levels, 9, before=level)
    assert cut is not None
    mask = dealt.hash(cut, twin.level_tweak(level))
    assert cheater.guesses[0] ^ mask == dealt.delta
    # Of 9 leaves the first node cut off is on level 2, and on the path: Delta and the other nodes of that level.
    assert cut == reduce(xor, dealt.levels[1][:3]) ^ dealt.delta
