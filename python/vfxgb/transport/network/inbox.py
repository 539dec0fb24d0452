"""Frames on their way in: put together from chunks, held until they are read, acknowledged while there is room.

Sizes are checked when they are announced, before memory is taken, and so is the frame's header, which tells what the
frame is. No locking here: the link that owns an inbox does it.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import FrameError
from vfxgb.transport.link import Frame, Screen
from vfxgb.transport.network import compress
from vfxgb.transport.network.limits import CHUNK_BYTES
from vfxgb.transport.network.outbox import CHUNK_COST
from vfxgb.transport.network.wire import MAX_HEADER, Chunk

# A sender that keeps every chunk until it is acknowledged must hear of many small ones too.
_ACK_CHUNKS = 64


class Inbox:
    """`frames` are complete and unread. `max_frame_bytes` and `screen` may change at any time, for frames to come.

    What is held is at most `window` bytes, another window and a chunk that were under way, and the largest frame.
    """

    def __init__(self, window: int, max_frame_bytes: int, screen: Screen | None = None) -> None:
        self.frames: deque[Frame] = deque()
        self.max_frame_bytes = max_frame_bytes
        self.screen = screen
        self._window = window
        self._held = 0
        self._next = 0
        # Chunks acknowledged so far, and what came after them.
        self._acknowledged = 0
        self._beyond = 0
        self._header = b""
        self._payload: NDArray[np.uint8] | None = None
        self._filled = 0

    @property
    def received(self) -> int:
        """How many chunks have come; what a new connection goes on from, acknowledged or not."""
        return self._next

    def feed(self, chunk: Chunk) -> bool:
        """Take a chunk; True if it completed a frame. Raises FrameError."""
        if chunk.sequence < self._next:
            # Sent again, and known: whether it was acknowledged since, or waits for room, makes no difference.
            return False
        if chunk.sequence != self._next:
            raise FrameError(f"found chunk {chunk.sequence}, wanted {self._next}")
        self._beyond += chunk.size + CHUNK_COST
        if self._beyond > self._window + CHUNK_BYTES + CHUNK_COST:
            raise FrameError(f"found more than the {self._window} bytes of the window under way")
        remaining = self._announced(chunk) if self._payload is None else self._payload.size - self._filled
        if self._payload is not None and chunk.lengths is not None:
            raise FrameError("found the first chunk of a frame within another")
        if chunk.size != min(CHUNK_BYTES, remaining):
            raise FrameError(f"found a chunk of {chunk.size} bytes, wanted {min(CHUNK_BYTES, remaining)}")
        data = memoryview(compress.expand(chunk.data, chunk.size)) if chunk.compressed else chunk.data
        self._next += 1
        return self._add(chunk, data, last=chunk.size == remaining)

    def _announced(self, chunk: Chunk) -> int:
        """The bytes of the frame that `chunk` begins."""
        if chunk.lengths is None:
            raise FrameError("found a later chunk of a frame, wanted the first")
        header, payload = chunk.lengths
        if header > MAX_HEADER:
            raise FrameError(f"found a frame with a header of {header} bytes announced, wanted at most {MAX_HEADER}")
        if payload > self.max_frame_bytes:
            raise FrameError(
                f"found a frame of {payload} bytes announced, wanted at most {self.max_frame_bytes} at this point; if "
                "such frames are meant to pass, raise max_frame_bytes and max_session_bytes in [network]"
            )
        return header + payload

    def _add(self, chunk: Chunk, data: memoryview, last: bool) -> bool:
        if chunk.lengths is not None:
            n_header, n_payload = chunk.lengths
            header, data = bytes(data[:n_header]), data[n_header:]
            if self.screen is not None:
                self.screen(header, n_payload)
            if last:
                self._complete((header, data))
                return True
            try:
                # Not zeroed: memory is used as the chunks come, not when they are announced.
                self._payload = np.empty(n_payload, dtype=np.uint8)
            except MemoryError:
                raise FrameError(f"found a frame of {n_payload} bytes, for which this machine has no memory") from None
            self._header, self._filled = header, 0
        assert self._payload is not None  # noqa: S101 - feed() has checked the order of chunks
        self._payload[self._filled : self._filled + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._filled += len(data)
        if last:
            self._complete((self._header, self._payload.data.toreadonly()))
            self._header, self._payload = b"", None
        return last

    def _complete(self, frame: Frame) -> None:
        self.frames.append(frame)
        self._held += len(frame[0]) + len(frame[1]) + CHUNK_COST

    def take(self) -> Frame:
        """Take out the oldest frame."""
        frame = self.frames.popleft()
        self._held -= len(frame[0]) + len(frame[1]) + CHUNK_COST
        return frame

    @property
    def acknowledgement_due(self) -> bool:
        """Whether the other side should hear now how far this one is."""
        return self._held < self._window and (
            self._beyond >= CHUNK_BYTES or self._next - self._acknowledged >= _ACK_CHUNKS
        )

    def acknowledgement(self) -> int:
        """How many chunks the sender may forget; to be told to it."""
        if self._held < self._window:
            self._acknowledged = self._next
            self._beyond = 0
        return self._acknowledged
