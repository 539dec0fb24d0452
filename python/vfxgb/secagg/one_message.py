"""Aggregators whose users send one message per call, with their vector: plain, ibmhom and fpe. What they share.

Nobody drops out before the vectors are asked for, so no spare takes the place of another user.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.secagg.base import (
    MASK,
    Accept,
    Aggregate,
    ServerContext,
    UserContext,
    accept_any,
    collect,
    require_users,
    threshold_of,
)
from vfxgb.transport.messages import Message


class OneMessageServer(ABC):
    """A ServerRole. An aggregator adds what it asks for, how it adds vectors up and how it opens their sum.

    `VECTOR` is the class of the users' messages; they have a field `call`.
    """

    VECTOR: ClassVar[type[Message]]

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._call = context.first_call

    @abstractmethod
    def _begin(self, task: bytes, n_entries: int, users: Sequence[int]) -> Message:
        """Begin an empty sum, and return what users are asked. Raises AggregationError for users that cannot be."""

    @abstractmethod
    def _add(self, user: int, reply: Any, step: str) -> None:
        """Add the vector of a user. Raises MessageError that begins with `step` for one that cannot be right."""

    @abstractmethod
    def _open(self, users: Sequence[int], asked: Sequence[int]) -> NDArray[np.int64]:
        """The sum over `users`, of those who were `asked`."""

    def _wanted(self, n_users: int) -> int:
        """How many vectors are needed when `n_users` users are asked."""
        params = self._context.params
        return max(int(params.min_users), threshold_of(params.threshold, n_users))

    def set_up(self) -> tuple[int, ...]:
        """See ServerRole. Keys, if there are any, were dealt: nothing to agree on."""
        return self._context.users

    def aggregate(
        self,
        task: bytes,
        n_entries: int,
        users: Sequence[int],
        spares: Sequence[int] = (),
        accept: Accept = accept_any,
    ) -> Aggregate:
        """See ServerRole."""
        del spares
        self._call += 1
        request = self._begin(task, n_entries, users)
        answered: list[int] = []

        def take(user: int, reply: Any) -> None:
            step = f"reading the vector of user {user}"
            self._check_call(reply.call, step)
            self._add(user, reply, step)
            answered.append(user)

        phase = partial(self._context.timings.phase, "add vectors")
        collect(self._context.exchange, MASK, dict.fromkeys(users, request), self.VECTOR, take, phase)
        answered.sort()
        require_users(MASK, len(answered), len(users), self._wanted(len(users)))
        accept(answered)
        return Aggregate(self._open(answered, users), tuple(answered))

    def _check_call(self, call: int, step: str) -> None:
        if call != self._call:
            raise MessageError(f"{step}: found call {call}, wanted {self._call}")


def own_vector(context: UserContext, task: memoryview, n_entries: int) -> NDArray[np.int64]:
    """The user's vector for a task. Raises MessageError unless it has as many entries as the server asks for."""
    values = context.inputs(task)
    if len(values) != n_entries:
        raise MessageError(
            f"user {context.user}, making its vector: the server asks for {n_entries} entries, the task gives "
            f"{len(values)}"
        )
    return values
