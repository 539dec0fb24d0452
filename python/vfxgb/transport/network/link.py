"""A link over the network."""

from types import TracebackType

from vfxgb.transport.link import Frame


class NetworkLink:
    """One end of a session with a peer; implements transport.link.Link. Made by `dial` and `Listener.accept`.

    A lost connection is made again and the session goes on: every frame arrives once and in order. `get` and `put` may
    be called from different threads, each from one at a time.

    `peer`: the peer's name, proved by its certificate. `session`: 16 bytes, drawn by the side that dialled; the `run` of
    the channel on top. `wire_sent`, `wire_received`: bytes handed to and taken from gRPC, repeated and compressed ones
    as they are. `reconnects`: how often the connection was made again.
    """

    peer: str
    session: bytes
    wire_sent: int
    wire_received: int
    reconnects: int

    def put(self, frame: Frame) -> None:
        """Hand over a frame; waits while more than window_bytes are under way. Raises LinkClosed with the reason."""
        raise NotImplementedError

    def get(self, timeout: float | None) -> Frame:
        """The next frame. None waits step_seconds. Raises LinkTimeout, LinkClosed (reason), FrameError (the peer broke
        the rules).
        """
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether `get` would return or raise at once."""
        raise NotImplementedError

    def close(self) -> None:
        """Deliver what was put, tell the peer, and let go; at most close_seconds. Frames that came can still be read."""
        raise NotImplementedError

    def __enter__(self) -> "NetworkLink":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
