"""One connection of a session: moves messages between a link and a gRPC stream, in the network thread.

Both sides run the same code. A stream ends when the session is settled, when gRPC says that it is over, or when nothing
was heard for MISSED_BEATS heartbeats; the session itself goes on with the next stream. Long before that, after
lost_after_seconds of silence, the link tells its owner that the peer is lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from vfxgb.errors import FrameError
from vfxgb.transport.network.limits import MISSED_BEATS, Limits
from vfxgb.transport.network.link import NetworkLink

# gRPC's answer to a read at the end of a stream is an object of its own; everything else is a message.
Read = Callable[[], Awaitable[Any]]
Write = Callable[[bytes], Awaitable[Any]]

# How long the dialling side waits for the other one to end a stream on which all has been said.
_LAST_WORDS_SECONDS = 1.0


class Stream:
    """The messages of `link` over `read` and `write` of one gRPC stream. Made and run within the event loop.

    `half_close`: given by the dialling side, which says that it has nothing more to send and lets the other side end
    the stream: cancelled from here, gRPC would drop what is still on its way.
    """

    def __init__(
        self,
        link: NetworkLink,
        read: Read,
        write: Write,
        limits: Limits,
        half_close: Callable[[], Awaitable[Any]] | None = None,
    ) -> None:
        self._link = link
        self._read = read
        self._write = write
        # The other side may want to hear from this one more often than this one's own limits say.
        self._beat_seconds = min(limits.heartbeat_seconds, link.their_beat)
        self._lost_after = limits.lost_after_seconds
        self._give_up_after = MISSED_BEATS * limits.heartbeat_seconds
        self._half_close = half_close
        self._loop = asyncio.get_running_loop()
        self._awake = asyncio.Event()
        self._beat = False
        self._heard = self._loop.time()
        self._quiet = False
        self._why_ended = "the connection was closed"
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """End this stream, not the session."""
        self._stopped.set()

    async def run(self) -> bool:
        """Move messages until the end of the stream. True if the session is settled."""
        tasks = [
            asyncio.ensure_future(self._receive()),
            asyncio.ensure_future(self._send()),
            asyncio.ensure_future(self._stopped.wait()),
        ]
        self._ticking = self._loop.call_later(self._beat_seconds, self._tick)
        self._listening = self._loop.call_later(min(self._lost_after, self._give_up_after), self._listen)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._link.settled and self._half_close is not None:
                with suppress(Exception):  # gone already: nothing is left to be delivered
                    await self._half_close()
                await asyncio.wait(tasks[:1], timeout=_LAST_WORDS_SECONDS)
            return self._link.settled
        finally:
            self._stopped.set()
            # Whatever refers to this stream keeps gRPC's objects alive.
            self._ticking.cancel()
            self._listening.cancel()
            for task in tasks:
                task.cancel()
            # Their errors are gRPC's ways to say that the connection is gone.
            await asyncio.gather(*tasks, return_exceptions=True)
            self._link.detach(self._why_ended)

    async def _receive(self) -> None:
        """Until the end of the stream. What comes after the session is settled is of no interest."""
        while True:
            message = await self._read()
            if not isinstance(message, bytes):
                return
            self._heard = self._loop.time()
            if self._quiet:
                self._quiet = False
                self._link.audible()
            try:
                self._link.feed(message)
            except FrameError as error:
                # What looks at headers (NetworkLink.screen) names the peer itself.
                who, text = f"receiving from {self._link.peer}: ", str(error)
                self._link.fail(FrameError(text if who in text else who + text), tell=text)

    async def _send(self) -> None:
        while True:
            self._awake.clear()
            beat, self._beat = self._beat, False
            message = self._link.next_message(self._wake, beat)
            if message is not None:
                await self._write(message)
            elif self._link.settled:
                return
            else:
                await self._awake.wait()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it this stream
            self._loop.call_soon_threadsafe(self._awake.set)

    def _tick(self) -> None:
        """Have a sign of life sent, and call again."""
        if not self._stopped.is_set():
            self._beat = True
            self._awake.set()
            self._ticking = self._loop.call_later(self._beat_seconds, self._tick)

    def _listen(self) -> None:
        """Look for how long nothing was heard, and look again when that may matter."""
        if self._stopped.is_set():
            return
        silence = self._loop.time() - self._heard
        if silence >= self._give_up_after:
            self._why_ended = f"nothing was heard for {self._give_up_after:g} seconds"
            self._stopped.set()
            return
        if silence >= self._lost_after and not self._quiet:
            self._quiet = True
            self._link.quiet(self._give_up_after - silence, f"nothing was heard for {self._lost_after:g} seconds")
        bounds = (self._lost_after, self._give_up_after)
        wait = min(bound for bound in bounds if bound > silence) - silence
        self._listening = self._loop.call_later(wait, self._listen)
