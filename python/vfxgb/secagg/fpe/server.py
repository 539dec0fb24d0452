"""The server of `fpe`: it opens the sum over all users with the key that it was given for that, and no other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto.ints import unpack_unsigned
from vfxgb.errors import AggregationError, InvalidCiphertextError, MessageError
from vfxgb.secagg.base import ServerContext
from vfxgb.secagg.fpe.messages import FunctionalTask, FunctionalVector
from vfxgb.secagg.fpe.scheme import SEED_BYTES, RunningSum, read_scheme
from vfxgb.secagg.one_message import OneMessageServer
from vfxgb.secagg.slots import slots_of, split_entries
from vfxgb.transport.messages import pack_bytes, unpack_array


class FpeServer(OneMessageServer):
    """A ServerRole. `secret`: the users' key seeds, then the sums of all users' pads."""

    VECTOR = FunctionalVector

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._scheme = read_scheme(context.public, context.params.insecure)
        self._slots = slots_of(context.params.slots, self._scheme.group.bits)
        seeds = len(context.users) * SEED_BYTES
        self._seeds = {
            user: context.secret[place * SEED_BYTES :][:SEED_BYTES] for place, user in enumerate(context.users)
        }
        self._pads = unpack_unsigned(context.secret[seeds:], self._scheme.group.number_bytes)
        self._next = 0

    def _wanted(self, n_users: int) -> int:
        return max(int(self._context.params.min_users), n_users)

    def _begin(self, task: bytes, n_entries: int, users: Sequence[int]) -> FunctionalTask:
        everybody, prepared = self._context.users, self._context.params.prepared
        if set(users) != set(everybody) or len(users) != len(everybody):
            raise AggregationError(
                f"summing over users: found {len(users)} users, wanted all {len(everybody)} of the run; the key of fpe "
                "is for the sum over all of them, use another aggregator for parts"
            )
        self._n_entries, self._count = n_entries, -(-n_entries // self._slots)
        if self._next + self._count > prepared:
            raise AggregationError(
                f"summing over users: {self._count} plaintexts are wanted and {prepared - self._next} of "
                f"prepared={prepared} are left; raise prepared and begin a new run"
            )
        self._total, first = RunningSum(self._scheme, self._count), self._next
        self._next += self._count
        return FunctionalTask(self._call, first, n_entries, pack_bytes(task))

    def _add(self, user: int, reply: FunctionalVector, step: str) -> None:
        group, keys = self._scheme.group, self._scheme.keys(self._seeds[user], self._count)
        if len(reply.blinder) != group.element_bytes:
            raise MessageError(f"{step}: found C_0 of {len(reply.blinder)} bytes, wanted {group.element_bytes}")
        rows = unpack_array(reply.ciphertexts, np.uint8, (self._count, group.element_bytes), step)
        try:
            self._total.add(reply.blinder, rows, keys, self._context.threads)
        except InvalidCiphertextError as error:
            raise MessageError(f"{step}: {error}") from None

    def _open(self, users: Sequence[int], asked: Sequence[int]) -> NDArray[np.int64]:  # noqa: ARG002 - all of them
        with self._context.timings.phase("open"):
            pads = self._pads[self._next - self._count : self._next]
            plaintexts = self._total.open(pads, self._context.threads)
        return split_entries(plaintexts, self._slots, self._n_entries)
