"""Training on from a model or from margins: the trees of one longer training, and xgboost's."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import LengthMismatchError, ParameterError, ProtocolParameterError, ShareMismatchError

xgb = pytest.importorskip("xgboost")
RNG = np.random.default_rng(3)
X = RNG.normal(size=(500, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 3]) * np.nan_to_num(X[:, 1])
LABELS = {
    "binary:logistic": (SIGNAL > 0).astype(float),
    "multi:softprob": np.digitize(SIGNAL, [-1.0, 0.5]).astype(float),
    "reg:squarederror": SIGNAL.astype(float),
}
PARTIES = {"bank": ["f0", "f1"], "shop": ["f2", "f3", "f4"]}


def estimator(objective: str, rounds: int, protocol: str = "plain", **params: Any) -> Any:
    cls = VFXGBRegressor if objective.startswith("reg:") else VFXGBClassifier
    own = {"objective": objective, "n_estimators": rounds, "max_depth": 3, "parties": PARTIES, "protocol": protocol}
    return cls(**(own | params))


@pytest.mark.parametrize("objective", LABELS)
def test_trained_on_is_what_one_training_makes(objective: str, tmp_path: Path) -> None:
    y = LABELS[objective]
    whole = estimator(objective, 7).fit(X, y)
    first = estimator(objective, 4).fit(X, y)
    first.save_model(tmp_path / "first.json")
    for before in (first, tmp_path / "first.json", first.model_):
        second = estimator(objective, 3).fit(X, y, xgb_model=before)
        assert second.model_.n_rounds == 7
        np.testing.assert_array_equal(second.predict(X, output_margin=True), whole.predict(X, output_margin=True))
        np.testing.assert_array_equal(second.apply(X), whole.apply(X))
        for found, wanted in zip(second.model_.active_share.trees, whole.model_.active_share.trees, strict=True):
            np.testing.assert_array_equal(found.value, wanted.value)
            np.testing.assert_array_equal(found.record, wanted.record)
        theirs, ours = whole.model_.passive_shares["shop"], second.model_.passive_shares["shop"]
        np.testing.assert_array_equal(ours.records.cut, theirs.records.cut)
        for name in ("tree", "depth", "above"):
            np.testing.assert_array_equal(getattr(ours.paths, name), getattr(theirs.paths, name))


@pytest.mark.parametrize("objective", LABELS)
def test_xgboost_trains_on_to_the_same_trees(objective: str) -> None:
    y = LABELS[objective]
    data = xgb.QuantileDMatrix(X, y)
    params = {"objective": objective, "max_depth": 3, "nthread": 2}
    params |= {"num_class": 3} if objective == "multi:softprob" else {}
    theirs = xgb.train(params, data, 3, xgb_model=xgb.train(params, data, 4))
    cuts = data.get_quantile_cut()
    first = estimator(objective, 4).fit(X, y, cuts=cuts)
    ours = estimator(objective, 3).fit(X, y, cuts=cuts, xgb_model=first)
    wanted = theirs.predict(data, output_margin=True)
    np.testing.assert_allclose(ours.predict(X, output_margin=True), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("objective", LABELS)
def test_margins_that_rows_start_from_are_xgboosts(objective: str) -> None:
    y = LABELS[objective]
    shape = (len(y), 3) if objective == "multi:softprob" else len(y)
    start = RNG.normal(size=shape).astype(np.float32)
    weight = RNG.integers(0, 3, len(y)).astype(float)
    kept = weight > 0
    data = xgb.QuantileDMatrix(X[kept], y[kept], weight=weight[kept], base_margin=start[kept])
    params = {"objective": objective, "max_depth": 3, "nthread": 2}
    params |= {"num_class": 3} if objective == "multi:softprob" else {}
    log: dict[str, Any] = {}
    theirs = xgb.train(params, data, 4, evals=[(data, "rows")], evals_result=log, verbose_eval=False)
    ours = estimator(objective, 4).fit(
        X,
        y,
        sample_weight=weight,
        base_margin=start,
        eval_set=[(X[kept], y[kept]), (X[kept], y[kept])],
        sample_weight_eval_set=[weight[kept], None],
        base_margin_eval_set=[start[kept], None],
        cuts=data.get_quantile_cut(),
    )
    found = ours.predict(X[kept], output_margin=True, base_margin=start[kept])
    np.testing.assert_allclose(found, theirs.predict(data, output_margin=True), rtol=1e-5, atol=1e-5)
    (metric,) = log["rows"]
    np.testing.assert_allclose(ours.evals_result()["validation_0"][metric], log["rows"][metric], rtol=1e-5)
    # A set without margins starts from the model's own, as a prediction without them does.
    assert ours.evals_result()["validation_1"][metric][-1] != ours.evals_result()["validation_0"][metric][-1]


@pytest.mark.parametrize("protocol", ["ot_shares", "sealed"])
def test_under_protocols_the_prediction_before_is_in_the_ledger(protocol: str) -> None:
    y = LABELS["binary:logistic"][:200]
    first = estimator("binary:logistic", 2, protocol, max_bin=8).fit(X[:200], y)
    second = estimator("binary:logistic", 2, protocol, max_bin=8).fit(X[:200], y, xgb_model=first)
    assert second.model_.n_rounds == 4
    messages = {entry.message for entry in second.ledger_.totals()}
    added = messages - {entry.message for entry in first.ledger_.totals()}
    assert added
    # Where nodes are hidden no open question about rows is asked.
    assert any("hidden" in name for name in added) == (protocol == "sealed"), added
    np.testing.assert_array_equal(second.apply(X[:200])[:, :2], first.apply(X[:200]))


def test_early_stopping_counts_all_rounds() -> None:
    y = LABELS["binary:logistic"]
    noise = RNG.integers(0, 2, 100).astype(float)
    first = estimator("binary:logistic", 3).fit(X[:400], y[:400])
    second = estimator("binary:logistic", 40, early_stopping_rounds=2)
    second.fit(X[:400], y[:400], eval_set=[(X[400:], noise)], xgb_model=first)
    assert second.best_iteration >= 3
    watched = second.evals_result()["validation_0"]["logloss"]
    assert second.best_iteration - 3 == int(np.argmin(watched))


def test_further_rounds_draw_other_rows() -> None:
    y = LABELS["reg:squarederror"]
    first = estimator("reg:squarederror", 1, subsample=0.5).fit(X, y)
    second = estimator("reg:squarederror", 1, subsample=0.5, base_score=0.0, random_state=0)
    second.fit(X, y, xgb_model=first)
    covers = [tree.cover[0] for tree in second.model_.active_share.trees]
    assert covers[0] != covers[1], "the second sample has as many rows as the first"
    assert second.model_.active_share.params["random_state"] == 0


def test_what_cannot_go_on() -> None:
    y = LABELS["binary:logistic"]
    first = estimator("binary:logistic", 2).fit(X, y)
    other = estimator("binary:logistic", 2)
    with pytest.raises(ParameterError, match="classes of xgb_model"):
        other.fit(X, y + 1, xgb_model=first)
    with pytest.raises(ParameterError, match="no shares of parties"):
        other.fit(X, y, xgb_model=first.get_booster())
    with pytest.raises(ParameterError, match="both given"):
        other.fit(X, y, xgb_model=first, base_margin=np.zeros(len(y)))
    with pytest.raises(ParameterError, match="missing_strategy='mean'"):
        estimator("binary:logistic", 2, missing_strategy="mean").fit(X, y, xgb_model=first)
    with pytest.raises(ShareMismatchError, match="parties"):
        estimator("binary:logistic", 2, active="shop").fit(X, y, xgb_model=first)
    with pytest.raises(ProtocolParameterError, match="epsilon"):
        estimator("binary:logistic", 2, "ldp", protocol_params={"epsilon": 4.0}).fit(X, y, base_margin=np.zeros(len(y)))
    with pytest.raises(LengthMismatchError, match="base_margin_eval_set"):
        other.fit(X, y, eval_set=[(X, y)], base_margin_eval_set=[])
    with pytest.raises(LengthMismatchError, match="base_margin has shape"):
        other.fit(X, y, base_margin=np.zeros(3))


def test_a_model_with_categories_goes_on() -> None:
    """The trees are those of one longer training, with sets of categories of both runs; others are refused."""
    y = LABELS["binary:logistic"]
    kinds = pd.Categorical.from_codes(RNG.integers(0, 9, len(y)), categories=list("abcdefghi"))
    frame = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "kind": kinds, "x3": X[:, 3]})
    parties = {"bank": ["x0", "x1"], "shop": ["kind", "x3"]}
    made = {"protocol": "plain", "parties": parties, "active": "bank", "max_depth": 3}
    first = VFXGBClassifier(n_estimators=3, **made).fit(frame, y)
    second = VFXGBClassifier(n_estimators=2, **made).fit(frame, y, xgb_model=first)
    whole = VFXGBClassifier(n_estimators=5, **made).fit(frame, y)
    np.testing.assert_array_equal(second.predict_proba(frame), whole.predict_proba(frame))
    assert (np.diff(second.model_.passive_shares["shop"].records.categories.start) > 0).any()
    other = frame.assign(kind=frame["kind"].cat.reorder_categories(list("ihgfedcba")))
    with pytest.raises(ShareMismatchError, match="a column of shop has other categories"):
        VFXGBClassifier(n_estimators=2, **made).fit(other, y, xgb_model=first)
