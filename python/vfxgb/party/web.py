"""What the HTTP servers of a party share: connections up to a bound, slow clients dropped, the host that was asked for.

A thread serves each connection. Beyond the bound a connection is answered 503 with Retry-After; beyond that too, new
ones wait in the system's queue until somebody is done. Nobody is hung up on without an answer, unless the client itself
sends nothing or no HTTP.

A page of another site can make a browser of this machine send requests here, even under a name that resolves to this
machine. So a server that only this machine can reach answers only requests that name it.
"""

import io
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vfxgb.errors import ConfigError

# A client has this long to send a whole request, and to read a piece of the answer.
CLIENT_SECONDS = 10.0
# A connection without a request is kept for this long; clients are told a little less, so that they stop first.
KEEP_SECONDS = 30.0
KEEP_MARGIN = 5.0
# After an answer to a request that was not read, this long and this many bytes: the client has to see the answer before
# it learns that nobody reads on.
LINGER_SECONDS = 2.0
LINGER_BYTES = 8 << 20
# The request line and all header fields.
MAX_HEAD_BYTES = 16 << 10
# Connections beyond the bound that are answered 503 at a time.
MAX_REFUSED = 64
RETRY_SECONDS = 1
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class BadRequest(Exception):  # noqa: N818 - becomes an answer, not an error of the program
    """A request that is refused, with its status and further header fields.

    With `later` the client is told to come back after RETRY_SECONDS.
    """

    def __init__(
        self, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None, later: bool = False
    ) -> None:
        super().__init__(text)
        self.status = status
        self.headers = {**(headers or {}), **({"Retry-After": str(RETRY_SECONDS)} if later else {})}


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach such an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class WebServer(ThreadingHTTPServer):
    """Listens at host and port (0: the system picks); `most` connections at once, each with a thread.

    `what` says what it serves, for the ConfigError that construction raises when the address cannot be used. `tls`
    makes it HTTPS. `start` makes it answer, `stop` ends that.
    """

    # `stop` waits for requests, with a deadline.
    daemon_threads = True
    # Connections that nobody has accepted yet wait in the system's queue; beyond it the system drops them.
    request_queue_size = 1024

    def __init__(
        self,
        what: str,
        host: str,
        port: int,
        handler: type["WebHandler"],
        most: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.local = is_loopback(host)
        self.tls = tls
        self._handler = handler
        self._most = most
        self._changed = threading.Condition()
        self._served = self._refused = 0
        self._idle: set[socket.socket] = set()
        self._stopping = False
        self._thread: threading.Thread | None = None
        try:
            super().__init__((host, port), handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"{what} at {host}:{port}: the address cannot be used ({error}); is another program on that port, and "
                "is the host one of this machine's?"
            ) from None

    def start(self) -> None:
        """Answer requests, in threads."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="vfxgb-http", daemon=True)
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Take no more requests, and wait for those under way, so many seconds at most."""
        with self._changed:
            self._stopping = True
            for connection in self._idle:
                _hear_no_more(connection)
            self._changed.notify_all()
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
            self._thread = None
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: self._served == 0, seconds)

    @property
    def crowded(self) -> bool:
        """Tell whether connections should end with their answers: others may need the place, or it is time to stop."""
        with self._changed:
            return self._stopping or self._served > self._most // 2

    def idle(self, connection: socket.socket, is_idle: bool) -> bool:
        """Note that a connection begins or ends to wait for a request; False if it should not, as the server stops."""
        with self._changed:
            (self._idle.add if is_idle else self._idle.discard)(connection)
            return not self._stopping

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for the connection, to serve it, or to refuse it when there are too many."""
        with self._changed:
            full = self._served >= self._most
            if full:
                # Meanwhile new connections wait in the system's queue.
                self._changed.wait_for(lambda: self._stopping or self._refused < MAX_REFUSED)
                self._refused += 1
            else:
                self._served += 1
        thread = threading.Thread(target=self._serve, args=(request, client_address, full), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The system has no more threads.
            self._leave(full)
            self.shutdown_request(request)

    def _serve(self, request: Any, client_address: Any, full: bool) -> None:
        try:
            # A client that is gone or too slow is nobody's concern.
            with suppress(OSError, ValueError):
                self._handler(request, client_address, self, full)
        finally:
            self.shutdown_request(request)
            self._leave(full)

    def _leave(self, full: bool) -> None:
        with self._changed:
            if full:
                self._refused -= 1
            else:
                self._served -= 1
            self._changed.notify_all()


def _hear_no_more(connection: socket.socket) -> None:
    # Not the method of a TLS socket, which would make it a plain one.
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RD)


class _Reader(io.RawIOBase):
    """Reads what a client sends until `deadline`: all of a request has to come in time, not only each piece."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next piece. Raises TimeoutError after the deadline, OSError."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the client took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class WebHandler(BaseHTTPRequestHandler):
    """Serves one connection, and logs nothing. With `full` there is no room for it, and it is only told so.

    A derived class has `refuse`, and either `answer` or the methods do_GET, do_POST, ... of http.server. With
    `protocol_version` HTTP/1.1 a connection serves one request after the other.
    """

    server: WebServer
    timeout = CLIENT_SECONDS
    protocol_version = "HTTP/1.0"
    # What http.server takes a request line without a version for; its own choice would have answers without a status.
    default_request_version = "HTTP/1.0"
    disable_nagle_algorithm = True
    server_version = "vfxgb"
    sys_version = ""

    def __init__(self, request: Any, client_address: Any, server: WebServer, full: bool = False) -> None:
        self.full = full
        self._first = True
        # Whether the client may have sent something that was not read when the connection ends.
        self._unread = False
        self.body_read = self._replied = False
        super().__init__(request, client_address, server)

    def setup(self) -> None:
        """Begin with a connection. Raises OSError for a handshake that fails."""
        if self.server.tls is not None:
            self.request = self._secure(self.server.tls)
        super().setup()
        self.rfile.close()
        self._reader = _Reader(self.connection)
        self.rfile = io.BufferedReader(self._reader)

    def _secure(self, tls: ssl.SSLContext) -> ssl.SSLSocket:
        self.request.settimeout(CLIENT_SECONDS)
        secured = tls.wrap_socket(self.request, server_side=True, do_handshake_on_connect=False)
        try:
            secured.do_handshake()
        except OSError as error:
            if isinstance(error, ssl.SSLError) and error.reason == "HTTP_REQUEST":
                words = b'{"error": "this port speaks HTTPS; ask for https://"}'
                head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n"
                with suppress(OSError):
                    # The client has not begun to speak TLS, so neither does the answer.
                    socket.socket.sendall(secured, head + b"Content-Length: %d\r\n\r\n" % len(words) + words)
                    self._linger(secured)
            secured.close()
            raise
        return secured

    def finish(self) -> None:
        """End the connection."""
        try:
            super().finish()
            if self._unread:
                self._linger(self.connection)
        finally:
            if self.server.tls is not None:
                self.connection.close()

    def _linger(self, connection: socket.socket) -> None:
        """Read what still comes and throw it away: else the system resets the connection, and the answer is lost."""
        deadline = time.monotonic() + LINGER_SECONDS
        left = LINGER_BYTES
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_WR)
            while left > 0 and (seconds := deadline - time.monotonic()) > 0:
                connection.settimeout(seconds)
                data = socket.socket.recv(connection, 1 << 16)
                if not data:
                    break
                left -= len(data)

    def handle_one_request(self) -> None:
        """Wait for a request, read its head, and answer."""
        self.close_connection = True
        # What an answer needs of a request, should its head be too bad to be read.
        self.command = self.path = self.requestline = ""
        self.request_version = self.default_request_version
        self.headers = Message()
        self.body_read = self._replied = False
        if not self._begins():
            return
        self._reader.deadline = time.monotonic() + CLIENT_SECONDS
        try:
            if not self._read_head():
                return
            self.connection.settimeout(CLIENT_SECONDS)
            if self.full:
                text = "too many connections are open; try again a little later"
                raise BadRequest(HTTPStatus.SERVICE_UNAVAILABLE, text, later=True)
            self.answer()
        except BadRequest as refusal:
            self.refuse(refusal.status, str(refusal), refusal.headers)
        except TimeoutError:
            if self._replied:
                raise
            self._unread = True
            self.close_connection = True
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, f"wanted the whole request within {CLIENT_SECONDS:g} seconds", {})

    def _begins(self) -> bool:
        """Wait for the first byte of a request; False if none comes."""
        self._reader.deadline = time.monotonic() + (CLIENT_SECONDS if self._first else KEEP_SECONDS)
        self._first = False
        try:
            return self.server.idle(self.connection, True) and bool(self.rfile.peek(1))  # type: ignore[attr-defined]
        except OSError:
            return False
        finally:
            self.server.idle(self.connection, False)

    def _read_head(self) -> bool:
        """Read the request line and the header fields; False if there is nothing to answer (any more)."""
        ends = (b"\r\n", b"\n")
        line = ends[0]
        while line in ends:
            # Some clients end a body with an empty line too many.
            line = self.rfile.readline(MAX_HEAD_BYTES + 1)
        self.raw_requestline = line
        status, what = HTTPStatus.REQUEST_URI_TOO_LONG, "a request line of at most {:,} bytes"
        lines, size = [], len(line)
        while size <= MAX_HEAD_BYTES and line not in ends:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            what = "header fields of at most {:,} bytes altogether"
            line = self.rfile.readline(MAX_HEAD_BYTES + 1)
            if not line:
                return False
            lines.append(line)
            size += len(line)
        if size > MAX_HEAD_BYTES:
            self._unread = True
            raise BadRequest(status, f"wanted {what.format(MAX_HEAD_BYTES)}")
        connection, self.rfile = self.rfile, io.BytesIO(b"".join(lines))
        try:
            return self.parse_request()
        finally:
            self.rfile = connection

    def answer(self) -> None:
        """Answer the request whose head is there. Raises BadRequest."""
        method = getattr(self, f"do_{self.command}", None)
        if method is None:
            raise BadRequest(HTTPStatus.NOT_IMPLEMENTED, f"there is no method {self.command[:20]!r} here")
        method()

    def refuse(self, status: HTTPStatus, text: str, headers: Mapping[str, str]) -> None:
        """Send an answer that says why there is no other."""
        raise NotImplementedError

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say in this server's form what http.server says about a request that it cannot read."""
        self.close_connection = True
        self._unread = True
        status = HTTPStatus(code)
        words = "; ".join(text for text in (message, explain) if text)
        self.refuse(status, words or status.phrase, {})

    def log_message(self, *given: Any) -> None:
        """Log nothing: what matters is in the party's log, without who asked."""

    def check_host(self) -> None:
        """Raise BadRequest for a request to a server of this machine alone that names another host."""
        name = self.headers.get("Host", "").rsplit(":", 1)[0] if self.headers.get("Host") else ""
        if self.server.local and name not in LOOPBACK:
            raise BadRequest(HTTPStatus.MISDIRECTED_REQUEST, f"found host {name[:100]!r}, wanted localhost")

    def reply(self, status: HTTPStatus, kind: str, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole answer of media type `kind`; the connection stays open for the next request if it may."""
        self._replied = True
        sent_more = self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0"
        if sent_more and not self.body_read:
            self._unread = True
        if self._unread or self.full or self.server.crowded:
            self.close_connection = True
        self.connection.settimeout(CLIENT_SECONDS)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        else:
            self.send_header("Connection", "keep-alive")
            self.send_header("Keep-Alive", f"timeout={max(1, int(KEEP_SECONDS - KEEP_MARGIN))}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
