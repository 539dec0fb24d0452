"""The server's way to its users: sums over those of the moment, and what is published to all of them.

A *team* of users takes part in a round; the others are spares, who step in for a user that leaves before its vector
was asked for. Everything published is numbered. A user is asked for a vector only when it has read all of it: one that
was away is told first what it missed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from vfxgb.errors import AggregationError, MessageError
from vfxgb.horizontal.messages import Plan, Received, Task, Trees, write_task
from vfxgb.secagg.base import Aggregate, Exchange, ServerRole
from vfxgb.train.ledger import Ledger
from vfxgb.train.timings import Timings
from vfxgb.tree.sampling import random_words

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


@dataclass
class Calls:
    """`role` sums, `exchange` publishes. `team_size`: users of a round, None for all. `threshold`: as users gave it.

    `min_users`: fewest users whose sum may be opened. `sets`: users of each call so far in this round, oldest first.
    """

    role: ServerRole
    exchange: Exchange
    clock: Clock
    ledger: Ledger
    timings: Timings
    threshold: int | float | None
    min_users: int
    team_size: int | None = None
    seed: int = 0
    users: tuple[int, ...] = ()
    # How often a later call of a round was over nearly the same users as an earlier one, and not the same.
    narrow: int = 0
    smallest: int | None = None
    calls: int = 0
    _team: list[int] = field(default_factory=list)
    _published: list[Plan | Trees] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)
    _last: frozenset[int] | None = None

    def set_up(self) -> None:
        """Let the aggregator agree on what it needs; everybody takes part. Raises AggregationError."""
        with self.timings.phase("set-up"):
            self.users = self._checked(self.role.set_up)
        self._known = dict.fromkeys(self.users, 0)
        self._team = list(self.users)

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
        ready = self._deliver()
        team = [user for user in self._team if user in ready]
        spares = sorted(ready - set(self._team))
        wanted = self.threshold if isinstance(self.threshold, int) else 1
        if len(team) + len(spares) < wanted:
            raise self._failure(f"{len(team)} of {len(self._team)} users are there, wanted at least {wanted}")
        data = write_task(task)
        with self.timings.phase("sum over users"):
            found = self._checked(lambda: self.role.aggregate(data, task.entries(), team, spares))
        self.ledger.record(TOGETHER, "server", task, 0)
        self._note(frozenset(found.users))
        self._replace(found.users)
        return found

    def _checked(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except AggregationError as error:
            raise self._failure(str(error)) from error

    def _failure(self, reason: str) -> AggregationError:
        return AggregationError(f"horizontal training, {self.clock}: {reason}")

    def _deliver(self) -> set[int]:
        """Tell users what they missed; returns those who know everything."""
        for number, message in enumerate(self._published):
            behind = [user for user in self.users if self._known[user] == number]
            if not behind:
                continue
            for user, reply in self.exchange.ask(PUBLISH, dict.fromkeys(behind, message), Received):
                if reply.rounds != number:
                    raise MessageError(
                        f"publishing to user {user}: it knows {reply.rounds} rounds now, wanted {number}"
                    )
                self._known[user] = number + 1
        return {user for user in self.users if self._known[user] == len(self._published)}

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
        if self._last is not None and 0 < len(users ^ self._last) < self.min_users:
            self.narrow += 1
        self._last = users
