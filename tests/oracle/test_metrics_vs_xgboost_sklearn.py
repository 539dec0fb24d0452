"""Metrics against XGBoost's evaluation of the same predictions, and against scikit-learn's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.metric import METRICS, make_metric, make_metrics
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams

xgboost = pytest.importorskip("xgboost")
sklearn_metrics = pytest.importorskip("sklearn.metrics")

BINARY = ["auc", "aucpr", "logloss", "error", "error@0.3"]
MANY = ["auc", "aucpr", "mlogloss", "merror"]


def compare(settings: dict[str, Any], metric: str, labels: np.ndarray, margins: np.ndarray, weights: Any) -> None:
    """Ours of XGBoost's predictions against its own metric: a tree worth nothing leaves the margins as they are.

    The predictions are XGBoost's because its float32 link makes ties that float64 does not, and ties move the AUC.
    """
    data = xgboost.DMatrix(np.zeros((len(labels), 1)), label=labels, weight=weights, base_margin=margins)
    settings = {**settings, "eta": 0.0, "eval_metric": metric, "nthread": 1, "base_score": 0.5}
    result: dict[str, Any] = {}
    booster = xgboost.train(settings, data, 1, evals=[(data, "rows")], evals_result=result, verbose_eval=False)
    want = float(result["rows"][metric][0])
    assert make_metric(metric)(labels, booster.predict(data), weights) == pytest.approx(want, rel=2e-6)


def drawn(seed: int, ties: bool, weighted: bool, n: int = 200) -> tuple[np.random.Generator, np.ndarray, Any]:
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=n)
    if ties:
        margins = np.round(margins)
    return rng, margins.astype(np.float32), rng.gamma(1.0, size=n).astype(np.float32) if weighted else None


@pytest.mark.parametrize("metric", BINARY)
@given(seed=st.integers(0, 2**32 - 1), ties=st.booleans(), weighted=st.booleans())
def test_binary(metric: str, seed: int, ties: bool, weighted: bool) -> None:
    rng, margins, weights = drawn(seed, ties, weighted)
    labels = (rng.random(len(margins)) < 0.4).astype(np.float64)
    compare({"objective": "binary:logistic"}, metric, labels, margins, weights)


@pytest.mark.parametrize("metric", MANY)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_many_classes(metric: str, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=(200, 3)).astype(np.float32)
    labels = rng.integers(0, 3, 200).astype(np.float64)
    weights = rng.gamma(1.0, size=200).astype(np.float32) if weighted else None
    compare({"objective": "multi:softprob", "num_class": 3}, metric, labels, margins, weights)


@pytest.mark.parametrize("metric", ["rmse", "mae", "mape", "mphe"])
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_regression(metric: str, seed: int, weighted: bool) -> None:
    rng, margins, weights = drawn(seed, False, weighted)
    labels = rng.normal(size=len(margins)).astype(np.float32)
    compare({"objective": "reg:squarederror"}, metric, labels, margins, weights)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_poisson(seed: int, weighted: bool) -> None:
    rng, margins, weights = drawn(seed, False, weighted)
    labels = rng.poisson(np.exp(margins)).astype(np.float32)
    compare({"objective": "count:poisson"}, "poisson-nloglik", labels, margins, weights)


@pytest.mark.parametrize("metric", ["rmsle", "gamma-deviance", "gamma-nloglik", "tweedie-nloglik@1.3"])
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_positive_numbers(metric: str, seed: int, weighted: bool) -> None:
    rng, margins, weights = drawn(seed, False, weighted)
    labels = rng.gamma(2.0, np.exp(margins)).astype(np.float32) + np.float32(1e-3)
    compare({"objective": "reg:gamma"}, metric, labels, margins, weights)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_losses_with_parameters(seed: int, weighted: bool) -> None:
    rng, margins, weights = drawn(seed, False, weighted)
    labels = rng.normal(size=len(margins)).astype(np.float32)
    for own in (
        {"objective": "reg:quantileerror", "quantile_alpha": 0.2, "eval_metric": "quantile"},
        {"objective": "reg:pseudohubererror", "huber_slope": 0.4, "eval_metric": "mphe"},
    ):
        data = xgboost.DMatrix(np.zeros((len(labels), 1)), label=labels, weight=weights, base_margin=margins)
        result: dict[str, Any] = {}
        settings = {**own, "max_delta_step": 1e-30, "eta": 0.0, "nthread": 1, "base_score": 0.5}
        booster = xgboost.train(settings, data, 1, evals=[(data, "rows")], evals_result=result, verbose_eval=False)
        metric = own.pop("eval_metric")
        (ours,) = make_metrics(None, metric, make_objective(TrainParams(**own)).metric_numbers)
        assert ours(labels, booster.predict(data), weights) == pytest.approx(float(result["rows"][metric][0]), rel=2e-6)


@given(seed=st.integers(0, 2**32 - 1), ties=st.booleans(), weighted=st.booleans())
def test_auc_and_ks_against_sklearn(seed: int, ties: bool, weighted: bool) -> None:
    rng, scores, weights = drawn(seed, ties, weighted)
    labels = (rng.random(len(scores)) < 0.4).astype(np.float64)
    area = sklearn_metrics.roc_auc_score(labels, scores, sample_weight=weights)
    assert METRICS["auc"](labels, scores, weights) == pytest.approx(area, abs=1e-12)
    false, true, _ = sklearn_metrics.roc_curve(labels, scores, sample_weight=weights, drop_intermediate=False)
    assert METRICS["ks"](labels, scores, weights) == pytest.approx(np.abs(true - false).max(), abs=1e-12)


def test_losses_against_sklearn() -> None:
    rng, scores, weights = drawn(11, False, True)
    labels = (rng.random(len(scores)) < 0.4).astype(np.float64)
    p = 1.0 / (1.0 + np.exp(-scores.astype(np.float64)))
    loss = sklearn_metrics.log_loss(labels, p, sample_weight=weights)
    assert METRICS["logloss"](labels, p, weights) == pytest.approx(loss, rel=1e-12)
    absolute = sklearn_metrics.mean_absolute_error(labels, p, sample_weight=weights)
    assert METRICS["mae"](labels, p, weights) == pytest.approx(absolute, rel=1e-12)
