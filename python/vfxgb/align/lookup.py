"""Rows by id for online scoring: fast, and the passive party learns who is asked for.

Once a session the active party draws a key and each passive party tags its ids under it (alignment.py). Then, for each
question, one round trip: tags there, one bit per id back; and which of the ids all parties have, before they are used.
A passive party that does not have an id sees a digest of it, which it can open by guessing: ids are few. Where that is
too much, align instead.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.align.alignment import TagTable, tags_of
from vfxgb.align.blocks import check_bytes
from vfxgb.align.ids import Ids
from vfxgb.align.messages import AskRows, CloseLookup, FoundRows, LookupReady, OpenLookup, UseRows
from vfxgb.align.normalise import steps_digest
from vfxgb.align.params import KEY_BYTES, TAG_BYTES
from vfxgb.errors import AlignmentError, MessageError
from vfxgb.transport.channel import Channel, broadcast
from vfxgb.transport.messages import pack_array, unpack_array

# Ids of one question: what its messages hold.
MAX_ASKED = 1 << 20


class Asker:
    """The active party's side. Opens the lookup on all channels; ids must be normalised by `steps`."""

    def __init__(self, party: str, channels: Mapping[str, Channel], steps: tuple[str, ...]) -> None:
        self._party = party
        self._channels = list(channels.values())
        self._steps = steps
        self._key = _native.rand.random_bytes(KEY_BYTES)
        broadcast(self._channels, OpenLookup(key=self._key, steps=steps_digest(steps)))
        self.n_ids = {channel.peer: channel.recv(LookupReady).n_ids for channel in self._channels}

    def ask(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of the ids all passive parties have; they are ready to use these rows, in this order.

        Raises AlignmentError for ids of other steps or too many, MessageError for an answer that is none.
        """
        step = f"{self._party} looking up ids"
        if ids.steps != self._steps:
            raise AlignmentError(f"{step}: the ids are normalised by {ids.steps}, wanted {self._steps}")
        if not 1 <= len(ids) <= MAX_ASKED:
            raise AlignmentError(f"{step}: found {len(ids)} ids, wanted 1 to {MAX_ASKED} in one question")
        broadcast(self._channels, AskRows(tags=pack_array(tags_of(self._key, ids.digests))))
        common = np.ones(len(ids), dtype=np.bool_)
        for channel in self._channels:
            answer = channel.recv(FoundRows)
            common &= _bits(answer.n_ids, answer.found, len(ids), f"{step} at {channel.peer}")
        broadcast(self._channels, UseRows(n_ids=len(ids), used=_packed(common)))
        return common

    def close(self) -> None:
        """Tell the passive parties that there are no more questions. The channels stay open."""
        broadcast(self._channels, CloseLookup())


class Answerer:
    """A passive party's side: receives the opening and tags its ids.

    `accept(asked)`: called with the number of ids of each question before they are looked up; raises ConsentError for
    what this party does not agree to. `told(asked, found)`: called before an answer leaves, with the number of its ids
    that are here.
    """

    def __init__(
        self,
        party: str,
        ids: Ids,
        channel: Channel,
        accept: Callable[[int], None] | None = None,
        told: Callable[[int, int], None] | None = None,
    ) -> None:
        step = f"{party} answering lookups of {channel.peer}"
        opened = channel.recv(OpenLookup)
        check_bytes(opened.key, KEY_BYTES, f"{step}: key of the tags")
        if opened.steps != ids.steps_digest:
            raise AlignmentError(
                f"{step}: the ids are normalised by other steps there than here ({', '.join(ids.steps) or 'none'}); "
                "agree on one list and write it into both configurations"
            )
        self._step = step
        self._channel = channel
        self._accept = accept
        self._told = told
        self._table = TagTable(tags_of(opened.key, ids.digests))
        channel.send(LookupReady(n_ids=len(ids)))

    def answer(self, question: AskRows) -> NDArray[np.int64]:
        """Answer a question; returns the rows to use next, in its order: those of ids that all parties have."""
        asked = len(question.tags) // TAG_BYTES
        if not 1 <= asked <= MAX_ASKED:
            raise MessageError(f"{self._step}: found {asked} ids, wanted 1 to {MAX_ASKED}")
        tags = unpack_array(question.tags, np.uint8, (asked, TAG_BYTES), self._step)
        if self._accept is not None:
            self._accept(asked)
        rows = self._table.find(tags)
        known = rows >= 0
        if self._told is not None:
            self._told(asked, int(np.count_nonzero(known)))
        self._channel.send(FoundRows(n_ids=asked, found=_packed(known)))
        use = self._channel.recv(UseRows)
        used = _bits(use.n_ids, use.used, asked, self._step)
        if (used & ~known).any():
            raise MessageError(f"{self._step}: found ids to use that are not here, wanted only those that were found")
        return rows[used]

    def serve(self, use: Callable[[NDArray[np.int64]], None]) -> None:
        """Answer questions until the peer closes the lookup; `use` is called with the rows after each."""
        while isinstance(question := self._channel.recv(AskRows, CloseLookup), AskRows):
            use(self.answer(question))


def _packed(flags: NDArray[np.bool_]) -> memoryview:
    return pack_array(np.packbits(flags, bitorder="little"))


def _bits(count: int, data: memoryview, wanted: int, step: str) -> NDArray[np.bool_]:
    if count != wanted:
        raise MessageError(f"{step}: found an answer for {count} ids, wanted {wanted}")
    packed = unpack_array(data, np.uint8, (-(-wanted // 8),), step)
    bits = np.unpackbits(packed, bitorder="little")
    if bits[wanted:].any():
        raise MessageError(f"{step}: found bits behind the last id, wanted zeros")
    return bits[:wanted].astype(np.bool_)
