"""The side that is dialled: one port, many sessions, no thread per session.

TLS lets in who holds the key of a pinned certificate; the handler then compares the certificate with the pin of the
party that the caller says it is. A session that lost its connection waits for its party to come back.
"""

import asyncio
import queue
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import grpc

from vfxgb.errors import ConfigError, FrameError
from vfxgb.transport.link import LinkClosed, LinkTimeout
from vfxgb.transport.network import compress
from vfxgb.transport.network.certificates import Credentials, check_peer, credentials, fingerprint, pin
from vfxgb.transport.network.hello import Call, read_call, read_version, write_answer
from vfxgb.transport.network.identity import Identity, Peer
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.link import NetworkLink
from vfxgb.transport.network.loop import NETWORK, call
from vfxgb.transport.network.state import StateObserver
from vfxgb.transport.network.stream import Stream
from vfxgb.transport.network.wire import MAX_MESSAGE, METHOD, SERVICE, WIRE_VERSION

_TEARDOWN_SECONDS = 5.0


@dataclass(frozen=True)
class Arrival:
    """A session that a peer has opened."""

    peer: str
    link: NetworkLink


class Listener:
    """Listens at `address` ("host:port", port 0: the system picks) from construction to `close`.

    Only the parties of `peers`, with exactly the certificates named there, get in; at most `max_sessions` sessions at a
    time, counted until they have ended. `on_state` is told of all of them when a connection is lost or back and when a
    session ends; see NetworkLink.watch. Closing ends all of its links. Raises CertificateError, ConfigError (an
    address that cannot be used).
    """

    def __init__(
        self,
        identity: Identity,
        peers: Mapping[str, Peer],
        address: str,
        limits: Limits | None = None,
        max_sessions: int = 64,
        on_state: StateObserver | None = None,
    ) -> None:
        own = credentials(identity)
        for name, peer in peers.items():
            # An expired pin keeps its party out, not the others.
            check_peer(peer, dates=False)
            if name != peer.party:
                raise ConfigError(f"{identity.party} listening: peer {peer.party!r} is listed as {name!r}")
        if not peers:
            raise ConfigError(f"{identity.party} listening: found no peers, wanted at least one certificate to let in")
        self._limits = limits or Limits()
        self._loop = NETWORK.acquire()
        self._arrivals: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self._closed = False
        pins = {name: pin(peer) for name, peer in peers.items()}
        self._sessions = _Sessions(identity.party, pins, self._limits, max_sessions, self._arrivals, on_state)
        self._server: grpc.aio.Server | None = None
        try:
            self._server, port = call(self._loop, self._start(own, b"".join(pins.values()), address), _TEARDOWN_SECONDS)
        except BaseException as error:
            NETWORK.release()
            if isinstance(error, RuntimeError):
                raise ConfigError(
                    f"{identity.party} listening at {address!r}: the address cannot be used; is another program on "
                    "that port, and is the host one of this machine's?"
                ) from None
            raise
        self._address = f"{address.rpartition(':')[0]}:{port}"

    async def _start(self, own: Credentials, roots: bytes, address: str) -> "tuple[grpc.aio.Server, int]":
        milliseconds = int(self._limits.connect_seconds * 1000)
        server = grpc.aio.server(
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", MAX_MESSAGE),
                ("grpc.max_send_message_length", -1),
                # Who is slow with the handshake, or has no stream after it, is dropped.
                ("grpc.server_handshake_timeout_ms", milliseconds),
                ("grpc.max_connection_idle_ms", milliseconds),
                ("grpc.max_concurrent_streams", 16),
            ]
        )
        handler = grpc.stream_stream_rpc_method_handler(self._sessions.serve)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
        secrets = grpc.ssl_server_credentials([(own.key, own.certificate)], roots, require_client_auth=True)
        port = server.add_secure_port(address, secrets)
        if port == 0:
            raise RuntimeError(address)
        await server.start()
        return server, port

    @property
    def address(self) -> str:
        """The address with the port that is used."""
        return self._address

    def accept(self, timeout: float | None) -> Arrival:
        """The next session. Raises LinkTimeout after `timeout` seconds (None: waits), LinkClosed after `close`."""
        if self._closed:
            raise LinkClosed("this side has stopped listening")
        try:
            found = self._arrivals.get(timeout=timeout)
        except queue.Empty:
            raise LinkTimeout(f"nobody called for {timeout:g} seconds") from None
        if found is None:
            # Others may be waiting too.
            self._arrivals.put(None)
            raise LinkClosed("this side has stopped listening")
        return found

    def close(self) -> None:
        """End all sessions and stop listening. May be called again."""
        if self._closed:
            return
        self._closed = True
        self._arrivals.put(None)
        links = self._sessions.links()
        deadline = time.monotonic() + self._limits.close_seconds
        try:
            for link in links:
                link.begin_close()
            while time.monotonic() < deadline and self._sessions.links():
                time.sleep(0.005)
        finally:
            with suppress(TimeoutError, FutureTimeoutError, CancelledError):
                call(self._loop, self._stop(), _TEARDOWN_SECONDS)
            for link in links:
                link.finish()
            NETWORK.release()

    async def _stop(self) -> None:
        await self._sessions.stop()
        server, self._server = self._server, None
        if server is not None:
            await server.stop(0)

    def __enter__(self) -> "Listener":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Refused(Exception):  # noqa: N818 - a signal within this module
    """A call that is not answered, and why: (status, text for the other side's user)."""


@dataclass
class _Session:
    """A link and what serves it. `party`: whose certificate opened it. `arrived`: whether `accept` will give it."""

    party: str
    link: NetworkLink
    arrived: bool = False
    stream: Stream | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    expiry: asyncio.TimerHandle | None = None


class _Sessions:
    """All sessions of a listener. Everything but `links` runs in the network thread."""

    def __init__(
        self,
        own: str,
        pins: Mapping[str, bytes],
        limits: Limits,
        max_sessions: int,
        arrivals: "queue.SimpleQueue[Arrival | None]",
        on_state: StateObserver | None,
    ) -> None:
        self._own = own
        self._pins = {name: fingerprint(pem) for name, pem in pins.items()}
        self._limits = limits
        self._max_sessions = max_sessions
        self._arrivals = arrivals
        self._on_state = on_state
        self._zstd = limits.compression and compress.AVAILABLE
        self._sessions: dict[bytes, _Session] = {}
        self._stopping = False

    def links(self) -> list[NetworkLink]:
        """The links that are not over."""
        return [session.link for session in list(self._sessions.values())]

    async def serve(self, _: Any, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        """One stream of a session."""
        try:
            said = self._admit(context)
            session = await self._session(said)
        except _Refused as refused:
            await context.abort(*refused.args)
            return
        link = session.link
        try:
            link.reopen(said.terms, self._zstd)
        except FrameError as error:
            link.fail(FrameError(f"receiving from {link.peer}: {error}"))
            self._end(said.session)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            return
        session.gone.clear()
        session.stream = Stream(link, context.read, context.write, self._limits)
        settled = False
        try:
            await context.send_initial_metadata(write_answer(link.terms(self._zstd)))
            if not session.arrived:
                session.arrived = True
                self._arrivals.put(Arrival(link.peer, link))
            settled = await session.stream.run()
        finally:
            session.stream = None
            session.gone.set()
            if settled or not session.arrived:
                self._end(said.session)
            elif said.session in self._sessions:
                loop = asyncio.get_running_loop()
                session.expiry = loop.call_later(self._limits.reconnect_seconds, self._expire, said.session)

    def _admit(self, context: "grpc.aio.ServicerContext[bytes, bytes]") -> Call:
        """What the caller says of itself, after all of it was checked."""
        metadata = context.invocation_metadata() or ()
        version = read_version(metadata)
        if version != str(WIRE_VERSION):
            raise _Refused(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"found wire version {version[:20]}, wanted {WIRE_VERSION}; install the same vfxgb on both sides",
            )
        try:
            said = read_call(metadata)
        except FrameError as error:
            raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from None
        shown = context.auth_context().get("x509_pem_cert", [])
        wanted = self._pins.get(said.party)
        if wanted is None or len(shown) != 1 or fingerprint(shown[0]) != wanted:
            raise _Refused(
                grpc.StatusCode.PERMISSION_DENIED,
                f"the certificate shown is not the one that {self._own} knows as that of {said.party[:64]!r}; use "
                "the certificate that was given to it",
            )
        return said

    async def _session(self, said: Call) -> _Session:
        """The session that is meant: a new one, or one that lost its connection and is free of the old one."""
        session = self._sessions.get(said.session)
        if said.again:
            if session is not None and session.party == said.party:
                # The caller may know that its connection is gone before this side does, or may have called twice.
                while session.stream is not None:
                    session.stream.stop()
                    await session.gone.wait()
            if session is None or session.party != said.party or said.session not in self._sessions:
                raise _Refused(
                    grpc.StatusCode.NOT_FOUND, f"{self._own} does not know this session (any more); was it restarted?"
                )
            if session.expiry is not None:
                session.expiry.cancel()
            return session
        if session is not None:
            raise _Refused(grpc.StatusCode.ALREADY_EXISTS, "this session exists")
        if self._stopping or len(self._sessions) >= self._max_sessions:
            raise _Refused(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._own} has {len(self._sessions)} sessions, wanted at most {self._max_sessions}; try again later",
            )
        loop = asyncio.get_running_loop()
        link = NetworkLink(said.party, said.session, self._limits, lambda: self._let_go(loop, said.session))
        if self._on_state is not None:
            link.watch(self._on_state)
        session = self._sessions[said.session] = _Session(said.party, link)
        return session

    def _let_go(self, loop: asyncio.AbstractEventLoop, session: bytes) -> None:
        """The application has closed a link: whatever state it is in. From any thread."""
        with suppress(RuntimeError):  # the loop has ended, and with it the session
            loop.call_soon_threadsafe(self._end, session)

    def _end(self, key: bytes) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            if session.expiry is not None:
                session.expiry.cancel()
            if session.stream is not None:
                session.stream.stop()
            session.link.finish()

    def _expire(self, key: bytes) -> None:
        session = self._sessions.get(key)
        if session is not None and session.stream is None:
            seconds = self._limits.reconnect_seconds
            session.link.fail(LinkClosed(f"the connection was lost and did not come back in {seconds:g} seconds"))
            self._end(key)

    async def stop(self) -> None:
        """End all sessions."""
        self._stopping = True
        for key in list(self._sessions):
            self._end(key)
