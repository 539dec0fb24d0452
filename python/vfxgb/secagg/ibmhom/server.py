"""The server of `ibmhom`: it adds ciphertexts as they arrive, and asks as many users as the threshold to open them."""

from collections.abc import Iterable, Sequence

from vfxgb.crypto import CiphertextArray
from vfxgb.errors import AggregationError, MessageError
from vfxgb.secagg.base import (
    MASK,
    UNMASK,
    Accept,
    Aggregate,
    ServerContext,
    accept_any,
    require_users,
    threshold_of,
)
from vfxgb.secagg.ibmhom.messages import EncryptedVector, EncryptTask, PartialDecryptions, SumToOpen
from vfxgb.secagg.ibmhom.threshold import combine, read_key
from vfxgb.secagg.slots import slots_of, split_entries
from vfxgb.transport.messages import Bulk, pack_bytes


class IbmhomServer:
    """A ServerRole. A user of the call that drops out while sums are opened is replaced by another of the run."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._key = read_key(context.public, context.params.insecure)
        self._slots = slots_of(context.params.slots, self._key.key.bits)
        self._call = 0

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
        """See ServerRole. Nobody drops out before the vectors are asked for, so spares only help to open."""
        del spares
        self._check_users(users)
        self._call += 1
        params = self._context.params
        count = -(-n_entries // self._slots)
        total, answered = self._collect(task, n_entries, count, users)
        require_users(
            MASK, len(answered), len(users), max(params.min_users, threshold_of(params.threshold, len(users)))
        )
        accept(answered)
        assert total is not None  # noqa: S101 - min_users and thresholds are at least 1
        asked = set(users)
        helpers = [*answered, *(user for user in self._context.users if user not in asked)]
        parts = self._ask_parts(total, helpers)
        with self._context.timings.phase("combine"):
            plaintexts = combine(self._key, parts, params.coefficients == "reduced", self._context.threads)
        return Aggregate(split_entries(plaintexts, self._slots, n_entries), tuple(answered))

    def _check_users(self, users: Sequence[int]) -> None:
        unknown = set(users) - set(self._context.users)
        if unknown or len(set(users)) < len(users):
            what = f"user {min(unknown)}, who has no share of the key" if unknown else "a user twice"
            raise AggregationError(f"summing over users: found {what}, wanted distinct users of the run")

    def _collect(
        self, task: bytes, n_entries: int, count: int, users: Sequence[int]
    ) -> tuple[CiphertextArray | None, list[int]]:
        request = EncryptTask(call=self._call, n_entries=n_entries, task=pack_bytes(task))
        total: CiphertextArray | None = None
        answered = []
        for user, reply in self._context.exchange.ask(MASK, dict.fromkeys(users, request), EncryptedVector):
            with self._context.timings.phase("add vectors"):
                vector = self._read(reply.ciphertexts, reply.call, count, f"reading the vector of user {user}")
                total = vector if total is None else total.add(vector, self._context.threads)
            answered.append(user)
        return total, sorted(answered)

    def _ask_parts(self, total: CiphertextArray, helpers: Iterable[int]) -> dict[int, CiphertextArray]:
        """Partial decryptions by point: of the first helpers, and of further ones for those who do not answer."""
        with self._context.timings.phase("add vectors"):
            request = SumToOpen(self._call, pack_bytes(total.to_bytes(self._context.threads)))
        points = {user: point for point, user in enumerate(self._context.users, start=1)}
        parts: dict[int, CiphertextArray] = {}
        left = list(helpers)
        while left and len(parts) < self._key.threshold:
            missing = self._key.threshold - len(parts)
            asked, left = left[:missing], left[missing:]
            for user, reply in self._context.exchange.ask(UNMASK, dict.fromkeys(asked, request), PartialDecryptions):
                step = f"reading the partial decryptions of user {user}"
                with self._context.timings.phase("read parts"):
                    parts[points[user]] = self._read(reply.parts, reply.call, len(total), step)
        require_users(UNMASK, len(parts), len(points), self._key.threshold)
        return parts

    def _read(self, data: Bulk, call: int, count: int, step: str) -> CiphertextArray:
        if call != self._call:
            raise MessageError(f"{step}: found call {call}, wanted {self._call}")
        ciphertexts = self._key.read(data, step, self._context.threads)
        if len(ciphertexts) != count:
            raise MessageError(f"{step}: found {len(ciphertexts)} ciphertexts, wanted {count}")
        return ciphertexts
