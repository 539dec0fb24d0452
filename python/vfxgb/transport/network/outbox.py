"""Frames on their way out: cut into chunks, kept until they are acknowledged, sent again after a lost connection.

No input or output happens here, and no locking: the link that owns an outbox does both.
"""

from collections import deque
from dataclasses import dataclass

from vfxgb.errors import FrameError
from vfxgb.transport.link import Frame
from vfxgb.transport.network import compress
from vfxgb.transport.network.limits import CHUNK_BYTES
from vfxgb.transport.network.wire import write_chunk

# What a chunk costs in a window besides its data, so that empty frames are bounded too.
CHUNK_COST = 64


@dataclass(frozen=True)
class _Piece:
    """Bytes [begin, end) of a frame's header and payload, as the chunk number `sequence`."""

    sequence: int
    frame: Frame
    begin: int
    end: int

    @property
    def cost(self) -> int:
        return self.end - self.begin + CHUNK_COST

    def message(self, ack: int, zstd: bool) -> bytes:
        header, payload = self.frame
        size = self.end - self.begin
        lengths = (len(header), len(payload)) if self.begin == 0 else None
        if self.begin == 0:
            data: list[bytes | memoryview] = [header, memoryview(payload)[: self.end - len(header)]]
        else:
            data = [memoryview(payload)[self.begin - len(header) : self.end - len(header)]]
        if zstd:
            small = compress.shrink(b"".join(data))
            if small is not None:
                return write_chunk(ack, self.sequence, lengths, True, size, [small])
        return write_chunk(ack, self.sequence, lengths, False, size, data)


class Outbox:
    """`waiting`: bytes of frames that were put and not acknowledged yet, counted as the window counts them.

    Two ends may differ in their windows: at most `window` bytes, and one chunk, are under way; see `reopen`.

    A chunk that has arrived is not acknowledged while the receiver lacks room. So two numbers count: what the other
    side has, which need not be sent again, and what it has acknowledged, which makes room in the window and is
    forgotten.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self.window = 0
        self.next_sequence = 0
        self._frames: deque[Frame] = deque()
        self._offset = 0
        # Chunks not acknowledged yet, oldest first. The first `_sent` of them need not be sent on this connection: they
        # went out on it, or the other side had them before it.
        self._pieces: deque[_Piece] = deque()
        self._sent = 0
        self._under_way = 0

    def put(self, frame: Frame) -> None:
        """Take a frame, by reference."""
        self._frames.append(frame)
        self.waiting += len(frame[0]) + len(frame[1]) + CHUNK_COST

    def next_message(self, ack: int, zstd: bool) -> bytes | None:
        """The next chunk to send on this connection, or None if there is none or the window is full."""
        if self._sent == len(self._pieces):
            if not self._frames or self._under_way >= self.window:
                return None
            self._cut()
        piece = self._pieces[self._sent]
        self._sent += 1
        return piece.message(ack, zstd)

    def _cut(self) -> None:
        frame = self._frames[0]
        total = len(frame[0]) + len(frame[1])
        piece = _Piece(self.next_sequence, frame, self._offset, min(self._offset + CHUNK_BYTES, total))
        self.next_sequence += 1
        self._pieces.append(piece)
        self._under_way += piece.cost
        if piece.end == total:
            self._frames.popleft()
            self._offset = 0
        else:
            # Later chunks of a frame cost more than the frame was counted for.
            self._offset = piece.end
            self.waiting += CHUNK_COST

    def acknowledge(self, count: int) -> None:
        """The other side has room for the first `count` chunks. Raises FrameError for chunks that were never sent."""
        if count > self.next_sequence:
            raise FrameError(f"found an acknowledgement of {count} chunks, wanted at most {self.next_sequence}")
        while self._pieces and self._pieces[0].sequence < count:
            piece = self._pieces.popleft()
            # Of a chunk that went out on an earlier connection only, the other side may still tell.
            self._sent = max(0, self._sent - 1)
            self._under_way -= piece.cost
            self.waiting -= piece.cost

    def reopen(self, received: int, window: int) -> None:
        """A new connection, whose other side has `received` chunks and a window of `window` bytes.

        What it has is not sent again, and stays under way until it is acknowledged. Raises FrameError for chunks that
        were never sent, and for fewer than were acknowledged.
        """
        first = self._pieces[0].sequence if self._pieces else self.next_sequence
        if not first <= received <= self.next_sequence:
            raise FrameError(
                f"found that the peer has {received} chunks, wanted at least {first}, which it has acknowledged, and "
                f"at most {self.next_sequence}, which were sent"
            )
        self._sent = received - first
        self.window = window

    @property
    def empty(self) -> bool:
        """Whether all that was put has gone out on this connection."""
        return not self._frames and self._sent == len(self._pieces)

    def clear(self) -> None:
        """Forget everything: nobody will read it."""
        self._frames.clear()
        self._pieces.clear()
        self._offset = self._sent = self._under_way = self.waiting = 0
