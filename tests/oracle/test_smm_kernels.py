"""The native kernels of secure matrix multiplication against dense numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests import examples
from vfxgb import _native

SHAPES = st.tuples(st.integers(0, 4), st.integers(1, 300), st.integers(0, 19), st.integers(0, 2**32 - 1))


def indicators(bins: np.ndarray, n_bins: np.ndarray) -> np.ndarray:
    """B, rows by cells."""
    parts = [(bins[f][:, None] == np.arange(n_bins[f] + 1)).astype(np.float64) for f in range(len(n_bins))]
    return np.concatenate(parts, axis=1) if parts else np.zeros((bins.shape[1], 0))


def draw(shape: tuple[int, int, int, int]) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    features, n, vectors, seed = shape
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(1, 12, features).astype(np.int32)
    bins = np.array([rng.integers(0, k + 1, n) for k in n_bins], dtype=np.uint16).reshape(features, n)
    return rng, bins, n_bins, rng.normal(size=(vectors, n))


@examples(60)
@given(SHAPES, st.integers(1, 2))
def test_cells(shape, threads) -> None:
    rng, bins, n_bins, vectors = draw(shape)
    B = indicators(bins, n_bins)
    assert np.allclose(_native.smm.cell_sums(bins, n_bins, vectors, threads), B.T @ vectors.T, atol=1e-12)
    assert np.array_equal(_native.smm.cell_pairs(bins, n_bins, threads), B.T @ B)
    weights = rng.normal(size=(B.shape[1], len(vectors)))
    found = vectors.copy()
    _native.smm.subtract_cells(bins, n_bins, weights, found, threads)
    assert np.allclose(found, vectors - (B @ weights).T, atol=1e-12)


@examples(40)
@given(SHAPES)
def test_left_sides(shape) -> None:
    rng, bins, n_bins, _ = draw(shape)
    k = 17 if len(n_bins) else 0
    feature = rng.integers(0, max(len(n_bins), 1), k).astype(np.int32)
    cut = np.array([rng.integers(0, n_bins[f]) for f in feature], dtype=np.int32)
    default_left = rng.random(k) < 0.5
    before = rng.normal(size=(k, bins.shape[1]))
    found = before.copy()
    _native.smm.add_left(bins, n_bins, feature, cut, default_left, found, 2)
    for j in range(k):
        own = bins[feature[j]]
        left = (own <= cut[j]) | ((own == n_bins[feature[j]]) & default_left[j])
        assert np.array_equal(found[j], before[j] + left)


@examples(60)
@given(
    st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 7, 8, 257, 511, 512, 513, 9000]), st.integers(0, 99)
)
def test_dense_products(m, k, n, seed) -> None:
    rng = np.random.default_rng(seed)
    # Views of some columns of larger arrays.
    a, b = rng.normal(size=(m, n + 5))[:, 2 : n + 2], rng.normal(size=(k, n + 3))[:, 3:]
    assert np.allclose(_native.smm.inner_products(a, b, 2), a @ b.T, atol=1e-11)
    weights = rng.normal(size=(m, k))
    _native.smm.combine(weights, b, a, False, 2)
    assert np.allclose(a, weights @ b, atol=1e-12)
    _native.smm.combine(weights, b, a, True, 1)
    assert np.allclose(a, 2 * (weights @ b), atol=1e-12)
    square = rng.normal(size=(k, k))
    expected = square @ b
    _native.smm.combine(square, b, b, False, 2)
    assert np.allclose(b, expected, atol=1e-12)


def test_threads_and_processors_do_not_matter(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(13, 30_001)), rng.normal(size=(7, 30_001))
    bins = rng.integers(0, 5, (3, 30_001)).astype(np.uint16)
    n_bins = np.full(3, 4, dtype=np.int32)

    def results(threads: int) -> list[bytes]:
        mixed = np.empty((13, 30_001))
        _native.smm.combine(np.arange(91.0).reshape(13, 7), b, mixed, False, threads)
        sums = _native.smm.cell_sums(bins, n_bins, a, threads)
        normals = _native.smm.keyed_normals(bytes(32), 3, 10_001, threads)
        return [x.tobytes() for x in (_native.smm.inner_products(a, b, threads), mixed, sums, normals)]

    expected = results(1)
    assert results(2) == expected
    monkeypatch.setenv("VFXGB_SIMD", "portable")
    assert results(2) == expected


@examples(60)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 999))
def test_independent_columns(rank, more, seed) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, rank))
    A = np.concatenate([A, A @ rng.normal(size=(rank, more))], axis=1)[:, rng.permutation(rank + more)]
    A /= np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    chosen, X = _native.smm.independent_columns(A.T @ A, 1e-12, 2)
    assert len(chosen) == len(set(chosen.tolist())) == (rank if A.shape[1] else 0)
    own = A[:, chosen]
    assert np.allclose(np.triu(X, 1), 0.0)
    # X^T X is the inverse of the Gram matrix: own X^T X own^T projects onto the span of all columns.
    projection = own @ X.T @ X @ own.T
    assert np.allclose(projection @ A, A, atol=1e-7)


def test_keyed_normals() -> None:
    key = bytes(range(32))
    all_of_them = _native.smm.keyed_normals(key, 0, 40_000, 2)
    for first, count in ((0, 1), (7, 2), (8, 8), (9, 100), (39_999, 1), (5, 0)):
        assert np.array_equal(_native.smm.keyed_normals(key, first, count), all_of_them[first : first + count])
    assert not np.array_equal(_native.smm.keyed_normals(bytes(32), 0, 100), all_of_them[:100])
    assert abs(all_of_them.mean()) < 4 / 200
    assert abs(all_of_them.var() - 1) < 4 * np.sqrt(2) / 200
    # Box and Muller from the key stream, as documented.
    block = _native.rand.chacha20_block(key, 0, bytes(12))
    u, v = (int.from_bytes(block[i : i + 8], "little") >> 11 for i in (0, 8))
    radius, angle = np.sqrt(-2 * np.log((u + 1) * 2.0**-53)), 2 * np.pi * v * 2.0**-53
    assert all_of_them[:2] == pytest.approx([radius * np.cos(angle), radius * np.sin(angle)], rel=1e-14)
    high = _native.smm.keyed_normals(key, (1 << 35) * 8, 8)
    block = _native.rand.chacha20_block(key, 0, (8).to_bytes(12, "little"))
    u, v = (int.from_bytes(block[i : i + 8], "little") >> 11 for i in (0, 8))
    radius = np.sqrt(-2 * np.log((u + 1) * 2.0**-53))
    assert high[0] == pytest.approx(radius * np.cos(2 * np.pi * v * 2.0**-53), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda b, n, v: _native.smm.cell_sums(b + np.uint16(9), n, v), "feature 0 has bin"),
        (lambda b, n, v: _native.smm.cell_sums(b, n[:1], v), "bins must have shape"),
        (lambda b, n, v: _native.smm.cell_sums(b, n * 0, v), "n_bins must be between"),
        (lambda b, n, v: _native.smm.cell_sums(b, n, v[:, 1:].copy()), "vectors must have shape"),
        (lambda b, n, v: _native.smm.cell_sums(b, n, v, 0), "threads"),
        (lambda b, n, v: _native.smm.subtract_cells(b, n, np.zeros((9, 2)), v), "weights must have shape"),
        (lambda b, n, v: _native.smm.subtract_cells(b, n, np.zeros((10, 3)), v[:, ::-1]), "vectors must be C-ordered"),
        (lambda b, n, v: add_left(b, n, v, feature=2), "does not exist"),
        (lambda b, n, v: add_left(b, n, v, cut=4), "does not exist"),
        (lambda b, n, v: add_left(b, n, v, cut=-1), "does not exist"),
        (lambda b, n, v: _native.smm.inner_products(v, v[:, 1:]), "same columns"),
        (lambda b, n, v: _native.smm.inner_products(v[:, ::2], v[:, ::2]), "contiguous rows"),
        (lambda b, n, v: _native.smm.inner_products(v[0], v), "two dimensions"),
        (lambda b, n, v: _native.smm.combine(np.zeros((2, 3)), v, v), "weights must have shape"),
        (lambda b, n, v: _native.smm.combine(np.zeros((3, 3)), v[:, 1:], v), "same columns"),
        (lambda b, n, v: _native.smm.independent_columns(v, 1e-12), "gram must have shape"),
        (lambda b, n, v: _native.smm.keyed_normals(b"short", 0, 1), "32 bytes"),
        (lambda b, n, v: _native.smm.keyed_normals(bytes(32), -1, 1), "first"),
        (lambda b, n, v: _native.smm.keyed_normals(bytes(32), 1 << 61, 1), "2\\*\\*60"),
    ],
)
def test_arguments_that_do_not_fit(call, match) -> None:
    bins, n_bins = np.zeros((2, 6), dtype=np.uint16), np.full(2, 4, dtype=np.int32)
    with pytest.raises(ValueError, match=match):
        call(bins, n_bins, np.zeros((3, 6)))


def add_left(bins, n_bins, vectors, feature=0, cut=0) -> None:
    one = (np.array([value], dtype=np.int32) for value in (feature, cut))
    _native.smm.add_left(bins, n_bins, *one, np.zeros(1, dtype=bool), vectors[:1].copy())
