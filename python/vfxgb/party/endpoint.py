"""`vfxgb predict --serve`: an HTTP/1.1 endpoint that scores single rows, JSON in and out.

    POST /score   {"rows": [{"id": "4711", "features": {"age": 41, "income": null}}, ...]}
          200     {"model": "<run>", "scores": [0.42, null, ...]}        null: some party does not have the row
    GET  /health  {"status": "ok", "model": "<run>", "follows_latest": false, "parties": [...], "features": [...],
                   "partners": {"shop": {"reachable": true, "since": "2026-05-01T10:00:00Z"}}}
          503     the same with status "unreachable" or "refused", and an error at the party that it is about
    GET  /metrics  requests by status, rows, seconds, and which parties can be reached, as Prometheus reads them

With several outputs a score is a list. Every answer about the model names it: the run that made it, which stays the
same as long as the endpoint runs, unless it was told to follow the latest. A request that is refused gets
{"error": "..."}, whatever its method and path, and one of these:

    400  what it holds      401  no token or another       403  beyond what a passive party allows
    404  405  no such path or method     408  too slow     411  413  414  415  431  its form or size
    409  the model has changed meanwhile to one with other features              421  meant for another host
    500  a bug, which is in the party's log                502  503  504  a passive party cannot be reached, sends
                                                           nonsense, or is slow; or too many requests: Retry-After

With a token every request has to name it, those for /metrics too; /health without one tells the status alone, for load
balancers. Without a token whoever can reach the endpoint may ask, so it listens on this machine only unless told
otherwise. A page in a browser of this machine could ask, too; so requests must say that they are JSON and name this
host, which a page of another site cannot do unnoticed.
"""

import json
import math
import ssl
import threading
import time
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import urlsplit

from vfxgb import __version__
from vfxgb.errors import (
    ChannelClosedError,
    ConsentError,
    FrameError,
    MessageError,
    PeerError,
    ShareMismatchError,
    VfxgbError,
)
from vfxgb.party.access import Token
from vfxgb.party.logs import Log, Tell, say_nothing
from vfxgb.party.metrics import CONTENT_TYPE, Metrics, describe_process, labels
from vfxgb.party.score_queue import BugError, ScoreQueue
from vfxgb.party.scoring import Scorer
from vfxgb.party.web import BadRequest, WebHandler, WebServer

MAX_BYTES = 1 << 20
MAX_ROWS = 10_000
# Open connections; each holds a thread, and at most MAX_BYTES while a request comes in.
MAX_CONNECTIONS = 256
# For requests under way when the endpoint is closed.
CLOSE_SECONDS = 10.0
# The longest wait for the word to stop, between two looks.
LONGEST_WAIT = 0.5
# How often the passive parties are looked after while nobody asks.
LOOK_SECONDS = 1.0
# When to come back after a passive party could not be reached.
RETRY_PARTNER_SECONDS = 5
DEFAULT_PORT = 8080
MODEL_HEADER = "X-Vfxgb-Model"


class Endpoint:
    """Listens at host and port (0: the system picks) from construction to `close`. Raises ConfigError.

    Requests have to name the `token`, if there is one. `tls` makes it HTTPS. `log` gets what is a bug.
    """

    def __init__(
        self,
        scorer: Scorer,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        token: Token | None = None,
        tls: ssl.SSLContext | None = None,
        log: Log | None = None,
    ) -> None:
        self._server = _Server("serving scores", host, port, _Handler, MAX_CONNECTIONS, tls)
        self._scorer = self._server.scorer = scorer
        self._server.token = token
        self._server.log = log or Log(None)
        self._server.metrics = _metrics(scorer)
        self._server.queue = ScoreQueue(scorer, self._server.log)

    @property
    def address(self) -> str:
        """The address is host:port, with the port that is used."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    @property
    def url(self) -> str:
        """Clients send their questions here."""
        return f"{'http' if self._server.tls is None else 'https'}://{self.address}/score"

    def run(self, stop: threading.Event, listening: Tell = say_nothing) -> None:
        """Serve until `stop` is set; requests under way are answered first."""
        self._server.start()
        looking = threading.Thread(target=self._look, args=(stop,), name="vfxgb-partners", daemon=True)
        looking.start()
        try:
            listening(self.address)
            # Python sees a signal that comes in the moment before a wait begins only when that wait is over.
            while not stop.wait(LONGEST_WAIT):
                pass
        finally:
            stop.set()
            self.close()

    def _look(self, stop: threading.Event) -> None:
        try:
            while not stop.wait(LOOK_SECONDS):
                self._scorer.look()
        except Exception as error:
            # Scores are answered all the same; /health shows what they show.
            self._server.log.error("bug", text=traceback.format_exc(), kind=type(error).__name__)

    def close(self) -> None:
        """Stop listening, wait for requests under way, and end the sessions."""
        self._server.stop(CLOSE_SECONDS)
        self._server.queue.stop(0.0)
        self._scorer.close()


class _Server(WebServer):
    scorer: Scorer
    queue: ScoreQueue
    token: Token | None
    log: Log
    metrics: Metrics


def _metrics(scorer: Scorer) -> Metrics:
    """Describe what is counted, for GET /metrics."""
    metrics = Metrics()
    describe_process(metrics, scorer.share.parties[0], __version__)
    metrics.describe("vfxgb_score_requests_total", "counter", "Requests, by path and status of the answer.")
    metrics.describe("vfxgb_scored_rows_total", "counter", "Rows that were answered, with or without a score.")
    metrics.describe("vfxgb_score_seconds", "histogram", "From the head of a request for scores to its answer.")
    metrics.describe(
        "vfxgb_model_info", "gauge", "The model that answers.", lambda: {labels(run=scorer.share.run): 1.0}
    )
    metrics.describe(
        "vfxgb_partner_reachable", "gauge", "1: the passive party answers and agrees.", lambda: _reachable(scorer)
    )
    return metrics


def _reachable(scorer: Scorer) -> dict[tuple[tuple[str, str], ...], float]:
    states = scorer.partners.describe()
    return {labels(peer=name): float(state["reachable"] and "error" not in state) for name, state in states.items()}


class _Handler(WebHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    _awaits_word = False
    _trusted = False

    _METHODS: ClassVar[dict[str, tuple[str, ...]]] = {
        "/score": ("POST",),
        "/health": ("GET", "HEAD"),
        "/metrics": ("GET", "HEAD"),
    }

    def answer(self) -> None:
        """Answer the request whose head is there, whatever its method and path."""
        headers: dict[str, str] = {}
        began = time.monotonic()
        try:
            self._check_head()
            headers[MODEL_HEADER] = self.server.scorer.share.run
            if self._path == "/metrics":
                self.reply(HTTPStatus.OK, CONTENT_TYPE, self.server.metrics.write(), headers)
                return
            status, document = (HTTPStatus.OK, self._scores()) if self.command == "POST" else self._health()
        except BadRequest as refusal:
            status, document = refusal.status, {"error": str(refusal)}
            headers.update(refusal.headers)
        except VfxgbError as error:
            status, document = _status_of(error), {"error": str(error)}
        except OSError:
            # The client is gone or too slow.
            raise
        except Exception as error:
            if not isinstance(error, BugError):
                self.server.log.error("bug", text=traceback.format_exc(), kind=type(error).__name__)
            status, document = HTTPStatus.INTERNAL_SERVER_ERROR, _BUG
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.setdefault("Retry-After", str(RETRY_PARTNER_SECONDS))
        if self.command == "POST" and status == HTTPStatus.OK:
            self.server.metrics.observe("vfxgb_score_seconds", time.monotonic() - began)
            self.server.metrics.add("vfxgb_scored_rows_total", float(len(document["scores"])))
        self._send(status, document, headers)

    def refuse(self, status: HTTPStatus, text: str, headers: Mapping[str, str]) -> None:
        """Say it as JSON."""
        self._send(status, {"error": text}, headers)

    @property
    def _path(self) -> str:
        return urlsplit(self.path).path

    def _send(self, status: HTTPStatus, document: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        known = self._path if self._path in self._METHODS else "other"
        self.server.metrics.add("vfxgb_score_requests_total", path=known, status=str(int(status)))
        self.reply(status, "application/json", json.dumps(document, allow_nan=False).encode(), headers)

    def _check_head(self) -> None:
        """Raise BadRequest unless the request may be made at all."""
        self.check_host()
        given = self.headers.get("Authorization", "")
        token = self.server.token
        self._trusted = token is None or token.fits(given)
        path = self._path
        methods = self._METHODS.get(path)
        if not self._trusted and (given or path != "/health"):
            raise BadRequest(
                HTTPStatus.UNAUTHORIZED,
                "wanted the endpoint's token: Authorization: Bearer ...",
                {"WWW-Authenticate": 'Bearer realm="vfxgb"'},
            )
        if methods is None:
            raise BadRequest(
                HTTPStatus.NOT_FOUND, f"there is no {path[:100]!r}; there are /score, /health and /metrics"
            )
        if self.command not in methods:
            allowed = ", ".join(methods)
            raise BadRequest(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"{path} is for {allowed}, found {self.command[:20]!r}",
                {"Allow": allowed},
            )

    def _scores(self) -> Mapping[str, Any]:
        scorer = self.server.scorer
        ids, columns = read_rows(self._body(), scorer.features)
        answer = self.server.queue.ask(scorer.read(ids, columns))
        single = answer.scores.shape[1] == 1
        shown = [None if math.isnan(row[0]) else row[0] if single else row for row in answer.scores.tolist()]
        return {"model": answer.run, "scores": shown}

    def _health(self) -> tuple[HTTPStatus, Mapping[str, Any]]:
        scorer = self.server.scorer
        partners = scorer.partners
        word = partners.status
        status = HTTPStatus.OK if word == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
        if not self._trusted:
            return status, {"status": word}
        share = scorer.share
        return status, {
            "status": word,
            "model": share.run,
            "follows_latest": scorer.follow,
            "parties": list(share.parties),
            "features": list(share.records.features),
            "partners": partners.describe(),
        }

    def _body(self) -> bytes:
        if self.headers.get_content_type() != "application/json":
            raise BadRequest(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"found {self.headers.get_content_type()[:100]!r}, wanted Content-Type: application/json",
            )
        lengths = self.headers.get_all("Content-Length", [])
        length = lengths[0] if lengths else ""
        if not (length.isascii() and length.isdecimal()) or self.headers.get("Transfer-Encoding"):
            raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "wanted Content-Length")
        if len(lengths) > 1:
            raise BadRequest(HTTPStatus.BAD_REQUEST, f"found Content-Length {len(lengths)} times, wanted it once")
        if len(length) > len(str(MAX_BYTES)) or int(length) > MAX_BYTES:
            raise BadRequest(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the request has {length[:20]} bytes, wanted at most {MAX_BYTES:,}; ask for fewer rows at a time",
            )
        if self._awaits_word:
            self._awaits_word = False
            self.send_response_only(HTTPStatus.CONTINUE)
            self.end_headers()
        data = self.rfile.read(int(length))
        if len(data) < int(length):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "the request ended early")
        self.body_read = True
        return data

    def handle_expect_100(self) -> bool:
        """A client that waits for a word before it sends the body gets it after everything else was checked."""
        self._awaits_word = True
        return True


_BUG = {"error": "something went wrong at the endpoint; its log has the details"}


def _status_of(error: VfxgbError) -> HTTPStatus:
    for kinds, status in (
        ((ConsentError,), HTTPStatus.FORBIDDEN),
        ((PeerError, ChannelClosedError), HTTPStatus.SERVICE_UNAVAILABLE),
        ((FrameError, MessageError), HTTPStatus.BAD_GATEWAY),
        ((ShareMismatchError,), HTTPStatus.CONFLICT),
    ):
        if isinstance(error, kinds):
            return status
    return HTTPStatus.BAD_REQUEST


def read_rows(data: bytes, features: tuple[str, ...]) -> tuple[list[Any], dict[str, list[float]]]:
    """Read the ids of a request and its values by feature, NaN for null. Raises BadRequest."""
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
