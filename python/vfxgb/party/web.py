"""What the HTTP servers of a party share: so many requests at once, slow clients dropped, the host that was asked for.

A page of another site can make a browser of this machine send requests here, even under a name that resolves to this
machine. So a server that only this machine can reach answers only requests that name it.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vfxgb.errors import ConfigError

# For a client to send its request, and to read a piece of the answer.
CLIENT_SECONDS = 10.0
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class BadRequest(Exception):  # noqa: N818 - becomes an answer, not an error of the program
    """A request that is refused, with its status."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach such an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class WebServer(ThreadingHTTPServer):
    """Listens at host and port (0: the system picks); `most` requests at once, each with a thread.

    `what`: what it serves, for the ConfigError that construction raises when the address cannot be used. `start` makes
    it answer, `stop` ends that.
    """

    # `stop` waits for requests, with a deadline.
    daemon_threads = True

    def __init__(self, what: str, host: str, port: int, handler: type["WebHandler"], most: int) -> None:
        self.places = threading.BoundedSemaphore(most)
        self.local = is_loopback(host)
        self.request_queue_size = most
        self._most = most
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
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
            self._thread = None
        self.server_close()
        deadline = time.monotonic() + seconds
        # A place each: when all are free nobody is being answered.
        for _ in range(self._most):
            if not self.places.acquire(timeout=max(0.0, deadline - time.monotonic())):
                break

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for the request, if there is a place; else it is closed unanswered."""
        if not self.places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and give the place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone or too slow is nobody's concern."""


class WebHandler(BaseHTTPRequestHandler):
    """One request; nothing is logged."""

    server: WebServer
    timeout = CLIENT_SECONDS
    # One request per connection: no idle connection holds a thread.
    protocol_version = "HTTP/1.0"
    server_version = "vfxgb"
    sys_version = ""

    def setup(self) -> None:
        """Begin with a request: all of it has to come in time, not only each piece."""
        super().setup()
        self._patience = threading.Timer(CLIENT_SECONDS, self._give_up)
        self._patience.daemon = True
        self._patience.start()

    def finish(self) -> None:
        """End with it."""
        self._patience.cancel()
        super().finish()

    def take_time(self) -> None:
        """The request is here: the answer may take longer."""
        self._patience.cancel()

    def _give_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *given: Any) -> None:
        """Nothing: what matters is in the party's log, without who asked."""

    def check_host(self) -> None:
        """Raise BadRequest for a request to a server of this machine alone that names another host."""
        name = self.headers.get("Host", "").rsplit(":", 1)[0] if self.headers.get("Host") else ""
        if self.server.local and name not in LOOPBACK:
            raise BadRequest(HTTPStatus.MISDIRECTED_REQUEST, f"found host {name[:100]!r}, wanted localhost")

    def reply(self, status: HTTPStatus, kind: str, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole answer of media type `kind`."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
