"""The comparison with own columns alone: it is the training of these columns, nothing more and nothing less."""

import numpy as np
import pytest

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import ParameterError

RNG = np.random.default_rng(8)
X = RNG.normal(size=(300, 5))
Y = (X[:, 0] + 2 * X[:, 3] > 0).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, size=200)
PARTIES = {"parties": {"bank": [0, 1], "shop": [2, 3, 4]}, "active": "bank"}
SMALL = {"n_estimators": 12, "max_depth": 3, "max_bin": 16, "n_jobs": 1, "eval_metric": ["logloss", "auc"]}


@pytest.mark.parametrize("constraints", [{0: 1, 3: 1}, {1: -1, 4: -1}, None])
@pytest.mark.parametrize("stopping", [None, 2])
def test_it_is_the_training_of_the_own_columns(constraints, stopping) -> None:
    signs = None if constraints is None else [constraints.get(column, 0) for column in range(5)]
    own_signs = None if signs is None else signs[:2]
    train, valid = slice(0, 200), slice(200, 300)
    more = {**SMALL, "early_stopping_rounds": stopping}
    together = VFXGBClassifier(protocol="plain", monotone_constraints=signs, record=True, **more, **PARTIES)
    fit = {"sample_weight": WEIGHT}
    together.fit(X[train], Y[train], eval_set=[(X[valid], Y[valid])], compare_alone=True, **fit)
    alone = VFXGBClassifier(monotone_constraints=own_signs, **more)
    own = X[:, :2]
    alone.fit(own[train], Y[train], eval_set=[(own[valid], Y[valid])], **fit)
    assert together.alone_["evals"] == alone.evals_result_
    assert together.alone_["best_iteration"] == alone.best_iteration_
    assert together.alone_["features"] == 2
    assert together.alone_["maximised"] == ("auc",)
    # The shop's columns decide most of the label.
    assert together.alone_["evals"]["validation_0"]["auc"][-1] < together.evals_result_["validation_0"]["auc"][-1]


def test_the_joint_model_is_the_same_with_and_without_it() -> None:
    plain = VFXGBRegressor(protocol="plain", **{**SMALL, "eval_metric": "rmse"}, **PARTIES)
    first = plain.fit(X, X[:, 3]).predict(X)
    assert not hasattr(plain, "alone_")
    assert np.array_equal(plain.fit(X, X[:, 3], compare_alone=True).predict(X), first)
    assert plain.alone_["maximised"] == ()
    assert not hasattr(plain.fit(X, X[:, 3]), "alone_")


def test_a_model_to_go_on_from_is_refused() -> None:
    model = VFXGBClassifier(protocol="plain", **SMALL, **PARTIES).fit(X, Y)
    with pytest.raises(ParameterError, match="compare_alone with xgb_model, wanted one of them"):
        VFXGBClassifier(protocol="plain", **SMALL, **PARTIES).fit(X, Y, xgb_model=model, compare_alone=True)


def test_a_rule_for_splits_that_only_others_have_does_not_matter() -> None:
    model = VFXGBClassifier(protocol="sealed", **{**SMALL, "n_estimators": 1, "max_depth": 1}, **PARTIES)
    model.fit(X[:60], Y[:60], eval_set=[(X[60:], Y[60:])], compare_alone=True)
    assert len(model.alone_["evals"]["validation_0"]["auc"]) == 1
