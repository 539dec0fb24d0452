"""A progress bar for training: trees done, last loss, time left. On a terminal only.

    [########------------]  20/50 rounds  validation_0-logloss 0.43121  about 12 s left

The line is redrawn in place, at most ten times a second, and erased at the end. Where stderr is no terminal
(a file, a pipe) and metrics are asked for, `make_monitor` prints them line by line instead.
"""

import sys
import time
from typing import TextIO

from vfxgb.train.callbacks import EvalsLog, EvaluationMonitor, TrainingCallback, TrainingState, told_early_stopping

BAR_CELLS = 20
REDRAW_SECONDS = 0.1
# A run shorter than this needs no bar unless one was asked for.
PATIENCE_SECONDS = 2.0
ERASE_LINE = "\r\x1b[K"


class ProgressBar(TrainingCallback):
    """Draws the state of the run on `stream` (stderr), from `patience` seconds after its start on.

    `training`: where there is no eval set, the metric of the training rows is computed to be shown.
    """

    def __init__(self, stream: TextIO | None = None, patience: float = 0.0, training: bool = False) -> None:
        self.stream = stream
        self.patience = patience
        self.training = training
        self._start = 0.0
        self._step_start: float | None = None
        self._drawn: float | None = None

    def before_training(self, state: TrainingState) -> None:
        """Start the clock."""
        self._start = time.perf_counter()
        self._drawn = None

    def after_iteration(self, state: TrainingState) -> bool:
        """Redraw unless the last drawing is too recent."""
        now = time.perf_counter()
        if self._due(now):
            self._drawn = now
            shown = state.shown_metrics() if self.training else state.evals_log
            self._write(ERASE_LINE + progress_line(state, now - self._start, shown))
        return False

    def progress(self, state: TrainingState, step: str, done: int, total: int) -> None:
        """Draw a long step in place of the rounds."""
        now = time.perf_counter()
        if done == 1 or self._step_start is None:
            self._step_start = now
        if self._due(now):
            self._drawn = now
            self._write(ERASE_LINE + step_line(step, done, total, now - self._step_start))

    def _due(self, now: float) -> bool:
        return now - self._start >= self.patience if self._drawn is None else now - self._drawn >= REDRAW_SECONDS

    def after_training(self, state: TrainingState) -> None:
        """Erase the bar, and say how early stopping ended: what follows starts on a clean line."""
        if self._drawn is not None:
            words = told_early_stopping(state)
            self._write(ERASE_LINE + (f"{words}\n" if words else ""))

    def _write(self, text: str) -> None:
        stream = self.stream if self.stream is not None else sys.stderr
        stream.write(text)
        stream.flush()


def progress_line(state: TrainingState, elapsed: float, shown: EvalsLog | None = None) -> str:
    """The bar as text, `elapsed` seconds after the first round (of this process) began.

    Rounds to come are taken to cost as much each as those since then. `shown`: metrics, None for those of eval sets.
    """
    log = state.evals_log if shown is None else shown
    done, total = state.iteration + 1, max(state.n_estimators, 1)
    filled = BAR_CELLS * done // total
    parts = [f"[{'#' * filled}{'-' * (BAR_CELLS - filled)}]", f"{done}/{total} rounds"]
    if log:
        data, metrics = next(reversed(log.items()))
        if metrics:
            metric, values = next(reversed(metrics.items()))
            parts.append(f"{data}-{metric} {values[-1]:.5f}")
    parts.append(f"about {_duration(elapsed * (total - done) / max(done - state.start, 1))} left")
    return "  ".join(parts)


def step_line(step: str, done: int, total: int, elapsed: float) -> str:
    """A step of `total` equal units as text, `elapsed` seconds after its first unit was done."""
    filled = BAR_CELLS * done // total
    left = _duration(elapsed * (total - done) / max(done - 1, 1))
    return f"[{'#' * filled}{'-' * (BAR_CELLS - filled)}]  {step}: {done}/{total}  about {left} left"


def make_monitor(verbose: bool | int | None) -> list[TrainingCallback]:
    """The callbacks that `verbose` asks for.

    False: none. None: a bar if stderr is a terminal and the run takes longer than two seconds. True: a bar on a
    terminal, else a line of metrics per round. A number: a line every so many rounds. With True and numbers the metrics
    are those of the training rows where there is no eval set.
    """
    if verbose is False or (verbose == 0 and verbose is not None):
        return []
    if (verbose is None or verbose is True) and sys.stderr.isatty():
        return [ProgressBar(patience=PATIENCE_SECONDS if verbose is None else 0.0, training=verbose is True)]
    return [] if verbose is None else [EvaluationMonitor(period=int(verbose))]


def tell(text: str, verbose: bool | int | None) -> None:
    """Write `text` to stderr where `verbose` asks for words, or says nothing and stderr is a terminal."""
    if verbose or (verbose is None and sys.stderr.isatty()):
        sys.stderr.write(text + "\n")


def _duration(seconds: float) -> str:
    """Whole seconds, minutes from 100 s on, hours from 100 minutes on."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
