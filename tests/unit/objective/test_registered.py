"""An objective is one file: whatever asks about it asks its SPEC. Shown with one that vfxgb does not ship."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pseudo_huber
from entry_points import install
from vfxgb import FedXGBRegressor, VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import ExportError, ParameterError, ProtocolParameterError, RegistrationError, UnknownNameError
from vfxgb.metric import make_metric
from vfxgb.objective import objective_names, register, shipped_objectives, spec_of
from vfxgb.params import TrainParams
from vfxgb.registry import Registry

NAME = "robust:pseudohuber"
COLUMNS = {"parties": {"bank": [0, 1], "shop": [2, 3]}, "active": "bank", "protocol": "plain"}


def problem(rows: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 4))
    return X, X[:, 0] * X[:, 2] + (rng.random(rows) < 0.05) * 40.0


@pytest.fixture
def registered(objectives: Registry) -> None:
    register(pseudo_huber.SPEC)


def test_files_are_there_by_presence() -> None:
    assert shipped_objectives() == (
        "binary:hinge",
        "binary:logistic",
        "binary:logitraw",
        "count:poisson",
        "multi:softmax",
        "multi:softprob",
        "reg:absoluteerror",
        "reg:gamma",
        "reg:pseudohubererror",
        "reg:quantileerror",
        "reg:squarederror",
        "reg:tweedie",
    )
    assert all(spec_of(name).name == name for name in shipped_objectives())
    with pytest.raises(UnknownNameError, match="there is no objective 'robust:pseudohuber'"):
        TrainParams(objective=NAME)


@pytest.mark.usefixtures("registered")
def test_it_trains_predicts_and_exports(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = problem()
    model = VFXGBRegressor(n_estimators=8, max_depth=3, max_bin=16, objective=NAME, **COLUMNS)
    model.fit(X, y, eval_set=[(X, y)])
    (metric,) = model.evals_result_["validation_0"]
    assert metric == "huberloss"
    losses = model.evals_result_["validation_0"]["huberloss"]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(pseudo_huber.mean_loss(y, model.predict(X), np.ones(len(y))), rel=1e-6)
    model.export_xgboost(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    assert "reg:pseudohubererror" in booster.save_config()
    theirs = booster.predict(xgboost.DMatrix(X, feature_names=booster.feature_names))
    np.testing.assert_allclose(theirs, model.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("registered")
def test_it_trains_over_users() -> None:
    X, y = problem()
    model = FedXGBRegressor(n_estimators=3, max_depth=2, max_bin=8, objective=NAME)
    model.fit(X, y, users=np.arange(len(y)) % 3)
    assert np.abs(model.predict(X) - np.median(y)).mean() < np.abs(y - y.mean()).mean()


@pytest.mark.usefixtures("registered")
def test_its_ranges_are_those_of_noise() -> None:
    """Bounded gradients need no clip; hessians that depend on labels must not travel in clear."""
    X, y = problem(120)
    private = {"mechanism": "hybrid", "total_epsilon": 50.0}
    settings = {"n_estimators": 1, "max_depth": 2, "max_bin": 8, "objective": NAME, **COLUMNS, "protocol": "ldp"}
    noisy = VFXGBRegressor(**settings, protocol_params={**private, "hessians": "noisy"})
    assert np.isfinite(noisy.fit(X, y).predict(X)).all()
    with pytest.raises(ProtocolParameterError, match="hessians depend on labels"):
        VFXGBRegressor(**settings, protocol_params={**private, "hessians": "clear"}).fit(X, y)


@pytest.mark.usefixtures("registered")
def test_parameters_ask_its_spec() -> None:
    assert NAME in objective_names()
    assert TrainParams(objective=NAME).delta_step == 0.0
    with pytest.raises(ParameterError, match=f"num_class=3, wanted 1 with objective='{NAME}'"):
        TrainParams(objective=NAME, num_class=3)
    with pytest.raises(ParameterError, match=r"scale_pos_weight=2\.0, wanted 1"):
        TrainParams(objective=NAME, scale_pos_weight=2.0)
    assert make_metric("huberloss") is pseudo_huber.SPEC.metrics[0]
    X, y = problem(40)
    with pytest.raises(ParameterError, match="for a classifier; use VFXGBRegressor"):
        VFXGBClassifier(objective=NAME).fit(X, y > 0)


def test_what_its_spec_says_is_what_happens(objectives: Registry) -> None:
    changed = dataclasses.replace(
        pseudo_huber.SPEC,
        name="reg:other",
        max_delta_step=0.5,
        base_score=(0.0, 9.0, "a price above 0 and below 9"),
        xgboost=None,
        make=lambda _: Other(),
    )

    class Other(pseudo_huber.PseudoHuber):
        @property
        def spec(self) -> Any:
            return changed

    register(changed)
    assert TrainParams(objective="reg:other").delta_step == 0.5
    with pytest.raises(ParameterError, match=r"base_score=9\.5, wanted a price above 0 and below 9 with objective"):
        TrainParams(objective="reg:other", base_score=9.5)
    X, y = problem(60)
    model = VFXGBRegressor(n_estimators=1, max_depth=1, max_bin=4, objective="reg:other", **COLUMNS).fit(X, y)
    with pytest.raises(ExportError, match="objective 'reg:other' is unknown to XGBoost"):
        model.export_xgboost("nowhere.json")


@pytest.mark.parametrize("name", ["binary:logistic", "custom", "huber", "reg:pseudo huber"])
def test_names_that_are_refused(objectives: Registry, name: str) -> None:
    with pytest.raises(RegistrationError, match=r"there is another one|wanted an ObjectiveSpec of"):
        register(dataclasses.replace(pseudo_huber.SPEC, name=name))


def test_by_entry_point(tmp_path: Path) -> None:
    """A process in which the package is installed knows the objective, and nobody imports it by hand."""
    code = (
        "import numpy as np; from vfxgb import VFXGBRegressor; X = np.arange(40.0).reshape(20, 2);"
        f"print(VFXGBRegressor(n_estimators=2, objective={NAME!r}).fit(X, X[:, 0]).evals_result_,"
        "__import__('vfxgb').objective.objective_names())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=install(tmp_path, "vfxgb.objectives", f"{NAME} = pseudo_huber:SPEC"),
    )
    assert run.returncode == 0, run.stderr
    assert NAME in run.stdout
