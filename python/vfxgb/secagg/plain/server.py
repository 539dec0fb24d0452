"""The server of `plain`: it adds up what it is shown."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.secagg.one_message import OneMessageServer
from vfxgb.secagg.plain.messages import PlainTask, PlainVector
from vfxgb.transport.messages import pack_bytes, unpack_array


class PlainServer(OneMessageServer):
    """A ServerRole without any protection."""

    VECTOR = PlainVector

    def _begin(self, task: bytes, n_entries: int, users: Sequence[int]) -> PlainTask:  # noqa: ARG002 - any users will do
        self._sums = np.zeros(n_entries, dtype=np.int64)
        return PlainTask(call=self._call, n_entries=n_entries, task=pack_bytes(task))

    def _add(self, user: int, reply: PlainVector, step: str) -> None:  # noqa: ARG002 - a vector is a vector
        self._sums += unpack_array(reply.values, np.int64, self._sums.shape, step)

    def _open(self, users: Sequence[int], asked: Sequence[int]) -> NDArray[np.int64]:  # noqa: ARG002 - nothing to open
        return self._sums
