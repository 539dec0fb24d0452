"""The exported model in xgboost's hands: it loads, predicts the same, and lists the same trees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import ExportError
from vfxgb.model.xgboost_json import float32_at_least

xgb = pytest.importorskip("xgboost")
# Absolute below 1, relative above: a float32 of 8 is only known to 5e-7.
TOLERANCE = 1e-6
PARTIES = {"bank": ["f0", "f1"], "shop": ["f2", "f3", "f4"]}


def data(objective: str, missing: float = 0.1, n: int = 600) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    signal = X[:, 0] - X[:, 3] * X[:, 1] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    if objective == "binary:logistic":
        return X, (signal > 0).astype(float)
    if objective == "multi:softprob":
        # Classes of unequal size: the start margin of each class is its own.
        return X, np.digitize(signal, [-1.5, 0.5]).astype(float)
    if objective == "count:poisson":
        return X, rng.poisson(np.exp(np.clip(signal, -3, 2))).astype(float)
    return X, signal.astype(float)


def train(objective: str, **params: Any) -> tuple[Any, NDArray[np.float32]]:
    X, y = data(objective)
    cls = VFXGBClassifier if objective in ("binary:logistic", "multi:softprob") else VFXGBRegressor
    model = cls(objective=objective, n_estimators=12, max_depth=4, parties=PARTIES, protocol="plain", **params)
    return model.fit(X, y), X


def predictions(model: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    """As xgboost.Booster.predict has them."""
    if not isinstance(model, VFXGBClassifier):
        return np.asarray(model.predict(X))
    proba = np.asarray(model.predict_proba(X))
    return proba[:, 1] if proba.shape[1] == 2 else proba


def load(path: Path) -> Any:
    booster = xgb.Booster()
    booster.load_model(path)
    return booster


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "reg:squarederror", "count:poisson"])
def test_xgboost_loads_it_and_predicts_the_same(tmp_path: Path, objective: str) -> None:
    model, X = train(objective)
    model.export_xgboost(tmp_path / "model.json")
    booster = load(tmp_path / "model.json")
    names = booster.feature_names
    assert names == ["f0", "f1", "f2", "f3", "f4"]
    np.testing.assert_allclose(
        booster.predict(xgb.DMatrix(X, feature_names=names)), predictions(model, X), rtol=TOLERANCE, atol=TOLERANCE
    )
    np.testing.assert_array_equal(
        booster.predict(xgb.DMatrix(X, feature_names=names), pred_leaf=True).reshape(len(X), -1), model.apply(X)
    )


@pytest.mark.parametrize("params", [{"base_score": 0.2}, {"scale_pos_weight": 3.0}, {"reg_alpha": 1.0, "gamma": 0.5}])
def test_settings_that_touch_the_start_or_the_leaves_survive(tmp_path: Path, params: dict[str, float]) -> None:
    model, X = train("binary:logistic", **params)
    model.export_xgboost(tmp_path / "model.json")
    booster = load(tmp_path / "model.json")
    found = booster.predict(xgb.DMatrix(X, feature_names=booster.feature_names))
    np.testing.assert_allclose(found, predictions(model, X), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_imputation_becomes_a_default_direction(tmp_path: Path, strategy: str) -> None:
    model, X = train("binary:logistic", missing_strategy=strategy)
    model.export_xgboost(tmp_path / "model.json")
    booster = load(tmp_path / "model.json")
    found = booster.predict(xgb.DMatrix(X, feature_names=booster.feature_names))
    np.testing.assert_allclose(found, predictions(model, X), rtol=TOLERANCE, atol=TOLERANCE)


def test_both_branches_cannot_be_exported(tmp_path: Path) -> None:
    model, _ = train("binary:logistic", missing_strategy="probabilistic")
    with pytest.raises(ExportError, match="both branches"):
        model.export_xgboost(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_early_stopping_exports_the_rounds_that_prediction_uses(tmp_path: Path) -> None:
    X, y = data("binary:logistic")
    rng = np.random.default_rng(1)
    model = VFXGBClassifier(
        n_estimators=200, learning_rate=0.5, early_stopping_rounds=3, parties=PARTIES, protocol="plain"
    ).fit(X[:400], y[:400], eval_set=[(X[400:], rng.integers(0, 2, 200).astype(float))])
    assert model.best_iteration_ + 1 < len(model.evals_result_["validation_0"]["logloss"])
    model.export_xgboost(tmp_path / "model.json")
    booster = load(tmp_path / "model.json")
    assert booster.num_boosted_rounds() == model.best_iteration_ + 1
    found = booster.predict(xgb.DMatrix(X, feature_names=booster.feature_names))
    np.testing.assert_allclose(found, predictions(model, X), rtol=TOLERANCE, atol=TOLERANCE)


def test_the_sklearn_wrapper_of_xgboost_reads_it(tmp_path: Path) -> None:
    model, X = train("multi:softprob")
    model.export_xgboost(tmp_path / "model.json")
    other = xgb.XGBClassifier()
    other.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=TOLERANCE, atol=TOLERANCE)


def test_trees_are_listed_as_xgboost_lists_them(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    model, _ = train("multi:softprob")
    model.export_xgboost(tmp_path / "model.json")
    theirs = load(tmp_path / "model.json").trees_to_dataframe()
    ours = model.model_.to_dataframe()
    assert list(ours.columns) == [*theirs.columns, "Party"]
    key = ["Tree", "Node"]
    theirs, ours = (frame.sort_values(key).reset_index(drop=True) for frame in (theirs, ours))
    for column in ("Tree", "Node", "ID", "Feature"):
        assert ours[column].tolist() == theirs[column].tolist()
    for column in ("Yes", "No", "Missing"):
        assert ours[column].fillna("-").tolist() == theirs[column].fillna("-").tolist()
    for column in ("Split", "Gain", "Cover"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-6, atol=1e-6)
    owner = {feature: party for party, features in PARTIES.items() for feature in features}
    assert ours["Party"].fillna("-").tolist() == [owner.get(feature, "-") for feature in ours["Feature"]]
    assert isinstance(ours, pd.DataFrame)


@pytest.mark.parametrize("kind", ["weight", "gain", "cover", "total_gain", "total_cover"])
def test_importances_are_those_of_xgboost(tmp_path: Path, kind: str) -> None:
    model, _ = train("binary:logistic", importance_type=kind)
    model.export_xgboost(tmp_path / "model.json")
    scores = load(tmp_path / "model.json").get_score(importance_type=kind)
    expected = np.array([scores.get(f"f{i}", 0.0) for i in range(5)])
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-5)


def test_cuts_beyond_float32_send_every_float32_the_same_way() -> None:
    rng = np.random.default_rng(0)
    cuts = np.concatenate([rng.normal(size=1000), rng.normal(size=10).astype(np.float32).astype(float), [0.0, -0.0]])
    rounded = float32_at_least(cuts)
    for offset in range(-3, 4):
        x = cuts.astype(np.float32)
        for _ in range(abs(offset)):
            x = np.nextafter(x, np.float32(np.inf if offset > 0 else -np.inf))
        np.testing.assert_array_equal(x.astype(float) < cuts, x < rounded)
