"""Metrics: choice by name, edge cases. Values have an oracle of their own."""

import math

import numpy as np
import pytest

from vfxgb.errors import LengthMismatchError, ParameterError, UnknownNameError
from vfxgb.metric import METRICS, make_metric, make_metrics


def test_every_metric_of_the_api_is_there() -> None:
    assert {"auc", "logloss", "error", "mlogloss", "merror", "rmse", "mae", "ks"} <= set(METRICS)
    assert {name for name, metric in METRICS.items() if metric.maximize} == {"auc", "aucpr", "ks"}


def test_unknown_name_suggests() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'logloss'"):
        make_metric("log_loss")
    with pytest.raises(ParameterError):
        make_metric(3)  # type: ignore[arg-type]


def test_selection() -> None:
    assert [metric.name for metric in make_metrics(None, "rmse")] == ["rmse"]
    assert [metric.name for metric in make_metrics(["auc", "ks"], "rmse")] == ["auc", "ks"]
    with pytest.raises(ParameterError, match="each of them once"):
        make_metrics(["auc", "auc"], "rmse")
    with pytest.raises(ParameterError):
        make_metrics([], "rmse")


def test_numbers_in_names_and_of_losses() -> None:
    y, p = np.array([0.0, 4.0]), np.array([1.0, 2.0])
    assert make_metric("quantile@0.25")(y, p) == (0.75 + 0.5) / 2
    (own,) = make_metrics(None, "quantile", {"quantile": 0.5})
    assert (own.name, own(y, p)) == ("quantile", 0.75)
    assert make_metric("error@0.3")(np.array([0.0, 1.0]), np.array([0.4, 0.9])) == 0.5
    with pytest.raises(ParameterError, match="between 0 and 1 after @"):
        make_metric("quantile@2")
    with pytest.raises(UnknownNameError, match="no metric 'auc@3'"):
        make_metric("auc@3")


def test_known_answers() -> None:
    y, p = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])
    assert METRICS["auc"](y, p) == 0.75
    assert METRICS["ks"](y, p) == 0.5
    assert METRICS["error"](y, p) == 0.25
    assert METRICS["auc"](y, np.full(4, 0.3)) == 0.5
    assert METRICS["ks"](y, np.full(4, 0.3)) == 0.0
    assert METRICS["rmse"](y, y) == 0.0


@pytest.mark.parametrize("name", ["auc", "ks"])
def test_one_class_only(name: str) -> None:
    assert math.isnan(METRICS[name](np.ones(3), np.arange(3)))
    assert math.isnan(METRICS[name](np.ones(0), np.ones(0)))


def test_certain_and_wrong_is_finite() -> None:
    assert METRICS["logloss"](np.array([1.0]), np.array([0.0])) == pytest.approx(-math.log(1e-16))


def test_shapes() -> None:
    with pytest.raises(LengthMismatchError, match="2 labels, 3 predictions"):
        METRICS["rmse"](np.zeros(2), np.zeros(3))
    with pytest.raises(ParameterError, match=r"wanted \[rows\]"):
        METRICS["logloss"](np.zeros(2), np.zeros((2, 3)))
    with pytest.raises(ParameterError, match=r"wanted \[rows, classes\]"):
        METRICS["mlogloss"](np.zeros(2), np.zeros(2))


def test_callable_gets_weights_only_where_rows_are_weighted() -> None:
    calls = []

    def spread(labels: np.ndarray, predictions: np.ndarray, **extra: np.ndarray) -> float:
        calls.append(sorted(extra))
        return float(predictions.max() - labels.min())

    metric = make_metric(spread)
    assert (metric.name, metric.maximize) == ("spread", False)
    assert metric(np.zeros(2), np.ones(2)) == 1.0
    metric(np.zeros(2), np.ones(2), np.array([1.0, 2.0]))
    assert calls == [[], ["sample_weight"]]
