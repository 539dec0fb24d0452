"""Training through the estimators: forms of input, eval sets, weights, callbacks, what is left afterwards."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import CallbackError
from vfxgb.train.callbacks import Checkpoint, EarlyStopping, LearningRateScheduler, TrainingCallback, TrainingState

NAMES = ["f0", "f1", "f2", "f3"]


def same_model(a: Any, b: Any) -> bool:
    """Equal trees, whatever the run."""
    one, two = a.model_.pooled, b.model_.pooled
    return all(
        np.array_equal(getattr(one, name), getattr(two, name), equal_nan=name == "threshold")
        for name in ("tree_start", "feature", "threshold", "default_left", "value", "gain", "cover", "base_margin")
    )


def test_what_fit_leaves(make: Any, problem: Any) -> None:
    X, y = problem
    model = make()
    assert model.fit(X, y, eval_set=[(X[:50], y[:50])]) is model
    assert list(model.classes_) == [0, 1]
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_"), "an array has no names"
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert len(model.evals_result_["validation_0"]["logloss"]) == 5
    assert model.best_iteration_ is None
    assert set(model.traffic_) == {"shop"}
    assert model.traffic_["shop"].total_bytes > 0
    assert model.ledger_ is not None
    assert model.timings_ is not None
    assert model.apply(X).shape == (300, 5)


def test_every_form_of_input_gives_the_same_model(make: Any, problem: Any, tmp_path: Path) -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X, y = problem
    frame = pd.DataFrame(X, columns=NAMES)
    frame.to_csv(tmp_path / "x.csv", index=False, float_format="%.9g")
    expected = make().fit(X, y)
    forms: list[Any] = [
        X.astype(np.float64),
        np.asfortranarray(X),
        X.tolist(),
        frame,
        frame[NAMES[::-1]],  # found by name
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        tmp_path / "x.csv",
        {"bank": X[:, :2], "shop": X[:, 2:]},
        {"shop": frame[["f3", "f2"]], "bank": frame[["f0", "f1"]]},  # in the order of `parties`
    ]
    for form in forms:
        model = make().fit(form, y)
        assert same_model(model, expected), type(form)
        np.testing.assert_array_equal(model.predict_proba(form), expected.predict_proba(X))
    assert list(make().fit(frame, y).feature_names_in_) == NAMES


def test_a_mapping_needs_no_parties(make: Any, problem: Any) -> None:
    X, y = problem
    model = make(parties=None).fit({"bank": X[:, :2], "shop": X[:, 2:]}, y)
    assert model.model_.active_share.party == "bank"
    assert same_model(model, make().fit(X, y))
    np.testing.assert_array_equal(model.predict(X), model.predict({"shop": X[:, 2:], "bank": X[:, :2]}))


def test_the_model_does_not_depend_on_who_is_active_or_how_many_there_are(make: Any, problem: Any) -> None:
    X, y = problem
    expected = make(parties=None, protocol=None).fit(X, y)
    assert same_model(make().fit(X, y), expected)
    assert same_model(make(active="shop").fit(X, y), expected)
    assert same_model(make(parties={name: [name] for name in NAMES}).fit(X, y), expected)


def test_importances_follow_the_columns_of_x(make: Any, problem: Any) -> None:
    X, y = problem
    swapped = make(parties={"shop": ["f2", "f3"], "bank": ["f1", "f0"]}, active="bank").fit(X, y)
    straight = make().fit(X, y)
    np.testing.assert_allclose(swapped.feature_importances_, straight.feature_importances_, rtol=1e-9)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [5.0, 7.0]])
def test_classes_of_any_type(make: Any, problem: Any, labels: list[Any]) -> None:
    X, y = problem
    model = make().fit(X, np.array(labels)[y], eval_set=[(X, np.array(labels)[y])])
    assert list(model.classes_) == labels
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[make().fit(X, y).predict(X)])


def test_three_classes(problem: Any) -> None:
    X, _ = problem
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = VFXGBClassifier(n_estimators=10).fit(X, np.array(["a", "b", "c"])[y])
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.95
    assert model.apply(X).shape == (300, 30)


def test_poisson_and_callable_objectives(problem: Any) -> None:
    X, _ = problem
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0] + 1))
    rates = VFXGBRegressor(objective="count:poisson", n_estimators=10).fit(X, counts).predict(X)
    assert (rates > 0).all()
    assert np.corrcoef(rates, np.exp(X[:, 0] + 1))[0, 1] > 0.8

    def squared(labels: Any, margins: Any) -> tuple[Any, Any]:
        return margins - labels, np.ones_like(margins)

    y = X[:, 1]
    own = VFXGBRegressor(objective=squared, n_estimators=10, base_score=0.0).fit(X, y)
    built_in = VFXGBRegressor(n_estimators=10, base_score=0.0).fit(X, y)
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-6, atol=1e-6)


def test_a_callable_objective_of_a_classifier(make: Any, problem: Any) -> None:
    X, y = problem

    def logistic(labels: Any, margins: Any) -> tuple[Any, Any]:
        p = 1 / (1 + np.exp(-margins))
        return p - labels, p * (1 - p)

    own = make(objective=logistic, base_score=0.0).fit(X, y)
    built_in = make(base_score=0.5).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), built_in.predict_proba(X), rtol=1e-5)


def test_weights_of_zero_are_rows_left_out(make: Any, problem: Any) -> None:
    X, y = problem
    keep = np.arange(300) % 3 > 0
    weighted = make(max_bin=16).fit(X, y, sample_weight=keep.astype(float))
    assert same_model(weighted, make(max_bin=16).fit(X[keep], y[keep]))


def test_eval_weights_change_the_metric_and_not_the_model(make: Any, problem: Any) -> None:
    X, y = problem
    w = np.where(y == 1, 5.0, 1.0)
    plain = make().fit(X, y, eval_set=[(X, y)])
    weighted = make().fit(X, y, eval_set=[(X, y), (X, y)], sample_weight_eval_set=[None, w])
    assert same_model(plain, weighted)
    assert weighted.evals_result_["validation_0"] == plain.evals_result_["validation_0"]
    p = weighted.predict_proba(X)[:, 1]
    expected = np.average(-np.where(y == 1, np.log(p), np.log(1 - p)), weights=w)
    assert weighted.evals_result_["validation_1"]["logloss"][-1] == pytest.approx(expected, rel=1e-6)


def test_eval_metrics_by_name_and_callable(make: Any, problem: Any) -> None:
    X, y = problem

    def positives(labels: Any, predictions: Any) -> float:
        return float(np.mean(predictions > 0.5))

    model = make(eval_metric=["auc", "ks", "error", positives]).fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])])
    log = model.evals_result_["validation_0"]
    assert list(log) == ["auc", "ks", "error", "positives"]
    assert log["error"][-1] == pytest.approx(1 - model.score(X[200:], y[200:]))
    assert log["positives"][-1] == pytest.approx(np.mean(model.predict(X[200:])))


@pytest.mark.parametrize("by", ["parameter", "callback"])
def test_early_stopping_predicts_with_the_best_round(make: Any, problem: Any, by: str) -> None:
    X, y = problem
    noise = np.random.default_rng(0).integers(0, 2, 100)
    settings: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.5}
    if by == "parameter":
        model = make(**settings, early_stopping_rounds=4)
        model.fit(X[:200], y[:200], eval_set=[(X[200:], noise)])
    else:
        model = make(**settings)
        model.fit(X[:200], y[:200], eval_set=[(X[200:], noise)], callbacks=[EarlyStopping(4)])
    log = model.evals_result_["validation_0"]["logloss"]
    assert model.best_iteration_ == int(np.argmin(log))
    assert model.best_score_ == min(log)
    assert len(log) == model.best_iteration_ + 5 < 100
    p = np.clip(model.predict_proba(X[200:])[:, 1], 1e-16, 1)
    assert np.mean(-np.where(noise == 1, np.log(p), np.log(1 - p))) == pytest.approx(min(log), rel=1e-6)


def test_a_schedule_of_learning_rates_scales_the_leaves(make: Any, problem: Any) -> None:
    X, y = problem
    fast = make(n_estimators=1, learning_rate=0.8).fit(X, y)
    scheduled = make(n_estimators=1, learning_rate=0.1).fit(X, y, callbacks=[LearningRateScheduler([0.8])])
    assert same_model(fast, scheduled)


class Recorder(TrainingCallback):
    def __init__(self, stop_after: int | None = None) -> None:
        self.calls: list[str] = []
        self.stop_after = stop_after

    def before_training(self, state: TrainingState) -> None:
        self.calls.append("begin")

    def before_iteration(self, state: TrainingState) -> bool:
        self.calls.append(f"before {state.iteration}")
        return False

    def after_iteration(self, state: TrainingState) -> bool:
        self.calls.append(f"after {state.iteration}")
        return state.iteration == self.stop_after

    def after_training(self, state: TrainingState) -> None:
        self.calls.append("end")


def test_callbacks_are_called_in_order_and_may_stop(make: Any, problem: Any) -> None:
    recorder = Recorder(stop_after=1)
    model = make().fit(*problem, callbacks=[recorder])
    assert recorder.calls == ["begin", "before 0", "after 0", "before 1", "after 1", "end"]
    assert model.model_.n_rounds == 2


class Fails(TrainingCallback):
    def after_iteration(self, state: TrainingState) -> bool:
        raise ZeroDivisionError("mine")


def test_an_error_of_a_callback_reaches_the_caller(make: Any, problem: Any) -> None:
    model = make()
    with pytest.raises(ZeroDivisionError, match="mine"):
        model.fit(*problem, callbacks=[Fails()])
    assert not hasattr(model, "model_")


def test_checkpoints_are_the_shares_of_every_party(make: Any, problem: Any, tmp_path: Path) -> None:
    make().fit(*problem, callbacks=[Checkpoint(tmp_path, every=2)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank.json", "shop.json"]
    for path in tmp_path.iterdir():
        json.loads(path.read_text())


def test_verbose_prints_metrics(make: Any, problem: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = problem
    make().fit(X, y, eval_set=[(X, y)], verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]", "[4]"]
    make().fit(X, y, eval_set=[(X, y)])
    assert capsys.readouterr().out == ""


def test_verbose_without_an_eval_set_prints_the_training_metric(
    make: Any, problem: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = problem
    wanted = make().fit(X, y, eval_set=[(X, y)], verbose=False).evals_result_["validation_0"]
    metric, values = next(iter(wanted.items()))
    capsys.readouterr()
    model = make().fit(X, y, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"[{place}]\ttrain-{metric}:{value:.5f}" for place, value in enumerate(values)]
    # It is shown, not kept: what was not asked for is no eval set, and nothing to stop early by.
    assert model.evals_result_ == {}
    with pytest.raises(CallbackError, match="no eval set to watch"):
        make(early_stopping_rounds=2).fit(X, y, verbose=True)


def test_early_stopping_is_told(make: Any, problem: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = problem
    half = len(y) // 2
    model = make(n_estimators=200, learning_rate=1.0, early_stopping_rounds=2)
    model.fit(X[:half], y[:half], eval_set=[(X[half:], y[half:])], verbose=50)
    metric, values = next(iter(model.evals_result_["validation_0"].items()))
    best = model.best_iteration_
    assert len(values) == best + 3 < 200
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"stopped early after {best + 3} of 200 rounds: validation_0 {metric} was best after {best + 1} rounds "
        f"({values[best]:.6g}), and predictions use these"
    )


def test_a_second_fit_starts_afresh(make: Any, problem: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem
    model = make().fit(pd.DataFrame(X, columns=NAMES), y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert same_model(model, make().fit(X, y))


def test_the_input_is_not_changed(make: Any, problem: Any) -> None:
    X, y = problem
    X = X.copy()
    X[::7, 1] = np.nan
    before = X.copy()
    for strategy in ("learned", "mean", "probabilistic"):
        make(missing_strategy=strategy).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before)


def test_a_value_may_stand_for_missing(make: Any, problem: Any) -> None:
    X, y = problem
    holes, coded = X.copy(), X.copy()
    holes[::5, 1], coded[::5, 1] = np.nan, -999.0
    a, b = make().fit(holes, y), make(missing=-999.0).fit(coded, y)
    assert same_model(a, b)
    np.testing.assert_array_equal(a.predict_proba(holes), b.predict_proba(coded))


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_the_model(make: Any, problem: Any, threads: int) -> None:
    assert same_model(make(n_jobs=threads).fit(*problem), make().fit(*problem))


def test_hidden_predictions_are_the_open_ones(make: Any, problem: Any) -> None:
    X, y = problem
    model = make(n_estimators=3).fit(X, y)
    assert np.array_equal(model.predict_proba(X, hidden=True), model.predict_proba(X))
    assert np.array_equal(model.predict(X, hidden=True), model.predict(X))
    assert np.array_equal(model.apply(X, hidden=True), model.apply(X))
