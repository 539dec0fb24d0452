"""Data, splits into parties and comparisons that the conformance suite uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from protocol_variants import allows, params_of, protocol_of, spec_of, with_variants
from simulated_runs import fit_tables
from vfxgb.contract import ProtocolSpec
from vfxgb.data.table import Table
from vfxgb.model.pooled import PooledModel
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, register, shipped_protocols
from vfxgb.train.simulate import FitResult

N_TRAIN, N_ROWS, N_FEATURES = 220, 300, 6


@dataclass(frozen=True)
class Case:
    """A training problem: parameters, and how its data differs from the ordinary."""

    params: Mapping[str, Any]
    missing: float = 0.0
    weighted: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


CASES: dict[str, Case] = {
    "binary": Case({"objective": "binary:logistic"}),
    "multiclass": Case({"objective": "multi:softprob", "num_class": 3}),
    "regression": Case({"objective": "reg:squarederror", "reg_alpha": 0.5, "gamma": 0.1}),
    "poisson": Case({"objective": "count:poisson"}),
    "weights": Case({"objective": "binary:logistic", "scale_pos_weight": 2.5}, weighted=True),
    "missing": Case({"objective": "binary:logistic"}, missing=0.25),
    "missing multiclass": Case({"objective": "multi:softprob", "num_class": 3}, missing=0.1, weighted=True),
    "imputed": Case({"objective": "reg:squarederror", "missing_strategy": "median"}, missing=0.2),
    "imputed by regression": Case({"objective": "binary:logistic", "missing_strategy": "regression"}, missing=0.2),
    "conditional": Case({"objective": "binary:logistic", "missing_strategy": "conditional"}, missing=0.2),
    "probabilistic": Case({"objective": "reg:squarederror", "missing_strategy": "probabilistic"}, missing=0.2),
    "monotone": Case({"objective": "reg:squarederror", "monotone_constraints": (1, -1, 0, 0, 1, -1)}),
    "monotone missing": Case({"objective": "binary:logistic", "monotone_constraints": {"column_3": -1}}, missing=0.2),
    "subsample": Case({"objective": "binary:logistic", "subsample": 0.6}),
    "goss": Case({"objective": "binary:logistic", "sampling_method": "goss", "top_rate": 0.3, "other_rate": 0.2}),
    "told goss": Case(
        {"objective": "binary:logistic", "sampling_method": "goss", "told_sample": True, "min_bucket_rows": 6}
    ),
    "goss multiclass": Case({"objective": "multi:softprob", "num_class": 3, "sampling_method": "goss"}),
    "colsample bytree": Case({"objective": "reg:squarederror", "colsample_bytree": 0.4}),
    "colsample bylevel": Case({"objective": "reg:squarederror", "colsample_bylevel": 0.5}, missing=0.1),
    "colsample bynode": Case({"objective": "multi:softprob", "num_class": 3, "colsample_bynode": 0.5}),
    "min bucket rows": Case({"objective": "binary:logistic", "min_bucket_rows": 12}, missing=0.15),
    "step and child weight": Case({"objective": "binary:logistic", "max_delta_step": 0.3, "min_child_weight": 4.0}),
    "deep": Case({"objective": "reg:squarederror", "max_depth": 9, "max_bin": 128, "n_estimators": 2}),
    "stump": Case({"objective": "binary:logistic", "max_depth": 1}),
}


@dataclass(frozen=True)
class Problem:
    """Drawn data and parameters. Rows after N_TRAIN are an eval set."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    params: TrainParams

    def tables(self, n_parties: int) -> dict[str, Table]:
        """The columns divided in order among `n_parties` parties p0, p1, ..."""
        parts = np.array_split(np.arange(N_FEATURES), n_parties)
        return {
            f"p{i}": Table.read(self.X[:, columns], names=[f"column_{j}" for j in columns], party=f"p{i}")
            for i, columns in enumerate(parts)
        }


@pytest.fixture(scope="session")
def make_problem() -> Callable[..., Problem]:
    """make_problem(case name, seed, **other parameters)."""

    def make(name: str, seed: int = 0, **changes: Any) -> Problem:
        case = CASES[name]
        rng = np.random.default_rng(seed)
        # Coarse values make equal gains, and with them ties, common.
        X = np.round(rng.normal(size=(N_ROWS, N_FEATURES)), 1).astype(np.float32)
        # A column and its twin tie on every split: the lower id must win, whoever holds it.
        X[:, 4] = X[:, 1]
        signal = X[:, 0] + X[:, 1] * X[:, 5] - 0.5 * X[:, 3] + 0.4 * rng.normal(size=N_ROWS)
        params: dict[str, Any] = {"n_estimators": 4, "max_depth": 4, "max_bin": 24, "random_state": seed, "n_jobs": 1}
        params |= case.params
        objective = params["objective"]
        if objective == "binary:logistic":
            y = (signal > 0).astype(np.float64)
        elif objective == "multi:softprob":
            y = np.digitize(signal, (-0.7, 0.7)).astype(np.float64)
        elif objective == "count:poisson":
            y = rng.poisson(np.exp(np.clip(signal, -2, 2))).astype(np.float64)
        else:
            y = signal
        X[rng.random(X.shape) < case.missing] = np.nan
        weight = rng.uniform(0.2, 3.0, size=N_ROWS) if case.weighted else None
        return Problem(X, y, weight, TrainParams(**(params | changes)))

    return make


def precision_bits(protocol: str) -> int | None:
    """The fractional bits of gradients that a protocol asks for in this suite."""
    spec = spec_of(protocol)
    return spec.options(make_protocol_params(spec, params_of(protocol))).precision_bits


@pytest.fixture(scope="session")
def train() -> Callable[..., FitResult]:
    """train(problem, protocol, parties=2, active="p0", like=None).

    `like`: a protocol whose fractional bits `protocol` is to use.
    """

    def run(
        problem: Problem,
        protocol: str,
        n_parties: int = 2,
        active: str = "p0",
        like: str | None = None,
        **more: Any,
    ) -> FitResult:
        protocol_params = params_of(protocol)
        if like is not None and like != protocol:
            protocol_params["precision_bits"] = precision_bits(like)
        return fit_tables(
            problem.tables(n_parties),
            active,
            problem.y,
            problem.weight,
            N_TRAIN,
            problem.params,
            protocol=protocol_of(protocol),
            protocol_params=protocol_params,
            evals=[("valid", slice(N_TRAIN, N_ROWS))],
            **more,
        )

    return run


@pytest.fixture(scope="session")
def model_of() -> Callable[[FitResult], dict[str, Any]]:
    """model_of(result): everything that makes two models the same model, as plain Python values."""

    def model(result: FitResult) -> dict[str, Any]:
        pooled = PooledModel(result.active_share, result.passive_shares)
        arrays = ("tree_start", "feature", "default_left", "left", "right", "parent", "value", "gain", "cover")
        found = {name: getattr(pooled, name).tolist() for name in arrays}
        found["threshold"] = pooled.threshold[pooled.feature >= 0].tolist()
        found["base_margin"] = pooled.base_margin.tolist()
        found["margins"] = result.margins.tolist()
        found["evals"] = result.evals_result
        return found

    return model


def protocols_under_test(config: pytest.Config) -> tuple[str, ...]:
    """Those that vfxgb ships, with their variants, or the one of --protocol."""
    module = config.getoption("--protocol")
    if module is None:
        return with_variants(shipped_protocols())
    spec = import_module(module).SPEC
    register(spec)
    return (spec.name,)


# Fixture -> which protocols it is: every one, those whose models must equal plain's, those without noise in the model.
PROTOCOLS: dict[str, Callable[[ProtocolSpec], bool]] = {
    "protocol": lambda spec: True,
    "exact_protocol": lambda spec: spec.exact,
    "repeatable_protocol": lambda spec: spec.repeatable,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test over the protocols that it asks for, and over every `case` that they allow."""
    wanted = [name for name in PROTOCOLS if name in metafunc.fixturenames]
    cases = sorted(CASES) if "case" in metafunc.fixturenames else None
    for fixture in wanted:
        names = [name for name in protocols_under_test(metafunc.config) if PROTOCOLS[fixture](spec_of(name))]
        if cases is None:
            metafunc.parametrize(fixture, names)
        else:
            metafunc.parametrize(
                (fixture, "case"), [(name, case) for case in cases for name in names if allows(name, case)]
            )
    if cases is not None and not wanted:
        metafunc.parametrize("case", cases)
