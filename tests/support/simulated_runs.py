"""Trainings of all parties in this process, from tables and settings in one call."""

from collections.abc import Mapping, Sequence
from typing import Any

from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.engine.settings import EngineSettings
from vfxgb.params import TrainParams
from vfxgb.train import simulate
from vfxgb.train.callbacks import TrainingCallback


def fit_tables(
    tables: Mapping[str, Table | Source],
    active: str,
    y: Any,
    weight: Any,
    n_train: int,
    params: TrainParams,
    protocol: str = "plain",
    protocol_params: Mapping[str, Any] | None = None,
    evals: Sequence[tuple[str, slice]] = (),
    callbacks: Sequence[TrainingCallback] | None = None,
    engine: EngineSettings | None = None,
    **more: Any,
) -> simulate.FitResult:
    """Train; `more` are the other fields of simulate.SimulatedInput."""
    where = EngineSettings() if engine is None else engine
    given = simulate.SimulatedInput(tables, y, weight, n_train, evals, engine=where, **more)
    plan = simulate.plan_for(tables, active, params, protocol, protocol_params)
    return simulate.fit(given, plan, callbacks)
