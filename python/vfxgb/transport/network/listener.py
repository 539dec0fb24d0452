"""The side that is dialled: one port, many sessions, no thread per session.

TLS lets in who holds the key of a pinned certificate; the handler then compares the certificate with the pin of the
party that the caller says it is. A session that lost its connection waits for its party to come back.
"""

import asyncio
import queue
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import grpc

from vfxgb.errors import ConfigError, FrameError
from vfxgb.transport.link import LinkClosed, LinkTimeout
from vfxgb.transport.network import compress
from vfxgb.transport.network.certificates import check_peer, credentials, fingerprint, pins
from vfxgb.transport.network.hello import Call, read_call, read_party, read_version, write_answer
from vfxgb.transport.network.identity import Identity, Peer
from vfxgb.transport.network.key_exchange import negotiated_group, objection
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.link import NetworkLink
from vfxgb.transport.network.loop import NETWORK, call
from vfxgb.transport.network.state import StateObserver
from vfxgb.transport.network.stream import Stream
from vfxgb.transport.network.uncalled import Uncalled
from vfxgb.transport.network.wire import MAX_MESSAGE, METHOD, SERVICE, WIRE_VERSION

_TEARDOWN_SECONDS = 5.0


@dataclass(frozen=True)
class Arrival:
    """A session that a peer has opened."""

    peer: str
    link: NetworkLink


@dataclass(frozen=True)
class Refusal:
    """A call that was not let in, or a connection that ended without one.

    `party`: the name that the caller gave itself, "" for none. `fingerprint`: SHA-256 of the certificate that it
    showed, hex. `reason`: what it was told. `address`: where it came from. A certificate that nobody has pinned is
    refused by TLS itself, before there is a call: then the address is all that is known (uncalled.py), and only the
    caller's side can say which certificate it was.
    """

    party: str
    fingerprint: str
    reason: str
    address: str = ""


class Listener:
    """Listens at `address` ("host:port", port 0: the system picks) from construction to `close`.

    Only the parties of `peers`, with exactly the certificates named there, get in; at most `max_sessions` sessions at a
    time, counted until they have ended, of which one party has at most `max_per_peer`; None leaves a place for each of
    the other parties. A party without a place gets that of its own oldest session that has lost its connection.
    `first_frame_bytes`: the largest frame accepted until NetworkLink.screen is called; None: as the limits say.
    `on_refused` is told of every call that is not let in, and of connections that end without one. `on_state` is told
    when a connection is lost or back and when a session ends; see NetworkLink.watch. Both are called from the network
    thread and must be quick.

    Closing ends all of its links. Raises CertificateError, ConfigError (an address that cannot be used).
    """

    def __init__(
        self,
        identity: Identity,
        peers: Mapping[str, Peer],
        address: str,
        limits: Limits | None = None,
        max_sessions: int = 64,
        on_state: StateObserver | None = None,
        on_refused: Callable[[Refusal], None] | None = None,
        first_frame_bytes: int | None = None,
        max_per_peer: int | None = None,
    ) -> None:
        known, secrets = _read_files(identity, peers)
        self._limits = limits or Limits()
        self._loop = NETWORK.acquire()
        self._arrivals: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self._closed = False
        self._party = identity.party
        self._new_secrets: grpc.ServerCertificateConfiguration | None = None
        rules = _Rules(self._limits, max_sessions, max_per_peer, first_frame_bytes, on_state, on_refused)
        self._uncalled = Uncalled(
            self._loop, lambda at, why: None if on_refused is None else on_refused(Refusal("", "", why, at))
        )
        self._sessions = _Sessions(identity.party, known, rules, self._arrivals, self._uncalled)
        self._server: grpc.aio.Server | None = None
        try:
            self._server, port = call(self._loop, self._start(secrets, address), _TEARDOWN_SECONDS)
        except BaseException as error:
            NETWORK.release()
            if isinstance(error, RuntimeError):
                raise ConfigError(
                    f"{identity.party} listening at {address!r}: the address cannot be used; is another program on "
                    "that port, and is the host one of this machine's?"
                ) from None
            raise
        self._address = f"{address.rpartition(':')[0]}:{port}"

    async def _start(self, files: "grpc.ServerCertificateConfiguration", address: str) -> "tuple[grpc.aio.Server, int]":
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
        secrets = grpc.dynamic_ssl_server_credentials(files, self._take_new_secrets, True)
        port = server.add_secure_port(address, secrets)
        if port == 0:
            raise RuntimeError(address)
        self._uncalled.port = port
        await server.start()
        return server, port

    def _take_new_secrets(self) -> "grpc.ServerCertificateConfiguration | None":
        """What gRPC asks for at every new connection; None: nothing has changed."""
        self._uncalled.begun()
        files, self._new_secrets = self._new_secrets, None
        return files

    def reload(self, identity: Identity, peers: Mapping[str, Peer]) -> None:
        """Read certificates and key again: connections from now on use them, open ones go on.

        A session whose connection is lost is continued only with a certificate that is still pinned. Raises
        CertificateError or ConfigError, and then everything stays as it was.
        """
        if identity.party != self._party:
            raise ConfigError(f"{self._party} listening: found the name {identity.party!r}, which cannot be changed")
        known, secrets = _read_files(identity, peers)
        call(self._loop, self._sessions.use_pins(known), _TEARDOWN_SECONDS)
        self._new_secrets = secrets

    @property
    def address(self) -> str:
        """The address with the port that is used."""
        return self._address

    def accept(self, timeout: float | None) -> Arrival:
        """The next session. Raises LinkTimeout after `timeout` seconds (None: waits), LinkClosed after `close`."""
        if self._closed:
            raise LinkClosed("this side has stopped listening")
        try:
            arrival = self._arrivals.get(timeout=timeout)
        except queue.Empty:
            raise LinkTimeout(f"nobody called for {timeout:g} seconds") from None
        if arrival is None:
            # Others may be waiting too.
            self._arrivals.put(None)
            raise LinkClosed("this side has stopped listening")
        return arrival

    def close(self) -> None:
        """End all sessions and stop listening. May be called again."""
        if self._closed:
            return
        self._closed = True
        self._uncalled.stop()
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

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_files(
    identity: Identity, peers: Mapping[str, Peer]
) -> "tuple[dict[str, tuple[bytes, ...]], grpc.ServerCertificateConfiguration]":
    """The pins of all peers as PEM, and what gRPC needs for the handshakes. Raises CertificateError, ConfigError."""
    own = credentials(identity)
    for name, peer in peers.items():
        # An expired pin keeps its party out, not the others.
        check_peer(peer, dates=False)
        if name != peer.party:
            raise ConfigError(f"{identity.party} listening: peer {peer.party!r} is listed as {name!r}")
    if not peers:
        raise ConfigError(f"{identity.party} listening: found no peers, wanted at least one certificate to let in")
    known = {name: pins(peer) for name, peer in peers.items()}
    roots = b"".join(pem for pems in known.values() for pem in pems)
    return known, grpc.ssl_server_certificate_configuration([(own.key, own.certificate)], roots)


class _Refused(Exception):  # noqa: N818 - a signal within this module
    """A call that is not answered, and why: (status, text for the other side's user)."""


@dataclass(frozen=True)
class _Rules:
    """What a listener was told about its sessions; see Listener."""

    limits: Limits
    max_sessions: int
    max_per_peer: int | None
    first_frame_bytes: int | None
    on_state: StateObserver | None
    on_refused: Callable[[Refusal], None] | None


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
        known: Mapping[str, tuple[bytes, ...]],
        rules: _Rules,
        arrivals: "queue.SimpleQueue[Arrival | None]",
        uncalled: Uncalled,
    ) -> None:
        self._uncalled = uncalled
        self._own = own
        self._pins = _fingerprints(known)
        self._rules = rules
        self._limits = limits = rules.limits
        self._arrivals = arrivals
        self._zstd = limits.compression and compress.AVAILABLE
        self._sessions: dict[bytes, _Session] = {}
        self._stopping = False

    def links(self) -> list[NetworkLink]:
        """The links that are not over."""
        return [session.link for session in list(self._sessions.values())]

    async def use_pins(self, known: Mapping[str, tuple[bytes, ...]]) -> None:
        """Let in who has these certificates, from now on."""
        self._pins = _fingerprints(known)

    async def serve(self, _: Any, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        """One stream of a session."""
        address = self._uncalled.called(context.peer())
        try:
            said = self._admit(context)
            session = await self._session(said)
        except _Refused as refused:
            await self._refuse(context, address, *refused.args)
            return
        link = session.link
        try:
            link.reopen(said.terms, self._zstd, negotiated_group(context.auth_context()))
        except FrameError as error:
            link.fail(FrameError(f"receiving from {link.peer}: {error}"))
            self._end(said.session)
            await self._refuse(context, address, grpc.StatusCode.INVALID_ARGUMENT, str(error))
            return
        session.gone.clear()
        session.stream = Stream(link, context.read, context.write, self._limits)
        try:
            await context.send_initial_metadata(write_answer(link.terms(self._zstd), link.key_exchange))
            if not session.arrived:
                session.arrived = True
                self._arrivals.put(Arrival(link.peer, link))
            await session.stream.run()
        finally:
            session.stream = None
            session.gone.set()
            # A peer that has heard all may end its call first, and gRPC then ends this one by an error.
            if link.settled or not session.arrived:
                self._end(said.session)
            elif said.session in self._sessions:
                loop = asyncio.get_running_loop()
                session.expiry = loop.call_later(self._limits.reconnect_seconds, self._expire, said.session)

    async def _refuse(
        self, context: "grpc.aio.ServicerContext[bytes, bytes]", address: str, code: grpc.StatusCode, reason: str
    ) -> None:
        """End a call with a reason, and tell the owner of the listener who it was."""
        if self._rules.on_refused is not None:
            shown = _shown(context)
            party = read_party(context.invocation_metadata() or ())
            # A line that cannot be written is no reason to leave the caller without an answer.
            with suppress(Exception):
                self._rules.on_refused(Refusal(party, fingerprint(shown[0]) if shown else "", reason, address))
        await context.abort(code, reason)

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
        shown = _shown(context)
        if len(shown) != 1 or fingerprint(shown[0]) not in self._pins.get(said.party, ()):
            raise _Refused(
                grpc.StatusCode.PERMISSION_DENIED,
                f"the certificate shown is not the one that {self._own} knows as that of {said.party[:64]!r}; use "
                "the certificate that was given to it",
            )
        why = objection(negotiated_group(context.auth_context())) if self._limits.require_post_quantum else ""
        if why:
            raise _Refused(grpc.StatusCode.FAILED_PRECONDITION, why)
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
        self._make_room(said.party)
        loop = asyncio.get_running_loop()
        link = NetworkLink(
            said.party,
            said.session,
            self._limits,
            lambda: self._let_go(loop, said.session),
            self._rules.first_frame_bytes,
        )
        if self._rules.on_state is not None:
            link.watch(self._rules.on_state)
        session = self._sessions[said.session] = _Session(said.party, link)
        return session

    def _make_room(self, party: str) -> None:
        """Raise _Refused unless there is a place for another session of the party, its own lost ones given up."""
        rules, own = self._rules, [key for key, session in self._sessions.items() if session.party == party]
        full = len(self._sessions) >= rules.max_sessions
        most = rules.max_per_peer
        if most is None:
            most = max(1, rules.max_sessions - (len(self._pins) - 1))
        if full or len(own) >= most:
            lost = [key for key in own if self._sessions[key].arrived and self._sessions[key].stream is None]
            if lost and not self._stopping:
                # The first is the oldest: it is least likely to be continued.
                self._sessions[lost[0]].link.fail(LinkClosed(f"the connection was lost, and {party} has begun others"))
                self._end(lost[0])
                return
        if self._stopping or full:
            raise _Refused(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._own} has {len(self._sessions)} sessions, wanted at most {rules.max_sessions}; try again later",
            )
        if len(own) >= most:
            raise _Refused(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._own} has {len(own)} sessions of {party}, wanted at most {most} of one party; try again later",
            )

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


def _fingerprints(known: Mapping[str, tuple[bytes, ...]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(map(fingerprint, pems)) for name, pems in known.items()}


def _shown(context: "grpc.aio.ServicerContext[bytes, bytes]") -> list[bytes]:
    """The certificates, as PEM, that a caller showed."""
    return list(context.auth_context().get("x509_pem_cert", []))
