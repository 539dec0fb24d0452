"""Orthonormal vectors, null spaces, random choices."""

from collections import Counter

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.errors import PrecisionError
from vfxgb.protocols.smm.sums import coarse_sums, fine_bits, fine_pairs, nearest, products_to_sums
from vfxgb.protocols.smm.vectors import (
    answerable,
    column_space,
    departure,
    draw_basis,
    draw_below,
    draw_subset,
    null_vectors,
    orthonormalise,
    random_vectors,
)

RANDOM = _native.rand.random_bytes


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5])
def test_orthonormal_with_the_same_span(condition) -> None:
    rng = np.random.default_rng(1)
    X = np.linalg.qr(rng.normal(size=(50, 8)))[0].T
    X = np.diag(np.geomspace(1, condition, 8)) @ rng.normal(size=(8, 8)) @ X
    U = X.copy()
    assert orthonormalise(U, 1)
    assert departure(U) < 1e-12
    # Both projectors are the same.
    expected = np.linalg.qr(X.T)[0]
    assert np.allclose(U.T @ U, expected @ expected.T, atol=1e-9)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X: X.__setitem__((3, 5), np.nan),
        lambda X: X.__setitem__((0, 0), np.inf),
        lambda X: X.__setitem__(2, 0.0),
        lambda X: X.__setitem__(2, 3 * X[1]),
        lambda X: X.__setitem__(2, X[0] - X[1] + 1e-9 * X[4]),
    ],
)
def test_no_basis_is_refused(spoil) -> None:
    X = np.random.default_rng(0).normal(size=(6, 30))
    spoil(X)
    assert not orthonormalise(X, 1)


def test_the_receiver_does_not_depend_on_lengths() -> None:
    """E30: what a sender gains by vectors of other lengths is nothing. All of them are used here."""
    U = null_vectors(np.random.default_rng(0).normal(size=(2, 40)), 6, RANDOM, 1)
    for scale in (np.ones(6), 10.0 ** np.arange(-300, 300, 100), np.full(6, 1e-3)):
        Z = U * scale[:, None]
        assert orthonormalise(Z, 1)
        assert np.linalg.matrix_rank(np.eye(40) - Z.T @ Z) == 34
        assert np.allclose(Z.T @ Z, U.T @ U, atol=1e-12)


@pytest.mark.parametrize(
    ("pairs", "rank"),
    [
        (np.zeros((2, 9)), 0),
        (np.array([np.zeros(9), np.ones(9)]), 1),
        (np.array([np.arange(9.0), 4 * np.arange(9.0)]), 1),
        (np.array([np.arange(9.0), np.ones(9)]), 2),
        (np.array([np.full(9, 1e-300), np.arange(9) * 1e300]), 2),
    ],
)
def test_null_space_of_gradients_of_any_rank(pairs, rank) -> None:
    assert len(column_space(pairs)) == rank
    U = null_vectors(pairs, 7, RANDOM, 1)
    assert departure(U) < 1e-12
    assert np.abs(U @ (pairs / np.maximum(np.abs(pairs).max(axis=1, keepdims=True), 1e-300)).T).max() < 1e-14 * 9


def test_two_bases_differ() -> None:
    pairs = np.random.default_rng(0).normal(size=(2, 30))
    one, two = (null_vectors(pairs, 5, RANDOM, 1) for _ in range(2))
    assert np.linalg.matrix_rank(np.concatenate([one, two])) == 10
    assert not np.array_equal(random_vectors(2, 3, RANDOM, 1), random_vectors(2, 3, RANDOM, 1))


def test_draws_are_uniform() -> None:
    drawn = Counter(draw_below(3, RANDOM) for _ in range(3000))
    assert set(drawn) == {0, 1, 2}
    assert max(abs(count - 1000) for count in drawn.values()) < 5 * np.sqrt(3000 * 2 / 9)
    sizes, members = Counter(), Counter()
    for _ in range(2000):
        subset = draw_subset(4, RANDOM)
        assert (np.diff(subset) > 0).all()
        sizes[len(subset)] += 1
        members.update(subset.tolist())
    assert set(sizes) == {1, 2, 3, 4}
    assert max(abs(count - 500) for count in sizes.values()) < 5 * np.sqrt(2000 * 3 / 16)
    assert set(members) == {0, 1, 2, 3}


def test_a_draw_can_be_below_the_largest_multiple_only() -> None:
    """Numbers that would make the remainder uneven are drawn again."""
    given = iter([b"\xff" * 8, (5).to_bytes(8, "little")])
    assert draw_below(3, lambda _: next(given)) == 2


def test_a_subset_spans_what_was_sent() -> None:
    U = null_vectors(np.random.default_rng(0).normal(size=(2, 30)), 9, RANDOM, 1)
    for _ in range(20):
        Z = draw_basis(U, RANDOM, 1)
        assert Z is not None
        # An orthonormal set is used as it is: whoever sent it can tell which vectors were chosen.
        chosen = np.abs(Z @ U.T)
        assert (np.isclose(chosen.max(axis=0), 1) | (chosen.max(axis=0) < 1e-10)).all()
    assert draw_basis(np.zeros((3, 30)), RANDOM, 1) is None


def test_rows_that_are_zero_or_have_one_non_zero() -> None:
    """Both readings of algorithm 3's guard (E33)."""
    Z = np.full((3, 40_000), 0.005)
    assert answerable(Z)
    Z[1:, 39_999] = 1e-17
    assert not answerable(Z)
    Z[1, 39_999] = 1e-4
    assert answerable(Z)
    Z[:, 7] = 0.0
    assert not answerable(Z)
    assert not answerable(Z[:1, 10:])


def test_sums_come_back_exactly() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(-(2**30), 2**30, (3000, 2))
    M = (rng.random((5, 3000)) < 0.4).astype(np.float64)
    U = null_vectors(pairs.T.astype(np.float64, order="C"), 20, RANDOM, 1)
    W = M - (M @ U.T) @ U
    assert np.array_equal(products_to_sums(W, pairs, 1, "here"), M.astype(np.int64) @ pairs)


@pytest.mark.parametrize("bad", [0.4, np.nan, np.inf, 2.0**53])
def test_sums_that_are_no_sums(bad) -> None:
    with pytest.raises(PrecisionError, match=r"here: found sums .* lower precision_bits"):
        nearest(np.array([[1.0, bad]]), "here")


def test_fine_sums() -> None:
    rng = np.random.default_rng(0)
    step = 2.0**-30
    products = rng.normal(size=(2, 5000))
    bits = fine_bits(products, step, "here")
    fine = fine_pairs(products, step, bits)
    assert np.abs(fine.sum(axis=0)).max() < 2**62
    assert np.abs(fine * (step / 2**bits) - products.T).max() <= step / 2**bits
    assert np.array_equal(coarse_sums(np.array([5 << bits, (-3 << bits) + 2, 0]), bits, "here"), [5, -3, 0])
    with pytest.raises(PrecisionError, match=r"here: found sums 0\.5 steps off"):
        coarse_sums(np.array([(5 << bits) + (1 << (bits - 1))]), bits, "here")
    with pytest.raises(PrecisionError, match="not finite"):
        fine_bits(np.array([[np.nan], [1.0]]), step, "here")
    with pytest.raises(PrecisionError, match="too large"):
        fine_bits(np.array([[1e12], [1.0]]), step, "here")
