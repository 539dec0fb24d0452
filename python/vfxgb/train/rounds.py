"""The rounds of a training, whoever trains: callbacks around each, and metrics after it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.metric import Metric
from vfxgb.objective import Objective
from vfxgb.train.callbacks import EvalsLog, TrainingCallback, TrainingState


def run_rounds(
    n_rounds: int,
    state: TrainingState,
    callbacks: Sequence[TrainingCallback],
    boost: Callable[[int, float], None],
    evaluate: Callable[[TrainingState], None],
    finished: Callable[[TrainingState, bool], None] = lambda state, stopped: None,  # noqa: ARG005
) -> None:
    """From round state.start to `n_rounds`: boost(round, learning rate), evaluate(state); callbacks may end it early.

    `finished` is called at the end of each round, with whether it is the last because a callback said so.
    """
    for callback in callbacks:
        callback.before_training(state)
    for round_index in range(state.start, n_rounds):
        state.iteration = round_index
        # Every callback sees every round, whatever another one wants.
        stops = [callback.before_iteration(state) for callback in callbacks]
        if any(stops):
            break
        boost(round_index, state.learning_rate)
        evaluate(state)
        stops = [callback.after_iteration(state) for callback in callbacks]
        finished(state, any(stops))
        if any(stops):
            break
    for callback in callbacks:
        callback.after_training(state)


def evaluate(
    log: EvalsLog,
    evals: Sequence[tuple[str, slice]],
    objective: Objective,
    metrics: Sequence[Metric],
    read: Callable[[slice], tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32] | None]],
) -> None:
    """Append to `log` the metrics of each eval set, a named slice of rows; `read`: labels, margins, weights of some."""
    for name, rows in evals:
        labels, margins, weights = read(rows)
        predictions = objective.transform(margins)
        of_set = log.setdefault(name, {})
        for metric in metrics:
            value = metric(labels, predictions, weights)
            of_set.setdefault(metric.name, []).append(value)
