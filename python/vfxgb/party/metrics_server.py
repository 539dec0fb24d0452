"""GET /metrics of a party that serves: a small HTTP server at an address of its own, for monitoring alone.

It tells names of peers, counts and limits, and never what a table or a model holds. Whoever can reach it may ask, so it
listens where [metrics] says, this machine only being the usual place.
"""

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from vfxgb.party.metrics import CONTENT_TYPE, Metrics
from vfxgb.party.web import BadRequest, WebHandler, WebServer

MAX_CONNECTIONS = 16
CLOSE_SECONDS = 2.0


class MetricsServer:
    """Listens at `address` ("host:port", port 0: the system picks) from `start` to `close`. Raises ConfigError."""

    def __init__(self, metrics: Metrics, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._server = _Server("serving metrics", host, int(port), _Handler, MAX_CONNECTIONS)
        self._server.metrics = metrics

    @property
    def address(self) -> str:
        """The address is host:port, with the port that is used."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def start(self) -> None:
        """Answer from now on, in threads."""
        self._server.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.stop(CLOSE_SECONDS)


class _Server(WebServer):
    metrics: Metrics


class _Handler(WebHandler):
    server: _Server

    def answer(self) -> None:
        """Answer GET /metrics, and refuse everything else."""
        self.check_host()
        path = urlsplit(self.path).path
        if path != "/metrics":
            raise BadRequest(HTTPStatus.NOT_FOUND, f"there is no {path[:100]!r}; there is /metrics")
        if self.command not in ("GET", "HEAD"):
            raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED, "/metrics is for GET", {"Allow": "GET, HEAD"})
        self.reply(HTTPStatus.OK, CONTENT_TYPE, self.server.metrics.write())

    def refuse(self, status: HTTPStatus, text: str, headers: Mapping[str, str]) -> None:
        """Say it as text."""
        self.reply(status, "text/plain; charset=utf-8", f"{text}\n".encode(), headers)
