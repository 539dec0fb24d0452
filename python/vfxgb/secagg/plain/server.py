"""The server of `plain`: it adds up what it is shown."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from vfxgb.errors import MessageError
from vfxgb.secagg.base import (
    MASK,
    Accept,
    Aggregate,
    ServerContext,
    accept_any,
    collect,
    require_users,
    threshold_of,
)
from vfxgb.secagg.plain.messages import PlainTask, PlainVector
from vfxgb.transport.messages import pack_bytes, unpack_array


class PlainServer:
    """A ServerRole without any protection."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._call = 0

    def set_up(self) -> tuple[int, ...]:
        """Nothing to agree on."""
        return self._context.users

    def aggregate(
        self,
        task: bytes,
        n_entries: int,
        users: Sequence[int],
        spares: Sequence[int] = (),
        accept: Accept = accept_any,
    ) -> Aggregate:
        """See ServerRole. Nobody drops out before the vectors are asked for, so spares stay spares."""
        del spares
        self._call += 1
        params = self._context.params
        request = PlainTask(call=self._call, n_entries=n_entries, task=pack_bytes(task))
        sums = np.zeros(n_entries, dtype=np.int64)
        answered: list[int] = []

        def take(user: int, reply: PlainVector) -> None:
            if reply.call != self._call:
                raise MessageError(f"reading the vector of user {user}: found call {reply.call}, wanted {self._call}")
            np.add(
                sums, unpack_array(reply.values, np.int64, (n_entries,), f"reading the vector of user {user}"), out=sums
            )
            answered.append(user)

        phase = partial(self._context.timings.phase, "add vectors")
        collect(self._context.exchange, MASK, dict.fromkeys(users, request), PlainVector, take, phase)
        wanted = max(params.min_users, threshold_of(params.threshold, len(users)))
        require_users(MASK, len(answered), len(users), wanted)
        accept(sorted(answered))
        return Aggregate(sums, tuple(sorted(answered)))
