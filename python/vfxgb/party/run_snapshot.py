"""A run in progress, written down now and then: run.json, ledger.json and draft.json are all who looks on needs.

It costs next to nothing: at most once a second, and at most a hundredth of the time.
"""

import copy
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from vfxgb.dp.accountant import Accountant
from vfxgb.dp.event import Event
from vfxgb.party.folder import RunFolder
from vfxgb.party.record import RunRecord
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.callbacks import TrainingCallback, TrainingState

LOOK_SECONDS = 1.0
LOOK_SHARE = 0.01


@dataclass
class Look:
    """Writes a run that goes on to its folder. `view` gives the record as it stands; `ledger` is that of the run."""

    folder: RunFolder
    view: Callable[[], RunRecord]
    ledger: Ledger
    seldom: "Seldom" = field(default_factory=lambda: Seldom(LOOK_SECONDS, LOOK_SHARE))

    def take(self, events: Iterable[Event] = (), save: Callable[[], None] = lambda: None) -> None:
        """Write it down, if it is time: call after each round.

        `events` were released under differential privacy so far. `save` writes the share as it stands to draft.json.
        """
        self.seldom(lambda: self._write(events, save))

    def _write(self, events: Iterable[Event], save: Callable[[], None]) -> None:
        shown = copy.copy(self.ledger)
        shown.privacy = Accountant()
        shown.privacy.add(*events)
        # A disk that is full ends the run where something is lost by it: at the checkpoint, or at the end.
        with suppress(OSError):
            save()
            self.folder.write_ledger(shown)
            self.folder.write(self.view())


class Draft(TrainingCallback):
    """Is one of the callbacks of a training, and saves its share as it stands, where the training can do that."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._state: TrainingState | None = None

    def before_training(self, state: TrainingState) -> None:
        """From now on there are trees to save."""
        self._state = state

    def save(self) -> None:
        """Write draft.json. Raises OSError."""
        if self._state is not None:
            self._state.save(self._folder.path)


@dataclass
class Seldom:
    """Does work that should cost next to nothing at most once in `seconds`, and in `share` of the time."""

    seconds: float
    share: float
    next: float = 0.0

    def __call__(self, work: Callable[[], None]) -> None:
        """Do the work if it is time."""
        start = time.perf_counter()
        if start < self.next:
            return
        work()
        end = time.perf_counter()
        self.next = end + max(self.seconds, (end - start) / self.share)
