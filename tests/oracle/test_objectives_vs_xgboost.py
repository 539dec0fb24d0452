"""Gradients, start margins and predictions against XGBoost's own.

XGBoost does not hand out the gradients of a built-in objective, but one row and one leaf reveal them: the cover of the
leaf is h, and its weight is -g / (h + lambda).
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.objective import make_objective, start_margin
from vfxgb.params import TrainParams

xgboost = pytest.importorskip("xgboost")

# So large that max_delta_step never clips the leaf, from which g could not be read back.
LAMBDA = 4096.0
MARGINS = st.floats(-12, 12, width=32)
WEIGHTS = st.none() | st.floats(0.0625, 8, width=32)


def revealed(params: dict[str, Any], margin: np.ndarray, label: float, weight: float | None) -> np.ndarray:
    """[K, 2] of (g, h) that XGBoost computes for one row at this margin."""
    data = xgboost.DMatrix(
        np.zeros((1, 1)), label=[label], weight=None if weight is None else [weight], base_margin=margin[None, :]
    )
    settings = {"eta": 1.0, "lambda": LAMBDA, "min_child_weight": 0.0, "base_score": 0.5, "nthread": 1, **params}
    booster = xgboost.train(settings, data, num_boost_round=1)
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    weights = np.array([tree["base_weights"][0] for tree in trees], dtype=np.float64)
    covers = np.array([tree["sum_hessian"][0] for tree in trees], dtype=np.float64)
    return np.stack([-weights * (covers + LAMBDA), covers], axis=1)


def compare(params: TrainParams, theirs: dict[str, Any], margin: Any, label: float, weight: float | None) -> None:
    margin = np.atleast_1d(np.asarray(margin, dtype=np.float32))
    objective = make_objective(params)
    weights = None if weight is None else np.array([weight], dtype=np.float32)
    g, h = objective.gradients(margin[None, :], objective.check_labels(np.array([label])), weights)
    want = revealed(theirs, margin, label, weight)
    # The C library's expf, which XGBoost calls, is off by one unit in the last place once in some thousand values; in p
    # that is 2**-24 of 1, or of the rate.
    size = 2.0**-23 * (1.0 if weight is None else weight) * float(theirs.get("scale_pos_weight", 1.0))
    np.testing.assert_allclose(h[0], want[:, 1], rtol=2.0**-22, atol=size)
    # g is read back from a float32 leaf weight.
    np.testing.assert_allclose(g[0], want[:, 0], rtol=2.0**-21, atol=size)


@given(MARGINS, st.sampled_from([0.0, 1.0]), WEIGHTS, st.sampled_from([1.0, 3.0]))
def test_logistic_gradients(margin: float, label: float, weight: float | None, scale: float) -> None:
    params = TrainParams(objective="binary:logistic", scale_pos_weight=scale)
    compare(params, {"objective": "binary:logistic", "scale_pos_weight": scale}, margin, label, weight)


@given(st.lists(MARGINS, min_size=2, max_size=5), st.data(), WEIGHTS)
def test_softprob_gradients(margins: list[float], data: st.DataObject, weight: float | None) -> None:
    label = data.draw(st.integers(0, len(margins) - 1))
    params = TrainParams(objective="multi:softprob", num_class=len(margins))
    compare(params, {"objective": "multi:softprob", "num_class": len(margins)}, margins, float(label), weight)


@given(MARGINS, st.floats(-100, 100, width=32), WEIGHTS)
def test_squared_error_gradients(margin: float, label: float, weight: float | None) -> None:
    compare(TrainParams(), {"objective": "reg:squarederror"}, margin, label, weight)


@given(st.floats(-4, 4, width=32), st.integers(0, 30), WEIGHTS, st.none() | st.just(0.0) | st.just(2.0))
def test_poisson_gradients(margin: float, label: int, weight: float | None, delta_step: float | None) -> None:
    theirs: dict[str, Any] = {"objective": "count:poisson"}
    if delta_step is not None:
        theirs["max_delta_step"] = delta_step
    params = TrainParams(objective="count:poisson", max_delta_step=delta_step)
    compare(params, theirs, margin, float(label), weight)


def _number(rng: np.random.Generator) -> float:
    return float(rng.normal(0.0, 10.0))


def _positive(rng: np.random.Generator) -> float:
    return float(rng.gamma(1.0, 10.0) + 0.0625)


def _total(rng: np.random.Generator) -> float:
    return float(rng.poisson(1.0) * 2.5)


def _class(rng: np.random.Generator) -> float:
    return float(rng.integers(0, 2))


FURTHER: list[tuple[str, dict[str, float], Any]] = [
    ("reg:quantileerror", {"quantile_alpha": 0.3}, _number),
    ("reg:absoluteerror", {}, _number),
    ("reg:pseudohubererror", {}, _number),
    ("reg:pseudohubererror", {"huber_slope": 2.5}, _number),
    ("reg:gamma", {}, _positive),
    ("reg:tweedie", {}, _total),
    ("reg:tweedie", {"tweedie_variance_power": 1.2}, _total),
    ("binary:hinge", {}, _class),
    ("binary:logitraw", {}, _class),
]


@pytest.mark.parametrize("case", range(len(FURTHER)))
def test_further_gradients(case: int) -> None:
    objective, own, draw = FURTHER[case]
    rng = np.random.default_rng(case)
    params, theirs = TrainParams(objective=objective, **own), {"objective": objective, **own}
    for weight in (None, 0.25, 1.0, 3.5):
        for _ in range(8):
            label = draw(rng)
            compare(params, theirs, np.float32(rng.uniform(-3, 3)), label, weight)
            # At the label itself, where some losses have a corner.
            compare(params, theirs, np.float32(label if abs(label) < 3 else 1.0), float(np.float32(label)), weight)


def test_softmax_gradients() -> None:
    settings = {"objective": "multi:softmax", "num_class": 3}
    rng = np.random.default_rng(7)
    for weight in (None, 0.25, 3.5):
        compare(TrainParams(**settings), settings, rng.normal(size=3), float(rng.integers(0, 3)), weight)


CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "logistic": ({"objective": "binary:logistic"}, lambda rng: rng.random(300) < 0.2),
    "logistic scaled": ({"objective": "binary:logistic", "scale_pos_weight": 3.5}, lambda rng: rng.random(300) < 0.2),
    "logistic all ones": ({"objective": "binary:logistic"}, lambda rng: np.ones(20)),
    "logistic all zeros": ({"objective": "binary:logistic"}, lambda rng: np.zeros(20)),
    "softprob": (
        {"objective": "multi:softprob", "num_class": 4},
        lambda rng: rng.choice(4, 300, p=[0.1, 0.2, 0.3, 0.4]),
    ),
    "softprob without a class": ({"objective": "multi:softprob", "num_class": 3}, lambda rng: rng.choice([0, 2], 100)),
    "squared error": ({"objective": "reg:squarederror"}, lambda rng: rng.normal(30, 10, 300)),
    "poisson": ({"objective": "count:poisson"}, lambda rng: rng.poisson(2.5, 300)),
    "a low quantile": ({"objective": "reg:quantileerror", "quantile_alpha": 0.001}, lambda rng: rng.normal(size=300)),
    "a quantile": ({"objective": "reg:quantileerror", "quantile_alpha": 0.3}, lambda rng: rng.normal(size=300)),
    "a high quantile": ({"objective": "reg:quantileerror", "quantile_alpha": 0.999}, lambda rng: rng.normal(size=300)),
    "absolute error": ({"objective": "reg:absoluteerror"}, lambda rng: rng.normal(30, 10, 301)),
    "one row": ({"objective": "reg:absoluteerror"}, lambda rng: rng.normal(30, 10, 1)),
    "huber": ({"objective": "reg:pseudohubererror"}, lambda rng: rng.normal(3, 2, 300)),
    "huber with a slope": (
        {"objective": "reg:pseudohubererror", "huber_slope": 3.0},
        lambda rng: rng.normal(3, 2, 300),
    ),
    "gamma": ({"objective": "reg:gamma"}, lambda rng: rng.gamma(2.0, 2.0, 300)),
    "tweedie": ({"objective": "reg:tweedie"}, lambda rng: rng.poisson(0.7, 300) * 2.5),
    "logitraw": ({"objective": "binary:logitraw"}, lambda rng: rng.random(300) < 0.2),
    "hinge, few": ({"objective": "binary:hinge"}, lambda rng: rng.random(300) < 0.2),
    "hinge, many": ({"objective": "binary:hinge"}, lambda rng: rng.random(300) < 0.8),
}


@pytest.mark.parametrize("base_score", [None, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_start_margin_and_link(case: str, weighted: bool, base_score: float | None) -> None:
    keywords, draw = CASES[case]
    rng = np.random.default_rng(5)
    labels = np.asarray(draw(rng), dtype=np.float64)
    weights = rng.gamma(1.0, size=len(labels)).astype(np.float32) if weighted else None
    params = TrainParams(base_score=base_score, **keywords)
    objective = make_objective(params)
    y = objective.check_labels(labels)
    margin = start_margin(objective, params, y, weights)

    given_score = {} if base_score is None else {"base_score": base_score}
    data = xgboost.DMatrix(np.zeros((len(labels), 1)), label=labels, weight=weights)
    # eta 0 makes the tree worth nothing, so that only the start is left.
    booster = xgboost.train({**keywords, **given_score, "eta": 0.0, "nthread": 1}, data, num_boost_round=1)
    np.testing.assert_allclose(margin, np.ravel(booster.predict(data, output_margin=True)[:1]), rtol=3e-7, atol=3e-7)
    rows = np.tile(margin, (len(labels), 1))
    np.testing.assert_allclose(objective.transform(rows), booster.predict(data), rtol=3e-7, atol=3e-7)


def test_custom_objective_starts_where_xgboosts_does() -> None:
    seen: list[float] = []

    def squared(labels: np.ndarray, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(float(margins[0]))
        return margins - labels, np.ones_like(margins)

    labels = np.arange(10.0)
    xgboost.XGBRegressor(objective=squared, n_estimators=1).fit(np.zeros((10, 1)), labels)
    params = TrainParams(objective=squared)
    objective = make_objective(params)
    margin = start_margin(objective, params, objective.check_labels(labels), None)
    assert margin.tolist() == [seen[0]]
