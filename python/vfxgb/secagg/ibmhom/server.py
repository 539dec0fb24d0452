"""The server of `ibmhom`: it adds ciphertexts as they arrive, and asks as many users as the threshold to open them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto import CiphertextArray
from vfxgb.errors import AggregationError, MessageError
from vfxgb.secagg.base import UNMASK, ServerContext, require_users
from vfxgb.secagg.ibmhom.messages import EncryptedVector, EncryptTask, PartialDecryptions, SumToOpen
from vfxgb.secagg.ibmhom.threshold import combine, read_key
from vfxgb.secagg.one_message import OneMessageServer
from vfxgb.secagg.slots import slots_of, split_entries
from vfxgb.transport.messages import Bulk, pack_bytes


class IbmhomServer(OneMessageServer):
    """A ServerRole. A user of the call that drops out while sums are opened is replaced by another of the run."""

    VECTOR = EncryptedVector

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._key = read_key(context.public, context.params.insecure)
        self._slots = slots_of(context.params.slots, self._key.key.bits)

    def _begin(self, task: bytes, n_entries: int, users: Sequence[int]) -> EncryptTask:
        unknown = set(users) - set(self._context.users)
        if unknown or len(set(users)) < len(users):
            what = f"user {min(unknown)}, who has no share of the key" if unknown else "a user twice"
            raise AggregationError(f"summing over users: found {what}, wanted distinct users of the run")
        self._n_entries = n_entries
        self._total: CiphertextArray | None = None
        return EncryptTask(call=self._call, n_entries=n_entries, task=pack_bytes(task))

    def _add(self, user: int, reply: EncryptedVector, step: str) -> None:  # noqa: ARG002 - a vector is a vector
        vector = self._read(reply.ciphertexts, -(-self._n_entries // self._slots), step)
        self._total = vector if self._total is None else self._total.add(vector, self._context.threads)

    def _open(self, users: Sequence[int], asked: Sequence[int]) -> NDArray[np.int64]:
        assert self._total is not None  # noqa: S101 - min_users and thresholds are at least 1
        others = [user for user in self._context.users if user not in set(asked)]
        parts = self._ask_parts(self._total, [*users, *others])
        with self._context.timings.phase("combine"):
            reduced = self._context.params.coefficients == "reduced"
            plaintexts = combine(self._key, parts, reduced, self._context.threads)
        return split_entries(plaintexts, self._slots, self._n_entries)

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
                    self._check_call(reply.call, step)
                    parts[points[user]] = self._read(reply.parts, len(total), step)
        require_users(UNMASK, len(parts), len(points), self._key.threshold)
        return parts

    def _read(self, data: Bulk, count: int, step: str) -> CiphertextArray:
        ciphertexts = self._key.read(data, step, self._context.threads)
        if len(ciphertexts) != count:
            raise MessageError(f"{step}: found {len(ciphertexts)} ciphertexts, wanted {count}")
        return ciphertexts
