"""Parameters: XGBoost's defaults, bounds, contradictions, and names that do not exist."""

import math
from typing import Any

import pytest

from vfxgb.errors import ParameterError, UnknownNameError
from vfxgb.params import TrainParams, parameter_names


def test_defaults_are_xgboosts() -> None:
    params = TrainParams()
    assert (params.n_estimators, params.max_depth, params.learning_rate) == (100, 6, 0.3)
    assert (params.reg_lambda, params.reg_alpha, params.gamma, params.min_child_weight) == (1.0, 0.0, 0.0, 1.0)
    assert (params.bins, params.subsample, params.colsample_bytree) == (256, 1.0, 1.0)
    assert math.isnan(params.missing)
    assert params.base_score is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", -1),
        ("n_estimators", 3.0),
        ("max_depth", 0),
        ("max_depth", True),
        ("learning_rate", -0.1),
        ("learning_rate", math.nan),
        ("learning_rate", "0.3"),
        ("reg_lambda", -1),
        ("gamma", math.inf),
        ("max_bin", 1),
        ("max_bin", 70_000),
        ("subsample", 0.0),
        ("subsample", 1.1),
        ("colsample_bynode", 0),
        ("sampling_method", "gradient_based"),
        ("missing", "NA"),
        ("missing_strategy", "drop"),
        ("random_state", -1),
        ("early_stopping_rounds", 0),
        ("reduced_leakage", 1),
        ("told_sample", 1),
        ("monotone_constraints", "(1,0)"),
        ("monotone_constraints", {"age": 2}),
        ("objective", 3),
    ],
)
def test_bad_values_name_the_parameter(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name}=.*wanted"):
        TrainParams(**{name: value})


@pytest.mark.parametrize(
    "values",
    [
        {"objective": "multi:softprob"},
        {"objective": "binary:logistic", "num_class": 2},
        {"objective": "reg:squarederror", "scale_pos_weight": 2.0},
        {"objective": "binary:logistic", "base_score": 1.0},
        {"objective": "count:poisson", "base_score": 0.0},
        {"sampling_method": "goss", "subsample": 0.5},
        {"sampling_method": "goss", "top_rate": 0.8, "other_rate": 0.3},
        {"sampling_method": "goss", "min_bucket_rows": 2},
        {"told_sample": True},
    ],
)
def test_contradictions(values: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        TrainParams(**values)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("max_dept", "max_depth"), ("eta", "learning_rate"), ("lambda", "reg_lambda"), ("seed", "random_state")],
)
def test_unknown_names_suggest_the_closest(name: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"no parameter '{name}'; did you mean '{meant}'"):
        TrainParams.from_dict({name: 1})


def test_unknown_objective() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'binary:logistic'"):
        TrainParams(objective="binary:logistics")


def test_from_dict_keeps_every_parameter() -> None:
    params = TrainParams(max_depth=3, objective="count:poisson")
    again = TrainParams.from_dict({name: getattr(params, name) for name in parameter_names()})
    assert {name: getattr(again, name) for name in parameter_names() if name != "missing"} == {
        name: getattr(params, name) for name in parameter_names() if name != "missing"
    }


def test_delta_step_default_depends_on_the_objective() -> None:
    assert TrainParams().delta_step == 0.0
    assert TrainParams(objective="count:poisson").delta_step == 0.7
    assert TrainParams(objective="count:poisson", max_delta_step=0).delta_step == 0.0


def test_constraints() -> None:
    names = ["a", "b", "c"]
    assert TrainParams().constraints(names) == ()
    assert TrainParams(monotone_constraints={"c": -1}).constraints(names) == (0, 0, -1)
    assert TrainParams(monotone_constraints=(1, 0, 0)).constraints(names) == (1, 0, 0)
    assert TrainParams(monotone_constraints=(0, 0, 0)).constraints(names) == ()
    with pytest.raises(ParameterError, match="monotone_constraints='d'"):
        TrainParams(monotone_constraints={"d": 1}).constraints(names)
    with pytest.raises(ParameterError, match="3 entries"):
        TrainParams(monotone_constraints=(1, 0)).constraints(names)
