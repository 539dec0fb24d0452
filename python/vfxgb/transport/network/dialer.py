"""The side that opens sessions: one task per link in the network thread, which connects, and connects again.

Each attempt has a gRPC channel of its own, so that no back-off but ours is at work.
"""

import asyncio
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from secrets import randbelow
from traceback import clear_frames
from typing import Any

import grpc

from vfxgb._native.rand import random_bytes
from vfxgb.errors import FrameError, PeerError
from vfxgb.printable import printable
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.network import compress
from vfxgb.transport.network.certificates import Credentials, check_peer, credentials, pins
from vfxgb.transport.network.diagnose import why_unreachable
from vfxgb.transport.network.hello import Call, read_answer, read_version, write_call
from vfxgb.transport.network.identity import Identity, Peer
from vfxgb.transport.network.key_exchange import objection
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.link import NetworkLink
from vfxgb.transport.network.loop import NETWORK, call
from vfxgb.transport.network.state import StateObserver
from vfxgb.transport.network.stream import Stream
from vfxgb.transport.network.wire import MAX_MESSAGE, METHOD, SERVICE, WIRE_VERSION, write_fail

# Seconds before the second attempt after a lost connection; doubled with each, up to the last, and half of it random.
_FIRST_PAUSE, _LAST_PAUSE = 0.1, 10.0
# What the listening side answers when another attempt cannot help.
_FINAL = (
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNIMPLEMENTED,
)
_TEARDOWN_SECONDS = 5.0
# How long this side tries to tell the other one that it will not come.
_LAST_WORDS_SECONDS = 1.0
_MAX_TEXT = 300


def dial(
    identity: Identity,
    peer: Peer,
    limits: Limits | None = None,
    on_state: StateObserver | None = None,
    first_frame_bytes: int | None = None,
) -> NetworkLink:
    """A new session with `peer`, which listens at peer.address; one attempt of at most connect_seconds.

    `on_state` is told when the connection is lost, when it is back and when the session ends; see NetworkLink.watch.
    `first_frame_bytes`: the largest frame accepted until NetworkLink.screen is called; None: as the limits say.
    Raises CertificateError for files of this side that cannot be used; PeerError that says why the peer cannot be
    reached: nobody listens there, no TLS, another or an expired certificate, this side's certificate refused, another
    version, no room for another session.
    """
    limits = limits or Limits()
    own = credentials(identity)
    check_peer(peer)
    target = _Target(identity.party, peer, own, b"".join(pins(peer)), limits)
    loop = NETWORK.acquire()
    dialled = _Dialled(target, loop, first_frame_bytes)
    try:
        call(loop, dialled.start(), limits.connect_seconds + _TEARDOWN_SECONDS)
    except BaseException as error:
        dialled.release()
        if isinstance(error, _Refused):
            raise PeerError(f"{identity.party} dialling {peer.party} at {peer.address}: {error}") from None
        if isinstance(error, (_Unreachable, TimeoutError, FutureTimeoutError, CancelledError)):
            reason = why_unreachable(identity, peer, limits.connect_seconds)
            cause = reason or f"the connection failed ({error})"
            raise PeerError(f"{identity.party} dialling {peer.party} at {peer.address}: {cause}") from None
        raise
    if on_state is not None:
        dialled.link.watch(on_state)
    return dialled.link


class _Refused(Exception):  # noqa: N818 - a signal within this module
    """The listening side said no, or what it said cannot be right: another attempt cannot help."""


class _Unreachable(Exception):  # noqa: N818 - a signal within this module
    """No stream came about."""


@dataclass(frozen=True)
class _Target:
    """Everything an attempt needs."""

    own: str
    peer: Peer
    credentials: Credentials
    pins: bytes
    limits: Limits

    def channel(self) -> "grpc.aio.Channel":
        secrets = grpc.ssl_channel_credentials(self.pins, self.credentials.key, self.credentials.certificate)
        options = [
            # Each pin carries the party's name, wherever the party's machine is.
            ("grpc.ssl_target_name_override", self.peer.party),
            ("grpc.max_receive_message_length", MAX_MESSAGE),
            ("grpc.max_send_message_length", -1),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_retries", 0),
            ("grpc.enable_http_proxy", 0),
            ("grpc.service_config_disable_resolution", 1),
        ]
        return grpc.aio.secure_channel(self.peer.address, secrets, options=options)


class _Dialled:
    """A dialled link and the task that keeps it connected."""

    def __init__(self, target: _Target, loop: asyncio.AbstractEventLoop, first_frame_bytes: int | None) -> None:
        self.link = NetworkLink(
            target.peer.party, random_bytes(RUN_BYTES), target.limits, self.release, first_frame_bytes
        )
        self._target = target
        self._loop = loop
        self._zstd = target.limits.compression and compress.AVAILABLE
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the first stream; the rest goes on in a task. Raises _Refused, _Unreachable."""
        channel, stream = await self._open(again=False)
        self._task = asyncio.ensure_future(self._keep(channel, stream))

    def release(self) -> None:
        """End the task, whatever it does, and let go of the network thread."""
        with suppress(TimeoutError, FutureTimeoutError, CancelledError):
            call(self._loop, self._stop(), _TEARDOWN_SECONDS)
        NETWORK.release()

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.link.finish()

    async def _open(self, again: bool) -> "tuple[grpc.aio.Channel, Stream]":
        """A channel with a stream that the other side has agreed to, within connect_seconds."""
        channel = self._target.channel()
        try:
            return channel, await asyncio.wait_for(self._agree(channel, again), self._target.limits.connect_seconds)
        except BaseException as error:
            await channel.close()
            # The frames of an error refer to the error: gRPC's objects in them would live on, and connect again.
            clear_frames(error.__traceback__)
            del channel
            if isinstance(error, asyncio.TimeoutError):
                raise _Unreachable("no answer in time") from None
            raise

    async def _agree(self, channel: "grpc.aio.Channel", again: bool) -> Stream:
        said = Call(self._target.own, self.link.session, again, self.link.terms(self._zstd))
        rpc = channel.stream_stream(f"/{SERVICE}/{METHOD}")(metadata=write_call(said))
        metadata: Any = ()
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            metadata = await rpc.initial_metadata()
        version = read_version(metadata)
        if version == "none" or rpc.done():
            # No answer of ours, so a refusal, whose status may come a moment later.
            code, details = await rpc.code(), _said(await rpc.details())
            if code in _FINAL:
                raise _Refused(f"{self._target.peer.party} refused: {details}")
            raise _Unreachable(details)
        if version != str(WIRE_VERSION):
            raise _Refused(f"found wire version {_said(version)}, wanted {WIRE_VERSION}; install the same vfxgb")
        try:
            terms, key_exchange = read_answer(metadata)
            why = objection(key_exchange) if self._target.limits.require_post_quantum else ""
            if not why:
                self.link.reopen(terms, self._zstd, key_exchange)
        except FrameError as error:
            why = str(error)
        if why:
            await self._decline(rpc, why)
            raise _Refused(why)
        return Stream(self.link, rpc.read, rpc.write, self._target.limits, rpc.done_writing)

    async def _decline(self, rpc: Any, why: str) -> None:
        """Tell the other side, which has let this one in, that nobody will come: it would wait for a while."""

        async def last_words() -> None:
            await rpc.write(write_fail(0, why))
            await rpc.done_writing()
            await rpc.read()

        with suppress(Exception):  # whatever keeps it from being told, the call ends now
            await asyncio.wait_for(last_words(), _LAST_WORDS_SECONDS)

    async def _keep(self, channel: "grpc.aio.Channel", stream: Stream) -> None:
        """Run streams one after the other until the session is settled or given up."""
        try:
            while True:
                try:
                    if await stream.run():
                        return
                finally:
                    await channel.close()
                # As long as anything refers to it, a channel that is closed connects again by itself.
                del channel, stream
                channel, stream = await self._reconnect()
        except _Refused as error:
            self.link.fail(LinkClosed(f"the connection was lost, and then {error}"))
        except _Unreachable as error:
            seconds = self._target.limits.reconnect_seconds
            self.link.fail(
                LinkClosed(f"the connection was lost and did not come back in {seconds:g} seconds ({error})")
            )
        finally:
            self.link.finish()

    async def _reconnect(self) -> "tuple[grpc.aio.Channel, Stream]":
        deadline = self._loop.time() + self._target.limits.reconnect_seconds
        pause, last = _FIRST_PAUSE, "not tried"
        while not self.link.failed:
            if self._loop.time() >= deadline:
                break
            try:
                return await self._open(again=True)
            except _Unreachable as error:
                last = str(error)
            jitter = 0.5 + randbelow(1 << 20) / (1 << 21)
            await asyncio.sleep(max(0.0, min(pause * jitter, deadline - self._loop.time())))
            pause = min(2 * pause, _LAST_PAUSE)
        raise _Unreachable(last)


def _said(text: str | None) -> str:
    """What another machine said, fit for a message of ours."""
    return printable((text or "no reason given")[:_MAX_TEXT])
