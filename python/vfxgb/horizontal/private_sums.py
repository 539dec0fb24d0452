"""What the server makes of sums with noise, and how they are entered in the ledger.

A count may come out negative, and a cell without rows may seem to have some. Whatever is made of a sum here uses
nothing but the sum and public numbers, so it costs nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import AggregationError
from vfxgb.horizontal.messages import LevelTask, Task
from vfxgb.horizontal.noise import kind_of
from vfxgb.horizontal.privacy import ONE, Kind, PrivacyPlan
from vfxgb.runtime.ledger import Ledger
from vfxgb.secagg.base import AggregatorSpec

# A count below so many standard deviations of its noise is taken for zero: one of 30,000 empty ones is not.
ABOVE_NOISE = 4.0


@dataclass(frozen=True)
class PrivateSums:
    """The server's side of a plan. `spec`: of the aggregator; `n_users`: all there are."""

    plan: PrivacyPlan
    spec: AggregatorSpec
    n_users: int

    @cached_property
    def reason(self) -> str:
        """Why the guarantee fails, empty if it does not."""
        if self.spec.security != "none":
            return ""
        return (
            f"aggregator {self.spec.name!r} shows the server the vector of every user, and the noise of one user alone "
            "is too little"
        )

    def record(self, task: Task, n_entries: int, ledger: Ledger) -> None:
        """Enter the releases that a sum was: one for every tree that it was about."""
        kind = kind_of(task, self.plan)
        assert kind is not None  # noqa: S101 - users answer nothing else
        event = self.plan.event(kind, int(getattr(task, "round", -1)), n_entries, self.reason)
        ledger.privacy.add(*[event] * (len(task.trees) if isinstance(task, LevelTask) else 1))

    def require(self, users: Sequence[int]) -> None:
        """Raise AggregationError for a sum over so few users that they make too little noise."""
        if len(users) < self.plan.settings.honest:
            raise AggregationError(
                f"summing over users: the vectors of {len(users)} users are there, wanted {self.plan.settings.honest}, "
                "for whom noise is planned; nothing was opened. Try again when more users are there, or begin a run "
                "with a smaller threshold"
            )

    def deviation(self, kind: Kind, column: int = 0) -> float:
        """Standard deviation of the noise in a sum over all users, in units of what is summed."""
        return self.plan.noise(kind).deviation(column, self.n_users) / ONE

    def rows(self, sums: NDArray[np.int64]) -> int:
        """How many rows there are, at least one."""
        return max(1, round(int(sums[0]) / ONE))

    def clear(self, kind: Kind, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts, with those that may be noise alone set to 0."""
        counts = np.rint(sums / ONE).astype(np.int64)
        return np.where(counts > ABOVE_NOISE * self.deviation(kind), counts, 0)

    def start(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of labels, or rows of classes: none is less than one row."""
        return np.maximum(sums, 1.0)
