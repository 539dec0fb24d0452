"""Trees of masks of any RowStore: what its owner masks and its holder sums up, less the owner's sums, is plain."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.codec.exact import ExactCode
from vfxgb.data.table import Table
from vfxgb.engine import mask_pieces
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.local import LocalEngine
from vfxgb.engine.values import ChunkPart, chunk_tasks
from vfxgb.errors import CapacityError, EngineError
from vfxgb.rows.masks import MaskedTree, MaskForest
from vfxgb.train.placing import Placing, place_rows

ROWS, TRAIN, BITS, BLOCK = 90, 70, 12, 16
ROOT, CHILDREN = np.zeros(1, dtype=np.int32), np.array([1, 2], dtype=np.int32)
# The slots are features 2, 0 and 1, in this order.
FEATURES = np.array([2, 0, 1], dtype=np.int32)


def make_engine(kind, folder, client):
    if kind == "memory":
        return None
    if kind == "dask":
        return DaskEngine(client, folder, holds_key=True, shards=3)
    return LocalEngine(1 << 28, 1, folder, shards=3)


@pytest.fixture(params=["memory", "shards", "slot by slot", "dask"])
def binned(request, tmp_path, monkeypatch):
    """The same rows in each kind of store."""
    if request.param == "slot by slot":
        monkeypatch.setattr(mask_pieces, "MAPPED_BYTES", 1)
    X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype(np.float32)
    X[::7, 2] = np.nan
    client = request.getfixturevalue("dask_client") if request.param == "dask" else None
    engine = make_engine(request.param, tmp_path, client)
    yield place_rows(Table.read(X, party="shop"), Placing("shop", TRAIN, 8, "learned", 1, engine)).bin(None)
    if engine is not None:
        engine.close()
    assert not any(tmp_path.iterdir())


class Dealt:
    """Trees of both parties over one store, from transfers that a trusted dealer makes."""

    def __init__(self, binned, keep_leaves: bool) -> None:
        rows = binned.rows
        self.holes = rows.bin_numbers(FEATURES, 0, TRAIN)
        leaves = (rows.n_bins + binned.has_missing)[FEATURES].astype(np.int32)
        depths = np.array([max(1, int(count - 1).bit_length()) for count in leaves], dtype=np.int32)
        rng = np.random.default_rng(5)
        self.session, self.delta = rng.bytes(32), rng.bytes(16)
        self.leaves = leaves
        forest = MaskForest(self.session, leaves, depths, TRAIN, BLOCK)
        self.owned = rows.owned_masks(forest, self.delta, keep_leaves)
        self.held = rows.held_masks(forest, keep_leaves)
        for block, first in enumerate(range(0, TRAIN, BLOCK)):
            self._block(block, first, min(first + BLOCK, TRAIN), rng)

    def _block(self, block, first, stop, rng) -> None:
        holes = np.ascontiguousarray(self.holes[:, first:stop])
        choices = np.unpackbits(
            np.frombuffer(_native.ot.tree_choices(self.leaves, holes), dtype=np.uint8), bitorder="little"
        )
        levels = sum(max(1, int(count - 1).bit_length()) for count in self.leaves) * (stop - first)
        t = np.frombuffer(rng.bytes(16 * levels), dtype=np.uint8).reshape(-1, 16)
        chosen = choices[:levels].astype(np.bool_)
        q = np.where(chosen[:, None], t ^ np.frombuffer(self.delta, dtype=np.uint8), t)
        where = (self.session, _native.ot_shares.TREES_DOMAIN, block)
        roots, sent = _native.ot.tree_corrections(*where, self.delta, self.leaves, stop - first, q.tobytes())
        copaths = _native.ot.tree_copaths(*where, self.leaves, holes, t.tobytes(), sent)
        self.owned.fill(first, roots)
        self.held.fill(first, holes, copaths)


def gradients() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(-(1 << BITS), 1 << BITS, TRAIN), rng.integers(0, 1 << BITS, TRAIN)], axis=1)


@pytest.mark.parametrize("keep_leaves", [False, True])
@pytest.mark.parametrize("subsampled", [False, True])
@pytest.mark.parametrize("slots", [[0, 1, 2], [1], [0, 2]])
@pytest.mark.parametrize("bits", [BITS, 31])
def test_shares_open_to_the_plain_sums(binned, bits, subsampled, slots, keep_leaves) -> None:
    """In both kinds of lanes."""
    sampled = np.flatnonzero(np.random.default_rng(2).random(TRAIN) < 0.6).astype(np.int32) if subsampled else None
    grow(binned, Dealt(binned, keep_leaves), ExactCode(TRAIN, bits), gradients(), slots, sampled, 3)


def test_trees_one_after_the_other(binned) -> None:
    """Narrow masks serve two trees; what the first leaves for the second is used where rows and slots are the same."""
    dealt, code = Dealt(binned, keep_leaves=False), ExactCode(TRAIN, BITS)
    some = np.arange(0, TRAIN, 3, dtype=np.int32)
    asked = [([0, 1, 2], None), ([0, 1, 2], None), ([0, 2], None), ([0, 1], None), ([0, 1], None), ([0, 1], some)]
    for counter, (slots, sampled) in enumerate(asked, 4):
        grow(binned, dealt, code, (counter - 3) * gradients() // 8, slots, sampled, counter)


def grow(binned, dealt, code, values, slots, sampled, counter) -> None:
    """One tree of boosting: what both parties have of its root and of two nodes opens to the plain sums."""
    rows = binned.rows
    count = TRAIN if sampled is None else len(sampled)
    tree = MaskedTree(counter, 9, 10, np.array(slots, dtype=np.int32), sampled, count, code.widths)
    assert tree.lanes == (32 if code.fraction_bits == BITS else 64)
    partition, theirs = rows.partition(sampled), dealt.held.gradients(tree)
    own, firsts = np.zeros((int(dealt.leaves[slots].sum()), 2), dtype=np.uint64), []
    for chunk in dealt.owned.chunks(tree, rows.encoded(rows.pairs(values), code, 1.0), 17):
        assert len(chunk.data) == tree.packed_bytes(chunk.count)
        theirs.take(chunk.first, chunk.count, memoryview(chunk.data))
        own = own + chunk.sums
        firsts.append(chunk.first)
    assert firsts == list(range(0, count, 17))
    used = np.arange(TRAIN) if sampled is None else sampled
    nodes_of = np.zeros(TRAIN, dtype=np.int64)

    def plain(node) -> list:
        some = used[nodes_of[used] == node]
        return [
            values[some][dealt.holes[slot, some] == leaf].sum(axis=0).tolist()
            for slot in slots
            for leaf in range(dealt.leaves[slot])
        ]

    widths = code.widths

    def opened(y, x) -> list:
        """Modulo what travels: above these bits shares have carries of single rows."""
        g, h = ((y - x)[:, k].astype(object) % (1 << bits) for k, bits in enumerate((widths.g_bits, widths.h_bits)))
        return [
            [int(a) - (1 << widths.g_bits) * (int(a) >> (widths.g_bits - 1)), int(b)] for a, b in zip(g, h, strict=True)
        ]

    assert opened(theirs.root(), own) == plain(0)
    split = (ROOT, ROOT, np.array([3], dtype=np.int32), np.array([True]))
    partition.split(ROOT, CHILDREN[:1], CHILDREN[1:], rows.left_bits(partition, *split))
    nodes_of[:] = np.where(rows.bin_numbers(ROOT, 0, TRAIN)[0] <= 3, 1, 2)
    x, y = dealt.owned.sums(tree, partition, CHILDREN), theirs.sums(partition, CHILDREN)
    for place, node in enumerate(CHILDREN.tolist()):
        assert opened(y[place], x[place]) == plain(node)
    theirs.close()


def test_bins_by_their_numbers(binned) -> None:
    rows, whole = binned.rows, binned.rows.bin_numbers(FEATURES, 0, ROWS)
    assert whole.shape == (3, ROWS)
    assert (whole[0, ::7] == rows.n_bins[2]).all()
    for first, stop in ((0, 1), (29, 31), (5, 5), (0, ROWS)):
        assert np.array_equal(rows.bin_numbers(FEATURES, first, stop), whole[:, first:stop])
    counts = rows.histogram_counts(rows.partition(None), ROOT, ROOT)[0]
    assert np.bincount(whole[1, :TRAIN], minlength=len(counts)).tolist() == counts.tolist()


def test_gradients_that_the_code_has_no_room_for(binned) -> None:
    large = np.full((TRAIN, 2), 1 << (BITS + 3), dtype=np.int64)
    with pytest.raises(CapacityError):
        np.asarray(binned.rows.encoded(binned.rows.pairs(large), ExactCode(TRAIN, BITS), 1.0))


def test_an_engine_that_may_not_hold_secrets(tmp_path) -> None:
    engine = LocalEngine(1 << 28, 1, tmp_path, shards=2)
    engine.holds_key = False
    table = Table.read(np.zeros((8, 1), dtype=np.float32), party="bank")
    rows = place_rows(table, Placing("bank", 8, 8, "learned", 1, engine)).bin(None).rows
    one = np.ones(1, dtype=np.int32)
    with pytest.raises(EngineError, match="the engine may not hold secrets"):
        rows.owned_masks(MaskForest(bytes(32), one, one, 8, 4), bytes(16), False)
    engine.close()


def test_parts_of_chunks() -> None:
    tasks = list(chunk_tasks([10, 0, 3, 12], 4))
    assert [shard for shard, _ in tasks] == [0, 2, 3]
    assert [[(part.first, part.stop) for part in parts] for _, parts in tasks] == [
        [(0, 4), (4, 8), (8, 10)],
        [(0, 2), (2, 3)],
        [(0, 3), (3, 7), (7, 11), (11, 12)],
    ]
    flat = [part for _, parts in tasks for part in parts]
    assert [part.whole for part in flat] == [True, True, False, False, False, False, True, True, True]
    assert [part.last for part in flat] == [True, True, False, True, False, True, True, True, True]
    assert flat[-1] == ChunkPart(11, 12, True, True)
