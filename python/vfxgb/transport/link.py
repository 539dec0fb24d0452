"""Where frames travel: the bytes level below a channel.

A link moves whole frames in order and knows nothing of their contents. `memory_links` joins two threads; a
network link (transport.network) implements the same methods.
"""

import queue
import threading
from collections.abc import Callable
from typing import Protocol, TypeAlias

# Header and payload apart, so that a payload sent to several peers is never copied.
Frame: TypeAlias = tuple[bytes, bytes | memoryview]


# Looks at the header of a frame and the number of bytes of its payload. Raises FrameError if it may not come.
Screen: TypeAlias = Callable[[bytes, int], None]


class LinkClosed(Exception):  # noqa: N818 - a signal to the channel above, never shown to a user
    """The link was closed, by either side, and every frame before that has been read. Its text, if any: why."""


class LinkTimeout(Exception):  # noqa: N818 - a signal to the channel above, never shown to a user
    """No frame came in time. Its text, if any: in which time."""


class Link(Protocol):
    """One end of a two-way, ordered, reliable path for frames. `get` and `put` may be called from different threads."""

    def put(self, frame: Frame) -> None:
        """Hand over a frame; may wait for room. Raises LinkClosed."""

    def get(self, timeout: float | None) -> Frame:
        """The next frame. Raises LinkTimeout after `timeout` seconds (None: waits), LinkClosed at the end."""

    def screen(self, screen: Screen) -> None:
        """Look at every frame from now on before its payload is kept; what it refuses ends a link to another process.

        It is called from another thread, so it must be quick.
        """

    def close(self) -> None:
        """End both directions; frames already handed over can still be read. May be called again."""


# Bytes that may wait between two threads before the sender waits too: what a network would hold, in proportion.
WINDOW_BYTES = 1 << 26


class _Way:
    """One direction: frames in order, and how many bytes of them wait."""

    def __init__(self) -> None:
        # Each frame with its number of flights; None is the end.
        self.frames: queue.SimpleQueue[tuple[Frame, int] | None] = queue.SimpleQueue()
        self.waiting = 0
        self.closed = False
        self.changed = threading.Condition()


class MemoryLink:
    """One end of a pair of queues between threads.

    `flights` is the longest chain of frames, each sent after the one before was read, that ends in what was read here.
    """

    def __init__(self, incoming: _Way, outgoing: _Way) -> None:
        self.flights = 0
        self._incoming = incoming
        self._outgoing = outgoing
        self._closed = False
        self._ended = False

    def put(self, frame: Frame) -> None:
        """See Link; waits for room unless nothing is on its way."""
        if self._closed:
            raise LinkClosed
        way, size = self._outgoing, len(frame[0]) + len(frame[1])
        with way.changed:
            way.changed.wait_for(lambda: way.closed or not way.waiting or way.waiting + size <= WINDOW_BYTES)
            way.waiting += size
        way.frames.put((frame, self.flights + 1))

    def get(self, timeout: float | None) -> Frame:
        """See Link."""
        if self._ended:
            raise LinkClosed
        way = self._incoming
        try:
            numbered = way.frames.get(timeout=timeout)
        except queue.Empty:
            raise LinkTimeout from None
        if numbered is None:
            self._ended = True
            raise LinkClosed
        frame, number = numbered
        self.flights = max(self.flights, number)
        with way.changed:
            way.waiting -= len(frame[0]) + len(frame[1])
            way.changed.notify_all()
        return frame

    def screen(self, screen: Screen) -> None:
        """See Link. Frames of a thread are there already: no memory is saved by refusing them."""

    def close(self) -> None:
        """See Link."""
        if not self._closed:
            self._closed = True
            for way in (self._outgoing, self._incoming):
                # None is the end of a direction: the peer's next read after the frames before it, and our own.
                way.frames.put(None)
                with way.changed:
                    way.closed = True
                    way.changed.notify_all()


def memory_links() -> tuple[MemoryLink, MemoryLink]:
    """Two ends of a new path within this process."""
    there, back = _Way(), _Way()
    return MemoryLink(back, there), MemoryLink(there, back)
