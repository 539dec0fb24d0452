"""A link over the network: the state of a session, which outlives the connections that carry it.

Threads of the application call `put`, `get` and `close`. The network thread calls what comes below them: a stream asks
for the next message to send and hands in those that came; see stream.py.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from vfxgb.errors import FrameError
from vfxgb.transport.link import Frame, LinkClosed, LinkTimeout, Screen
from vfxgb.transport.network import wire
from vfxgb.transport.network.inbox import Inbox
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.outbox import Outbox
from vfxgb.transport.network.state import StateObserver, StateTeller

# Python sees a ctrl-C that comes in the moment before a wait begins only when the wait is over.
LONGEST_WAIT = 0.5


@dataclass(frozen=True)
class Terms:
    """What one side tells the other when a connection opens.

    `received`: chunks it has. `window`: room for bytes. `zstd`: whether it reads compressed chunks. `beat`: how often,
    in seconds, it wants a sign of life.
    """

    received: int
    window: int
    zstd: bool
    beat: float


class NetworkLink:
    """One end of a session with a peer; implements transport.link.Link. Made by `dial` and `Listener.accept`.

    A lost connection is made again and the session goes on: every frame arrives once and in order. `get` and `put` may
    be called from different threads, each from one at a time. Not usable in a forked child.

    `peer`: the peer's name, proved by its certificate. `session`: 16 bytes, drawn by the side that dialled; the `run`
    of the channel on top. `wire_sent`, `wire_received`: bytes handed to and taken from gRPC, repeated and compressed
    ones as they are. `reconnects`: how often the connection was made again. `connected`: whether the peer is there now
    and heard. `their_beat`: how often, in seconds, the peer wants a sign of life. `key_exchange`: the group by which
    the keys of the latest connection were agreed on, "" if it is not known.
    """

    def __init__(
        self,
        peer: str,
        session: bytes,
        limits: Limits,
        release: Callable[[], None],
        first_frame_bytes: int | None = None,
    ) -> None:
        self.peer = peer
        self.session = session
        self.wire_sent = 0
        self.wire_received = 0
        self.reconnects = -1
        self.connected = False
        self.their_beat = limits.wanted_beat
        self.key_exchange = ""
        self._limits = limits
        # Called once by `close`, when the peer has everything or the time is over: ends what serves this link.
        self._release = release
        self._lock = threading.Lock()
        self._readable = threading.Condition(self._lock)
        self._writable = threading.Condition(self._lock)
        self._over = threading.Event()
        # Until somebody says what may come (`screen`), no frame has to be larger than the first words.
        first = limits.largest_frame if first_frame_bytes is None else min(limits.largest_frame, first_frame_bytes)
        self._inbox = Inbox(limits.receive_window, first)
        self._outbox = Outbox()
        self._wake: Callable[[], None] | None = None
        self._watchers: list[Callable[[NetworkLink], None]] = []
        # Told without `_lock`, so that observers may ask this link anything.
        self._states = StateTeller(peer)
        self._zstd = False
        self._closed = False
        self._released = False
        # What ended the session, for get and put; None while it goes on. `_to_tell`: what the peer is to hear.
        self._failure: Exception | None = None
        self._to_tell = ""
        self._told = False
        self._end_sent = self._end_received = self._done_due = self._done_sent = self._done_received = False
        self._acknowledgement_due = False

    def put(self, frame: Frame) -> None:
        """Hand over a frame; waits while more than window_bytes are under way. Raises LinkClosed with the reason."""
        deadline = time.monotonic() + self._limits.step_seconds
        with self._lock:
            while not self._ended() and self._outbox.waiting >= self._limits.window_bytes:
                self._writable.wait(min(deadline - time.monotonic(), LONGEST_WAIT))
                if time.monotonic() >= deadline:
                    raise LinkClosed(f"{self.peer} took nothing for {self._limits.step_seconds:g} seconds")
            if self._ended():
                # Whatever it was, for a sender it is a link that has ended.
                raise LinkClosed(*self._reason().args)
            self._outbox.put(frame)
            self._poke()

    def get(self, timeout: float | None) -> Frame:
        """The next frame. None waits step_seconds.

        Raises LinkTimeout, LinkClosed (reason), FrameError (the peer broke the rules).
        """
        seconds = self._limits.step_seconds if timeout is None else timeout
        deadline = time.monotonic() + seconds
        with self._lock:
            while not self._inbox.frames:
                if self._ended():
                    raise self._reason()
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise LinkTimeout(f"sent nothing for {seconds:g} seconds")
                self._readable.wait(min(remaining, LONGEST_WAIT))
            frame = self._inbox.take()
            if self._inbox.acknowledgement_due:
                self._poke()
            return frame

    def screen(self, screen: Screen) -> None:
        """Look at every frame from now on when its first chunk comes. What is refused ends the session, at both sides.

        From now on a frame may have the size that the limits allow and the screen lets pass.
        """
        with self._lock:
            self._inbox.screen = screen
            self._inbox.max_frame_bytes = self._limits.largest_frame

    def ready(self) -> bool:
        """Whether `get` would return or raise at once."""
        with self._lock:
            return bool(self._inbox.frames) or self._ended()

    def close(self) -> None:
        """Deliver what was put, tell the peer, and let go; at most close_seconds. Frames that came can still be read.

        May be called again. Interrupted (ctrl-C), it lets go at once; so does a link that has failed without a word for
        the peer.
        """
        self.begin_close()
        try:
            if self._failure is None or self._to_tell:
                self._over.wait(self._limits.close_seconds)
        finally:
            self._let_go()

    def begin_close(self) -> None:
        """The first half of `close`: no more frames; the last ones and the end are on their way."""
        with self._lock:
            self._closed = True
            self._notify()
            self._poke()

    def _let_go(self) -> None:
        with self._lock:
            first, self._released = not self._released, True
        if first:
            self._release()

    def watch(self, observer: StateObserver) -> None:
        """Tell `observer` when the connection is lost, when it is back and when the session ends; now, if it is lost.

        It is called from the network thread, so it must be quick; what it raises is dropped. A peer that died is told
        within Limits.lost_after_seconds, however silently. Closing the link, by either side, is not told.
        """
        self._states.watch(observer)

    def watch_ready(self, watcher: "Callable[[NetworkLink], None]") -> None:
        """Call `watcher(link)` whenever the link may have become ready; from any thread, so it must be quick."""
        with self._lock:
            self._watchers.append(watcher)
            if self._inbox.frames or self._ended():
                watcher(self)

    def unwatch_ready(self, watcher: "Callable[[NetworkLink], None]") -> None:
        """Call it no longer."""
        with self._lock:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

    def __enter__(self) -> "NetworkLink":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"NetworkLink({self.peer!r}, session {self.session.hex()[:8]})"

    def _ended(self) -> bool:
        return self._closed or self._end_received or self._failure is not None

    def _reason(self) -> Exception:
        if self._failure is not None:
            return type(self._failure)(*self._failure.args)
        return LinkClosed()

    def _poke(self) -> None:
        """Wake the stream, if there is one and it sleeps. Under the lock."""
        if self._wake is not None:
            wake, self._wake = self._wake, None
            wake()

    def _notify(self) -> None:
        self._readable.notify_all()
        self._writable.notify_all()
        for watcher in self._watchers:
            watcher(self)

    # What follows is called by the network thread.

    def terms(self, zstd: bool) -> Terms:
        """What to tell the other side when a connection opens."""
        with self._lock:
            return Terms(self._inbox.received, self._limits.receive_window, zstd, self._limits.wanted_beat)

    def reopen(self, theirs: Terms, zstd: bool, key_exchange: str = "") -> None:
        """A connection is there, with what the other side told. Raises FrameError if that cannot be right."""
        with self._lock:
            if not self._end_received and self._failure is None:
                self._outbox.reopen(theirs.received, theirs.window)
            self._zstd = zstd and theirs.zstd
            self._end_sent = self._done_sent = self._told = False
            self._done_due = self._end_received
            # The last acknowledgement may have been lost with the old connection.
            self._acknowledgement_due = self.reconnects >= 0
            self.reconnects += 1
            self.connected = True
            self.their_beat = theirs.beat
            self.key_exchange = key_exchange
            self._writable.notify_all()
        self._states.back()

    def detach(self, reason: str) -> None:
        """The connection is gone."""
        with self._lock:
            self._wake = None
            self.connected = False
            over = self._ended()
        if not over:
            self._states.lost(self._limits.reconnect_seconds, reason)

    def quiet(self, seconds: float, reason: str) -> None:
        """Nothing is heard from the peer; after `seconds` more the connection is given up."""
        with self._lock:
            self.connected = False
            over = self._ended()
        if not over:
            self._states.lost(seconds + self._limits.reconnect_seconds, reason)

    def audible(self) -> None:
        """The peer is heard again on the connection that was quiet."""
        with self._lock:
            self.connected = True
        self._states.back()

    def next_message(self, wake: Callable[[], None], beat: bool) -> bytes | None:
        """The next message to send. None: there is none, and `wake` is called when that may have changed."""
        with self._lock:
            message = self._choose(beat)
            if message is None:
                self._wake = wake
            else:
                self.wire_sent += len(message)
            return message

    def _choose(self, beat: bool) -> bytes | None:
        if self.settled:
            return None
        ack = self._inbox.acknowledgement
        if self._to_tell:
            self._told = True
            return wire.write_fail(ack(), self._to_tell)
        if self._done_due:
            self._done_due, self._done_sent = False, True
            return wire.write_short(wire.DONE, ack())
        if self._acknowledgement_due or self._inbox.acknowledgement_due:
            self._acknowledgement_due = False
            return wire.write_short(wire.BEAT, ack())
        message = self._outbox.next_message(ack(), self._zstd)
        if message is not None:
            return message
        if self._closed and not self._end_sent and self._outbox.empty:
            self._end_sent = True
            return wire.write_end(ack(), self._outbox.next_sequence)
        return wire.write_short(wire.BEAT, ack()) if beat else None

    def feed(self, message: bytes) -> None:
        """Take a message that came. Raises FrameError, after which the session is to be failed."""
        kind, ack = wire.read_head(message)
        with self._lock:
            self.wire_received += len(message)
            if self.settled or self._failure is not None:
                return
            if not self._end_received:
                self._outbox.acknowledge(ack)
                self._writable.notify_all()
            if kind == wire.CHUNK:
                if self._end_received:
                    raise FrameError("found a chunk after the end")
                if self._inbox.feed(wire.read_chunk(message)):
                    self._notify()
            elif kind == wire.END:
                if wire.read_end(message) != self._inbox.received:
                    raise FrameError(
                        f"found an end after {wire.read_end(message)} chunks, and {self._inbox.received} came"
                    )
                self._end_received = self._done_due = True
                self._outbox.clear()
                self._notify()
            elif kind == wire.DONE:
                if not self._closed:
                    raise FrameError("found an answer to an end that was never sent")
                self._done_received = True
            elif kind == wire.FAIL:
                self._fail(LinkClosed(f"{self.peer} gave the session up: {wire.read_fail(message)}"))
            # The stream may now have something to say: an acknowledgement, the answer to an end, more chunks.
            if kind != wire.CHUNK or self._inbox.acknowledgement_due or not self._outbox.empty:
                self._poke()
        if kind == wire.FAIL:
            self._tell_end()

    def fail(self, error: Exception, tell: str = "") -> None:
        """The session is over. `tell`: what to tell the peer if a connection is there."""
        with self._lock:
            self._to_tell = self._to_tell or tell
            self._fail(error)
            self._poke()
        self._tell_end()

    def _fail(self, error: Exception) -> None:
        if self._failure is None:
            self._failure = error
            self._outbox.clear()
            self._notify()

    def _tell_end(self) -> None:
        """Tell observers of a failure, unless this side has closed and nobody waits for anything."""
        if self._failure is not None and not self._closed:
            self._states.ended(str(self._failure))

    @property
    def settled(self) -> bool:
        """Whether neither side has anything more to tell the other."""
        if self._failure is not None:
            return self._told or not self._to_tell
        return self._done_received or (self._end_received and self._done_sent)

    @property
    def failed(self) -> bool:
        """Whether there is no point in another connection."""
        return self._failure is not None

    def finish(self) -> None:
        """Nothing serves this link any longer."""
        with self._lock:
            if not self._closed and not self._end_received:
                self._fail(LinkClosed("the connection has ended"))
            self._notify()
        self._tell_end()
        self._over.set()
