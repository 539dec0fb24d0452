"""xgboost's other spellings and its further parameters: taken where they mean the same, refused by name otherwise."""

import re
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBClassifier, VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import LengthMismatchError, ParameterError, UnknownNameError
from vfxgb.estimator.xgboost_names import XGBOOST_ONLY
from vfxgb.params import ALIASES, TrainParams
from vfxgb.train.callbacks import TrainingCallback, TrainingState


@pytest.mark.parametrize("estimator", [VFXGBClassifier, VFXGBRegressor, FedXGBClassifier])
def test_other_spellings_are_the_parameters_they_stand_for(estimator: Any) -> None:
    for spelling, name in ALIASES.items():
        assert estimator(**{spelling: 0.25}).get_params()[name] == 0.25
        assert estimator().set_params(**{spelling: 0.25}).get_params()[name] == 0.25
        assert spelling not in estimator().get_params()


def test_two_spellings_with_different_values_are_refused() -> None:
    for given in ({"eta": 0.1, "learning_rate": 0.2}, {"num_round": 3, "num_boost_round": 4}):
        with pytest.raises(ParameterError, match="two values of one parameter"):
            VFXGBClassifier(**given)
    assert VFXGBClassifier(eta=0.2, learning_rate=0.2).learning_rate == 0.2


@pytest.mark.parametrize("name", XGBOOST_ONLY)
def test_what_changes_nothing_is_taken_and_the_rest_refused_with_what_to_do(name: str) -> None:
    model = VFXGBClassifier()
    if name in model.get_params():
        pytest.skip(f"{name} is a parameter of its own")
    for value in XGBOOST_ONLY[name].same:
        assert VFXGBClassifier(**{name: value}).get_params() == model.get_params()
        model.set_params(**{name: value})
    wanted = rf"{name}='other'.*{re.escape(XGBOOST_ONLY[name].reason)}"
    with pytest.raises(ParameterError, match=wanted):
        VFXGBClassifier(**{name: "other"})
    with pytest.raises(ParameterError, match=wanted):
        model.set_params(max_depth=2, **{name: "other"})
    assert model.max_depth == TrainParams().max_depth, "a refused call changes nothing"


def test_one_and_true_are_different_values() -> None:
    assert VFXGBClassifier(num_parallel_tree=1)
    with pytest.raises(ParameterError, match="num_parallel_tree=True"):
        VFXGBClassifier(num_parallel_tree=True)


def test_names_that_nobody_knows_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"'max_depht'.*max_depth"):
        VFXGBClassifier(max_depht=3)


def test_none_is_the_default_as_in_xgboost(problem: Any) -> None:
    X, y = problem
    given = dict.fromkeys(("max_depth", "learning_rate", "subsample", "n_jobs", "reg_lambda", "random_state"))
    model = VFXGBClassifier(n_estimators=3, **given).fit(X, y)
    same = VFXGBClassifier(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize(("verbosity", "shown"), [(None, False), (0, False), (1, False), (2, True), (3, True)])
def test_verbosity_is_what_fit_shows(problem: Any, capsys: Any, verbosity: int | None, shown: bool) -> None:
    model = VFXGBClassifier(n_estimators=2, verbosity=verbosity).fit(*problem)
    assert bool(capsys.readouterr().out) is shown
    model.fit(*problem, verbose=False)
    assert not capsys.readouterr().out


def test_verbosity_out_of_range_is_refused(problem: Any) -> None:
    with pytest.raises(ParameterError, match="verbosity=4"):
        VFXGBClassifier(verbosity=4).fit(*problem)


class Counting(TrainingCallback):
    rounds = 0

    def after_iteration(self, state: TrainingState) -> bool:
        self.rounds += 1
        return False


def test_callbacks_may_be_parameters_and_arguments(problem: Any) -> None:
    first, second = Counting(), Counting()
    VFXGBClassifier(n_estimators=4, callbacks=[first]).fit(*problem, callbacks=[second])
    assert (first.rounds, second.rounds) == (4, 4)


@pytest.mark.parametrize("rounds", [(1, 1), (2, 1), (-1, 2), (0, 6), (0,), "ab", 3, (0.5, 2)])
def test_ranges_of_rounds_that_are_none(make: Any, problem: Any, rounds: Any) -> None:
    model = make().fit(*problem)
    with pytest.raises(ParameterError, match=r"iteration_range.*<= 5"):
        model.predict(problem[0], iteration_range=rounds)


def test_base_margins_that_are_none(make: Any, problem: Any) -> None:
    X, y = problem
    model = make().fit(X, y)
    with pytest.raises(LengthMismatchError, match="base_margin has shape"):
        model.predict(X, base_margin=np.zeros(len(y) + 1))
    with pytest.raises(LengthMismatchError, match="base_margin has shape"):
        model.predict(X, base_margin=np.zeros((len(y), 2)))
    with pytest.raises(ParameterError, match="NaN"):
        model.predict(X, base_margin=np.full(len(y), np.nan))
    with pytest.raises(ParameterError, match="no number"):
        model.predict(X, base_margin=["a"] * len(y))


def test_margins_and_leaves_are_not_asked_for_together(make: Any, problem: Any) -> None:
    model = make().fit(*problem)
    with pytest.raises(ParameterError, match="one of them"):
        model.predict(problem[0], output_margin=True, pred_leaf=True)
