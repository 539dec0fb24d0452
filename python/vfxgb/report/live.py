"""The page of a run while it goes on: what `vfxgb train --live` serves to browsers of this machine.

    GET /<token>/         the page of `vfxgb report -o`, or one that waits until there is something to show
    GET /<token>/events   Server-Sent Events: section id -> new inner HTML, of the sections that changed

Everything shown comes from the run's folder, so training knows nothing of its viewers. One thread reads the folder,
only while somebody looks, and in a small part of the time; a viewer that is slow or gone holds up nobody but itself.

The page shows what the run's folder holds, which only its owner may read. So the address is this machine's alone, its
path holds a random token, a request must name this machine as its host (a page of another site cannot have it read by
a name of its own), and nothing is stored by the browser.
"""

import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from vfxgb._native.rand import random_bytes
from vfxgb.party.folder import RunFolder
from vfxgb.party.logs import Tell, say_nothing
from vfxgb.party.web import BadRequest, WebHandler, WebServer
from vfxgb.report.document import read_document
from vfxgb.report.page import fragments, render
from vfxgb.report.waiting import waiting_page

T = TypeVar("T")

HOST = "127.0.0.1"
TOKEN_BYTES = 16
# Viewers at once, and requests at once: room to load a page is always left.
MAX_VIEWERS = 8
MAX_REQUESTS = 16
# The folder is looked at this often; it is read again at most once a second, in at most this part of the time, and at
# most so many bytes are sent to a viewer per second.
GLANCE_SECONDS = 0.2
READ_SECONDS = 1.0
READ_SHARE = 0.05
BYTES_PER_SECOND = 2e6
# A viewer hears something at least this often, so that one who is gone is noticed.
HEARTBEAT_SECONDS = 10.0
# How long a run that has ended waits for its viewers; and for one who has just loaded a page to listen.
FINAL_SECONDS = 5.0
LISTEN_SECONDS = 2.0

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class News:
    """What viewers see. `number` grows; `last`: nothing comes after it."""

    number: int
    sections: dict[str, str]
    last: bool = False


class LiveView:
    """Serves the page of one run from `with` until its end; then viewers get the last state, and it stops.

    `port` 0: the system picks one. `tell`: gets a line when the folder cannot be shown. Raises ConfigError if the port
    cannot be used.
    """

    def __init__(self, port: int = 0, tell: Tell = say_nothing) -> None:
        self._token = random_bytes(TOKEN_BYTES).hex()
        self._tell = tell
        self._folder: RunFolder | None = None
        self._changed = threading.Condition()
        self._news = News(0, {})
        self._viewers = 0
        self._expected = 0.0
        self._over = False
        self._told = ""
        self._server = _Server("serving the live view", HOST, port, _Handler, MAX_REQUESTS)
        self._server.view = self
        self._reader = threading.Thread(target=self._read_on, name="vfxgb-live", daemon=True)

    @property
    def url(self) -> str:
        """A browser finds the page here."""
        return f"http://{HOST}:{self._server.server_address[1]}/{self._token}/"

    def __enter__(self) -> "LiveView":
        self._server.start()
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with self._changed:
                self._over = True
                self._changed.notify_all()
            self._reader.join(FINAL_SECONDS)
            self._await_viewers()
        finally:
            self._server.stop(LISTEN_SECONDS)

    def watch(self, folder: RunFolder) -> None:
        """The run to show; until this is called, and as long as it has no record, the page waits."""
        with self._changed:
            self._folder = folder

    def _await_viewers(self) -> None:
        """Until everybody who listens has had the last state, and who has just loaded a page had time to listen."""
        deadline = time.monotonic() + FINAL_SECONDS
        with self._changed:
            while (left := deadline - time.monotonic()) > 0:
                expected = self._expected - time.monotonic()
                if not self._viewers and expected <= 0:
                    break
                self._changed.wait(left if self._viewers else min(left, expected))

    def _read_on(self) -> None:
        """Read the folder when it has changed and somebody looks, and once more when the run is over."""
        seen: object = None
        due = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._over, GLANCE_SECONDS)
                over, looked_at = self._over, self._viewers > 0
            if not over and (not looked_at or time.monotonic() < due):
                continue
            stamp = self._stamp()
            if not over and stamp == seen:
                continue
            start = time.monotonic()
            document = self._document()
            sections = None if document is None else self._try(partial(fragments, document))
            with self._changed:
                self._news = News(self._news.number + 1, sections or self._news.sections, over)
                self._changed.notify_all()
            if over:
                return
            seen = stamp
            now = time.monotonic()
            size = sum(map(len, (sections or {}).values()))
            due = now + max(READ_SECONDS, (now - start) / READ_SHARE, size / BYTES_PER_SECOND)

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        """What changes whenever a file of the run does."""
        folder = self._folder
        files = () if folder is None else (folder.run_file, folder.ledger_file, folder.draft_file)
        return tuple(_mark(file) for file in files)

    def _document(self) -> dict[str, Any] | None:
        """The run as its folder shows it, None while there is nothing to show."""
        folder = self._folder
        if folder is None or not folder.run_file.exists():
            return None
        document = self._try(lambda: read_document(folder))
        if document is not None and not self._over:
            # A record that an earlier session left: the run goes on as long as this process works on it.
            document["run"].update(state="running", error="", ended=None)
        return document

    def _try(self, work: Callable[[], T]) -> T | None:
        """What `work` makes, None if it fails: whatever is wrong with the picture, the run goes on."""
        try:
            return work()
        except Exception as error:
            text = f"the live view cannot show the run: {type(error).__name__}: {error}"
            if text != self._told:
                self._told = text
                self._tell(text)
            return None

    # What the handlers of requests use.

    def knows(self, token: str) -> bool:
        """Whether a request has the token of this view."""
        return hmac.compare_digest(token.encode(), self._token.encode())

    def page(self) -> str:
        """The page as things stand. Raises BadRequest."""
        with self._changed:
            self._expected = time.monotonic() + LISTEN_SECONDS
        document = self._document()
        if document is None:
            return waiting_page()
        page = self._try(partial(render, document, live=True))
        if page is None:
            raise BadRequest(HTTPStatus.INTERNAL_SERVER_ERROR, "the run cannot be shown; vfxgb train says why")
        return page

    def join(self) -> bool:
        """One more viewer, if there is room; `leave` takes it off again."""
        with self._changed:
            if self._viewers >= MAX_VIEWERS:
                return False
            self._viewers += 1
            self._expected = 0.0
            return True

    def leave(self) -> None:
        """One viewer less."""
        with self._changed:
            self._viewers -= 1
            self._changed.notify_all()

    def later(self, number: int) -> News | None:
        """What came after `number`, None if nothing did for a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._news.number > number, HEARTBEAT_SECONDS)
            return self._news if self._news.number > number else None


def _mark(file: Path) -> tuple[int, int]:
    """Changes with a file that is written atomically; zeros while there is none."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


class _Server(WebServer):
    view: LiveView


class _Handler(WebHandler):
    server: _Server

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        """The page or its events."""
        try:
            self.check_host()
            _, token, *rest = self.path.split("/")
            if not self.server.view.knows(token) or rest not in ([""], ["events"]):
                raise BadRequest(HTTPStatus.NOT_FOUND, "there is nothing here; use the address that vfxgb printed")
            if rest == ["events"]:
                self._stream()
            else:
                self.reply(HTTPStatus.OK, "text/html; charset=utf-8", self.server.view.page().encode(), HEADERS)
        except (BadRequest, ValueError) as error:
            status = error.status if isinstance(error, BadRequest) else HTTPStatus.BAD_REQUEST
            self.refuse(status, str(error), {})

    def refuse(self, status: HTTPStatus, text: str, headers: Mapping[str, str]) -> None:
        """Say it in plain text."""
        self.reply(status, "text/plain; charset=utf-8", f"{text}\n".encode(), {**HEADERS, **headers})

    def _only_get(self) -> None:
        self.reply(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"", {**HEADERS, "Allow": "GET"})

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _only_get  # noqa: N815

    def _stream(self) -> None:
        """Events until the run is over or the viewer gone."""
        view = self.server.view
        if not view.join():
            raise BadRequest(HTTPStatus.SERVICE_UNAVAILABLE, f"{MAX_VIEWERS} viewers are looking already")
        try:
            self.send_response(HTTPStatus.OK)
            for name, value in {"Content-Type": "text/event-stream", **HEADERS}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"retry: 2000\n\n")
            sent: dict[str, str] = {}
            number, last = 0, False
            while not last:
                news = view.later(number)
                if news is None:
                    self.wfile.write(b": still there\n\n")
                    continue
                number, last = news.number, news.last
                changed = {key: inner for key, inner in news.sections.items() if sent.get(key) != inner}
                sent = news.sections
                if changed:
                    self.wfile.write(f"data: {json.dumps(changed)}\n\n".encode())
        finally:
            view.leave()
