"""The server of `fpe`: it opens the sum over all users with the key that it was given for that, and no other."""

from collections.abc import Sequence

import numpy as np

from vfxgb.crypto.ints import unpack_unsigned
from vfxgb.errors import AggregationError, InvalidCiphertextError, MessageError
from vfxgb.secagg.base import MASK, Accept, Aggregate, ServerContext, accept_any, require_users
from vfxgb.secagg.fpe.messages import FunctionalTask, FunctionalVector
from vfxgb.secagg.fpe.scheme import SEED_BYTES, RunningSum, read_scheme
from vfxgb.secagg.slots import slots_of, split_entries
from vfxgb.transport.messages import pack_bytes, unpack_array


class FpeServer:
    """A ServerRole. `secret`: the users' key seeds, then the sums of all users' pads."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._scheme = read_scheme(context.public, context.params.insecure)
        self._slots = slots_of(context.params.slots, self._scheme.group.bits)
        seeds = len(context.users) * SEED_BYTES
        self._seeds = {
            user: context.secret[place * SEED_BYTES :][:SEED_BYTES] for place, user in enumerate(context.users)
        }
        self._pads = unpack_unsigned(context.secret[seeds:], self._scheme.group.number_bytes)
        self._call = self._next = 0

    def set_up(self) -> tuple[int, ...]:
        """Keys were dealt: nothing to agree on."""
        return self._context.users

    def aggregate(
        self,
        task: bytes,
        n_entries: int,
        users: Sequence[int],
        spares: Sequence[int] = (),
        accept: Accept = accept_any,
    ) -> Aggregate:
        """See ServerRole. All users of the run are needed."""
        del spares
        context, params = self._context, self._context.params
        if set(users) != set(context.users) or len(users) != len(context.users):
            raise AggregationError(
                f"summing over users: found {len(users)} users, wanted all {len(context.users)} of the run; the key of "
                "fpe is for the sum over all of them, use another aggregator for parts"
            )
        count = -(-n_entries // self._slots)
        if self._next + count > params.prepared:
            raise AggregationError(
                f"summing over users: {count} plaintexts are wanted and {params.prepared - self._next} of "
                f"prepared={params.prepared} are left; raise prepared and begin a new run"
            )
        self._call += 1
        request = FunctionalTask(self._call, self._next, n_entries, pack_bytes(task))
        pads = self._pads[self._next :][:count]
        self._next += count
        total, answered = RunningSum(self._scheme, count), []
        for user, reply in context.exchange.ask(MASK, dict.fromkeys(users, request), FunctionalVector):
            with context.timings.phase("add vectors"):
                self._add(total, user, reply, count)
            answered.append(user)
        require_users(MASK, len(answered), len(users), max(params.min_users, len(users)))
        accept(sorted(answered))
        with context.timings.phase("open"):
            plaintexts = total.open(pads, context.threads)
        return Aggregate(split_entries(plaintexts, self._slots, n_entries), tuple(sorted(answered)))

    def _add(self, total: RunningSum, user: int, reply: FunctionalVector, count: int) -> None:
        step, group = f"reading the vector of user {user}", self._scheme.group
        if reply.call != self._call:
            raise MessageError(f"{step}: found call {reply.call}, wanted {self._call}")
        if len(reply.blinder) != group.element_bytes:
            raise MessageError(f"{step}: found C_0 of {len(reply.blinder)} bytes, wanted {group.element_bytes}")
        rows = unpack_array(reply.ciphertexts, np.uint8, (count, group.element_bytes), step)
        try:
            total.add(reply.blinder, rows, self._scheme.keys(self._seeds[user], count), self._context.threads)
        except InvalidCiphertextError as error:
            raise MessageError(f"{step}: {error}") from None
