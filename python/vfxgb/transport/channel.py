"""A channel: typed messages to and from one peer, over any link.

It frames, counts, caps and checks, and tells an observer (the ledger) of every message, and a tap, if the run is
recorded, of its bytes. A role that fails calls
`abort`; the peer's next `recv` then raises PeerError with the reason instead of waiting. Closing has the same effect
without a reason, so that nobody waits for a side that has gone.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias, TypeVar, overload

from vfxgb.errors import ChannelClosedError, ConsentError, FrameError, MessageError, PeerError, VfxgbError
from vfxgb.printable import printable
from vfxgb.transport.frame import Header, read_header, write_header
from vfxgb.transport.last_words import last_words
from vfxgb.transport.link import Link, LinkClosed, LinkTimeout, MemoryLink, memory_links
from vfxgb.transport.messages import BULK_BYTES, MAX_REASON, Abort, Catalogue, Message, encode
from vfxgb.transport.traffic import Traffic

M = TypeVar("M", bound=Message)
N = TypeVar("N", bound=Message)

# (sender, receiver, message, bytes of the frame)
Observer: TypeAlias = Callable[[str, str, Message, int], None]
# (peer, whether this side sent it, tag, payload)
Tap: TypeAlias = Callable[[str, bool, str, bytes], None]


class Channel:
    """One party's end of the path to one peer. Not for use by two threads at once.

    `own` and `peer` are party names. `timeout`: seconds `recv` waits before it gives the peer up; None waits as long as
    the link lives.
    """

    def __init__(
        self,
        own: str,
        peer: str,
        link: Link,
        catalogue: Catalogue,
        run: bytes,
        observer: Observer | None = None,
        timeout: float | None = None,
        max_frame_bytes: int = BULK_BYTES,
        tap: Tap | None = None,
    ) -> None:
        self.own = own
        self.peer = peer
        self.traffic = Traffic()
        # Called with every message before it is sent; what it raises keeps the message here.
        self.before_send: Callable[[Message], None] | None = None
        self._link = link
        self._catalogue = catalogue
        self._run = run
        self._observer = observer
        self._timeout = timeout
        self._max_frame_bytes = max_frame_bytes
        self._tap = tap
        self._next_out = 0
        self._next_in = 0
        self._open = True
        link.screen(self._screen)

    def send(self, message: Message) -> None:
        """Send a message. Raises MessageError (too large), PeerError (the peer is gone), ChannelClosedError."""
        self.send_encoded(message, encode(message))

    def send_encoded(self, message: Message, payload: bytes) -> None:
        """Send a message whose payload is `encode(message)`, made once for several peers."""
        if not self._open:
            raise ChannelClosedError(f"{self.own} sending {message.TAG!r} to {self.peer}: the channel is closed")
        if self.before_send is not None:
            self.before_send(message)
        header = write_header(self._run, self._next_out, len(payload), message.TAG)
        try:
            self._link.put((header, payload))
        except LinkClosed as ended:
            raise self._gone(f"sending {message.TAG!r}", ended, self._last_words()) from None
        self._next_out += 1
        self.traffic.sent(len(header) + len(payload))
        if self._observer is not None:
            self._observer(self.own, self.peer, message, len(header) + len(payload))
        if self._tap is not None:
            self._tap(self.peer, True, message.TAG, payload)

    @overload
    def recv(self, kind: type[M], /) -> M: ...
    @overload
    def recv(self, kind: type[M], other: type[N], /) -> M | N: ...
    @overload
    def recv(self, kind: type[Message], /, *others: type[Message]) -> Message: ...

    def recv(self, kind: type[Message], /, *others: type[Message]) -> Message:
        """The next message, which must be of one of the given types.

        Raises PeerError when the peer stopped, left or kept silent until the timeout, ConsentError when it refused;
        FrameError for bytes that are no frame of this run; MessageError for a message of another type.
        """
        wanted = (kind, *others)
        if not self._open:
            raise ChannelClosedError(f"{self.own} waiting for {self.peer}: the channel is closed")
        try:
            header_bytes, payload = self._link.get(self._timeout)
        except LinkClosed as ended:
            raise self._gone(f"waiting for {_tags(wanted)}", ended) from None
        except LinkTimeout as waited:
            reason = str(waited) if self._timeout is None else f"sent nothing for {self._timeout:g} seconds"
            raise PeerError(
                f"{self.own} waiting for {_tags(wanted)}: {self.peer} {reason}; check that it is running and reachable"
            ) from None
        message = self._decode(header_bytes, payload)
        if isinstance(self._link, MemoryLink):
            self.traffic.flights = self._link.flights
        if self._observer is not None:
            self._observer(self.peer, self.own, message, len(header_bytes) + len(payload))
        if self._tap is not None:
            self._tap(self.peer, False, message.TAG, bytes(payload))
        if isinstance(message, Abort) and Abort not in wanted:
            raise self._stopped(f"waiting for {_tags(wanted)}", message)
        if not isinstance(message, wanted):
            raise MessageError(
                f"{self.own} receiving from {self.peer}: found message {message.TAG!r}, wanted {_tags(wanted)}; "
                "the two sides disagree about the state of the run"
            )
        return message

    def use(self, catalogue: Catalogue, timeout: float | None = None) -> None:
        """Accept other messages and wait so long from now on; both sides change at the same point of their talk.

        Call it before the message after which the peer may send one of them: what comes too early is refused.
        """
        self._catalogue, self._timeout = catalogue, timeout

    def _screen(self, header_bytes: bytes, length: int) -> None:
        """Raise FrameError for a frame that cannot be decoded, before its payload has come: see Link.screen."""
        header = self._read_header(header_bytes, length)
        self._catalogue.check_size(header.tag, length, self.peer)

    def _read_header(self, header_bytes: bytes, length: int) -> Header:
        header = read_header(header_bytes, self.peer)
        if header.run != self._run:
            raise FrameError(f"{self.own} receiving from {self.peer}: a frame of another run; restart both sides")
        if header.length != length or length > self._max_frame_bytes:
            raise FrameError(
                f"{self.own} receiving from {self.peer}: message {header.tag!r} has {length} bytes, wanted "
                f"{header.length} as announced and at most {self._max_frame_bytes}"
            )
        return header

    def _decode(self, header_bytes: bytes, payload: bytes | memoryview) -> Message:
        header = self._read_header(header_bytes, len(payload))
        if header.sequence != self._next_in:
            raise FrameError(
                f"{self.own} receiving from {self.peer}: found frame {header.sequence}, wanted {self._next_in}; "
                "frames were lost, repeated or reordered"
            )
        self._next_in += 1
        self.traffic.received(len(header_bytes) + len(payload))
        return self._catalogue.decode(header.tag, payload, self.peer)

    def abort(self, error: BaseException) -> None:
        """Tell the peer that this side has failed, and close. Never raises.

        A sentence that is fit for the peer travels (last_words.py), and the class of the error, by which the peer knows
        whether another attempt can help.
        """
        if self._open:
            # A peer that is gone, or refused us, needs no telling.
            with suppress(VfxgbError):
                self.send(Abort(reason=last_words(error, self.own)[:MAX_REASON], kind=type(error).__name__))
            self.close()

    def close(self) -> None:
        """End the channel; the peer sees it after the frames already sent. May be called again."""
        self._open = False
        self._link.close()

    def _last_words(self) -> Abort | None:
        """Why the peer stopped, if it said so before it left; what else it sent is of no use any more."""
        with suppress(LinkClosed, LinkTimeout, FrameError):
            while True:
                message = self._decode(*self._link.get(0))
                if isinstance(message, Abort):
                    return message
        return None

    def _stopped(self, step: str, told: Abort) -> PeerError | ConsentError:
        reason = printable(told.reason)
        if told.kind == ConsentError.__name__:
            return ConsentError(f"{self.own} {step}: {reason}")
        error = PeerError(f"{self.own} {step}: {self.peer} stopped the run: {reason}")
        error.kind = told.kind
        return error

    def _gone(self, step: str, ended: LinkClosed, told: Abort | None = None) -> PeerError | ConsentError:
        if told is not None:
            return self._stopped(step, told)
        if str(ended):
            return PeerError(f"{self.own} {step}: {ended}; look for the cause at {self.peer}")
        return PeerError(f"{self.own} {step}: {self.peer} has closed the channel; look for the cause at {self.peer}")


def memory_channels(
    active: str,
    passive: str,
    catalogue: Catalogue,
    run: bytes,
    observer: Observer | None = None,
    timeout: float | None = None,
    taps: tuple[Tap | None, Tap | None] = (None, None),
) -> tuple[Channel, Channel]:
    """The two ends (active's, passive's) of a channel within this process; it carries the bytes a network would.

    `observer` is told of every message once, by the active party's end; `taps` belong to one end each.
    """
    active_link, passive_link = memory_links()
    return (
        Channel(active, passive, active_link, catalogue, run, observer, timeout, tap=taps[0]),
        Channel(passive, active, passive_link, catalogue, run, None, timeout, tap=taps[1]),
    )


def broadcast(channels: "list[Channel]", message: Message) -> None:
    """Send one message to several peers, encoded once."""
    payload = encode(message)
    for channel in channels:
        channel.send_encoded(message, payload)


def _tags(types: tuple[type[Message], ...]) -> str:
    return " or ".join(repr(kind.TAG) if kind.TAG else "a message" for kind in types)
