"""Where frames travel: the bytes level below a channel.

A link moves whole frames in order and knows nothing of their contents. `memory_links` joins two threads; a
network link (transport.network) implements the same three methods.
"""

import queue
from typing import Protocol, TypeAlias

# Header and payload apart, so that a payload sent to several peers is never copied.
Frame: TypeAlias = tuple[bytes, bytes | memoryview]


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

    def close(self) -> None:
        """End both directions; frames already handed over can still be read. May be called again."""


class MemoryLink:
    """One end of a pair of queues between threads."""

    def __init__(
        self, incoming: "queue.SimpleQueue[Frame | None]", outgoing: "queue.SimpleQueue[Frame | None]"
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._closed = False
        self._ended = False

    def put(self, frame: Frame) -> None:
        """See Link."""
        if self._closed:
            raise LinkClosed
        self._outgoing.put(frame)

    def get(self, timeout: float | None) -> Frame:
        """See Link."""
        if self._ended:
            raise LinkClosed
        try:
            frame = self._incoming.get(timeout=timeout)
        except queue.Empty:
            raise LinkTimeout from None
        if frame is None:
            self._ended = True
            raise LinkClosed
        return frame

    def close(self) -> None:
        """See Link."""
        if not self._closed:
            self._closed = True
            # None is the end of a direction: the peer's next read after the frames before it, and our own.
            self._outgoing.put(None)
            self._incoming.put(None)


def memory_links() -> tuple[MemoryLink, MemoryLink]:
    """Two ends of a new path within this process."""
    there: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    back: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    return MemoryLink(back, there), MemoryLink(there, back)
