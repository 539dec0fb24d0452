"""Calls that xgboost's users bring along, against xgboost itself: the same model, asked in the same words."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier, VFXGBRegressor

xgb = pytest.importorskip("xgboost")
TOLERANCE = 1e-6
PARTIES = {"bank": ["f0", "f1"], "shop": ["f2", "f3", "f4"]}
RNG = np.random.default_rng(17)
X = RNG.normal(size=(400, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 3]) * np.nan_to_num(X[:, 1])
LABELS = {
    "binary:logistic": (SIGNAL > 0).astype(float),
    "multi:softprob": np.digitize(SIGNAL, [-1.0, 0.5]).astype(float),
    "reg:squarederror": SIGNAL.astype(float),
}


def pair(objective: str, **params: Any) -> tuple[Any, Any]:
    """Our model, and xgboost's estimator of the same trees."""
    regression = objective.startswith("reg:")
    cls = VFXGBRegressor if regression else VFXGBClassifier
    ours = cls(objective=objective, n_estimators=9, max_depth=3, parties=PARTIES, protocol="plain", **params)
    ours.fit(X, LABELS[objective])
    theirs = (xgb.XGBRegressor if regression else xgb.XGBClassifier)()
    booster = ours.get_booster()
    booster.feature_names = None  # rows come as arrays
    theirs.load_model(bytearray(booster.save_raw("json")))
    return ours, theirs


def same(found: NDArray[Any], wanted: NDArray[Any]) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("objective", LABELS)
@pytest.mark.parametrize("rounds", [None, (0, 4), (2, 7), (3, 0), (0, 0)])
def test_ranges_of_rounds_margins_and_leaves(objective: str, rounds: tuple[int, int] | None) -> None:
    ours, theirs = pair(objective)
    # xgboost's wrapper takes (3, 0) for all rounds; its booster does as it is told.
    whole = rounds if rounds != (3, 0) else (3, 9)
    margins = ours.predict(X, output_margin=True, iteration_range=rounds)
    same(margins, theirs.predict(X, output_margin=True, iteration_range=whole))
    same(ours.predict(X, iteration_range=rounds), theirs.predict(X, iteration_range=whole))
    # xgboost lists leaves from the first round on only.
    outputs = 3 if objective == "multi:softprob" else 1
    first, stop = (0, 9) if whole in (None, (0, 0)) else whole
    same(ours.apply(X, iteration_range=rounds), theirs.apply(X)[:, first * outputs : stop * outputs])
    np.testing.assert_array_equal(ours.predict(X, pred_leaf=True, iteration_range=rounds), ours.apply(X, rounds))


@pytest.mark.parametrize("hidden", [False, True])
def test_a_range_of_rounds_is_the_same_where_routing_is_hidden(hidden: bool) -> None:
    ours, theirs = pair("multi:softprob")
    found = ours.predict_proba(X[:40], iteration_range=(2, 5), hidden=hidden)
    same(found, theirs.predict_proba(X[:40], iteration_range=(2, 5)))


@pytest.mark.parametrize("objective", LABELS)
def test_predictions_start_from_base_margins(objective: str) -> None:
    ours, theirs = pair(objective)
    start = RNG.normal(size=(len(X), 3) if objective == "multi:softprob" else len(X)).astype(np.float32)
    same(
        ours.predict(X, output_margin=True, base_margin=start), theirs.predict(X, output_margin=True, base_margin=start)
    )
    if not objective.startswith("reg:"):
        same(ours.predict_proba(X, base_margin=start), theirs.predict_proba(X, base_margin=start))


def test_what_is_left_after_early_stopping() -> None:
    y = LABELS["binary:logistic"]
    noise = RNG.integers(0, 2, 100).astype(float)
    ours = VFXGBClassifier(n_estimators=60, early_stopping_rounds=3, eval_metric=["logloss", "auc"])
    ours.fit(X[:300], y[:300], eval_set=[(X[300:], noise)])
    assert (ours.best_iteration, ours.best_score) == (ours.best_iteration_, ours.best_score_)
    assert set(ours.evals_result()["validation_0"]) == {"logloss", "auc"}
    assert ours.get_num_boosting_rounds() == 60
    assert ours.n_classes_ == 2
    booster = ours.get_booster()
    assert booster.num_boosted_rounds() == ours.best_iteration + 1
    same(ours.predict_proba(X)[:, 1], booster.inplace_predict(X))


def test_the_intercept_is_xgboosts() -> None:
    for objective in LABELS:
        ours, theirs = pair(objective)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)


def test_a_model_without_early_stopping_has_no_best_round() -> None:
    ours, theirs = pair("reg:squarederror")
    for model in (ours, theirs):
        for name in ("best_iteration", "best_score"):
            with pytest.raises(AttributeError, match="early stopping"):
                getattr(model, name)
