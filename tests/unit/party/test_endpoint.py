"""The HTTP endpoint: what it answers, what it refuses, and that no client holds it up."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vfxgb.errors import ConfigError, ConsentError, MessageError, PeerError
from vfxgb.party import web
from vfxgb.party.endpoint import MAX_BYTES, MAX_ROWS, Endpoint, read_rows
from vfxgb.party.web import BadRequest, is_loopback

FEATURES = ("age", "income")
DEADLINE = 10.0


class Pretends:
    """A Scorer that adds the features up and has no row with an id that begins with x."""

    def __init__(self, outputs: int = 1) -> None:
        self.share = SimpleNamespace(run="ab" * 16, parties=("bank", "shop"), n_outputs=outputs)
        self.features = FEATURES
        self.closed = False
        self.error: Exception | None = None

    def score(self, ids: list[Any], columns: dict[str, list[float]]) -> np.ndarray:
        if self.error is not None:
            raise self.error
        scores = np.nan_to_num(np.array(list(columns.values()))).sum(axis=0)[:, None] + np.arange(self.share.n_outputs)
        scores[[str(one).startswith("x") for one in ids]] = np.nan
        return scores

    def close(self) -> None:
        self.closed = True


class Running:
    def __init__(self, scorer: Pretends) -> None:
        self.scorer = scorer
        self.endpoint = Endpoint(scorer, "127.0.0.1", 0)
        self.host, port = self.endpoint.address.rsplit(":", 1)
        self.port = int(port)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.endpoint.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE)
        try:
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(DEADLINE)
        assert not self.thread.is_alive()
        assert self.scorer.closed


@pytest.fixture
def running() -> Iterator[Running]:
    one = Running(Pretends())
    yield one
    one.end()


def rows(*ids: Any) -> dict[str, Any]:
    return {"rows": [{"id": one, "features": {"age": place, "income": 10}} for place, one in enumerate(ids)]}


def test_scores(running: Running) -> None:
    assert running.ask("POST", "/score", rows("a", "x", 3)) == (
        200,
        {"model": "ab" * 16, "scores": [10.0, None, 12.0]},
    )
    assert running.ask("GET", "/health")[1] == {
        "model": "ab" * 16,
        "parties": ["bank", "shop"],
        "features": ["age", "income"],
    }


def test_several_outputs() -> None:
    one = Running(Pretends(outputs=3))
    assert one.ask("POST", "/score", rows("a", "x"))[1]["scores"] == [[10.0, 11.0, 12.0], None]
    one.end()


@pytest.mark.parametrize(
    ("error", "status"),
    [(ConsentError("no more"), 403), (PeerError("gone"), 503), (MessageError("odd"), 502), (ConfigError("x"), 400)],
)
def test_errors_of_scoring(running: Running, error: Exception, status: int) -> None:
    running.scorer.error = error
    assert running.ask("POST", "/score", rows("a")) == (status, {"error": str(error)})


def test_requests_that_are_refused(running: Running) -> None:
    assert running.ask("GET", "/")[0] == 404
    assert running.ask("GET", "/score")[0] == 405
    assert running.ask("POST", "/health", {})[0] == 405
    assert running.ask("POST", "/score", rows("a"), Content_Type="text/plain")[0] == 415
    assert running.ask("POST", "/score", rows("a"), Host="elsewhere.example:80")[0] == 421
    assert running.ask("POST", "/score", b"", Content_Length="-1")[0] == 411
    assert running.ask("POST", "/score", b"", Content_Length=str(MAX_BYTES + 1))[0] == 413
    assert running.ask("POST", "/score", b"", Content_Length="9" * 50)[0] == 413
    assert running.ask("POST", "/score", b"{")[0] == 400


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "wanted"),
        (b'{"rows": []}', f"1 to {MAX_ROWS:,} rows"),
        (b'{"rows": [1]}', "row 0"),
        (b'{"rows": [{"id": 1}]}', "row 0"),
        (b'{"rows": [{"id": 1, "features": {"age": 1}}]}', "feature 'income' is missing"),
        (b'{"rows": [{"id": 1, "features": {"age": 1, "income": 1, "z": 1}}]}', "feature 'z' is none"),
        (b'{"rows": [{"id": 1, "features": {"age": "1", "income": 1}}]}', "'age' is str"),
        (b'{"rows": [{"id": 1, "features": {"age": true, "income": 1}}]}', "'age' is bool"),
        (b'{"rows": [{"id": 1, "features": {"age": NaN, "income": 1}}]}', "no finite number"),
        (b'{"rows": [{"id": 1, "features": {"age": 1e999, "income": 1}}]}', "no finite number"),
        (b'{"rows": [{"id": 1, "features": {"age": 1' + b"0" * 400 + b', "income": 1}}]}', "no finite number"),
    ],
)
def test_contents_that_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        read_rows(data, FEATURES)


def test_null_is_missing() -> None:
    ids, columns = read_rows(b'{"rows": [{"id": "a", "features": {"age": null, "income": 2}}]}', FEATURES)
    assert ids == ["a"]
    assert np.isnan(columns["age"][0])
    assert columns["income"] == [2.0]


def _is_over(client: socket.socket) -> bool:
    try:
        client.sendall(b"X-A: b\r\n")
        return client.recv(1000) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_slow_clients_are_dropped(monkeypatch) -> None:
    monkeypatch.setattr(web, "CLIENT_SECONDS", 0.4)
    one = Running(Pretends())
    with socket.create_connection((one.host, one.port), timeout=DEADLINE) as client:
        client.sendall(b"POST /score HTTP/1.1\r\n")
        client.settimeout(0.1)
        # A piece now and then keeps no connection open.
        assert any(_is_over(client) for _ in range(int(DEADLINE / 0.1)))
    assert one.ask("POST", "/score", rows("a"))[0] == 200
    one.end()


def test_no_more_than_so_many_at_once(running: Running) -> None:
    waiting = [socket.create_connection((running.host, running.port), timeout=DEADLINE) for _ in range(40)]
    try:
        time.sleep(0.3)
        with pytest.raises((OSError, http.client.HTTPException)):
            running.ask("GET", "/health")
    finally:
        for one in waiting:
            one.close()
    time.sleep(0.3)
    assert running.ask("GET", "/health")[0] == 200


def test_addresses() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    with pytest.raises(ConfigError, match="cannot be used"):
        Endpoint(Pretends(), "192.0.2.1", 0)
