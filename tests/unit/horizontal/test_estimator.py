"""FedXGB estimators as callers meet them: scikit-learn's ways, forms of data, and mistakes answered by name."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vfxgb
from vfxgb import FedXGBClassifier, FedXGBRegressor
from vfxgb.described import parameters
from vfxgb.errors import (
    CallbackError,
    ColumnNameError,
    ColumnValueError,
    CutsError,
    LabelError,
    LengthMismatchError,
    ParameterError,
    PartiesError,
    ProtocolParameterError,
    TableError,
    UnfittedError,
    UnknownNameError,
    WeightError,
)
from vfxgb.model.file import load_share
from vfxgb.model.pooled import PooledModel
from vfxgb.params import TrainParams, parameter_names

RNG = np.random.default_rng(2)
X = np.round(RNG.normal(size=(120, 3)), 1)
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
USERS = np.arange(120) % 4
PARTS = [(X[user == USERS], Y[user == USERS]) for user in range(4)]
SMALL = {"aggregator": "plain", "n_estimators": 2, "max_depth": 2, "max_bin": 8}


def clf(**settings: Any) -> FedXGBClassifier:
    return FedXGBClassifier(**(SMALL | settings))


def test_exported_and_parameters() -> None:
    assert {"FedXGBClassifier", "FedXGBRegressor"} <= set(vfxgb.__all__)
    training = set(parameter_names()) - {"num_class", *FedXGBClassifier._refused}
    assert training < set(clf().get_params())
    own = {parameter.name for parameter in parameters(FedXGBClassifier) if parameter.meaning}
    assert set(clf().get_params()) == training | own
    defaults = TrainParams()
    for name, value in FedXGBRegressor().get_params().items():
        if name in parameter_names() and name != "objective":
            expected = getattr(defaults, name)
            assert value == expected or (value != value and expected != expected), name
    assert FedXGBClassifier().aggregator == "masks"
    assert repr(FedXGBClassifier(max_depth=3)) == "FedXGBClassifier(max_depth=3)"


def test_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import cross_val_score

    assert is_classifier(clf())
    assert is_regressor(FedXGBRegressor())
    model = clf(dropout={"rate": 0.25})
    assert clone(model).get_params() == model.get_params()
    scores = cross_val_score(clf(), X, Y, cv=3, params={"users": USERS})
    assert scores.mean() > 0.8


def test_what_fit_leaves() -> None:
    model = clf().fit(PARTS, eval_set=[(X, Y)])
    assert model.classes_.tolist() == [0, 1]
    assert model.users_.tolist() == [0, 1, 2, 3]
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert len(model.evals_result_["validation_0"]["logloss"]) == 2
    assert model.predict_proba(X).shape == (120, 2)
    assert model.apply(X).shape == (120, 2)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.score(X, Y) > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_frames_with_columns_in_any_order() -> None:
    pandas = pytest.importorskip("pandas")
    frames = [(pandas.DataFrame(part, columns=list("abc")), labels) for part, labels in PARTS]
    plain = clf().fit(frames)
    assert plain.feature_names_in_.tolist() == list("abc")
    frames[2] = (frames[2][0][["c", "a", "b"]], frames[2][1])
    assert np.array_equal(clf().fit(frames).predict_proba(X), plain.predict_proba(X))
    frames[1] = (frames[1][0].rename(columns={"b": "z"}), frames[1][1])
    with pytest.raises(ColumnNameError, match=r"user 1.*absent \['b'\], unexpected \['z'\]"):
        clf().fit(frames)
    frames[1] = PARTS[1]
    with pytest.raises(ColumnNameError, match=r"user 1.*not named"):
        clf().fit(frames)


def test_a_user_may_have_one_class_only() -> None:
    assert clf().fit([(X[Y == 0], Y[Y == 0]), (X[Y == 1], Y[Y == 1])]).score(X, Y) > 0.8


def test_early_stopping_and_callbacks() -> None:
    model = clf(n_estimators=60, early_stopping_rounds=3, learning_rate=1.0)
    noise = np.roll(Y, 1)
    model.fit(PARTS, eval_set=[(X, noise)])
    assert model.best_iteration_ is not None
    assert model.model_.n_rounds == model.best_iteration_ + 4


def test_a_checkpoint_is_the_model(tmp_path: Path) -> None:
    model = clf().fit(PARTS, callbacks=[vfxgb.callbacks.Checkpoint(tmp_path)])
    share = load_share(tmp_path / "server.json")
    assert [path.name for path in tmp_path.iterdir()] == ["server.json"]
    assert np.array_equal(PooledModel(share, {}).margins(X), model.model_.pooled.margins(X))


def test_a_fit_that_fails_leaves_the_last_one() -> None:
    model = clf().fit(PARTS)
    before = model.predict(X)
    with pytest.raises(ParameterError):
        model.set_params(quantile_bits=3).fit(X, np.where(Y, "yes", "no"), users=USERS)
    assert np.array_equal(model.predict(X), before)


def test_rows_of_weight_zero_are_left_out() -> None:
    weight = np.where(np.arange(120) < 80, 1.0, 0.0)
    kept = weight > 0
    model = clf(base_score=0.5).fit(X, Y, users=USERS, sample_weight=weight)
    other = clf(base_score=0.5).fit(X[kept], Y[kept], users=USERS[kept])
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))


def test_regression_and_a_callable_objective() -> None:
    def squared(y: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return margin - y, np.ones_like(y)

    y = X[:, 0] * 3
    model = FedXGBRegressor(**SMALL).fit(X, y, users=USERS)
    assert model.score(X, y) > 0.5
    custom = FedXGBRegressor(objective=squared, base_score=float(y.mean()), **SMALL).fit(X, y, users=USERS)
    assert np.allclose(custom.predict(X), model.predict(X), atol=1e-5)


Fit = Callable[[], Any]


@pytest.mark.parametrize(
    ("fit", "error", "words"),
    [
        (lambda: clf(n_estimator=3), UnknownNameError, "did you mean 'n_estimators'"),
        (lambda: clf(sampling_method="goss"), UnknownNameError, "subsample"),
        (lambda: clf().set_params(min_bucket_rows=4), UnknownNameError, "rows a bucket has"),
        (lambda: clf().fit(X, Y), PartiesError, "without users="),
        (lambda: clf().fit(X), PartiesError, "without y"),
        (lambda: clf().fit(PARTS, users=USERS), PartiesError, "users= as well"),
        (lambda: clf().fit([]), PartiesError, "empty list"),
        (lambda: clf().fit([(X, Y, Y)]), PartiesError, "entry 0"),
        (lambda: clf().fit([(X, Y)]), PartiesError, "at least two"),
        (lambda: clf().fit(X, Y, users=USERS[:9]), LengthMismatchError, r"\(9,\)"),
        (lambda: clf().fit(X, Y, users=np.where(USERS == 1, np.nan, USERS)), PartiesError, "NaN in row 1"),
        (lambda: clf().fit(X, Y, users=np.array(["a", 1] * 60, dtype=object)), PartiesError, "do not sort"),
        (lambda: clf().fit([*PARTS, (X[:0], Y[:0])]), TableError, "Leave user 4 out"),
        (lambda: clf().fit([PARTS[0], (X[:, :2], Y)]), ColumnNameError, r"user 1.*absent \['f2'\]"),
        (lambda: clf().fit([PARTS[0], (np.full((9, 3), np.inf), Y[:9])]), ColumnValueError, "user 1"),
        (lambda: clf().fit([PARTS[0], (X, Y[:9])]), LabelError, "user 1"),
        (lambda: clf().fit([PARTS[0], (X, Y.astype(str))]), LabelError, "user 1"),
        (lambda: clf().fit(X, np.ones(120), users=USERS), LabelError, "1 class"),
        (lambda: clf().fit(PARTS, sample_weight=[None]), LengthMismatchError, "one list per user"),
        (lambda: clf().fit(PARTS, sample_weight=[None, 0 * PARTS[1][1], None, None]), WeightError, "user 1"),
        (lambda: clf().fit(X, Y, users=USERS, sample_weight=(USERS != 2) * 1.0), PartiesError, "user 2"),
        (lambda: clf(aggregator="mask").fit(PARTS), UnknownNameError, "masks"),
        (lambda: clf(aggregator_params={"key": 1}).fit(PARTS), ProtocolParameterError, "min_users"),
        (lambda: clf(threshold=4, aggregator_params={"threshold": 4}).fit(PARTS), ParameterError, "one of them"),
        (lambda: clf(users_per_round=5).fit(PARTS), ParameterError, "users_per_round=5"),
        (lambda: clf(quantile_bits=40).fit(PARTS), ParameterError, "quantile_bits=40"),
        (lambda: clf(fine_cells=1).fit(PARTS), ParameterError, "fine_cells=1"),
        (lambda: clf(missing_strategy="mean").fit(PARTS), ParameterError, "impute at the users"),
        (lambda: clf(missing_strategy="regression").fit(PARTS), ParameterError, "'regression'.*impute at the users"),
        (lambda: clf(missing_strategy="conditional").fit(PARTS), ParameterError, "'conditional'.*no user has all"),
        (lambda: clf(objective="reg:squarederror").fit(PARTS), ParameterError, "FedXGBRegressor"),
        (lambda: clf().fit(PARTS, cuts={"f0": [0.0]}), CutsError, "'f1'"),
        (lambda: clf().fit(PARTS, cuts={f"f{i}": [0.0] for i in range(4)}), CutsError, "'f3'"),
        (lambda: clf().fit(PARTS, ranges={"q": (0, 1)}), ColumnNameError, "'q'"),
        (lambda: clf().fit(PARTS, ranges={0: (1, 0)}), ParameterError, "low below high"),
        (lambda: clf().fit(PARTS, ranges={0: 7}), ParameterError, "low below high"),
        (lambda: clf(early_stopping_rounds=2).fit(PARTS), CallbackError, "no eval set"),
        (lambda: clf(monotone_constraints={"q": 1}).fit(PARTS), ParameterError, "monotone_constraints"),
        (lambda: clf().predict(X), UnfittedError, "not fitted"),
        (lambda: clf().fit(PARTS).predict(X[:, :2]), ColumnNameError, "expecting 3 features"),
    ],
)
def test_mistakes(fit: Fit, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fit()
