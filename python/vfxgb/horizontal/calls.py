"""The server's way to its users: sums over those of the moment, and what is published to all of them.

A *team* of users takes part in a round; the others are spares, who step in for a user that leaves before its vector
was asked for. Everything published is numbered. A user is asked for a vector only when it has read all of it: one that
was away is told first what it missed.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np

from vfxgb.errors import AggregationError, MessageError
from vfxgb.horizontal.messages import Plan, Received, Task, Trees, write_task
from vfxgb.numeric.sampling import random_words
from vfxgb.secagg.base import SETUP, Aggregate, Exchange, ServerRole, collect, require_users
from vfxgb.train.ledger import Ledger
from vfxgb.train.timings import Timings

T = TypeVar("T")

PUBLISH = "publish"
SETTING_UP = -1
TOGETHER = "all users together"


@dataclass
class Clock:
    """Where the run stands. `round`: SETTING_UP before the first."""

    round: int = SETTING_UP
    depth: int = 0

    def __str__(self) -> str:
        return "set-up" if self.round == SETTING_UP else f"round {self.round}, depth {self.depth}"


def give_up(seconds: float) -> bool:
    """What a simulation does: who is away stays away."""
    del seconds
    return False


@dataclass
class Calls:
    """`role` sums, `exchange` publishes; `n_users` all there are, `least` as many must come to the set-up.

    `team_size`: users of a round, None for all. For the ledger: `calls` so far; `smallest`: fewest users of one;
    `changes`: how often the users of a call were others than those of the call before in the same round, and `nearest`:
    by how many at least. `again`: whether to try a call once more that failed because too few users were left,
    given the seconds since it was tried first; nothing of such a call was opened.
    """

    role: ServerRole
    exchange: Exchange
    clock: Clock
    ledger: Ledger
    n_users: int
    timings: Timings
    least: int
    team_size: int | None = None
    seed: int = 0
    again: Callable[[float], bool] = give_up
    users: tuple[int, ...] = ()
    calls: int = 0
    smallest: int | None = None
    changes: int = 0
    nearest: int | None = None
    _team: list[int] = field(default_factory=list)
    _published: list[Plan | Trees] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)
    _last: frozenset[int] | None = None

    def set_up(self) -> None:
        """Let the aggregator agree on what it needs; everybody takes part. Raises AggregationError."""
        with self.timings.phase("set-up"):
            self.users = self._checked(self._set_up)
        self._known = dict.fromkeys(self.users, 0)
        self._team = list(self.users)

    def _set_up(self) -> tuple[int, ...]:
        users = self.role.set_up()
        require_users(SETUP, len(users), self.n_users, self.least)
        return users

    def begin_round(self, round_index: int) -> None:
        """Draw the team of a round."""
        self.clock.round, self.clock.depth = round_index, 0
        self._last = None
        size = len(self.users) if self.team_size is None else min(self.team_size, len(self.users))
        words = random_words(self.seed, len(self.users), "team", round_index)
        drawn = np.sort(np.argsort(words, kind="stable")[:size])
        self._team = [self.users[place] for place in drawn]

    def publish(self, message: Plan | Trees) -> None:
        """For every user, as soon as it is there."""
        self._published.append(message)

    def finish(self) -> None:
        """After the last round: the users that are there get the last trees."""
        self.clock.round, self.clock.depth = self.clock.round + 1, 0
        self._deliver()

    def sum(self, task: Task) -> Aggregate:
        """The sum of the users' vectors for `task`. Raises AggregationError, naming the place in the run."""
        data = write_task(task)

        def attempt() -> Aggregate:
            self._deliver()
            spares = sorted(set(self.users) - set(self._team))
            with self.timings.phase("sum over users"):
                # The whole team, so that thresholds do not shrink with it; who is away does not answer.
                return self.role.aggregate(data, task.entries(), self._team, spares)

        found = self._checked(lambda: self._patient(attempt))
        self.ledger.record(TOGETHER, "server", task, 0)
        self._note(frozenset(found.users))
        self._replace(found.users)
        return found

    def _patient(self, attempt: Callable[[], T]) -> T:
        start = time.monotonic()
        while True:
            try:
                return attempt()
            except AggregationError:  # noqa: PERF203 - hardly ever
                if not self.again(time.monotonic() - start):
                    raise

    def _checked(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except AggregationError as error:
            raise AggregationError(f"horizontal training, {self.clock}: {error}") from error

    def knows_all(self, user: int) -> bool:
        """Whether the user has read everything published: one that has not cannot make a vector, and is as if away."""
        return self._known.get(user, 0) == len(self._published)

    def _deliver(self) -> None:
        """Tell users what they missed."""
        for number, message in enumerate(self._published):
            behind = [user for user in self.users if self._known[user] == number]
            if not behind:
                continue
            collect(self.exchange, PUBLISH, dict.fromkeys(behind, message), Received, partial(self._received, number))

    def _received(self, number: int, user: int, reply: Received) -> None:
        # More than the message says, if earlier answers of the user got lost.
        if not number <= reply.rounds < len(self._published):
            raise MessageError(f"publishing to user {user}: it knows {reply.rounds} rounds now, wanted {number}")
        self._known[user] = reply.rounds + 1

    def _replace(self, users: Sequence[int]) -> None:
        """Spares that stepped in belong to the team from now on, in place of users that left."""
        came = sorted(set(users) - set(self._team))
        if not came:
            return
        left = sorted(set(self._team) - set(users))[: len(came)]
        self._team = sorted((set(self._team) - set(left)) | set(came))

    def _note(self, users: frozenset[int]) -> None:
        self.calls += 1
        self.smallest = len(users) if self.smallest is None else min(self.smallest, len(users))
        if self._last is not None and users != self._last:
            by = len(users ^ self._last)
            self.changes += 1
            self.nearest = by if self.nearest is None else min(self.nearest, by)
        self._last = users
