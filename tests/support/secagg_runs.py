"""Runs of an aggregator in one process, in which users drop out, messages are recorded, or somebody lies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import msgspec
import numpy as np

from vfxgb.errors import AggregationError
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import MASK, RECOVER, STAGES, UNMASK, Aggregate, Dealt, threshold_of
from vfxgb.secagg.guard import NOT_COMPARED, GuardRules, SetGuard
from vfxgb.secagg.simulation import Handler, Parties, simulate
from vfxgb.transport.messages import Message

# Message -> another in its place, or None to leave it
Change = Callable[[Any], Message | None]


class Run:
    """A server, set up with its users, and the vectors of the users, int64[n_users, n_entries].

    `drops`: user -> the stage it does not answer, to be changed between calls. `late`:
    users whose vectors arrive when the server has given them up. `asked`, `replied`: (user,
    message) of the last call, as they arrived. Spares have ids from `n_users` on. `compared`: users remember the sets
    of their sums, as real ones do; else one run serves many tests with other users in each call.
    """

    def __init__(
        self,
        aggregator: str,
        n_users: int = 6,
        n_entries: int = 4,
        n_spares: int = 0,
        set_up: bool = True,
        compared: bool = False,
        **params: Any,
    ) -> None:
        spec = aggregator_by_name(aggregator)
        self.params = make_aggregator_params(spec, {**spec.quick_params, **params})
        self.spec = spec if spec.deal is None else replace(spec, deal=lambda *given: _dealt(aggregator, *given))
        self.n_users = n_users
        self.x = np.random.default_rng(n_users).integers(-(2**50), 2**50, (n_users + n_spares, n_entries))
        self.drops: dict[int, str] = {}
        self.late: set[int] = set()
        self.asked: list[tuple[int, Message]] = []
        self.replied: list[tuple[int, Message]] = []
        self.spares = range(n_users, n_users + n_spares)
        self.parties: Parties = simulate(
            self.spec,
            self.params,
            range(n_users + n_spares),
            lambda user, _: self.x[user],
            self._absent,
            shared_checks=True,
            guard=None if compared else lambda _: SetGuard(GuardRules(hide_among=NOT_COMPARED)),
        )
        self._honest = dict(self.parties.exchange.handlers)
        self._ask = self.parties.exchange.ask
        self.parties.exchange.ask = self._ask_some  # type: ignore[method-assign]
        self.change()
        if set_up:
            self.parties.server.set_up()

    def call(
        self, users: Sequence[int] | None = None, spares: Sequence[int] | None = None, task: bytes = b"task"
    ) -> Aggregate:
        """One call over everybody, unless told otherwise."""
        self.asked.clear()
        self.replied.clear()
        users = range(self.n_users) if users is None else users
        spares = self.spares if spares is None else spares
        return self.parties.server.aggregate(task, self.x.shape[1], users, spares)

    def call_after(self, **drops: str) -> Aggregate:
        """A call in which users drop out: user_2="mask"."""
        self.drops = {int(name.removeprefix("user_")): stage for name, stage in drops.items()}
        return self.call()

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """The stages that the aggregator uses, in order."""
        costs = self.parties.exchange.costs
        before = self.drops
        for self.drops in ({}, {0: UNMASK}):
            with suppress(AggregationError):
                self.call()
        self.drops = before
        return tuple(stage for stage in STAGES if stage in costs)

    def check(self, result: Aggregate, users: Sequence[int]) -> None:
        """That the result is the sum over exactly these users."""
        assert result.users == tuple(users)
        np.testing.assert_array_equal(result.sums, self.x[list(users)].sum(axis=0))

    def requests(self, kind: type[Message]) -> dict[int, Any]:
        """The last call's requests of a kind, by user."""
        return {user: request for user, request in self.asked if isinstance(request, kind)}

    def replies(self, kind: type[Message]) -> dict[int, Any]:
        """The last call's replies of a kind, by user."""
        return {user: reply for user, reply in self.replied if isinstance(reply, kind)}

    def change(self, requests: Change | None = None, replies: Change | None = None, at: Sequence[int] = ()) -> None:
        """From now on the users in `at` get changed requests, or what they reply is changed on the way."""

        def wrap(user: int, role: Handler) -> Handler:
            lied = user in at

            def handle(request: Message) -> Message:
                if lied and requests is not None:
                    request = requests(request) or request
                self.asked.append((user, request))
                reply = role(request)
                if lied and replies is not None:
                    reply = replies(reply) or reply
                self.replied.append((user, reply))
                return reply

            return handle

        self.parties.exchange.handlers = {user: wrap(user, role) for user, role in self._honest.items()}

    def _ask_some(self, stage: str, requests: Mapping[int, Message], reply: type[Any]) -> Iterator[tuple[int, Any]]:
        for user, answer in self._ask(stage, requests, reply):
            if stage != MASK or user not in self.late:
                yield user, answer

    def _absent(self, stage: str, user: int) -> bool:
        return self.drops.get(user) == stage


@cache
def _dealt(aggregator: str, params: Any, users: tuple[int, ...]) -> Dealt:
    """Keys of a key centre, which are slow to make and the same for all runs of these parameters."""
    deal = aggregator_by_name(aggregator).deal
    assert deal is not None
    return deal(params, users)


def replaced(kind: type[Message], **changes: Any) -> Change:
    """Other fields in messages of a kind; a callable gets the old value."""

    def change(message: Message) -> Message | None:
        if not isinstance(message, kind):
            return None
        values = {name: new(getattr(message, name)) if callable(new) else new for name, new in changes.items()}
        return msgspec.structs.replace(message, **values)

    return change


def expected_users(run: Run, drops: Mapping[int, str]) -> tuple[int, ...] | None:
    """Whose sum a call without spares has to give; None if too few users are left at some stage."""
    wanted = max(threshold_of(run.params.threshold, run.n_users), run.params.min_users)
    left = set(range(run.n_users))
    summed: set[int] = set()
    for stage in run.stages:
        if stage == RECOVER and left == summed:
            continue
        left = {user for user in left if drops.get(user) != stage}
        if len(left) < wanted:
            return None
        if stage == MASK:
            summed = set(left)
    return tuple(sorted(summed))
