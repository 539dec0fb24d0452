"""Whole trainings by xgboost's further objectives: the same predictions, from data and after the export."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBRegressor, VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import EngineError, LabelError, ParameterError, ProtocolParameterError
from vfxgb.objective.quantiles import quantile

xgb = pytest.importorskip("xgboost")
RNG = np.random.default_rng(29)
X = RNG.normal(size=(700, 4)).astype(np.float32)
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 2]) * np.nan_to_num(X[:, 1])
NUMBERS = SIGNAL + 0.3 * RNG.normal(size=700)
CLASSES = (NUMBERS > 0.3).astype(float)
PARTIES = {"bank": ["f0", "f1"], "shop": ["f2", "f3"]}
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "quantile": ({"objective": "reg:quantileerror", "quantile_alpha": 0.3}, NUMBERS),
    "absolute": ({"objective": "reg:absoluteerror"}, NUMBERS),
    "huber": ({"objective": "reg:pseudohubererror", "huber_slope": 0.7}, NUMBERS),
    "gamma": ({"objective": "reg:gamma"}, np.exp(NUMBERS)),
    "tweedie": ({"objective": "reg:tweedie", "tweedie_variance_power": 1.3}, np.floor(np.exp(NUMBERS))),
    "hinge": ({"objective": "binary:hinge"}, CLASSES),
    "logitraw": ({"objective": "binary:logitraw"}, CLASSES),
    "softmax": ({"objective": "multi:softmax"}, np.digitize(NUMBERS, [-1.0, 0.5]).astype(float)),
}


def estimator(params: dict[str, Any], **rest: Any) -> Any:
    cls = VFXGBRegressor if params["objective"].startswith("reg:") else VFXGBClassifier
    return cls(**{"n_estimators": 6, "max_depth": 3, "parties": PARTIES, "protocol": "plain"} | params | rest)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_training_and_export_are_xgboosts(case: str, weighted: bool, tmp_path: Path) -> None:
    params, y = CASES[case]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)).astype(np.float32) if weighted else None
    data = xgb.QuantileDMatrix(X, y, weight=weight)
    theirs_params = {**params, "max_depth": 3, "nthread": 2}
    if case == "softmax":
        theirs_params["num_class"] = 3
    log: dict[str, Any] = {}
    theirs = xgb.train(theirs_params, data, 6, evals=[(data, "rows")], evals_result=log, verbose_eval=False)
    ours = estimator(params).fit(
        X, y, sample_weight=weight, cuts=data.get_quantile_cut(), eval_set=[(X, y)], sample_weight_eval_set=[weight]
    )
    wanted = theirs.predict(data, output_margin=True)
    np.testing.assert_allclose(ours.predict(X, output_margin=True), wanted, rtol=1e-4, atol=1e-4)
    (metric,) = log["rows"]
    np.testing.assert_allclose(ours.evals_result()["validation_0"][metric], log["rows"][metric], rtol=1e-4, atol=1e-6)
    booster = ours.get_booster()
    booster.feature_names = None
    np.testing.assert_allclose(
        booster.predict(xgb.DMatrix(X), output_margin=True), ours.predict(X, output_margin=True), rtol=1e-6, atol=1e-6
    )
    if case == "softmax":
        np.testing.assert_array_equal(booster.predict(xgb.DMatrix(X)), ours.predict(X))
    elif params["objective"].startswith("reg:"):
        np.testing.assert_allclose(booster.predict(xgb.DMatrix(X)), ours.predict(X), rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_allclose(booster.predict(xgb.DMatrix(X)), ours.predict_proba(X)[:, 1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_quantiles_that_end_between_two_rows_are_xgboosts(seed: int) -> None:
    # Sums of integer weights times 0.3 are often whole: the float32 nearest to 0.3 then decides which row it is.
    params, y = CASES["quantile"]
    weight = np.random.default_rng(seed).integers(1, 4, len(y)).astype(np.float32)
    data = xgb.QuantileDMatrix(X, y, weight=weight)
    theirs = xgb.train({**params, "max_depth": 3, "nthread": 2}, data, 6)
    ours = estimator(params).fit(X, y, sample_weight=weight, cuts=data.get_quantile_cut())
    wanted = theirs.predict(data, output_margin=True)
    np.testing.assert_allclose(ours.predict(X, output_margin=True), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("protocol", ["ot_shares", "sealed"])
@pytest.mark.parametrize("case", ["quantile", "absolute"])
def test_leaves_are_quantiles_of_residuals_under_protocols(protocol: str, case: str) -> None:
    params, y = CASES[case]
    rest = {"n_estimators": 2, "max_bin": 8, "subsample": 0.7, "learning_rate": 0.5}
    model = estimator(params, **rest, protocol=protocol).fit(X[:300], y[:300])
    alpha = float(np.float32(params.get("quantile_alpha", 0.5)))
    margins = np.tile(model.model_.active_share.base_margin.astype(np.float32), (300, 1))[:, 0]
    assert margins[0] == pytest.approx(quantile(y[:300].astype(np.float32), None, alpha))
    leaves = model.apply(X[:300])
    whole = estimator(params, **rest | {"subsample": 1.0}, protocol=protocol).fit(X[:300], y[:300])
    rows = whole.apply(X[:300])[:, 0]
    for leaf in np.unique(rows):
        residuals = y[:300].astype(np.float32)[rows == leaf] - margins[rows == leaf]
        step = np.float32(0.5) * np.float32(quantile(residuals, None, alpha))
        assert whole.model_.active_share.trees[0].value[leaf] == pytest.approx(step, rel=1e-6)
    # Rows that a round leaves out do not count.
    for leaf in np.unique(leaves[:, 0]):
        residuals = y[:300].astype(np.float32)[leaves[:, 0] == leaf] - margins[leaves[:, 0] == leaf]
        assert residuals.min() <= 2 * model.model_.active_share.trees[0].value[leaf] <= residuals.max()


@pytest.mark.parametrize("case", ["quantile", "huber", "tweedie"])
def test_own_columns_alone_are_compared_by_the_metric_of_the_loss(case: str) -> None:
    params, y = CASES[case]
    model = estimator(params, n_estimators=2).fit(X, y, eval_set=[(X, y)], compare_alone=True)
    ((joint, values),) = model.evals_result()["validation_0"].items()
    ((alone, own),) = model.alone_["evals"]["validation_0"].items()
    assert joint == alone
    assert own[-1] > values[-1]


def test_the_ledger_counts_purity_of_log_odds_as_of_probabilities() -> None:
    rest = {"n_estimators": 1, "protocol": "ot_shares"}
    odds = estimator({"objective": "binary:logitraw", "base_score": float(np.log(0.6 / 0.4))}, **rest).fit(X, CLASSES)
    shares = estimator({"objective": "binary:logistic", "base_score": 0.6}, **rest).fit(X, CLASSES)
    ours, theirs = odds.ledger_.purity["shop"], shares.ledger_.purity["shop"]
    assert ours.rows == theirs.rows > 0
    assert ours.purity == pytest.approx(theirs.purity, rel=1e-6)


def test_what_needs_all_residuals_is_refused_where_nobody_has_them() -> None:
    params, y = CASES["quantile"]
    with pytest.raises(ProtocolParameterError, match="pseudohuber"):
        estimator(params, protocol="ldp", protocol_params={"epsilon": 4.0}).fit(X, y)
    with pytest.raises(EngineError, match="pseudohuber"):
        estimator(params, engine="local", memory_limit="512MiB").fit(X, y)
    with pytest.raises(ParameterError, match="pseudohuber"):
        FedXGBRegressor(n_estimators=1, **params).fit(X, y, users=np.arange(len(y)) % 5)


@pytest.mark.parametrize(
    ("objective", "label", "match"),
    [("reg:gamma", 0.0, "above 0"), ("reg:tweedie", -1.0, "at least 0")],
)
def test_labels_that_a_loss_does_not_know(objective: str, label: float, match: str) -> None:
    y = np.exp(NUMBERS)
    y[3] = label
    with pytest.raises(LabelError, match=f"row 3.*{match}"):
        estimator({"objective": objective}).fit(X, y)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"quantile_alpha": 1.0}, "above 0 and below 1"),
        ({"huber_slope": 0.0}, "above 0"),
        ({"tweedie_variance_power": 2.0}, "above 1 and below 2"),
        ({"eval_metric": "error@x"}, "after @"),
    ],
)
def test_parameters_of_losses_out_of_range(params: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        estimator({"objective": "reg:squarederror"}, **params).fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
