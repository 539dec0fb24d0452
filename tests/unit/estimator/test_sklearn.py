"""The estimators inside scikit-learn: its own checks, clones, cross-validation, grid search, pipelines."""

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.described import parameters
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import UnfittedError, UnknownNameError
from vfxgb.params import TrainParams, parameter_names

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier, is_regressor  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.metrics import accuracy_score, r2_score  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

with warnings.catch_warnings():
    # It remarks that BaseEstimator is no base: scikit-learn is no dependency, and the checks show that none is needed.
    warnings.simplefilter("ignore")
    checks = parametrize_with_checks([VFXGBClassifier(n_estimators=20), VFXGBRegressor(n_estimators=20)])


@checks
@pytest.mark.filterwarnings("ignore")  # the checks warn on their own account
def test_the_checks_of_sklearn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_nothing_of_sklearn_is_loaded_by_training() -> None:
    code = (
        "import sys, numpy as np, vfxgb; m = vfxgb.VFXGBClassifier(n_estimators=2)\n"
        "m.fit(np.arange(20.0).reshape(-1, 1), np.arange(20) > 9).predict(np.ones((3, 1))); repr(m)\n"
        "print([n for n in ('sklearn', 'pandas', 'polars', 'pyarrow', 'xgboost') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "[]\n", run.stderr


def test_the_parameters_are_those_of_training_and_the_estimators_own() -> None:
    # num_class comes from the labels.
    training = set(parameter_names()) - {"num_class"}
    own = set(VFXGBClassifier().get_params()) - training
    assert training < set(VFXGBClassifier().get_params())
    assert {"parties", "active", "protocol", *EngineSettings.__struct_fields__} <= own
    assert own == {entry.name for entry in parameters(VFXGBClassifier, EngineSettings) if entry.meaning} - training


def test_defaults_are_those_of_training() -> None:
    defaults = TrainParams()
    for name, value in VFXGBRegressor().get_params().items():
        if name in parameter_names() and name != "objective":
            expected = getattr(defaults, name)
            assert value is expected or value == expected or (value != value and expected != expected), name


def test_unknown_parameters_are_named_with_the_closest_known_one() -> None:
    with pytest.raises(UnknownNameError, match="max_depth"):
        VFXGBClassifier(max_depht=3)
    model = VFXGBRegressor()
    with pytest.raises(UnknownNameError, match="nonsense"):
        model.set_params(max_depth=2, nonsense=1)
    assert model.max_depth == TrainParams().max_depth, "a refused call changes nothing"


def test_clone_has_the_parameters_and_no_model(make: Any, problem: Any) -> None:
    model = make(max_depth=2).fit(*problem)
    twin = clone(model)
    assert twin.get_params() == model.get_params() or repr(twin) == repr(model)
    assert not hasattr(twin, "model_")
    np.testing.assert_array_equal(twin.fit(*problem).predict_proba(problem[0]), model.predict_proba(problem[0]))


def test_repr_shows_what_was_changed() -> None:
    assert repr(VFXGBClassifier()) == "VFXGBClassifier()"
    assert repr(VFXGBRegressor(max_depth=2, missing=-1.0)) == "VFXGBRegressor(max_depth=2, missing=-1.0)"


def test_what_kind_of_estimator() -> None:
    assert is_classifier(VFXGBClassifier())
    assert is_regressor(VFXGBRegressor())


def test_pickle_and_deepcopy_keep_the_model(make: Any, problem: Any) -> None:
    X, y = problem
    model = make().fit(X, y)
    _ = model.model_.pooled  # a merged view is not in the way
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(twin.feature_importances_, model.feature_importances_)


def test_cross_validation(make: Any, problem: Any) -> None:
    scores = cross_val_score(make(n_estimators=20), *problem, cv=3, scoring="roc_auc")
    assert scores.min() > 0.75


def test_grid_search(make: Any, problem: Any) -> None:
    search = GridSearchCV(make(), {"max_depth": [1, 3], "learning_rate": [0.1, 0.5]}, cv=2).fit(*problem)
    assert set(search.best_params_) == {"max_depth", "learning_rate"}
    assert search.best_estimator_.model_.n_rounds == 5


def test_pipeline(make: Any, problem: Any) -> None:
    X, y = problem
    pipe = make_pipeline(StandardScaler(), make(parties={"a": [0, 1], "b": [2, 3]}))
    pipe.fit(X, y)
    assert pipe.score(X, y) > 0.8
    pipe.set_params(vfxgbclassifier__max_depth=1)
    assert pipe[-1].max_depth == 1


def test_unfitted_is_an_error_of_both_packages() -> None:
    for error in (UnfittedError, NotFittedError):
        with pytest.raises(error, match="not fitted"):
            VFXGBClassifier().predict(np.ones((2, 2)))
    with pytest.raises(UnfittedError):
        _ = VFXGBRegressor().feature_importances_


def test_score_is_accuracy_and_r2(make: Any, problem: Any) -> None:
    X, y = problem
    w = np.random.default_rng(0).uniform(size=len(y))
    model = make().fit(X, y)
    assert model.score(X, y, w) == pytest.approx(accuracy_score(y, model.predict(X), sample_weight=w))
    other = VFXGBRegressor(n_estimators=3).fit(X, X[:, 0])
    assert other.score(X, X[:, 0], w) == pytest.approx(r2_score(X[:, 0], other.predict(X), sample_weight=w))
