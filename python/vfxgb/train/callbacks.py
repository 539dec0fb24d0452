"""What may watch or steer a training run: five hooks, each with a body that does nothing.

The active party calls the hooks of every callback, in the order of the list, from the thread that called `fit`:

    before_training -> (before_iteration -> [one round of trees] -> after_iteration)* -> after_training

A hook sees one `TrainingState`. It may set `state.learning_rate` before a round; an iteration hook that returns True
ends the training (the round under way is kept). `progress` is called now and then during a long step of a round, such
as the set-up of a protocol. An exception raised by a hook ends the run at every party and
reaches the caller of `fit` unchanged. `after_training` is not called then.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TextIO

from vfxgb.checks import is_int
from vfxgb.errors import CallbackError
from vfxgb.metric import METRICS, maximised

# name of the eval set -> name of the metric -> one value per finished round
EvalsLog = dict[str, dict[str, list[float]]]

# What the training rows are called where metrics are shown without an eval set.
TRAINING_ROWS = "train"

# Built-in metrics of which more is better.
MAXIMISED = maximised(tuple(METRICS.values()))


def _is_finite(value: object) -> bool:
    """Whether `value` is a finite real number of Python's or numpy's."""
    return isinstance(value, Real) and math.isfinite(float(value))


def _check_count(what: str, **given: int) -> None:
    for name, value in given.items():
        if not is_int(value) or value < 1:
            raise CallbackError(f"{what}: found {name}={value!r}, wanted an integer of at least 1")


def _cannot_save(_folder: Path) -> None:
    raise CallbackError("checkpoint: this run offers no way to save its shares; train through vfxgb.train.simulate.fit")


@dataclass(slots=True)
class TrainingState:
    """What a callback sees of a run, and the two things it may change.

    `iteration` counts rounds from 0; `evals_log` holds `iteration + 1` values per metric after a round and `iteration`
    before it. `learning_rate` scales the leaves of the next round. `best_iteration` and `best_score` are what early
    stopping found, None without it. `maximised` names the metrics of which more is better. `save(folder)` writes the
    share of every party as it stands (the shares known to this process) to `<folder>/<party>.json`, each atomically.
    `start`: rounds that were done before this process resumed the run, 0 for a run in one piece. `watched`: the eval
    set and metric that early stopping compares, "" without it. `training_metrics()`: metric -> its value now on the
    training rows, which is computed when it is asked for; empty where whoever trains does not see the rows.
    """

    n_estimators: int
    learning_rate: float
    iteration: int = 0
    evals_log: EvalsLog = field(default_factory=dict)
    best_iteration: int | None = None
    best_score: float | None = None
    maximised: frozenset[str] = MAXIMISED
    save: Callable[[Path], None] = _cannot_save
    start: int = 0
    watched: str = ""
    training_metrics: Callable[[], dict[str, float]] = dict

    def shown_metrics(self) -> EvalsLog:
        """What to show of the last round: metrics of the eval sets or, where there is none, of the training rows."""
        if self.evals_log:
            return self.evals_log
        metrics = self.training_metrics()
        return {TRAINING_ROWS: {name: [value] for name, value in metrics.items()}} if metrics else {}


class TrainingCallback:
    """Base of all callbacks: override the hooks that matter."""

    def before_training(self, state: TrainingState) -> None:
        """Once, after the parties have shaken hands and before the first round."""

    def before_iteration(self, state: TrainingState) -> bool:
        """Before each round; True ends the training without it."""
        return False

    def after_iteration(self, state: TrainingState) -> bool:
        """After each round, its metrics already in `state.evals_log`; True ends the training."""
        return False

    def progress(self, state: TrainingState, step: str, done: int, total: int) -> None:
        """During a round: `done` of the `total` units of a long step are done."""

    def after_training(self, state: TrainingState) -> None:
        """Once, after the last round, before the shares are sealed."""


def as_callbacks(callbacks: Sequence[TrainingCallback] | None) -> list[TrainingCallback]:
    """The list itself, each entry checked; None is an empty list. Raises CallbackError for anything else."""
    checked = list(callbacks) if callbacks is not None else []
    for position, callback in enumerate(checked):
        if not isinstance(callback, TrainingCallback):
            raise CallbackError(
                f"callbacks: entry {position} is {callback!r}, wanted an instance of a TrainingCallback; derive it "
                "from vfxgb.train.callbacks.TrainingCallback and pass an instance, not the class"
            )
    return checked


class EarlyStopping(TrainingCallback):
    """Stops when a metric on an eval set has not improved by more than `min_delta` for `rounds` rounds.

    `data` and `metric` name what is watched; None is the last eval set and the last metric given, as in XGBoost.
    `maximize` None takes the metric's own direction. The best round is left in `state.best_iteration`; prediction uses
    the rounds up to it. All rounds stay in the model.
    """

    def __init__(
        self,
        rounds: int,
        *,
        metric: str | None = None,
        data: str | None = None,
        maximize: bool | None = None,
        min_delta: float = 0.0,
    ) -> None:
        _check_count("early stopping", rounds=rounds)
        if not _is_finite(min_delta) or min_delta < 0:
            raise CallbackError(f"early stopping: found min_delta={min_delta!r}, wanted a finite number of at least 0")
        self.rounds = rounds
        self.metric = metric
        self.data = data
        self.maximize = maximize
        self.min_delta = float(min_delta)

    def before_training(self, state: TrainingState) -> None:
        """Forget what an earlier run left, so that one instance may serve several fits; a resumed run goes on."""
        if state.start == 0:
            state.best_iteration = None
            state.best_score = None

    def after_iteration(self, state: TrainingState) -> bool:
        """Compare this round's value with the best so far."""
        value, sign = self._current(state)
        best = state.best_score
        if best is None or sign * value > sign * best + self.min_delta or (math.isnan(best) and not math.isnan(value)):
            state.best_score = value
            state.best_iteration = state.iteration
        assert state.best_iteration is not None  # noqa: S101 - set at the first round at the latest
        return state.iteration - state.best_iteration >= self.rounds

    def _current(self, state: TrainingState) -> tuple[float, int]:
        """The watched value of the last round, and +1 if more of it is better, else -1."""
        log = state.evals_log
        if not log:
            raise CallbackError("early stopping: no eval set to watch; pass eval_set=[(X, y)] to fit")
        data = self.data if self.data is not None else next(reversed(log))
        if data not in log:
            raise CallbackError(f"early stopping: no eval set {data!r}; this run has {', '.join(map(repr, log))}")
        metrics = log[data]
        if not metrics:
            raise CallbackError(f"early stopping: eval set {data!r} has no metric; set eval_metric")
        metric = self.metric if self.metric is not None else next(reversed(metrics))
        if metric not in metrics:
            raise CallbackError(
                f"early stopping: eval set {data!r} has no metric {metric!r}, only {', '.join(map(repr, metrics))}; "
                "add it to eval_metric"
            )
        maximize = self.maximize if self.maximize is not None else metric in state.maximised
        state.watched = f"{data} {metric}"
        return metrics[metric][-1], 1 if maximize else -1


def early_stopping_words(rounds: int, planned: int, best_iteration: int, best_score: float | None, watched: str) -> str:
    """How early stopping ended a training of `rounds` rounds, in words; "" parts are left out.

    `watched`: eval set and metric. Rounds are counted from 1 here: "after 28 rounds" is best_iteration 27.
    """
    score = "" if best_score is None else f" ({best_score:.6g})"
    best = f"{watched or 'the metric'} was best after {best_iteration + 1} round{'s' if best_iteration else ''}{score}"
    if rounds < planned:
        return f"stopped early after {rounds} of {planned} rounds: {best}, and predictions use these"
    return f"early stopping did not end the training: {best}, and predictions use these"


def told_early_stopping(state: TrainingState) -> str:
    """How early stopping ended the training that left this state, in words; "" without early stopping."""
    if state.best_iteration is None:
        return ""
    rounds = state.iteration + 1
    return early_stopping_words(rounds, state.n_estimators, state.best_iteration, state.best_score, state.watched)


class EvaluationMonitor(TrainingCallback):
    """Prints the metrics of every `period`-th round and of the last, in XGBoost's format, to `stream` (stdout).

    Without an eval set they are those of the training rows. At the end it says how early stopping ended the training.
    """

    def __init__(self, period: int = 1, stream: TextIO | None = None) -> None:
        _check_count("evaluation monitor", period=period)
        self.period = period
        self.stream = stream
        self._is_due = False

    def after_iteration(self, state: TrainingState) -> bool:
        """Print the round if its number is a multiple of the period."""
        self._is_due = state.iteration % self.period != 0
        if not self._is_due:
            self._print(self._line(state))
        return False

    def after_training(self, state: TrainingState) -> None:
        """Print the last round if its number was no multiple of the period, and how early stopping ended."""
        if self._is_due:
            self._print(self._line(state))
            self._is_due = False
        words = told_early_stopping(state)
        if words:
            self._print(words)

    def _line(self, state: TrainingState) -> str:
        parts = [f"[{state.iteration}]"]
        for data, metrics in state.shown_metrics().items():
            parts += [f"{data}-{metric}:{values[-1]:.5f}" for metric, values in metrics.items()]
        return "\t".join(parts)

    def _print(self, line: str) -> None:
        # Looked up at the call: tests and notebooks replace sys.stdout.
        print(line, file=self.stream if self.stream is not None else sys.stdout, flush=True)


class Checkpoint(TrainingCallback):
    """Writes the shares of the model to `folder` after every `every`-th round, each file atomically."""

    def __init__(self, folder: str | Path, every: int = 1) -> None:
        _check_count("checkpoint", every=every)
        self.folder = Path(folder)
        self.every = every

    def before_training(self, state: TrainingState) -> None:
        """Make the folder now: a mistake in its name should not cost the first rounds."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def after_iteration(self, state: TrainingState) -> bool:
        """Save when it is time."""
        if (state.iteration + 1) % self.every == 0:
            state.save(self.folder)
        return False


class LearningRateScheduler(TrainingCallback):
    """Sets the learning rate of each round: a function of the round's number, or one value per round."""

    def __init__(self, rates: Callable[[int], float] | Sequence[float]) -> None:
        self.rates = rates

    def before_training(self, state: TrainingState) -> None:
        """Refuse a list that is too short before anything is trained."""
        if not callable(self.rates) and len(self.rates) < state.n_estimators:
            raise CallbackError(
                f"learning-rate schedule: found {len(self.rates)} rates, wanted one for each of the "
                f"{state.n_estimators} rounds; add rates or lower n_estimators"
            )

    def before_iteration(self, state: TrainingState) -> bool:
        """Set the rate of the round to come."""
        rate = self.rates(state.iteration) if callable(self.rates) else self.rates[state.iteration]
        if not _is_finite(rate) or rate <= 0:
            raise CallbackError(
                f"learning-rate schedule: round {state.iteration} got {rate!r}, wanted a finite number above 0"
            )
        state.learning_rate = float(rate)
        return False
