"""The live view: what it serves, to whom, and that no viewer holds up a run."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec
import pytest

from vfxgb.errors import ConfigError
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.record import RunRecord
from vfxgb.report import live
from vfxgb.report.live import MAX_VIEWERS, LiveView

DEADLINE = 20.0
RECORD = RunRecord(run="ab" * 16, party="bank", role="active", state="running", started=1.0, protocol="plain")


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    monkeypatch.setattr(live, "GLANCE_SECONDS", 0.01)
    monkeypatch.setattr(live, "READ_SECONDS", 0.02)
    monkeypatch.setattr(live, "READ_SHARE", 1.0)
    monkeypatch.setattr(live, "LISTEN_SECONDS", 0.2)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return PartyFolder(tmp_path / "bank").make().run(RECORD.run).make()


@pytest.fixture
def view() -> Iterator[LiveView]:
    with LiveView() as view:
        yield view


class Viewer:
    """A browser, as far as the server can tell."""

    def __init__(self, view: LiveView, path: str = "", method: str = "GET", **headers: str) -> None:
        address = urlsplit(view.url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=DEADLINE)
        self.connection.request(method, path if path.startswith("/") else address.path + path, headers=headers)
        self.answer = self.connection.getresponse()

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *given: object) -> None:
        self.answer.close()
        self.connection.close()

    def event(self) -> dict[str, str] | None:
        """The next event, None when the stream has ended."""
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        return None


def _ask(view: LiveView, path: str = "", method: str = "GET", **headers: str) -> tuple[int, str]:
    with Viewer(view, path, method, **headers) as viewer:
        return viewer.answer.status, viewer.answer.read().decode()


def test_the_page_waits_for_a_run_and_then_shows_it(view, folder):
    status, page = _ask(view)
    assert status == 200
    assert "Waiting for the others" in page
    view.watch(folder)
    assert "Waiting" in _ask(view)[1]
    folder.write(RECORD)
    page = _ask(view)[1]
    assert "EventSource" in page
    assert RECORD.run[:8] in page


def test_answers_are_not_kept_framed_or_guessed(view, folder):
    view.watch(folder)
    folder.write(RECORD)
    for path in ("", "events"):
        with Viewer(view, path) as viewer:
            assert viewer.answer.status == 200
            for name, value in live.HEADERS.items():
                assert viewer.answer.headers[name] == value
    assert view.url.startswith("http://127.0.0.1:")


def test_who_is_refused(view, folder):
    view.watch(folder)
    folder.write(RECORD)
    token = urlsplit(view.url).path.strip("/")
    assert len(token) == 32
    wrong = ("0" if token[0] != "0" else "1") + token[1:]
    for path in (
        "/",
        "/favicon.ico",
        f"/{wrong}/",
        f"/{token}",
        f"/{token}/x",
        f"/{token}/events/",
        f"/{wrong}/events",
    ):
        assert _ask(view, path)[0] == 404, path
    for host in ("elsewhere.example", "elsewhere.example:80", "127.0.0.1.example.org"):
        status, said = _ask(view, Host=host)
        assert status == 421
        assert RECORD.run[:8] not in said
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        assert _ask(view, method=method)[0] == 405
    assert _ask(view, Host="localhost:1")[0] == 200


def test_events_are_the_sections_that_changed(view, folder):
    view.watch(folder)
    folder.write(RECORD)
    with Viewer(view, "events") as viewer:
        assert viewer.answer.headers["Content-Type"] == "text/event-stream"
        first = viewer.event()
        assert {"head", "learning", "setup"} <= first.keys()
        changed = {"train": {"logloss": [0.5, 0.4]}}
        folder.write(msgspec.structs.replace(RECORD, rounds=2, evals=changed))
        second = viewer.event()
        assert {"head", "learning"} <= second.keys()
        assert "protection" not in second
        assert first["learning"] != second["learning"]


def test_the_last_event_comes_before_the_end(folder):
    with LiveView() as view:
        view.watch(folder)
        folder.write(msgspec.structs.replace(RECORD, state="stopped", error="an earlier session"))
        viewer = Viewer(view, "events")
        # What an earlier session left does not end the page: the run goes on.
        assert 'data-state="running"' in viewer.event()["head"]
        folder.write(msgspec.structs.replace(RECORD, state="finished"))
    with viewer:
        events = list(iter(viewer.event, None))
        assert 'data-state="finished"' in events[-1]["head"]


def test_without_viewers_a_run_ends_at_once(folder):
    with LiveView() as view:
        view.watch(folder)
        folder.write(RECORD)
        start = time.monotonic()
    assert time.monotonic() - start < 1.0
    with pytest.raises(ConnectionError):
        _ask(view)


def test_who_has_just_loaded_the_page_gets_the_end_too(folder, monkeypatch):
    monkeypatch.setattr(live, "LISTEN_SECONDS", DEADLINE)
    events = []
    with LiveView() as view:
        view.watch(folder)
        folder.write(RECORD)
        assert _ask(view)[0] == 200

        def listen() -> None:
            time.sleep(0.3)
            with Viewer(view, "events") as viewer:
                events.extend(iter(viewer.event, None))

        thread = threading.Thread(target=listen)
        thread.start()
        folder.write(msgspec.structs.replace(RECORD, state="finished"))
    thread.join(DEADLINE)
    assert 'data-state="finished"' in events[-1]["head"]


def test_a_viewer_that_does_not_read_holds_up_nobody(folder, monkeypatch):
    monkeypatch.setattr(live, "FINAL_SECONDS", 0.3)
    with LiveView() as view:
        view.watch(folder)
        folder.write(RECORD)
        # Never reads: what is sent fills its buffers at last.
        lazy = Viewer(view, "events")
        with Viewer(view, "events") as viewer:
            for rounds in range(1, 4):
                folder.write(msgspec.structs.replace(RECORD, rounds=rounds, purpose="x" * 3_000_000))
                assert viewer.event() is not None
        start = time.monotonic()
    assert time.monotonic() - start < 5.0
    with lazy:
        pass


def test_room_for_so_many_viewers(view, folder):
    view.watch(folder)
    folder.write(RECORD)
    viewers = [Viewer(view, "events") for _ in range(MAX_VIEWERS)]
    try:
        assert all(viewer.event() for viewer in viewers)
        assert _ask(view, "events")[0] == 503
        assert _ask(view)[0] == 200
    finally:
        for viewer in viewers:
            viewer.__exit__()


def test_a_folder_that_cannot_be_shown_ends_nothing(folder):
    said = []
    with LiveView(tell=said.append) as view:
        view.watch(folder)
        folder.run_file.write_text("{")
        assert "Waiting" in _ask(view)[1]
        assert "Waiting" in _ask(view)[1]
        folder.write(RECORD)
        assert "EventSource" in _ask(view)[1]
    assert len(said) == 1
    assert "no record of a run" in said[0]


def test_a_port_that_is_taken(view):
    port = urlsplit(view.url).port
    with pytest.raises(ConfigError, match="serving the live view at"):
        LiveView(port)
