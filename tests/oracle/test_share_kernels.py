"""The kernels of `ot_shares` against their definitions in Python's integers (tests/support/ot_twin.py)."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import ot_twin as twin
from instruction_sets import INSTRUCTION_SETS
from ot_runs import masked_rows
from property_tests import examples
from vfxgb import _native

SESSION = bytes(range(7, 39))
RUN, COUNTER = 2**63 - 12345, 2**64 - 3
ROWS, BLOCK_ROWS = 45, 20
A, P = np.zeros(1, np.int32), np.zeros((ROWS, 2), np.int64)
# A power of two, one more, one fewer, the least, and a missing leaf beyond an even number.
LEAVES = (8, 9, 7, 2, 13)


@pytest.fixture(params=INSTRUCTION_SETS, autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VFXGB_SIMD", request.param)


def block_bytes(numbers: Any) -> bytes:
    return b"".join(number.to_bytes(16, "little") for number in numbers)


def pairs_of(array: NDArray[np.uint64]) -> list[twin.Pair]:
    return [(int(g), int(h)) for g, h in array.reshape(-1, 2)]


@dataclass(frozen=True)
class Forest:
    """Trees of all rows and slots: all masks of one tweak, and both parties' native objects."""

    masks: list[list[list[twin.Pair]]]  # [slot][row][leaf]
    extra: list[list[twin.Pair]]  # [slot][row], of the nodes cut off
    holes: NDArray[np.uint16]
    delta: bytes
    roots: list[list[int]]  # [slot][row]
    copaths: list[list[list[int]]]  # [slot][row][level]
    owned: _native.ot_shares.OwnedTrees
    held: _native.ot_shares.HeldTrees

    def fill(self, owned: Any, held: Any, rows: range, first: int) -> None:
        """Fill rows of trees whose row 0 is row `first` here."""
        owned.fill(rows[0] - first, len(rows), block_bytes(own[row] for own in self.roots for row in rows))
        copaths = block_bytes(node for own in self.copaths for row in rows for node in own[row])
        held.fill(rows[0] - first, np.ascontiguousarray(self.holes[:, rows[0] : rows[-1] + 1]), copaths)


def make(cached: bool) -> Forest:
    rng = np.random.default_rng(3)
    delta = int.from_bytes(rng.bytes(16), "little")
    roots = [[int.from_bytes(rng.bytes(16), "little") for _ in range(ROWS)] for _ in LEAVES]
    holes = np.stack([rng.integers(0, count, ROWS) for count in LEAVES]).astype(np.uint16)
    hashes = [twin.Hash(SESSION, _native.ot_shares.TREES_DOMAIN, block) for block in range(-(-ROWS // BLOCK_ROWS))]
    levels = [
        [twin.levels_of(hashes[row // BLOCK_ROWS], delta, count, root) for row, root in enumerate(own)]
        for count, own in zip(LEAVES, roots, strict=True)
    ]
    tweak = twin.tree_tweak(COUNTER, RUN)
    masks = [
        [twin.masks_of(hashes[row // BLOCK_ROWS], tree[-1][:count], tweak) for row, tree in enumerate(trees)]
        for count, trees in zip(LEAVES, levels, strict=True)
    ]
    extra = [
        [twin.cut_mask(hashes[row // BLOCK_ROWS], twin.cut_of(tree, count), tweak) for row, tree in enumerate(trees)]
        for count, trees in zip(LEAVES, levels, strict=True)
    ]
    copaths = [
        [twin.copath_of(tree, int(holes[slot, row])) for row, tree in enumerate(trees)]
        for slot, trees in enumerate(levels)
    ]
    leaves, secret = np.array(LEAVES, dtype=np.int32), delta.to_bytes(16, "little")
    owned = _native.ot_shares.OwnedTrees(SESSION, secret, leaves, ROWS, BLOCK_ROWS)
    held = _native.ot_shares.HeldTrees(SESSION, leaves, ROWS, BLOCK_ROWS)
    forest = Forest(masks, extra, holes, secret, roots, copaths, owned, held)
    for first in range(0, ROWS, BLOCK_ROWS):
        forest.fill(owned, held, range(first, min(ROWS, first + BLOCK_ROWS)), 0)
    if cached:
        owned.cache(threads=2)
        held.cache(threads=2)
    return forest


@pytest.fixture(params=[False, True], ids=["grown", "kept"])
def forest(request: pytest.FixtureRequest, path: None) -> Forest:
    return make(request.param)


def values() -> NDArray[np.int64]:
    return np.random.default_rng(4).integers(-(2**50), 2**50, (ROWS, 2))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("slots", [(0, 1, 2, 3, 4), (1, 4), (3,)])
def test_both_shares(forest: Forest, slots: tuple[int, ...], threads: int) -> None:
    """Masked pairs and the sums of both parties, bit by bit; their difference is the sum of the values per bin."""
    # Rows left out, so that groups of eight are not full.
    rows = np.array([row for row in range(ROWS) if row % 5 != 2], dtype=np.int32)
    pairs, chosen = values(), np.array(slots, dtype=np.int32)
    d, own = forest.owned.cover(COUNTER, RUN, rows, chosen, pairs, threads)
    wanted_d = [
        twin.total([tuple(int(v) % twin.HALF for v in pairs[row]), forest.extra[slot][row], *forest.masks[slot][row]])
        for slot in slots
        for row in rows
    ]
    assert pairs_of(d) == wanted_d
    wanted_own = [
        twin.total([forest.masks[slot][row][b] for row in rows]) for slot in slots for b in range(LEAVES[slot])
    ]
    assert pairs_of(own) == wanted_own
    place = np.full(ROWS, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    theirs = forest.held.row_sums(COUNTER, RUN, rows, chosen, masked_rows(d), place, threads=threads)
    shares = [
        [
            twin.held_share(
                forest.masks[slot][row],
                forest.extra[slot][row],
                int(forest.holes[slot, row]),
                wanted_d[k * len(rows) + i],
            )
            for i, row in enumerate(rows)
        ]
        for k, slot in enumerate(slots)
    ]
    assert pairs_of(theirs) == [
        twin.total([share[b] for share in shares[k]]) for k, slot in enumerate(slots) for b in range(LEAVES[slot])
    ]
    plain = [pairs[rows][forest.holes[slot, rows] == b].sum(axis=0) for slot in slots for b in range(LEAVES[slot])]
    assert np.array_equal((theirs - own).view(np.int64), np.array(plain))


def test_nodes_of_a_partition(forest: Forest) -> None:
    sampled = np.arange(0, ROWS, 2, dtype=np.int32)
    partition = _native.gbdt.RowPartition(ROWS, sampled)
    bits = np.packbits(np.arange(len(sampled)) % 3 == 0, bitorder="little").tobytes()
    other = np.packbits(np.ones(ROWS - len(sampled), dtype=bool), bitorder="little").tobytes()
    nodes = np.array([1, 2], dtype=np.int32)
    partition.split(np.zeros(1, dtype=np.int32), nodes[:1], nodes[1:], bits + other)
    pairs, slots = values(), np.array([0, 2, 4], dtype=np.int32)
    d, _ = forest.owned.cover(COUNTER, RUN, np.arange(ROWS, dtype=np.int32), slots, pairs)
    own = forest.owned.sums(COUNTER, RUN, partition, nodes, slots, 2)
    theirs = forest.held.sums(COUNTER, RUN, partition, nodes, slots, masked_rows(d), threads=2)
    for k, node in enumerate(nodes):
        rows = partition.rows(int(node))
        one = forest.owned.cover(COUNTER, RUN, rows, slots, pairs)[1]
        assert np.array_equal(own[k], one)
        plain = [pairs[rows][forest.holes[s, rows] == b].sum(axis=0) for s in slots for b in range(LEAVES[s])]
        assert np.array_equal((theirs[k] - own[k]).view(np.int64), np.array(plain))


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("edge", [1, 20, 27, 44])
def test_rows_in_two_shards(edge: int, cached: bool, tmp_path: Path) -> None:
    """In mapped files, their memory given back now and then: masked pairs are the same, and sums add up."""
    forest, leaves = make(cached=False), np.array(LEAVES, dtype=np.int32)
    rows, slots = np.arange(ROWS, dtype=np.int32), np.array([0, 2, 4], dtype=np.int32)
    pairs = values()
    d, own = forest.owned.cover(COUNTER, RUN, rows, slots, pairs)
    theirs = forest.held.row_sums(COUNTER, RUN, rows, slots, masked_rows(d))
    found = []
    for first, stop in ((0, edge), (edge, ROWS)):
        count = stop - first
        where = (leaves, count, BLOCK_ROWS, first)
        owned = _native.ot_shares.OwnedTrees(SESSION, forest.delta, *where, str(tmp_path / "roots"))
        held = _native.ot_shares.HeldTrees(SESSION, *where, str(tmp_path / "copaths"))
        for row in range(first, stop, 7):
            forest.fill(owned, held, range(row, min(row + 7, stop)), first)
            owned.drop()
            held.drop()
        if cached:
            owned.cache(str(tmp_path / "leaves"))
            held.cache(str(tmp_path / "leaves"))
        assert owned.nbytes > 0
        assert not any(tmp_path.iterdir())
        masked = _native.ot_shares.MaskedRows(3, count, path=str(tmp_path / "masked"))
        masked.fill(0, count, _native.ot_shares.pack_pairs(d[:, first:stop], 64, 64), 64, 64)
        masked.drop()
        some = rows[:count]
        covered, sums = owned.cover(COUNTER, RUN, some, slots, np.ascontiguousarray(pairs[first:stop]))
        assert np.array_equal(covered, d[:, first:stop])
        # Slot by slot, as where memory is short.
        shares = [held.row_sums(COUNTER, RUN, some, slots[k : k + 1], masked, None, k) for k in range(len(slots))]
        found.append((sums, np.concatenate(shares)))
    assert np.array_equal(found[0][0] + found[1][0], own)
    assert np.array_equal(found[0][1] + found[1][1], theirs)


def narrow_forest(forest: Forest, counter: int) -> tuple[list[list[list[twin.Pair]]], list[list[twin.Pair]]]:
    """Masks and what is added for nodes cut off, [slot][row], as narrow lanes have them in tree `counter`."""
    hashes = [twin.Hash(SESSION, _native.ot_shares.TREES_DOMAIN, block) for block in range(-(-ROWS // BLOCK_ROWS))]
    delta, tweak = int.from_bytes(forest.delta, "little"), twin.tree_tweak(counter >> 1, RUN)
    masks, extra = [], []
    for count, own in zip(LEAVES, forest.roots, strict=True):
        levels = [twin.levels_of(hashes[row // BLOCK_ROWS], delta, count, root) for row, root in enumerate(own)]
        masks.append(
            [
                [twin.narrow_pair_of(hashes[row // BLOCK_ROWS](leaf, tweak), counter) for leaf in tree[-1][:count]]
                for row, tree in enumerate(levels)
            ]
        )
        cuts = [twin.cut_of(tree, count) for tree in levels]
        extra.append(
            [
                (0, 0) if cut is None else twin.narrow_pair_of(hashes[row // BLOCK_ROWS](cut, tweak), counter)
                for row, cut in enumerate(cuts)
            ]
        )
    return masks, extra


def small_values() -> NDArray[np.int64]:
    return np.random.default_rng(4).integers(-(2**20), 2**20, (ROWS, 2))


@pytest.mark.parametrize("counter", [0, 1, 2**64 - 4, 2**64 - 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_both_shares_in_narrow_lanes(forest: Forest, counter: int, threads: int) -> None:
    """The same from half of each hash: masked pairs and both parties' sums modulo 2^32, bit by bit."""
    masks, extra = narrow_forest(forest, counter)
    slots = (0, 1, 3, 4)
    rows = np.array([row for row in range(ROWS) if row % 5 != 2], dtype=np.int32)
    pairs, chosen = small_values(), np.array(slots, dtype=np.int32)
    d, own = forest.owned.cover(counter, RUN, rows, chosen, pairs, threads, lanes=32)
    wanted_d = [
        twin.narrow_total([tuple(int(v) for v in pairs[row]), extra[slot][row], *masks[slot][row]])
        for slot in slots
        for row in rows
    ]
    assert pairs_of(d) == wanted_d
    assert pairs_of(own) == [
        twin.narrow_total([masks[slot][row][b] for row in rows]) for slot in slots for b in range(LEAVES[slot])
    ]
    place = np.full(ROWS, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    masked = masked_rows(d, lanes=32)
    theirs = forest.held.row_sums(counter, RUN, rows, chosen, masked, place, threads=threads, lanes=32)
    shares = [
        [
            twin.held_share(
                masks[slot][row], extra[slot][row], int(forest.holes[slot, row]), wanted_d[k * len(rows) + i]
            )
            for i, row in enumerate(rows)
        ]
        for k, slot in enumerate(slots)
    ]
    assert pairs_of(theirs) == [
        twin.narrow_total([share[b] for share in shares[k]])
        for k, slot in enumerate(slots)
        for b in range(LEAVES[slot])
    ]
    plain = [pairs[rows][forest.holes[slot, rows] == b].sum(axis=0) for slot in slots for b in range(LEAVES[slot])]
    assert np.array_equal((theirs - own).astype(np.uint32).view(np.int32), np.array(plain))


@pytest.mark.parametrize("trees", [1, 2, 3])
def test_roots_made_ahead(forest: Forest, trees: int) -> None:
    """The roots of trees 9 to 11 as tree 8 leaves them: the same masked pairs and sums as from hashes of their own."""
    rows, slots = np.arange(ROWS, dtype=np.int32), np.arange(len(LEAVES), dtype=np.int32)
    first, later = small_values(), small_values()[::-1].copy()
    ahead, theirs = (_native.ot_shares.RootAhead(len(LEAVES), ROWS, sum(LEAVES), trees) for _ in range(2))
    bits = (27, 26)
    root, chunks = np.zeros((sum(LEAVES), 2), np.uint64), []
    masked = _native.ot_shares.MaskedRows(len(LEAVES), ROWS, 32)
    for some in np.array_split(rows, 3):
        data, sums = forest.owned.cover_packed(8, RUN, some, slots, first, *bits, 2, 32, ahead)
        assert data == forest.owned.cover_packed(8, RUN, some, slots, first, *bits, lanes=32)[0]
        masked.fill(some[0], len(some), data, *bits)
        root += forest.held.row_sums(8, RUN, some, slots, masked, threads=2, lanes=32, ahead=theirs)
        root -= sums
        chunks.append((int(some[0]), len(some)))
    plain = [first[forest.holes[s] == b].sum(axis=0) for s in slots for b in range(LEAVES[s])]
    assert [[int(g) % 2**27, int(h) % 2**26] for g, h in root] == [[int(g) % 2**27, int(h) % 2**26] for g, h in plain]
    for distance in range(1, trees + 1):
        wanted, own = forest.owned.cover(8 + distance, RUN, rows, slots, later, lanes=32)
        assert np.array_equal(ahead.sums(distance), own)
        share = theirs.sums(distance)
        for start, count in chunks:
            data = ahead.cover_packed(distance, start, count, later, *bits)
            assert data == _native.ot_shares.pack_pairs(wanted[:, start : start + count], *bits)
            masked.fill(start, count, data, *bits)
            share = share + forest.held.root_sums(rows[start : start + count], slots, masked, theirs, distance)
        direct = forest.held.row_sums(8 + distance, RUN, rows, slots, masked, lanes=32)
        assert np.array_equal(share % 2**32, direct)
    assert ahead.nbytes == 8 * trees * len(LEAVES) * ROWS
    ahead.clear()
    assert not ahead.sums(trees).any()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda f, a: f.owned.cover(0, 1, A, A, P, lanes=48), "lanes have 32 or 64 bits"),
        (lambda f, a: f.owned.cover_packed(0, 1, A, A, P, 9, 9, ahead=a), "only the first of two trees"),
        (lambda f, a: f.owned.cover_packed(1, 1, A, A, P, 9, 9, lanes=32, ahead=a), "only the first of two trees"),
        (
            lambda f, a: f.owned.cover_packed(0, 1, A, A, P, 9, 9, lanes=32, ahead=a),
            "is of 1 slots, 45 rows and 9 cells",
        ),
        (lambda f, a: f.held.row_sums(0, 1, A, A, _native.ot_shares.MaskedRows(1, ROWS), lanes=32), "in other lanes"),
        (lambda f, a: f.held.row_sums(0, 1, A, A, _native.ot_shares.MaskedRows(1, ROWS, 32)), "in other lanes"),
        (
            lambda f, a: f.held.root_sums(A, A, _native.ot_shares.MaskedRows(1, ROWS, 32), a, 1),
            "and 9 cells; wanted 1, 45",
        ),
        (lambda f, a: _native.ot_shares.MaskedRows(1, 3, 32).fill(0, 1, bytes(9), 33, 32), "narrow lanes hold 32 bits"),
        (lambda f, a: a.cover_packed(1, 44, 2, P, 9, 9), "rows 44 to 46; there are 45"),
        (lambda f, a: a.cover_packed(1, 0, 46, P, 9, 9), "rows that do not exist"),
        (lambda f, a: a.cover_packed(3, 0, 1, P, 9, 9), "tree 3 ahead; roots were made for 2"),
        (lambda f, a: a.sums(0), "tree 0 ahead"),
        (lambda f, a: _native.ot_shares.RootAhead(1, 1, 1, 4), "ahead for 1 to 3 trees"),
    ],
)
def test_bad_narrow_input(call: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call(make(cached=False), _native.ot_shares.RootAhead(1, ROWS, 9, 2))


def test_another_counter_or_run_has_other_masks(forest: Forest) -> None:
    slots, rows = np.arange(len(LEAVES), dtype=np.int32), np.arange(ROWS, dtype=np.int32)
    nothing = np.zeros((ROWS, 2), dtype=np.int64)
    seen = [
        forest.owned.cover(counter, run, rows, slots, nothing)[0]
        for counter, run in ((COUNTER, RUN), (COUNTER - 1, RUN), (COUNTER, RUN - 1))
    ]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert (seen[one] != seen[other]).all()


@examples(40)
@given(st.integers(0, 40), st.integers(1, 64), st.integers(1, 64), st.integers(0, 2**32))
def test_packing(count: int, g_bits: int, h_bits: int, seed: int) -> None:
    pairs = np.random.default_rng(seed).integers(0, 2**64, (count, 2), dtype=np.uint64)
    data = _native.ot_shares.pack_pairs(pairs, g_bits, h_bits)
    assert data == twin.pack(pairs_of(pairs), g_bits, h_bits)
    most = np.array([2**g_bits - 1, 2**h_bits - 1], dtype=np.uint64)
    assert np.array_equal(_native.ot_shares.unpack_pairs(data, count, g_bits, h_bits), pairs & most)


def test_packing_in_pieces_by_threads() -> None:
    pairs = np.random.default_rng(1).integers(0, 2**50, (200_001, 2), dtype=np.uint64)
    data = _native.ot_shares.pack_pairs(pairs, 50, 51, 2)
    assert data == _native.ot_shares.pack_pairs(pairs, 50, 51, 1)
    assert np.array_equal(_native.ot_shares.unpack_pairs(data, len(pairs), 50, 51, 2), pairs)


def test_left_shares() -> None:
    n_bins, missing = np.array([4, 2, 3], dtype=np.int32), np.array([True, False, True])
    width = int(n_bins.sum() + missing.sum())
    cells = np.random.default_rng(2).integers(0, 2**64, (3, width, 2), dtype=np.uint64)
    found = _native.ot_shares.left_shares(cells, n_bins, missing)
    start = np.append(0, np.cumsum(n_bins + missing))
    for node in range(3):
        wanted = [
            one
            for slot, (first, last) in enumerate(pairwise(start))
            for one in twin.left_of(pairs_of(cells[node, first:last]), int(n_bins[slot]), bool(missing[slot]))
        ]
        assert pairs_of(found[node]) == wanted


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda f: f.held.fill(7, np.array([[0], [0], [7], [0], [0]], np.uint16), bytes(16 * 15)),
            "leaf 7 in row 7 of slot 2, which has 7",
        ),
        (
            lambda f: _native.ot_shares.OwnedTrees(b"short", bytes(16), np.array([4], np.int32), 3, 2),
            "session takes 32 bytes",
        ),
        (
            lambda f: _native.ot_shares.OwnedTrees(SESSION, bytes(15), np.array([4], np.int32), 3, 2),
            "delta takes 16 bytes",
        ),
        (lambda f: _native.ot_shares.OwnedTrees(SESSION, bytes(16), np.array([0], np.int32), 3, 2), "0 leaves"),
        (lambda f: _native.ot_shares.OwnedTrees(SESSION, bytes(16), np.array([4], np.int32), 0, 2), "trees need rows"),
        (lambda f: f.owned.fill(44, 2, bytes(160)), "rows 44 to 46; there are 45"),
        (lambda f: f.owned.fill(0, 20, bytes(16)), "roots holds 1 blocks; wanted 100"),
        (lambda f: f.held.fill(0, np.zeros((5, 1), np.uint16), bytes(32)), "copaths holds 2 blocks; wanted 15"),
        (lambda f: f.held.fill(0, np.zeros((4, 1), np.uint16), bytes(32)), "holes must have shape"),
        (lambda f: f.held.fill(45, np.zeros((5, 1), np.uint16), bytes(16 * 15)), "rows 45 to 46; there are 45"),
        (lambda f: _native.ot_shares.MaskedRows(1, 3).fill(2, 2, bytes(4), 8, 8), "places 2 to 4; there are 3"),
        (lambda f: held(f, begin=1), "masked gradients are of 1 slots; wanted 1 from 1 on"),
        (lambda f: cover(f, rows=[0, ROWS]), "a row that has no pair"),
        (lambda f: cover(f, rows=[3, 3]), "strictly ascending"),
        (lambda f: cover(f, slots=[1, 0]), "ascending and below 5"),
        (lambda f: cover(f, slots=[5]), "ascending and below 5"),
        (lambda f: held(f, places=2), "row 2 has no masked gradients"),
        (lambda f: held(f, rows=[ROWS]), "has no trees"),
        (lambda f: _native.ot_shares.unpack_pairs(bytes(3), 2, 8, 8), "found 3 bytes, wanted 4"),
        (lambda f: _native.ot_shares.unpack_pairs(b"\xff", 1, 3, 3), "bits beyond the last pair"),
        (lambda f: _native.ot_shares.pack_pairs(np.zeros((1, 2), np.uint64), 65, 3), "bits must be 1 to 64"),
    ],
)
def test_bad_input(call: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call(make(cached=False))


def cover(forest: Forest, rows: Any = (0, 1), slots: Any = (0,)) -> None:
    forest.owned.cover(
        1, 1, np.array(rows, np.int32), np.array(slots, np.int32), np.zeros((ROWS + 5, 2), np.int64)[:ROWS]
    )


def held(forest: Forest, rows: Any = (0, 1, 2), places: int = ROWS, begin: int = 0) -> None:
    masked = _native.ot_shares.MaskedRows(1, places)
    forest.held.row_sums(1, 1, np.array(rows, np.int32), np.zeros(1, np.int32), masked, begin=begin)


def test_masked_pairs_that_are_packed_at_once() -> None:
    forest = make(cached=False)
    rows, slots, pairs = np.arange(3, ROWS, dtype=np.int32), np.array([0, 2], dtype=np.int32), values()
    d, own = forest.owned.cover(COUNTER, RUN, rows, slots, pairs)
    for bits in ((64, 64), (27, 26), (1, 33)):
        packed, sums = forest.owned.cover_packed(COUNTER, RUN, rows, slots, pairs, *bits, 2)
        assert packed == _native.ot_shares.pack_pairs(d, *bits)
        assert np.array_equal(sums, own)
