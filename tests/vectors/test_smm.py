"""Known answers of secure matrix multiplication, and what it is known to leak."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.errors import PrecisionError
from vfxgb.protocols.smm.cells import NodeMatrix
from vfxgb.protocols.smm.kernel import Cover, SecureKernel
from vfxgb.protocols.smm.vectors import departure, draw_basis, null_vectors
from vfxgb.protocols.smm2.active import masked


def matrix_of(bins: np.ndarray, n_bins: int, threads: int = 1) -> NodeMatrix:
    """All cuts of features with equally many bins, in order."""
    count = len(bins)
    feature = np.repeat(np.arange(count, dtype=np.int32), n_bins - 1)
    cut = np.tile(np.arange(n_bins - 1, dtype=np.int32), count)
    return NodeMatrix(
        bins.astype(np.uint16),
        np.full(count, n_bins, dtype=np.int32),
        feature,
        cut,
        np.zeros(len(cut), dtype=bool),
        np.ones(len(cut), dtype=bool),
        threads,
    )


def dense(matrix: NodeMatrix) -> np.ndarray:
    """M, rows by candidates."""
    out = np.zeros((len(matrix.feature), matrix.rows))
    _native.smm.add_left(matrix.bins, matrix.n_bins, matrix.feature, matrix.bin, matrix.default_left, out)
    return out.T


def test_example_1_of_the_paper() -> None:
    """f = [1, 11, 9, 4, 2, 12, 17, 13, 5], S = {11, 6, 12}: left is x <= s, and a bin ends just above its cut."""
    f = np.array([1, 11, 9, 4, 2, 12, 17, 13, 5], dtype=np.float64)
    cuts = np.nextafter([6.0, 11.0, 12.0], np.inf)
    bins = _native.gbdt.Bins(9, [cuts])
    bins.fill(0, f)
    out = np.zeros((3, 9))
    zero = np.zeros(3, dtype=np.int32)
    splits = np.array([1, 0, 2], dtype=np.int32)
    _native.smm.add_left(
        bins.column(0)[None, :], np.array([4], dtype=np.int32), zero, splits, np.zeros(3, dtype=bool), out
    )
    assert ["".join(str(int(x)) for x in row) for row in out] == ["111110001", "100110001", "111111001"]


@pytest.mark.parametrize("factor", [1 / np.sqrt(6), 1.0, -1e-200, 1e150])
def test_products_of_four_rows(factor: float) -> None:
    """The receiver makes z a unit vector whatever it gets: with z as it is, I - z z^T could be inverted (E30)."""
    gradients = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]])
    z = np.array([[1.0, -2.0, 1.0, 0.0]]) * factor
    matrix = matrix_of(np.array([[0, 0, 1, 1]]), 2)
    basis = draw_basis(z, _native.rand.random_bytes, 1)
    W = matrix.products(matrix.left_shares(basis), basis, 0, 1)
    assert pytest.approx(np.array([[7 / 6, 2 / 3, 1 / 6, 0.0]]), abs=1e-15) == W
    assert pytest.approx(np.array([[3.0, 2.0]]), abs=1e-14) == W @ gradients.T
    # What would come out otherwise has the same products, and gives M away.
    raw = np.array([1.0, -2.0, 1.0, 0.0])
    assert np.linalg.det(np.eye(4) - np.outer(raw, raw)) == pytest.approx(-5.0)
    assert np.linalg.matrix_rank(np.eye(4) - basis.T @ basis) == 3


def round_one(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, pairs float64[2, n] at probability one half, and bins of five features."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    return y, np.stack([0.5 - y, np.full(n, 0.25)]), rng.integers(0, 9, (5, n))


@pytest.mark.parametrize("n", [3, 20, 2000])
def test_bounds_of_vectors_and_sums(n: int) -> None:
    rng = np.random.default_rng(n)
    pairs = np.stack([rng.normal(size=n), rng.uniform(0, 0.25, n)])
    U = null_vectors(pairs, min(40, n - 2), _native.rand.random_bytes, 2)
    assert departure(U) < 1e-12
    assert np.abs(U @ pairs.T).max() < 1e-10
    matrix = matrix_of(rng.integers(0, 9, (5, n)), 9)
    W = matrix.products(matrix.left_shares(U), U, 0, 40)
    M = dense(matrix)
    assert np.abs(W @ pairs.T - M.T @ pairs.T).max() <= 1e-10 * n
    assert np.abs(W - M.T @ (np.eye(n) - U.T @ U)).max() < 1e-12


def test_a_node_that_is_too_small_is_refused() -> None:
    _, _, bins = round_one(60)
    cover = Cover(3, 4, 0.0, 1.0)
    kernel = SecureKernel(matrix_of(bins, 9), cover, _native.rand.random_bytes)
    assert len(kernel.null_vectors(12)) == 12
    with pytest.raises(PrecisionError, match=r"found 60 rows, wanted more than 40 \+ 3 \+ 4 \+ 13"):
        kernel.null_vectors(13)


def test_rounding_reads_the_splitting_matrix_off_smm1() -> None:
    _, pairs, bins = round_one(2000)
    U = null_vectors(pairs, 40, _native.rand.random_bytes, 1)
    matrix = matrix_of(bins, 9)
    W = matrix.products(matrix.left_shares(U), U, 0, 40)
    assert np.array_equal(np.rint(W), dense(matrix).T)


def test_signs_read_the_labels_off_smm2() -> None:
    y, pairs, bins = round_one(2000)
    kernel = SecureKernel(matrix_of(bins, 9), Cover(20, 20, 0.0, 1.0), _native.rand.random_bytes)
    W = masked(pairs, kernel.null_vectors(40), 1)
    assert np.array_equal(W[0] < 0, y)
