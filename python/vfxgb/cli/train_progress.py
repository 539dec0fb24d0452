"""How a training between processes shows itself: a bar of trees, loss, rate, bytes and time left, or plain lines."""

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from vfxgb.train.callbacks import TrainingCallback, TrainingState

MEGA = 1e6
# Plain lines at most this often, but always the first and the last round.
LINE_SECONDS = 2.0


def make_progress(total_bytes: Callable[[], int]) -> "Bar | Lines":
    """A bar on a terminal, lines elsewhere: a callback for rounds, with `step` for long steps and `stop` at last."""
    return Bar(total_bytes) if sys.stderr.isatty() else Lines(total_bytes)


class Lines(TrainingCallback):
    """A line now and then on stderr."""

    def __init__(self, total_bytes: Callable[[], int]) -> None:
        self._bytes = total_bytes
        self._start = self._shown = time.perf_counter()

    def before_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
        """Start the clock."""
        self._start = self._shown = time.perf_counter()

    def after_iteration(self, state: TrainingState) -> bool:
        """Show the first round, the last one, and one every two seconds."""
        now = time.perf_counter()
        done = state.iteration + 1
        if done in (1, state.n_estimators) or now - self._shown >= LINE_SECONDS:
            self._shown = now
            rate = (done - state.start) / max(now - self._start, 1e-9)
            left = (state.n_estimators - done) / rate
            words = [f"round {done}/{state.n_estimators}", loss(state), f"{rate:.2f} rounds/s"]
            words += [f"{self._bytes() / MEGA:.1f} MB", f"about {left:.0f} s left"]
            print("  ".join(word for word in words if word), file=sys.stderr, flush=True)
        return False

    def step(self, name: str, done: int, total: int) -> None:
        """Show a long step now and then."""
        now = time.perf_counter()
        if now - self._shown >= LINE_SECONDS:
            self._shown = now
            print(f"{name}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Nothing is to be taken away."""


class Bar(TrainingCallback):
    """A bar that is redrawn in place."""

    def __init__(self, total_bytes: Callable[[], int]) -> None:
        self._bytes = total_bytes
        self._task: TaskID | None = None
        self._steps: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[words]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
        )

    def before_training(self, state: TrainingState) -> None:
        """Show the bar."""
        self._progress.start()
        if self._task is None:
            self._task = self._progress.add_task("rounds", total=max(state.n_estimators, 1), words="")
        self._progress.update(self._task, completed=state.start)

    def after_iteration(self, state: TrainingState) -> bool:
        """Move it on."""
        if self._task is not None:
            words = f"{loss(state)}  {self._bytes() / MEGA:.1f} MB"
            self._progress.update(self._task, completed=state.iteration + 1, words=words)
        return False

    def progress(self, state: TrainingState, step: str, done: int, total: int) -> None:  # noqa: ARG002 - a hook
        """Show a long step of a round."""
        self.step(step, done, total)

    def step(self, name: str, done: int, total: int) -> None:
        """Show a long step; it goes when it is done."""
        self._progress.start()
        if name not in self._steps:
            self._steps[name] = self._progress.add_task(name, total=total, words="")
        self._progress.update(self._steps[name], completed=done)
        if done >= total:
            self._progress.remove_task(self._steps.pop(name))

    def after_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
        """Take it away."""
        self.stop()

    def stop(self) -> None:
        """Take it away, and leave the terminal as it was."""
        self._progress.stop()


def loss(state: TrainingState) -> str:
    """The last metric of the last eval set."""
    for name, metrics in reversed(state.evals_log.items()):
        for metric, values in reversed(metrics.items()):
            return f"{name}-{metric} {values[-1]:.5f}"
    return ""
