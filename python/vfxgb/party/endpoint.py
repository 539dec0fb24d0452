"""`vfxgb predict --serve`: an HTTP endpoint that scores single rows, JSON in and out.

    POST /score   {"rows": [{"id": "4711", "features": {"age": 41, "income": null}}, ...]}
          200     {"model": "<run>", "scores": [0.42, null, ...]}        null: some party does not have the row
    GET  /health  {"model": "<run>", "parties": [...], "features": [...]}

With several outputs a score is a list. A request that is refused gets {"error": "..."} and 400 (what it holds), 403
(beyond what a passive party allows), 404, 405, 411, 413 (too large), 415, 421 (meant for another host), 502 or 503 (a
passive party cannot be reached).

There is no authentication: it listens on this machine only unless told otherwise, and whoever may reach it may ask. A
page in a browser of this machine could, too; so requests must say that they are JSON and name this host, which a page
of another site cannot do unnoticed.
"""

import json
import math
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, ClassVar

from vfxgb.errors import (
    ChannelClosedError,
    ConsentError,
    FrameError,
    MessageError,
    PeerError,
    VfxgbError,
)
from vfxgb.party.scoring import Scorer
from vfxgb.party.web import BadRequest, WebHandler, WebServer

MAX_BYTES = 1 << 20
MAX_ROWS = 10_000
# Requests under way at once: each holds a thread and at most MAX_BYTES.
MAX_REQUESTS = 32
# For requests under way when the endpoint is closed.
CLOSE_SECONDS = 10.0
DEFAULT_PORT = 8080


class Endpoint:
    """Listens at host and port (0: the system picks) from construction to `close`. Raises ConfigError."""

    def __init__(self, scorer: Scorer, host: str = "127.0.0.1", port: int = DEFAULT_PORT) -> None:
        self._server = _Server("serving scores", host, port, _Handler, MAX_REQUESTS)
        self._server.scorer = scorer
        self._scorer = scorer

    @property
    def address(self) -> str:
        """host:port, with the port that is used."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def run(self, stop: threading.Event, listening: Callable[[str], None] = lambda address: None) -> None:  # noqa: ARG005
        """Serve until `stop` is set; requests under way are answered first."""
        self._server.start()
        try:
            listening(self.address)
            stop.wait()
        finally:
            self.close()

    def close(self) -> None:
        """Stop listening, wait for requests under way, and end the sessions."""
        self._server.stop(CLOSE_SECONDS)
        self._scorer.close()


class _Server(WebServer):
    scorer: Scorer


class _Handler(WebHandler):
    server: _Server

    _ROUTES: ClassVar[dict[str, str]] = {"/score": "POST", "/health": "GET"}

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        """GET /health."""
        self._answer()

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        """POST /score."""
        self._answer()

    def _answer(self) -> None:
        try:
            status, document = HTTPStatus.OK, self._document()
        except BadRequest as error:
            status, document = error.status, {"error": str(error)}
        except ConsentError as error:
            status, document = HTTPStatus.FORBIDDEN, {"error": str(error)}
        except (PeerError, ChannelClosedError) as error:
            status, document = HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        except (FrameError, MessageError) as error:
            status, document = HTTPStatus.BAD_GATEWAY, {"error": str(error)}
        except VfxgbError as error:
            status, document = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        self.reply(status, "application/json", json.dumps(document, allow_nan=False).encode())

    def _document(self) -> dict[str, Any]:
        scorer = self.server.scorer
        wanted = self._ROUTES.get(self.path)
        if wanted is None:
            raise BadRequest(HTTPStatus.NOT_FOUND, f"there is no {self.path[:100]!r}; there are /score and /health")
        if self.command != wanted:
            raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED, f"{self.path} is for {wanted}")
        self.check_host()
        if self.command == "GET":
            share = scorer.share
            return {"model": share.run, "parties": list(share.parties), "features": list(scorer.features)}
        body = self._body()
        self.take_time()
        ids, columns = read_rows(body, scorer.features)
        scores = scorer.score(ids, columns).tolist()
        single = scorer.share.n_outputs == 1
        shown = [None if math.isnan(row[0]) else row[0] if single else row for row in scores]
        return {"model": scorer.share.run, "scores": shown}

    def _body(self) -> bytes:
        if self.headers.get_content_type() != "application/json":
            raise BadRequest(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"found {self.headers.get_content_type()!r}, wanted Content-Type: application/json",
            )
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or self.headers.get("Transfer-Encoding"):
            raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "wanted Content-Length")
        if len(length) > len(str(MAX_BYTES)) or int(length) > MAX_BYTES:
            raise BadRequest(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the request has {length[:20]} bytes, wanted at most {MAX_BYTES:,}; ask for fewer rows at a time",
            )
        data = self.rfile.read(int(length))
        if len(data) < int(length):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "the request ended early")
        return data


def read_rows(data: bytes, features: tuple[str, ...]) -> tuple[list[Any], dict[str, list[float]]]:
    """The ids of a request and its values by feature, NaN for null. Raises BadRequest."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _bad(f"it is no JSON ({error})") from None
    rows = document.get("rows") if isinstance(document, dict) and set(document) == {"rows"} else None
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_ROWS:
        raise _bad(f'wanted {{"rows": [...]}} with 1 to {MAX_ROWS:,} rows')
    ids: list[Any] = []
    columns: dict[str, list[float]] = {name: [] for name in features}
    for place, row in enumerate(rows):
        if not isinstance(row, dict) or set(row) != {"id", "features"} or not isinstance(row["features"], dict):
            raise _bad(f'row {place}: wanted {{"id": ..., "features": {{...}}}}')
        given = row["features"]
        if given.keys() != columns.keys():
            odd = sorted(given.keys() ^ columns.keys())[0]
            what = "is missing" if odd in columns else "is none"
            raise _bad(
                f"row {place}: feature {odd[:100]!r} {what}; wanted exactly {', '.join(features)} (null: missing)"
            )
        ids.append(row["id"])
        for name, values in columns.items():
            values.append(_number(given[name], place, name))
    return ids, columns


def _number(value: Any, place: int, name: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(f"row {place}: feature {name!r} is {type(value).__name__}, wanted a number or null")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _bad(f"row {place}: feature {name!r} is no finite number")
    return number


def _bad(text: str) -> BadRequest:
    return BadRequest(HTTPStatus.BAD_REQUEST, f"reading the request: {text}")
