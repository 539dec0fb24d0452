"""Callbacks and the progress bar, driven by hand: what they do with a state, mostly without any training."""

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb import FedXGBClassifier, VFXGBClassifier
from vfxgb.errors import CallbackError
from vfxgb.train import progress
from vfxgb.train.callbacks import (
    Checkpoint,
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
    TrainingState,
    as_callbacks,
)
from vfxgb.train.progress import ProgressBar, make_monitor, progress_line, step_line


def play(callback: TrainingCallback, values: list[float], metric: str = "logloss") -> tuple[TrainingState, int]:
    """Drive the hooks with one value per round; the state, and how many rounds were run."""
    state = TrainingState(n_estimators=len(values), learning_rate=0.3, evals_log={"validation_0": {metric: []}})
    callback.before_training(state)
    done = 0
    for iteration, value in enumerate(values):
        state.iteration = iteration
        if callback.before_iteration(state):
            break
        state.evals_log["validation_0"][metric].append(value)
        done += 1
        if callback.after_iteration(state):
            break
    callback.after_training(state)
    return state, done


def test_the_base_class_does_nothing() -> None:
    state, done = play(TrainingCallback(), [1.0, 2.0])
    assert done == 2
    assert state.learning_rate == 0.3


def test_early_stopping_keeps_the_best_round_of_a_loss() -> None:
    state, done = play(EarlyStopping(2), [0.9, 0.7, 0.8, 0.7, 0.1])
    assert (state.best_iteration, state.best_score, done) == (1, 0.7, 4)


def test_early_stopping_knows_which_metrics_grow() -> None:
    state, done = play(EarlyStopping(2), [0.5, 0.7, 0.6, 0.65, 0.9], metric="auc")
    assert (state.best_iteration, state.best_score, done) == (1, 0.7, 4)
    state, done = play(EarlyStopping(1, maximize=True), [1.0, 2.0, 3.0, 2.5], metric="profit")
    assert (state.best_iteration, done) == (2, 4)


def test_early_stopping_wants_more_than_min_delta() -> None:
    state, done = play(EarlyStopping(2, min_delta=0.1), [1.0, 0.95, 0.91, 0.5])
    assert (state.best_iteration, done) == (0, 3)


def test_early_stopping_does_not_take_nan_for_the_best() -> None:
    state, _ = play(EarlyStopping(3), [math.nan, 0.5, math.nan, 0.6])
    assert (state.best_iteration, state.best_score) == (1, 0.5)


def test_early_stopping_forgets_the_run_before() -> None:
    callback = EarlyStopping(2)
    play(callback, [0.1, 0.2, 0.3])
    state, _ = play(callback, [0.9, 0.8])
    assert state.best_iteration == 1


@pytest.mark.parametrize(
    ("callback", "match"),
    [
        (EarlyStopping(1, data="train"), "'train'"),
        (EarlyStopping(1, metric="auc"), "'auc'"),
    ],
)
def test_early_stopping_names_what_is_not_there(callback: EarlyStopping, match: str) -> None:
    with pytest.raises(CallbackError, match=match):
        play(callback, [1.0])


def test_early_stopping_without_an_eval_set() -> None:
    with pytest.raises(CallbackError, match="eval_set"):
        EarlyStopping(1).after_iteration(TrainingState(1, 0.3))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_counts_must_be_positive_integers(value: object, tmp_path: Path) -> None:
    with pytest.raises(CallbackError, match="at least 1"):
        EarlyStopping(value)  # type: ignore[arg-type]
    with pytest.raises(CallbackError, match="at least 1"):
        EvaluationMonitor(value)  # type: ignore[arg-type]
    with pytest.raises(CallbackError, match="at least 1"):
        Checkpoint(tmp_path, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "0"])
def test_min_delta_must_be_a_number(value: object) -> None:
    with pytest.raises(CallbackError, match="min_delta"):
        EarlyStopping(1, min_delta=value)  # type: ignore[arg-type]


def test_the_monitor_prints_every_period_and_the_last_round() -> None:
    stream = io.StringIO()
    play(EvaluationMonitor(2, stream), [0.5, 0.4, 0.3, 0.25])
    assert stream.getvalue().splitlines() == [
        "[0]\tvalidation_0-logloss:0.50000",
        "[2]\tvalidation_0-logloss:0.30000",
        "[3]\tvalidation_0-logloss:0.25000",
    ]


def test_the_checkpoint_saves_every_so_many_rounds(tmp_path: Path) -> None:
    saved: list[tuple[int, Path]] = []
    callback = Checkpoint(tmp_path / "deep" / "folder", every=2)
    state = TrainingState(5, 0.3)
    state.save = lambda folder: saved.append((state.iteration, folder))
    callback.before_training(state)
    assert (tmp_path / "deep" / "folder").is_dir()
    for state.iteration in range(5):
        assert callback.after_iteration(state) is False
    assert saved == [(1, tmp_path / "deep" / "folder"), (3, tmp_path / "deep" / "folder")]


def test_a_state_without_a_way_to_save_says_so(tmp_path: Path) -> None:
    with pytest.raises(CallbackError, match="no way to save"):
        Checkpoint(tmp_path).after_iteration(TrainingState(1, 0.3))


def test_the_schedule_sets_each_rate() -> None:
    for rates in ([0.5, 0.25, 0.125], lambda i: 0.5 / 2**i):
        callback, seen = LearningRateScheduler(rates), []
        state = TrainingState(3, 0.3)
        callback.before_training(state)
        for state.iteration in range(3):
            callback.before_iteration(state)
            seen.append(state.learning_rate)
        assert seen == [0.5, 0.25, 0.125]


def test_a_schedule_that_is_too_short_or_not_positive() -> None:
    with pytest.raises(CallbackError, match="2 rates"):
        LearningRateScheduler([0.1, 0.1]).before_training(TrainingState(3, 0.3))
    for rate in (0.0, -1.0, math.nan, "x"):
        with pytest.raises(CallbackError, match="above 0"):
            LearningRateScheduler([rate]).before_iteration(TrainingState(1, 0.3))  # type: ignore[list-item]


def test_only_instances_of_callbacks_are_callbacks() -> None:
    assert as_callbacks(None) == []
    with pytest.raises(CallbackError, match="entry 1"):
        as_callbacks([TrainingCallback(), EarlyStopping])  # type: ignore[list-item]


def test_the_line_shows_rounds_loss_and_time_left() -> None:
    state = TrainingState(50, 0.3, iteration=19, evals_log={"validation_0": {"logloss": [0.5, 0.43121]}})
    line = progress_line(state, elapsed=8.0)
    assert line == "[########------------]  20/50 rounds  validation_0-logloss 0.43121  about 12 s left"
    assert "about 20 min left" in progress_line(TrainingState(50, 0.3, iteration=19), 800.0)
    assert "about 4.2 h left" in progress_line(TrainingState(50, 0.3, iteration=19), 10_000.0)


def test_the_bar_draws_in_place_and_erases_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 1.05, 2.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    stream = io.StringIO()
    play(ProgressBar(stream), [0.3, 0.2, 0.1])
    text = stream.getvalue()
    assert text.count("\r") == 3, "two drawings, as the one in between came too soon, and the erasure"
    assert "2/3" not in text
    assert text.endswith(progress.ERASE_LINE)
    assert "\n" not in text


def test_a_patient_bar_is_silent_in_a_short_run() -> None:
    stream = io.StringIO()
    play(ProgressBar(stream, patience=60.0), [0.3, 0.2])
    assert stream.getvalue() == ""


def test_a_bar_shows_a_long_step_in_place_of_the_rounds() -> None:
    stream = io.StringIO()
    bar, state = ProgressBar(stream), TrainingState(n_estimators=2, learning_rate=0.3)
    bar.before_training(state)
    bar.progress(state, "setting up", 1, 4)
    assert stream.getvalue() == progress.ERASE_LINE + "[#####---------------]  setting up: 1/4  about 0 s left"
    bar.progress(state, "setting up", 2, 4)
    assert "2/4" not in stream.getvalue(), "too soon"
    bar.after_training(state)
    assert stream.getvalue().endswith(progress.ERASE_LINE)
    assert step_line("setting up", 5, 10, 8.0) == "[##########----------]  setting up: 5/10  about 10 s left"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_verbose_chooses_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert make_monitor(False) == make_monitor(0) == make_monitor(None) == []
    (monitor,) = make_monitor(True)
    assert isinstance(monitor, EvaluationMonitor)
    assert monitor.period == 1
    (monitor,) = make_monitor(7)
    assert isinstance(monitor, EvaluationMonitor)
    assert monitor.period == 7
    monkeypatch.setattr("sys.stderr", Terminal())
    assert make_monitor(False) == []
    for verbose, patience in ((True, 0.0), (None, progress.PATIENCE_SECONDS)):
        (bar,) = make_monitor(verbose)
        assert isinstance(bar, ProgressBar)
        assert bar.patience == patience


@pytest.mark.parametrize("kind", [VFXGBClassifier, FedXGBClassifier])
@pytest.mark.parametrize("maximize", [True, False])
def test_a_metric_of_the_callers_says_which_way_is_better(kind: Any, maximize: bool) -> None:
    values = iter([0.5, 0.7, 0.9, 0.4, 0.3, 0.2])

    def given(labels: Any, predictions: Any) -> float:
        return next(values)

    given.maximize = maximize
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = kind(n_estimators=6, max_depth=1, eval_metric=given, early_stopping_rounds=6)
    model.fit(X, y, eval_set=[(X, y)], **({} if kind is VFXGBClassifier else {"users": np.arange(60) % 3}))
    assert (model.best_iteration_, model.best_score_) == ((2, 0.9) if maximize else (5, 0.2))
