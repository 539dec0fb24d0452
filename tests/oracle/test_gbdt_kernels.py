"""The native tree kernels against naive numpy: equal to the last bit, for every thread count."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vfxgb import _native

THREADS = st.sampled_from([1, 2, 3, 7])
# Below, at and above the change from one byte per bin to two (255 bins), and more than one tile of either kind.
CUT_COUNTS = st.lists(st.sampled_from([0, 1, 2, 7, 31, 253, 254, 255, 400]), min_size=0, max_size=20)
SEEDS = st.integers(0, 2**32 - 1)


def int32(values: object) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


@dataclass
class Case:
    """Random data: raw columns, cuts, bins, gradients and a sample of rows."""

    columns: list[NDArray[np.float64]]
    cuts: list[NDArray[np.float64]]
    bins: _native.gbdt.Bins
    gh: NDArray[np.int64]
    sampled: NDArray[np.int32] | None
    rng: np.random.Generator

    @property
    def in_use(self) -> NDArray[np.bool_]:
        used = np.full(self.bins.n_rows, self.sampled is None)
        if self.sampled is not None:
            used[self.sampled] = True
        return used

    def naive_bins(self, feature: int) -> NDArray[np.int64]:
        column, cuts = self.columns[feature], self.cuts[feature]
        return np.array([len(cuts) + 1 if np.isnan(x) else sum(cuts <= x) for x in column], dtype=np.int64)


@st.composite
def cases(draw: st.DrawFn, rows: int = 300) -> Case:
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(0, rows))
    counts = draw(CUT_COUNTS)
    missing = draw(st.sampled_from([0.0, 0.2, 1.0]))
    cuts = [np.sort(rng.choice(1000, size=c, replace=False)).astype(np.float64) / 8 for c in counts]
    columns = []
    for _ in counts:
        column = rng.integers(-10, 1010, size=n) / 8  # often exactly on a cut
        column[rng.random(n) < missing] = np.nan
        columns.append(column)
    bins = _native.gbdt.Bins(n, cuts)
    for feature, column in enumerate(columns):
        assert bins.fill(feature, column, threads=draw(THREADS)) == np.isnan(column).sum()
    sampled = int32(np.flatnonzero(rng.random(n) < 0.6)) if draw(st.booleans()) else None
    gh = rng.integers(-(2**40), 2**40, size=(n, 2), dtype=np.int64)
    return Case(columns, cuts, bins, gh, sampled, rng)


@dataclass
class Split:
    """A batch of random splits as RowPartition and left_bits take them."""

    nodes: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    features: NDArray[np.int32]
    split_bins: NDArray[np.int32]
    default_left: NDArray[np.bool_]


def random_split(case: Case, partition: _native.gbdt.RowPartition) -> Split:
    nodes = partition.nodes()
    nodes = nodes[case.rng.random(len(nodes)) < 0.8] if len(nodes) > 1 else nodes
    features = int32(case.rng.integers(case.bins.n_features, size=len(nodes)))
    split_bins = int32(case.rng.integers(case.bins.n_bins[features])) if len(nodes) else int32([])
    first = int(partition.nodes().max()) + 1
    children = first + case.rng.permutation(2 * len(nodes)).astype(np.int32)
    default_left = case.rng.random(len(nodes)) < 0.5
    return Split(nodes, children[::2].copy(), children[1::2].copy(), features, split_bins, default_left)


def goes_left(case: Case, split: Split, k: int) -> NDArray[np.bool_]:
    feature = int(split.features[k])
    bins = case.naive_bins(feature)
    return np.where(bins == len(case.cuts[feature]) + 1, split.default_left[k], bins <= split.split_bins[k])


def naive_bits(case: Case, split: Split, node_of_row: NDArray[np.int32]) -> bytes:
    out = b""
    for k, node in enumerate(split.nodes):
        left = goes_left(case, split, k)
        for part in (case.in_use, ~case.in_use):
            out += np.packbits(left[(node_of_row == node) & part], bitorder="little").tobytes()
    return out


def naive_histogram(case: Case, node_of_row: NDArray[np.int32], node: int, features: list[int]) -> NDArray[np.int64]:
    rows = np.flatnonzero((node_of_row == node) & case.in_use)
    parts = [np.zeros((0, 3), dtype=np.int64)]
    for feature in features:
        cells = np.zeros((len(case.cuts[feature]) + 2, 3), dtype=np.int64)
        bins = case.naive_bins(feature)
        for row in rows:
            cells[bins[row]] += [*case.gh[row], 1]
        parts.append(cells[:-1])
    return np.concatenate(parts)


@given(case=cases(), data=st.data())
def test_bins(case: Case, data: st.DataObject) -> None:
    assert (case.bins.n_bins == [len(c) + 1 for c in case.cuts]).all()
    assert case.bins.nbytes >= sum(1 if len(c) < 255 else 2 for c in case.cuts) * case.bins.n_rows
    for feature in range(case.bins.n_features):
        expected = case.naive_bins(feature)
        assert (case.bins.column(feature) == expected).all()
        # Again in two pieces, from float32 (exact here) with a stride.
        case.bins.fill(feature, np.full(case.bins.n_rows, np.nan))
        cut = data.draw(st.integers(0, case.bins.n_rows))
        wide = np.repeat(case.columns[feature].astype(np.float32), 3)[::3]
        case.bins.fill(feature, wide[cut:], cut, threads=2)
        case.bins.fill(feature, wide[:cut])
        assert (case.bins.column(feature) == expected).all()


def test_bins_are_missing_until_filled() -> None:
    bins = _native.gbdt.Bins(5, [np.arange(3.0), np.arange(300.0)])
    assert (bins.column(0) == 4).all()
    assert (bins.column(1) == 301).all()


@pytest.mark.parametrize("cuts", [254, 255, 65533])
def test_widest_bins(cuts: int) -> None:
    values = np.array([-1.0, 0.0, cuts - 1.0, np.inf, -np.inf, np.nan])
    bins = _native.gbdt.Bins(6, [np.arange(cuts, dtype=np.float64)])
    bins.fill(0, values)
    assert bins.column(0).tolist() == [0, 1, cuts, cuts, 0, cuts + 1]


@given(case=cases(), threads=THREADS)
def test_partition_and_left_bits(case: Case, threads: int) -> None:
    n = case.bins.n_rows
    partition = _native.gbdt.RowPartition(n, case.sampled)
    assert (partition.n_rows, partition.n_sampled) == (n, case.in_use.sum())
    node_of_row = np.zeros(n, dtype=np.int32)
    for _ in range(4 if case.bins.n_features else 0):
        split = random_split(case, partition)
        bits = _native.gbdt.left_bits(
            case.bins, partition, split.nodes, split.features, split.split_bins, split.default_left, threads
        )
        assert bits == naive_bits(case, split, node_of_row)
        assert len(bits) == partition.left_bits_size(split.nodes)
        before = node_of_row.copy()
        for k, node in enumerate(split.nodes):
            left = goes_left(case, split, k)
            node_of_row[before == node] = np.where(left, split.left[k], split.right[k])[before == node]
        partition.split(split.nodes, split.left, split.right, bits, threads)
        assert (partition.leaves(threads) == node_of_row).all()
        nodes = partition.nodes()
        values = case.rng.normal(size=nodes.max() + 1).astype(np.float32)
        margins = case.rng.normal(size=(n, 3)).astype(np.float32)
        expected = margins.copy()
        expected[:, 1] += values[node_of_row]
        partition.add_values(values, margins, 1, threads)
        assert (margins == expected).all()
        assert partition.has(nodes)
        assert len(split.nodes) == 0 or not partition.has(np.append(nodes, split.nodes[:1]))
        assert set(node_of_row) <= set(nodes)
        for node, (sampled, others) in zip(nodes, partition.counts(nodes), strict=True):
            here = node_of_row == node
            assert (partition.rows(node) == np.flatnonzero(here & case.in_use)).all()
            assert (partition.other_rows(node) == np.flatnonzero(here & ~case.in_use)).all()
            assert (sampled, others) == ((here & case.in_use).sum(), (here & ~case.in_use).sum())


@given(case=cases(rows=80), threads=THREADS, levels=st.integers(0, 3))
def test_histograms(case: Case, threads: int, levels: int) -> None:
    partition = _native.gbdt.RowPartition(case.bins.n_rows, case.sampled)
    for _ in range(levels if case.bins.n_features else 0):
        split = random_split(case, partition)
        arguments = (split.nodes, split.features, split.split_bins, split.default_left)
        partition.split(split.nodes, split.left, split.right, _native.gbdt.left_bits(case.bins, partition, *arguments))
    nodes, node_of_row = partition.nodes(), partition.leaves()
    chosen = np.flatnonzero(case.rng.random(case.bins.n_features) < 0.5)
    for features in (None, int32(chosen)):
        ids = list(range(case.bins.n_features)) if features is None else chosen.tolist()
        expected = np.array([naive_histogram(case, node_of_row, node, ids) for node in nodes])
        found = _native.gbdt.histogram(case.bins, partition, nodes, case.gh, features, threads)
        assert found.shape == (len(nodes), expected.shape[1], 2)
        assert (found == expected[:, :, :2]).all()
        assert (
            _native.gbdt.histogram_counts(case.bins, partition, nodes, features, threads) == expected[:, :, 2]
        ).all()
    expected_sums = [case.gh[(node_of_row == node) & case.in_use].sum(axis=0) for node in nodes]
    assert (_native.gbdt.node_sums(partition, nodes, case.gh, threads) == expected_sums).all()
    if case.bins.n_features:
        split = random_split(case, partition)
        arguments = (split.nodes, split.features, split.split_bins, split.default_left)
        bits = _native.gbdt.left_bits(case.bins, partition, *arguments)
        found = _native.gbdt.left_node_sums(partition, split.nodes, bits, case.gh, threads)
        partition.split(split.nodes, split.left, split.right, bits)
        assert (found == _native.gbdt.node_sums(partition, split.left, case.gh)).all()


@pytest.mark.parametrize("features", [1, 10, 16, 17, 40])
@pytest.mark.parametrize("n_cuts", [31, 300])
def test_many_rows_on_all_thread_counts(features: int, n_cuts: int) -> None:
    rng = np.random.default_rng(features)
    n = 30_000
    bins = _native.gbdt.Bins(n, [np.arange(n_cuts, dtype=np.float64)] * features)
    columns = [rng.integers(-1, n_cuts, size=n).astype(np.float64) for _ in range(features)]
    for feature, column in enumerate(columns):
        bins.fill(feature, column, threads=2)
    gh = rng.integers(-(2**40), 2**40, size=(n, 2), dtype=np.int64)
    sampled = int32(np.flatnonzero(rng.random(n) < 0.7))
    for rows in (None, sampled):
        partition = _native.gbdt.RowPartition(n, rows)
        used = np.arange(n) if rows is None else rows
        expected = np.zeros((features, n_cuts + 1, 2), dtype=np.int64)
        for feature, column in enumerate(columns):
            np.add.at(expected[feature], column[used].astype(np.int64) + 1, gh[used])
        for threads in (1, 2, 3, 8):
            found = _native.gbdt.histogram(bins, partition, int32([0]), gh, threads=threads)
            assert (found.reshape(expected.shape) == expected).all()


@given(seed=SEEDS, shapes=st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=5), threads=THREADS)
def test_candidates_and_left_sums(seed: int, shapes: list[tuple[int, bool]], threads: int) -> None:
    rng = np.random.default_rng(seed)
    n_bins, missing = int32([b for b, _ in shapes]), np.array([m for _, m in shapes], dtype=np.bool_)
    feature, cut, default_left = _native.gbdt.candidates(n_bins, missing)
    expected = []
    for f, (b, m) in enumerate(shapes):
        expected += [(f, c, False) for c in range(b - 1)]
        expected += [(f, c, True) for c in reversed(range(b - 1)) if m]
    assert list(zip(feature.tolist(), cut.tolist(), default_left.tolist(), strict=True)) == expected

    m = int(rng.integers(4))
    hist = rng.integers(-(2**50), 2**50, size=(m, int(n_bins.sum()), 2), dtype=np.int64)
    totals = rng.integers(-(2**50), 2**50, size=(m, 2), dtype=np.int64)
    start = np.cumsum([0, *n_bins])
    naive = np.zeros((m, len(expected), 2), dtype=np.int64)
    for j, (f, c, left) in enumerate(expected):
        own = hist[:, start[f] : start[f + 1]]
        naive[:, j] = own[:, : c + 1].sum(axis=1) + (totals - own.sum(axis=1) if left else 0)
    assert (_native.gbdt.left_sums(hist, totals, n_bins, missing, threads=threads) == naive).all()
    order = rng.permutation(len(expected))
    assert (_native.gbdt.left_sums(hist, totals, n_bins, missing, order, threads) == naive[:, order]).all()


def test_trees_of_one_and_two_threads_at_once() -> None:
    """Readers share a partition with a writer: the lock keeps every answer whole."""
    from concurrent.futures import ThreadPoolExecutor

    n = 5000
    bins = _native.gbdt.Bins(n, [np.array([0.5])])
    bins.fill(0, np.random.default_rng(0).random(n))
    gh = np.ones((n, 2), dtype=np.int64)
    for _ in range(20):
        partition = _native.gbdt.RowPartition(n)
        bits = _native.gbdt.left_bits(bins, partition, int32([0]), int32([0]), int32([0]), np.array([True]))

        def read(partition: _native.gbdt.RowPartition = partition) -> int:
            return int(_native.gbdt.node_sums(partition, partition.nodes()[:1], gh)[0, 0])

        with ThreadPoolExecutor(3) as pool:
            reads = [pool.submit(read) for _ in range(8)]
            done = pool.submit(partition.split, int32([0]), int32([1]), int32([2]), bits, 2)
            done.result()
            for result in reads:
                error = result.exception()
                assert isinstance(error, ValueError) or result.result() in (n, partition.counts(int32([1]))[0, 0])


def test_large_inputs_are_shared_among_threads() -> None:
    """Small inputs stay on one thread whatever is asked for; these do not."""
    rng = np.random.default_rng(3)
    n, cuts = 600_000, [np.linspace(-2, 2, 15), np.linspace(-1, 1, 300), np.array([0.0])]
    bins = _native.gbdt.Bins(n, cuts)
    for feature in range(len(cuts)):
        bins.fill(feature, rng.normal(size=n))
    gh = rng.integers(-(2**30), 2**30, size=(n, 2))
    margins, labels = rng.normal(size=n).astype(np.float32), rng.integers(0, 2, n).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        partition = _native.gbdt.RowPartition(n)
        g, h = _native.gbdt.logistic(margins, labels, None, threads)
        pairs = np.empty((n, 2), dtype=np.int64)
        assert _native.gbdt.encode_pairs(g, h, 1.0, 2.0**-32, None, pairs, threads)
        results: list[NDArray[np.generic]] = [g, h, pairs]
        for level in range(3):
            nodes = partition.nodes()
            results += [_native.gbdt.histogram(bins, partition, nodes, gh, None, threads)]
            results += [_native.gbdt.histogram_counts(bins, partition, nodes, None, threads)]
            results += [_native.gbdt.node_sums(partition, nodes, gh, threads)]
            one = np.full(len(nodes), level, dtype=np.int32)
            bits = _native.gbdt.left_bits(bins, partition, nodes, one, np.zeros_like(one), one > 3, threads)
            first = int(nodes.max()) + 1
            children = np.arange(first, first + 2 * len(nodes), dtype=np.int32)
            partition.split(nodes, children[0::2].copy(), children[1::2].copy(), bits, threads)
            out = np.zeros((n, 1), dtype=np.float32)
            partition.add_values(np.arange(first + 2 * len(nodes), dtype=np.float32), out, 0, threads)
            results += [np.frombuffer(bits, np.uint8), partition.leaves(threads), out]
        found.append(results)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@given(seed=SEEDS, weighted=st.booleans(), threads=THREADS)
def test_logistic_gradients(seed: int, weighted: bool, threads: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 200))
    margins = rng.normal(scale=rng.choice([0.1, 3.0, 100.0]), size=n).astype(np.float32)
    labels = rng.random(n).astype(np.float32)
    weights = rng.uniform(0, 4, size=n).astype(np.float32) if weighted else None
    g, h = _native.gbdt.logistic(margins, labels, weights, threads)
    one = np.float32(1)
    p = one / (one + np.exp(np.minimum(-margins, np.float32(88.7)).astype(np.float64)).astype(np.float32))
    w = one if weights is None else weights
    # Both exponentials are right to the last float64 place or next to it: once rounded to float32 they are the same.
    assert np.array_equal(g, (p - labels) * w)
    assert np.array_equal(h, np.maximum(p * (one - p), np.float32(1e-16)) * w)


@given(seed=SEEDS)
def test_completing_the_sums_of_a_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents, candidates = int(rng.integers(1, 6)), int(rng.integers(0, 5))
    previous = rng.integers(-99, 99, size=(parents, candidates, 2))
    build, sibling, parent, expected = [], [], [], []
    built = []
    for k in range(2 * int(rng.integers(0, parents + 1))):
        above = int(rng.integers(parents)) if k % 2 == 0 else parent[-1]
        parent.append(above)
        if k % 2 == 0:
            pair = rng.integers(-99, 99, size=(candidates, 2))
            left_made = bool(rng.integers(2))
            build.append(k if left_made else k + 1)
            built.append(pair)
            sibling += [-1, k] if left_made else [k + 1, -1]
            expected += [pair, previous[above] - pair] if left_made else [previous[above] - pair, pair]
    shape = (-1, candidates, 2)
    found = _native.gbdt.complete_sums(
        np.array(built, np.int64).reshape(len(build), candidates, 2),
        *(np.array(one, np.int64) for one in (build, sibling, parent)),
        previous,
    )
    assert np.array_equal(found, np.array(expected, np.int64).reshape(len(sibling), *shape[1:]))


@given(seed=SEEDS, shuffled=st.booleans())
def test_lists_of_tokens(seed: int, shuffled: bool) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    lists = [rng.permutation(count)[: rng.integers(1, count + 1)] for _ in range(int(rng.integers(0, 6)))]
    start = np.cumsum([0, *(len(one) for one in lists)])
    tokens = np.concatenate([np.zeros(0, np.int64), *lists])
    order = rng.permutation(count) if shuffled else None
    firsts = [min(one, key=lambda token: token if order is None else order[token]) for one in lists]
    assert _native.gbdt.first_tokens(start, tokens, order, count).tolist() == firsts
    positions = np.flatnonzero(rng.random(len(lists)) < 0.5)
    some_start, some = _native.gbdt.select_tokens(start, tokens, positions)
    assert some.tolist() == [token for position in positions for token in lists[position]]
    assert some_start.tolist() == np.cumsum([0, *(len(lists[position]) for position in positions)]).tolist()
