"""The server's way to its users: sums over those of the moment, and what is published to all of them.

A *team* of users takes part in a round; the others are spares, who step in for a user that leaves before its vector
was asked for. Everything published is numbered. A user is asked for a vector only when it has read all of it: one that
was away is told first what it missed.

The users of the first sum of a tree are its *cohort*: all further sums of the tree are over the same users, because
sums over nearly the same users could be subtracted (secagg/guard.py, where users see to it themselves). The set-up and
the first tree have one cohort. When a user of the cohort is gone, it is waited for; then as many others are left out
with it as it takes to hide it among them. If that would leave too few, CohortError ends the tree at the levels it has.

A user whose process was started again has no keys: all users then agree on new ones before the next call. A server that
was started again takes from its journal (journal.py) what it was told before, and asks on after that.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np

from vfxgb.errors import AggregationError, CohortError, MessageError
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.journal import Answer, Journal, LeftOut, Opening, Refused, SetUp, task_digest
from vfxgb.horizontal.messages import MetricTask, Plan, Received, ScaleTask, Task, Trees, write_task
from vfxgb.horizontal.private_sums import PrivateSums
from vfxgb.horizontal.transcript import UsersTranscript
from vfxgb.rows.sampling import random_words
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.secagg.base import SETUP, Aggregate, Exchange, ServerRole, collect, require_users
from vfxgb.secagg.guard import NOT_COMPARED

T = TypeVar("T")

PUBLISH = "publish"
SETTING_UP = -1
TOGETHER = "all users together"


@dataclass
class Clock:
    """Where the run stands. `round` is SETTING_UP before the first round."""

    round: int = SETTING_UP
    depth: int = 0

    def __str__(self) -> str:
        return "set-up" if self.round == SETTING_UP else f"round {self.round}, depth {self.depth}"


class _AgainError(Exception):
    """Nothing was opened; a user that has just left may be back."""


def give_up(seconds: float, briefly: bool) -> bool:
    """What a simulation does: who is away stays away."""
    del seconds, briefly
    return False


@dataclass
class Calls:
    """`role` sums, `exchange` publishes; `n_users` counts all users there are.

    For the ledger: `calls` so far; `smallest`: fewest users of one;
    `changes`: how often the users of a call were others than those of the call before in the same round, and `nearest`:
    by how many at least; `benched`: how often users were left out to hide one that had gone. `again`: whether to try a
    call once more that failed because too few users were left, given the seconds since it was tried first; nothing of
    such a call was opened. Its second argument: whether to wait briefly only, because there is another way to go on.
    `note`: told (user, what happened to it). `private`: what sums with noise are; None where they have none.
    `transcript`: told of everything that is opened and published, where a simulation is recorded. `journal`: what
    earlier processes of this run were told, and where this one writes what it is told; None: nowhere.
    """

    role: ServerRole
    exchange: Exchange
    clock: Clock
    ledger: Ledger
    n_users: int
    timings: Timings
    job: Job
    again: Callable[[float, bool], bool] = give_up
    note: Callable[[int, str], None] = lambda user, what: None  # noqa: ARG005 - nobody listens
    private: PrivateSums | None = None
    transcript: UsersTranscript | None = None
    journal: Journal | None = None
    users: tuple[int, ...] = ()
    calls: int = 0
    smallest: int | None = None
    changes: int = 0
    nearest: int | None = None
    benched: int = 0
    _cohort: frozenset[int] | None = None
    _left_out: bool = False
    _recent: frozenset[int] = frozenset()
    _gone_since: float | None = None
    _asking: frozenset[int] | None = None
    _ready: frozenset[int] = frozenset()
    _team: list[int] = field(default_factory=list)
    _published: list[Plan | Trees] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)
    _came: set[int] = field(default_factory=set)
    _last: frozenset[int] | None = None

    @property
    def latest(self) -> tuple[int, ...]:
        """The users of the last sum of trees."""
        return tuple(sorted(self._last or ()))

    @property
    def hide_among(self) -> int:
        """By how many users two sets may differ at least, see vfxgb.secagg.guard.GuardRules."""
        return self.job.hidden(self.n_users)

    def set_up(self) -> None:
        """Let the aggregator agree on what it needs; everybody takes part. Raises AggregationError."""
        recalled = None if self.journal is None else self.journal.set_up()
        if recalled is None:
            # One that has gone meanwhile is waited for briefly: it may be started again.
            self.exchange.newcomers()
            expected, start = self.exchange.present(), time.monotonic()
            while True:
                self.users = self._checked(self._set_up)
                gone = expected.difference(self.users, self.exchange.present())
                back = any(self.exchange.newcomers().values())
                if not (gone or back) or not self.again(time.monotonic() - start, True):
                    break
            self._write(SetUp(list(self.users)))
            self._ready = frozenset(self.users)
        else:
            self.users = recalled
        self._known = dict.fromkeys(self.users, 0)
        self._team = list(self.users)

    def _set_up(self) -> tuple[int, ...]:
        with self.timings.phase("set-up"):
            users = self.role.set_up()
        require_users(SETUP, len(users), self.n_users, self.job.least(self.n_users))
        return users

    def _catch_up(self) -> None:
        """Tell users what they missed; where some have no keys, let all of them agree on new ones."""
        self._deliver()
        if not self._ready or self._came.intersection(self.users) - self._ready:
            self._ready = frozenset(self._set_up()).intersection(self.users)
        self._came.clear()

    def _write(self, entry: SetUp | Opening | LeftOut | Answer | Refused) -> None:
        if self.journal is not None:
            self.journal.add(entry)

    def begin_round(self, round_index: int) -> None:
        """Draw the team of a round; one whose sums can be compared with earlier ones has the same users."""
        self.clock.round, self.clock.depth = round_index, 0
        self._last = None
        if self._cohort is not None:
            return
        words = random_words(self.job.params.random_state, len(self.users), "team", round_index)
        size = self.job.users_per_round
        drawn = np.sort(np.argsort(words, kind="stable")[:size])
        self._team = [self.users[place] for place in drawn]

    def publish(self, message: Plan | Trees) -> None:
        """Send a message to every user, as soon as the user is there."""
        self._published.append(message)
        if self.transcript is not None:
            self.transcript.note_published(message)
        if self.job.compare == "tree" and isinstance(message, Trees) and message.changes_gradients():
            self._cohort = None

    def finish(self) -> None:
        """After the last round: the users that are there get the last trees."""
        self.clock.round, self.clock.depth = self.clock.round + 1, 0
        self._deliver()

    def sum(self, task: Task, needed: bool = True) -> Aggregate:
        """The sum of the users' vectors for `task`. Raises AggregationError, naming the place in the run.

        Raises CohortError where users of the cohort are missing; `needed`: only when they have been waited for as long
        as for users without whom there are too few.
        """
        data = write_task(task)
        compared = self.job.compare == "run" or not isinstance(task, ScaleTask | MetricTask)
        protected = compared and self.hide_among > NOT_COMPARED

        def attempt() -> Aggregate:
            self._catch_up()
            cohort = self._asking = self._cohort if protected else None
            spares = sorted(set(self.users) - set(self._team)) if cohort is None else []
            accept = partial(self._accept, cohort is not None, protected)
            try:
                with self.timings.phase("sum over users"):
                    # The whole team, so that thresholds do not shrink with it; who is away does not answer.
                    return self.role.aggregate(data, task.entries(), self._team, spares, accept)
            except AggregationError as error:
                if cohort is None or not self._left_out or isinstance(error, CohortError | MessageError):
                    raise
                # Enough users may be there, but some of them are left out to hide others.
                raise CohortError(str(error)) from error
            finally:
                self._asking = None

        answer = self._recalled(task_digest(data)) or self._asked(task_digest(data), attempt, needed, task)
        self.ledger.record(TOGETHER, "server", task, 0)
        if self.transcript is not None:
            self.transcript.note_sum(data, answer)
        if self.private is not None:
            self.private.record(task, task.entries(), self.ledger)
        self._count(frozenset(answer.users), protected or self.hide_among <= NOT_COMPARED)
        self._replace(answer.users)
        self._recent, self._gone_since = frozenset(answer.users), None
        if protected and self._cohort is None:
            self._cohort, self._left_out = frozenset(answer.users), False
        return answer

    def _asked(self, digest: bytes, attempt: Callable[[], Aggregate], needed: bool, task: Task) -> Aggregate:
        """Ask, and write down what comes of it if the run goes on with that."""
        try:
            answer = self._checked(lambda: self._patient(attempt, needed))
        except AggregationError as error:
            cohort = isinstance(error, CohortError)
            if not needed and (cohort or isinstance(task, MetricTask)):
                self._write(Refused(str(error), cohort, sorted(getattr(error, "missing", ()))))
            raise
        self._write(Answer(digest, list(answer.users), answer.sums.astype("<i8").tobytes()))
        return answer

    def _recalled(self, digest: bytes) -> Aggregate | None:
        """What an earlier process of this run was told; None where it was not told, and has to be asked for."""
        while self.journal is not None and (entry := self.journal.next()) is not None:
            if isinstance(entry, Opening):
                self._cohort, self._left_out = frozenset(entry.users), False
            elif isinstance(entry, LeftOut):
                self._cohort, self._left_out = frozenset(entry.cohort), True
                self.benched += 1
            elif isinstance(entry, Refused):
                raise (
                    CohortError(entry.text, frozenset(entry.missing)) if entry.cohort else AggregationError(entry.text)
                )
            elif isinstance(entry, Answer) and entry.task == digest:
                return Aggregate(entry.numbers(), tuple(entry.users))
            else:
                raise self.journal.unlike("the sum that is asked for next", entry)
        return None

    def _begin_with(self, protected: bool, users: Sequence[int]) -> None:
        """Users may open a sum that has no cohort. Of a tree these are the cohort from now on, should this process end.

        A user of the sum before that is gone is waited for briefly: raises _AgainError until then.
        """
        if self._recent.intersection(self._team).difference(users):
            self._gone_since = self._gone_since or time.monotonic()
            if self.again(time.monotonic() - self._gone_since, True):
                raise _AgainError
        if protected:
            self._write(Opening(list(users)))

    def asks(self, user: int) -> bool:
        """Whether the call under way is for this user: it is in the cohort, if there is one."""
        return self._asking is None or user in self._asking

    def _accept(self, has_cohort: bool, protected: bool, users: Sequence[int]) -> None:
        """Raise an error unless a sum over these users may be opened: the cohort is whole, and its noise enough."""
        if has_cohort:
            self._require_cohort(users)
        if self.private is not None:
            self.private.require(users)
        if not has_cohort:
            self._begin_with(protected, users)

    def _require_cohort(self, users: Sequence[int]) -> None:
        """Raise CohortError unless the whole cohort is there."""
        assert self._cohort is not None  # noqa: S101 - asked for with a cohort only
        missing = self._cohort.difference(users)
        if missing:
            names = ", ".join(map(str, sorted(missing)[:5])) + (", ..." if len(missing) > 5 else "")
            who = f"user {names} has" if len(missing) == 1 else f"users {names} have"
            raise CohortError(
                f"summing over users: {who} left in the middle; a sum without {'it' if len(missing) == 1 else 'them'} "
                f"beside the earlier ones would show what is hidden, so nothing was opened; wanted the same "
                f"{len(self._cohort)} users, or {self.hide_among} fewer. Begin a new run with the users that "
                "stay; or let all users agree to a smaller hide_among",
                missing,
            )

    def _patient(self, attempt: Callable[[], T], needed: bool) -> T:
        start = time.monotonic()
        while True:
            try:
                return attempt()
            except _AgainError:  # noqa: PERF203 - hardly ever
                continue
            except CohortError as error:
                seconds = time.monotonic() - start
                if self.again(seconds, True):
                    continue
                if self._leave_out(error.missing):
                    start = time.monotonic()
                elif not (needed and self.again(seconds, False)):
                    raise
            except AggregationError:
                if not self.again(time.monotonic() - start, False):
                    raise

    def _leave_out(self, missing: frozenset[int]) -> bool:
        """Go on without users that have left, and without as many others as hide them; False if too few were left."""
        assert self._cohort is not None  # noqa: S101 - somebody of it is missing
        count = max(self.hide_among, len(missing))
        if not missing or len(self._cohort) - count < self.job.wanted(len(self._team)):
            return False
        present = sorted(self._cohort - missing)
        words = random_words(self.job.params.random_state, len(present), "hidden among", self.calls)
        others = [present[place] for place in np.argsort(words, kind="stable")[: count - len(missing)]]
        self._cohort = self._cohort - missing - frozenset(others)
        self._left_out = True
        self._write(LeftOut(sorted(self._cohort)))
        self.benched += 1
        for user in sorted(missing):
            self.note(user, f"left in {self.clock}; until the next tree {count} users are left out, to hide it")
        return True

    def _checked(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except CohortError as error:
            raise CohortError(f"horizontal training, {self.clock}: {error}", error.missing) from error
        except AggregationError as error:
            raise AggregationError(f"horizontal training, {self.clock}: {error}") from error

    def knows_all(self, user: int) -> bool:
        """Whether the user has read everything published: one that has not cannot make a vector, and is as if away."""
        return self._known.get(user, 0) == len(self._published)

    def _deliver(self) -> None:
        """Tell users what they missed; one that was started again missed everything."""
        for user, anew in self.exchange.newcomers().items():
            self._came.add(user)
            if user in self._known and anew:
                self._known[user] = 0
                self._ready -= {user}
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

    def _count(self, users: frozenset[int], compared: bool) -> None:
        self.calls += 1
        self.smallest = len(users) if self.smallest is None else min(self.smallest, len(users))
        if not compared:
            return
        if self._last is not None and users != self._last:
            by = len(users ^ self._last)
            self.changes += 1
            self.nearest = by if self.nearest is None else min(self.nearest, by)
        self._last = users
