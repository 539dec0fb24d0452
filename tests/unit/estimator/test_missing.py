"""The three ways to treat missing values: learned direction, imputation, both branches."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb.params import MISSING_STRATEGIES


@pytest.fixture
def holes(problem: Any) -> Any:
    X, y = problem
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.25] = np.nan
    return X, y


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_imputation_is_training_on_filled_data(make: Any, holes: Any, strategy: str) -> None:
    X, y = holes
    train, test = X[:200].round(1), X[200:].round(1)
    model = make(missing_strategy=strategy).fit(train, y[:200])
    fills = [centre(column[~np.isnan(column)], strategy) for column in train.T]
    by_hand = make().fit(np.where(np.isnan(train), fills, train).astype(np.float32), y[:200])
    filled = np.where(np.isnan(test), fills, test).astype(np.float32)
    np.testing.assert_allclose(model.predict_proba(test), by_hand.predict_proba(filled), rtol=1e-9)


def centre(values: NDArray[np.float32], strategy: str) -> np.float32:
    if strategy == "mode":
        distinct, counts = np.unique(values, return_counts=True)
        return distinct[counts.argmax()]
    return np.float32(getattr(np, strategy)(values.astype(np.float64)))


def test_imputation_is_fitted_on_training_rows_only(make: Any, holes: Any) -> None:
    X, y = holes
    far = X[200:] + np.float32(100.0)
    alone = make(missing_strategy="mean").fit(X[:200], y[:200])
    beside = make(missing_strategy="mean").fit(X[:200], y[:200], eval_set=[(far, y[200:])])
    np.testing.assert_array_equal(alone.predict_proba(X), beside.predict_proba(X))


def expected_margin(model: Any, x: NDArray[np.float32]) -> float:
    """One row by recursion: both branches, weighted by cover, wherever the value is missing."""
    pooled = model.model_.pooled

    def walk(start: int, node: int) -> float:
        i = start + node
        f = pooled.feature[i]
        if f < 0:
            return float(pooled.value[i])
        left, right = int(pooled.left[i]), int(pooled.right[i])
        if not np.isnan(x[f]):
            return walk(start, left if x[f] < pooled.threshold[i] else right)
        a, b = pooled.cover[start + left], pooled.cover[start + right]
        return float((a * walk(start, left) + b * walk(start, right)) / (a + b))

    return float(pooled.base_margin[0]) + sum(walk(int(s), 0) for s in pooled.tree_start[:-1])


def test_probabilistic_takes_both_branches_by_cover(make: Any, holes: Any) -> None:
    X, y = holes
    model = make(missing_strategy="probabilistic").fit(X, y)
    p = model.predict_proba(X[:60])[:, 1]
    expected = [1 / (1 + np.exp(-expected_margin(model, x))) for x in X[:60]]
    np.testing.assert_allclose(p, expected, rtol=1e-6)


def test_probabilistic_equals_learned_where_nothing_is_missing(make: Any, problem: Any) -> None:
    X, y = problem
    a, b = make(missing_strategy="probabilistic").fit(X, y), make().fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)


def test_a_row_with_nothing_at_all_is_predicted(make: Any, holes: Any) -> None:
    X, y = holes
    empty = np.full((2, 4), np.nan, dtype=np.float32)
    for strategy in MISSING_STRATEGIES:
        proba = make(missing_strategy=strategy).fit(X, y).predict_proba(empty)
        assert np.isfinite(proba).all()
