"""Null-space vectors of [M M' Y]: figures 2 and 3 of the paper, and what its algorithm 5 leaves open."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.protocols.smm.cells import NodeMatrix, first_cells
from vfxgb.protocols.smm.kernel import Cover, SecureKernel, dummy_features, too_small, uniform_features
from vfxgb.protocols.smm.vectors import departure
from vfxgb.protocols.smm2.active import draw_answerable, masked

RANDOM = _native.rand.random_bytes


def columns_of(kernel: SecureKernel) -> np.ndarray:
    """A basis of the span of M*, float64[n, k + l2], cells first."""
    cells = kernel._bins.astype(np.int64) + first_cells(kernel._n_bins)[:-1, None]
    dense = [(cells == cell).any(axis=0).astype(np.float64) for cell in kernel._cells]
    normals = [values for _, values in kernel._normals()]
    return np.concatenate([np.array(dense).reshape(-1, kernel._rows), *([np.hstack(normals)] if normals else [])]).T


def make(n: int, missing: float = 0.0, n_bins: tuple[int, ...] = (5, 9, 1), seed: int = 0, twin: bool = False):
    """A matrix with both directions where values are missing, and M itself."""
    rng = np.random.default_rng(seed)
    widths = np.array([*n_bins, n_bins[0]] if twin else n_bins, dtype=np.int32)
    bins = np.array([rng.integers(0, k, n) for k in widths], dtype=np.uint16)
    has_missing = np.zeros(len(widths), dtype=bool)
    if missing:
        has_missing[0] = True
        bins[0, rng.random(n) < missing] = widths[0]
    if twin:
        bins[-1], has_missing[-1] = bins[0], has_missing[0]
    feature, cut, default_left = _native.gbdt.candidates(widths, has_missing)
    order = rng.permutation(len(feature))
    feature, cut, default_left = feature[order], cut[order], default_left[order]
    matrix = NodeMatrix(bins, widths, feature, cut, default_left, np.ones(len(feature), dtype=bool), 1)
    own = bins[feature]
    M = (own <= cut[:, None]) | ((own == widths[feature][:, None]) & default_left[:, None])
    return matrix, M.astype(np.float64)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("twin", [False, True])
@pytest.mark.parametrize(
    "cover", [Cover(0, 0, 0, 1), Cover(6, 0, 0, 1), Cover(0, 5, 3, 0.5), Cover(14, 4, 0, 1), Cover(14, 4, 0, 1, True)]
)
def test_vectors_annihilate_all_columns(cover, missing, twin) -> None:
    """Figure 3: injected columns change nothing for the true ones. A twin feature makes M rank deficient (E34)."""
    matrix, M = make(300, missing, twin=twin)
    kernel = SecureKernel(matrix, cover, RANDOM)
    U = kernel.null_vectors(16)
    assert departure(U) < 1e-12
    assert np.abs(U @ M.T).max() < 1e-12 * np.sqrt(300)
    star = columns_of(kernel)
    assert np.abs(U @ star).max() < 1e-12 * 300
    # They span no more than M, M' and Y do.
    M_dummy_and_Y = cover.l1 + cover.l2
    assert np.linalg.matrix_rank(star) == np.linalg.matrix_rank(M) + M_dummy_and_Y
    assert np.linalg.matrix_rank(np.concatenate([star, M.T], axis=1)) == np.linalg.matrix_rank(star)
    # M^T W is M^T [g h], whatever subset is drawn.
    pairs = np.random.default_rng(1).normal(size=(2, 300))
    Z = draw_answerable(U, 1)
    assert Z is not None
    W = masked(pairs, Z, 1)
    assert np.abs(W - pairs).max() > 1e-3
    assert np.allclose(M @ W.T, M @ pairs.T, atol=1e-12 * 300)


def test_shares_and_products_against_dense() -> None:
    matrix, M = make(80, 0.3)
    hidden = np.ones(len(M), dtype=bool)
    hidden[[0, 3]] = False
    matrix = NodeMatrix(**{**vars(matrix), "shown": hidden})
    M[~hidden] = 0.0
    X = np.random.default_rng(0).normal(size=(7, 80))
    shares = matrix.left_shares(X)
    assert np.allclose(shares, M @ X.T, atol=1e-12)
    for first, count in ((0, len(M)), (0, 1), (2, 4), (len(M), 0)):
        found = matrix.products(shares, X, first, count)
        assert np.allclose(found, (M - (M @ X.T) @ X)[first : first + count], atol=1e-11)
        assert (found[~hidden[first : first + count]] == 0.0).all()


@pytest.mark.parametrize("cover", [Cover(0, 0, 0, 1), Cover(6, 3, 0, 1)])
def test_what_two_vectors_have_at_a_row_follows_the_law_of_its_leverage(cover) -> None:
    """|Z_i|^2 / (1 - h_i) is Beta(1, (d - 2)/2): below x with probability 1 - (1 - x)^((d - 2)/2).

    So how well an answer hides a row depends on 1 - h_i alone, and next to nothing hides an ordinary one rarely.
    """
    rng = np.random.default_rng(7)
    n, draws = 90, 600
    matrix, _ = make(n, n_bins=(4, 6))
    ranks = np.zeros((draws, n))
    for ranked in ranks:
        kernel = SecureKernel(matrix, cover, rng.bytes)
        span, sizes, _ = np.linalg.svd(columns_of(kernel), full_matrices=False)
        span = span[:, sizes > 1e-9 * sizes[0]]
        free, dimensions = 1.0 - (span**2).sum(axis=1), n - span.shape[1]
        share = (kernel.null_vectors(5)[1:3] ** 2).sum(axis=0) / free
        ranked[:] = 1.0 - (1.0 - share) ** ((dimensions - 2) / 2)
    # Uniform at every row: shares of the draws below some bounds, each within five standard deviations.
    for bound in (0.01, 0.1, 0.5, 0.9):
        found = (ranks < bound).mean(axis=0)
        assert np.abs(found - bound).max() < 5 * np.sqrt(bound * (1 - bound) / draws)


def test_a_row_alone_in_its_cell_cannot_be_hidden() -> None:
    """Its indicator is a difference of two columns of M: every null vector is zero there."""
    matrix, _ = make(300, n_bins=(6,))
    matrix.bins[0][matrix.bins[0] == 0] = 1
    matrix.bins[0, 17] = 0
    U = SecureKernel(matrix, Cover(4, 4, 0, 1), RANDOM).null_vectors(20)
    assert np.abs(U[:, 17]).max() < 1e-14
    assert draw_answerable(U, 1) is None


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_columns_that_are_not_shown_do_not_count(missing) -> None:
    """min_bucket_rows withholds cuts next to small cells: a row alone there is hidden again."""
    matrix, M = make(300, missing, n_bins=(6, 5))
    matrix.bins[0][matrix.bins[0] == 0] = 1
    matrix.bins[0, 17] = 0
    shown = ~((matrix.feature == 0) & (matrix.bin == 0))
    shown &= ~matrix.default_left | (matrix.bin > 3)
    matrix = NodeMatrix(**{**vars(matrix), "shown": shown})
    M = (matrix.bins[matrix.feature] <= matrix.bin[:, None]).astype(np.float64)
    M[matrix.default_left] += (matrix.bins[0] == 6)[None, :]
    kernel = SecureKernel(matrix, Cover(4, 4, 0, 1), RANDOM)
    U = kernel.null_vectors(20)
    assert np.abs(U @ M[shown].T).max() < 1e-12 * np.sqrt(300)
    assert np.linalg.matrix_rank(columns_of(kernel)) == np.linalg.matrix_rank(M[shown]) + 8
    assert draw_answerable(U, 1) is not None
    if not missing:
        assert np.abs(U @ M[~shown].T).max() > 1e-3


def test_one_vector_hides_nothing() -> None:
    """r' = 1 leaves at most one non-zero in each row, so at least two are drawn."""
    matrix, _ = make(200, n_bins=(4,))
    U = SecureKernel(matrix, Cover(0, 0, 0, 1), RANDOM).null_vectors(3)
    assert {len(draw_answerable(U, 1)) for _ in range(30)} == {2, 3}


def test_dummies_are_nested_and_as_dense_as_real_columns() -> None:
    matrix, _ = make(20_000, n_bins=(5, 9, 1))
    bins, widths = dummy_features(matrix.bins, matrix.n_bins, 11, RANDOM)
    assert (widths - 1).sum() == 11
    assert (widths > 1).all()
    real = {(f, b): (matrix.bins[f] <= b).mean() for f in range(2) for b in range(int(matrix.n_bins[f]) - 1)}
    for own, width in zip(bins, widths, strict=True):
        assert own.max() < width
        shares = [(own <= b).mean() for b in range(width - 1)]
        assert (np.diff(shares) > 0).all()
        assert all(min(abs(share - other) for other in real.values()) < 0.03 for share in shares)
    assert len(dummy_features(matrix.bins, matrix.n_bins, 0, RANDOM)[1]) == 0


@pytest.mark.parametrize("rows", [1, 8, 20_001])
def test_uniform_dummies_are_fair_bits(rows) -> None:
    bins, widths = uniform_features(rows, 30, RANDOM)
    assert bins.shape == (30, rows)
    assert widths.tolist() == [2] * 30
    assert bins.max() <= 1
    if rows > 8:
        # 6 standard deviations of a mean of fair bits, and of the share in which two of them agree.
        assert np.abs(bins.mean(axis=1) - 0.5).max() < 3 / np.sqrt(rows)
        agree = (bins[:, None] == bins[None]).mean(axis=2)[np.triu_indices(30, 1)]
        assert np.abs(agree - 0.5).max() < 3 / np.sqrt(rows)
    assert uniform_features(rows, 0, RANDOM)[0].shape == (0, rows)


def test_who_has_all_columns_tells_uniform_dummies_from_real_ones() -> None:
    """Real columns are nested with others of their feature. So are dummies by thresholds; uniform ones never are."""

    def nested(columns: np.ndarray) -> np.ndarray:
        inside = (columns[:, None] <= columns[None]).all(axis=2)
        return (inside | inside.T).sum(axis=1) > 1

    matrix, _ = make(2_000, n_bins=(5, 9))

    def thresholds(bins: np.ndarray, widths: np.ndarray) -> np.ndarray:
        return np.array([own <= cut for own, width in zip(bins, widths, strict=True) for cut in range(width - 1)])

    assert nested(thresholds(matrix.bins, matrix.n_bins)).all()
    assert not nested(thresholds(*uniform_features(2_000, 12, RANDOM))).any()
    dummies = thresholds(*dummy_features(matrix.bins, matrix.n_bins, 12, RANDOM))
    assert nested(dummies).mean() > 0.5


def test_a_party_without_candidates() -> None:
    matrix, _ = make(40, n_bins=(1,))
    kernel = SecureKernel(matrix, Cover(5, 3, 0, 1), RANDOM)
    assert np.abs(kernel.null_vectors(6) @ columns_of(kernel)).max() < 1e-12
    assert columns_of(kernel).shape == (40, 3)


def test_what_is_too_small() -> None:
    assert too_small(360, 300, Cover(20, 20, 0, 1), 20)
    assert not too_small(361, 300, Cover(20, 20, 0, 1), 20)


def test_normal_columns_are_drawn_anew_not_kept() -> None:
    matrix, _ = make(9000, n_bins=(4,))
    kernel = SecureKernel(matrix, Cover(0, 3, 2.0, 0.5), RANDOM)
    Y = columns_of(kernel)[:, -3:]
    assert np.array_equal(columns_of(kernel)[:, -3:], Y)
    assert Y.mean() == pytest.approx(2.0, abs=0.02)
    assert Y.std() == pytest.approx(0.5, abs=0.02)
    assert np.abs(np.corrcoef(Y.T) - np.eye(3)).max() < 0.06
