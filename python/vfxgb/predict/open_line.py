"""Open questions: the passive party sees which rows stand before each of its splits, and answers for these."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vfxgb.errors import MessageError
from vfxgb.model.leanings import MAX_LEAN, Leans
from vfxgb.predict.block import Answer, Mask, unpack_mask
from vfxgb.predict.messages import Leaned, Route, Routed
from vfxgb.predict.routing import pack_rows
from vfxgb.predict.visits import Visit
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, unpack_array


@dataclass(frozen=True)
class OpenLine:
    """See Line. `both_ways`: answers say where values are missing."""

    channel: Channel
    both_ways: bool

    @property
    def end(self) -> int:
        """See Line: the party is asked where rows stand before its splits."""
        return 0

    def ask(self, depth: int, block: slice, visits: Sequence[Visit]) -> bool | None:
        """See Line."""
        if not visits:
            return None
        sets = [visit.rows for visit in visits]
        sizes = np.array([len(rows) for rows in sets], dtype=np.int32)
        numbers = pack_array(np.array([visit.record for visit in visits], dtype=np.int32))
        count = block.stop - block.start
        rows = pack_bytes(pack_rows(sets, count))
        self.channel.send(Route(depth, block.start, count, numbers, pack_array(sizes), rows))
        return True

    def prepare(self, depth: int) -> None:
        """See Line: an open question depends on the answers before it."""

    def read(self, asked: bool | None, depth: int, block: slice, visits: Sequence[Visit]) -> list[Answer]:  # noqa: ARG002
        """See Line."""
        message = self.channel.recv(Routed)
        what = f"reading the answers of {self.channel.peer}, level {depth}"
        if message.depth != depth:
            raise MessageError(f"{what}: found level {message.depth}")
        ends = np.cumsum([len(visit.rows) for visit in visits])
        if message.n_answers != int(ends[-1]):
            raise MessageError(f"{what}: found {message.n_answers} answers, wanted {ends[-1]}")
        left = np.split(_bits(message.left, int(ends[-1]), what), ends[:-1])
        missing = _bits(message.missing, int(ends[-1]) if self.both_ways else 0, what)
        if not self.both_ways:
            return [(mask, None) for mask in left]
        return list(zip(left, np.split(missing, ends[:-1]), strict=True))

    def read_leans(self, depth: int, answers: Sequence[Answer]) -> list[Leans]:
        """See Line."""
        message = self.channel.recv(Leaned)
        what = f"reading the leans of {self.channel.peer}, level {depth}"
        ends = np.cumsum([0 if missing is None else int(np.count_nonzero(missing)) for _, missing in answers])
        if (message.depth, message.n_values) != (depth, int(ends[-1])):
            raise MessageError(
                f"{what}: found {message.n_values} leans of level {message.depth}, wanted {ends[-1]} of this one, one "
                "for each missing value; the peer deviates, or its version differs"
            )
        leans = unpack_array(message.leans, np.int8, (int(ends[-1]),), what)
        if len(leans) and int(np.abs(leans.astype(np.int16)).max()) > MAX_LEAN:
            raise MessageError(f"{what}: found a lean of more than {MAX_LEAN} steps; the peer deviates")
        return np.split(leans, ends[:-1])


def _bits(data: Bulk, count: int, what: str) -> Mask:
    return unpack_mask(unpack_array(data, np.uint8, ((count + 7) // 8,), what), count)
