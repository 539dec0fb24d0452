"""The HTTP endpoint: what it answers, what it refuses, and that no client holds it up or is lost."""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pretended_scores import DEADLINE, FEATURES, RUN, Pretends, Running, exchange
from vfxgb.errors import ConfigError, ConsentError, MessageError, PeerError, ShareMismatchError
from vfxgb.party import endpoint, score_queue, web
from vfxgb.party.access import Token, server_tls
from vfxgb.party.endpoint import MAX_BYTES, MAX_ROWS, MODEL_HEADER, Endpoint, read_rows
from vfxgb.party.logs import Log
from vfxgb.party.web import MAX_HEAD_BYTES, BadRequest, is_loopback
from vfxgb.transport.network.certificates import issue, make_authority

POST = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SECRET = "0123456789abcdef-secret"


@pytest.fixture
def running() -> Iterator[Running]:
    serving = Running()
    yield serving
    serving.end()


def rows(*ids: Any) -> dict[str, Any]:
    """Row i has age i, or -1 if its id begins with x, and scores i + 10."""
    ages = [-1 if str(id_).startswith("x") else place for place, id_ in enumerate(ids)]
    return {"rows": [{"id": id_, "features": {"age": age, "income": 10}} for id_, age in zip(ids, ages, strict=True)]}


def test_scores_and_the_model_in_every_answer(running: Running) -> None:
    status, document, headers = running.ask_all("POST", "/score", rows("a", "x", 3))
    assert (status, document) == (200, {"model": RUN, "scores": [10.0, None, 12.0]})
    assert headers[MODEL_HEADER] == RUN
    status, document, headers = running.ask_all("GET", "/health")
    assert status == 200
    since = document["partners"]["shop"].pop("since")
    assert time.strptime(since, "%Y-%m-%dT%H:%M:%SZ")
    assert document == {
        "status": "ok",
        "model": RUN,
        "follows_latest": False,
        "parties": ["bank", "shop"],
        "features": ["age", "income"],
        "partners": {"shop": {"reachable": True}},
    }
    assert running.ask_all("POST", "/score", b"{")[2][MODEL_HEADER] == RUN


def test_several_outputs() -> None:
    serving = Running(Pretends(outputs=3))
    assert serving.ask("POST", "/score", rows("a", "x"))[1]["scores"] == [[10.0, 11.0, 12.0], None]
    serving.end()


def test_one_connection_serves_many_requests(running: Running) -> None:
    connection = running.connect()
    connection.connect()
    place = connection.sock.getsockname()
    for _ in range(3):
        status, _, headers = exchange(connection, "POST", "/score", rows("a"))
        assert status == 200
        assert headers["Connection"] == "keep-alive"
        assert headers["Keep-Alive"].startswith("timeout=")
        # Mistakes that were read to their end keep it, too.
        assert exchange(connection, "POST", "/score", b"{")[0] == 400
        assert exchange(connection, "GET", "/health")[0] == 200
        assert exchange(connection, "GET", "/nothing")[0] == 404
        assert connection.sock.getsockname() == place
    # A body that was not read would be taken for the next request.
    status, _, headers = exchange(connection, "POST", "/nothing", rows("a"))
    assert (status, headers["Connection"]) == (404, "close")
    connection.close()


def test_a_client_that_wants_no_more(running: Running) -> None:
    answer = running.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"\r\nConnection: close\r\n" in answer
    both = running.raw(b"\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
    assert both.count(b"HTTP/1.1 200") == 2


def test_a_hundred_clients_at_once_lose_nothing(running: Running) -> None:
    """The first round is held up until all the others wait; then few rounds answer them all."""
    scorer = running.scorer
    scorer.gate.clear()

    def client(number: int) -> tuple[int, Any]:
        body = {"rows": [{"id": f"person {number}", "features": {"age": number, "income": 0.5}}]}
        return running.ask("POST", "/score", body)

    with ThreadPoolExecutor(100) as pool:
        answers = [pool.submit(client, number) for number in range(100)]
        assert scorer.asked.acquire(timeout=DEADLINE)
        queue = running.endpoint._server.queue
        end = time.monotonic() + DEADLINE
        while len(queue._waiting) + sum(map(len, scorer.rounds)) < 100 and time.monotonic() < end:
            time.sleep(0.01)
        scorer.gate.set()
        replies = [answer.result(DEADLINE) for answer in answers]
    assert replies == [(200, {"model": RUN, "scores": [number + 0.5]}) for number in range(100)]
    assert sum(map(sum, scorer.rounds)) == 100
    assert len(scorer.rounds) == 2


def test_the_same_id_is_asked_in_different_rounds(running: Running) -> None:
    scorer = running.scorer
    scorer.gate.clear()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(running.ask, "POST", "/score", rows("first"))
        assert scorer.asked.acquire(timeout=DEADLINE)
        others = [pool.submit(running.ask, "POST", "/score", rows(*ids)) for ids in (("a", "b"), ("b", "c"), ("d",))]
        queue = running.endpoint._server.queue
        end = time.monotonic() + DEADLINE
        while len(queue._waiting) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        scorer.gate.set()
        assert [answer.result(DEADLINE)[0] for answer in (first, *others)] == [200] * 4
    assert len(scorer.rounds) == 3
    assert sum(map(sum, scorer.rounds)) == 6


def test_beyond_the_queue_clients_are_told_to_come_back(running: Running, monkeypatch) -> None:
    monkeypatch.setattr(score_queue, "MAX_WAITING", 2)
    scorer = running.scorer
    scorer.gate.clear()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(running.ask, "POST", "/score", rows("first"))]
        assert scorer.asked.acquire(timeout=DEADLINE)
        waiting += [pool.submit(running.ask, "POST", "/score", rows(id_)) for id_ in ("a", "b")]
        queue = running.endpoint._server.queue
        end = time.monotonic() + DEADLINE
        while len(queue._waiting) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        status, document, headers = running.ask_all("POST", "/score", rows("c"))
        assert (status, headers["Retry-After"]) == (503, "1")
        assert document == {"error": "2 requests with 2 rows are waiting already; try again a little later"}
        monkeypatch.setattr(score_queue, "MAX_WAITING", 10)
        monkeypatch.setattr(score_queue, "MAX_WAITING_ROWS", 4)
        assert running.ask("POST", "/score", rows("c", "d", "e"))[0] == 503
        assert running.ask("GET", "/health")[0] == 200
        scorer.gate.set()
        assert [answer.result(DEADLINE)[0] for answer in waiting] == [200] * 3


def test_a_round_that_is_too_slow(running: Running, monkeypatch) -> None:
    monkeypatch.setattr(score_queue, "ANSWER_SECONDS", 0.2)
    running.scorer.gate.clear()
    assert running.ask("POST", "/score", rows("a"))[0] == 504
    assert running.ask("POST", "/score", rows("b"))[0] == 504
    running.scorer.gate.set()
    monkeypatch.setattr(score_queue, "ANSWER_SECONDS", DEADLINE)
    assert running.ask("POST", "/score", rows("c"))[0] == 200
    # Nobody waited for b any more when its turn came.
    assert running.scorer.rounds == [[1], [1]]


def test_what_a_passive_party_refuses_to_many_it_may_grant_to_few(running: Running) -> None:
    scorer = running.scorer
    scorer.most = 2
    scorer.gate.clear()
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(running.ask, "POST", "/score", rows("first"))
        assert scorer.asked.acquire(timeout=DEADLINE)
        sizes = (1, 2, 3, 4)
        others = [pool.submit(running.ask, "POST", "/score", rows(*(f"{n}{i}" for i in range(n)))) for n in sizes]
        queue = running.endpoint._server.queue
        end = time.monotonic() + DEADLINE
        while len(queue._waiting) < len(sizes) and time.monotonic() < end:
            time.sleep(0.01)
        scorer.gate.set()
        assert first.result(DEADLINE)[0] == 200
        assert [answer.result(DEADLINE)[0] for answer in others] == [200, 200, 403, 403]
    # Four rows are not asked for after three were refused.
    assert sorted(map(sum, scorer.rounds[2:])) == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConsentError("no more"), 403),
        (PeerError("gone"), 503),
        (MessageError("odd"), 502),
        (ConfigError("x"), 400),
        (ShareMismatchError("changed"), 409),
    ],
)
def test_errors_of_scoring(running: Running, error: Exception, status: int) -> None:
    running.scorer.error = error
    replied, document, headers = running.ask_all("POST", "/score", rows("a"))
    assert (replied, document) == (status, {"error": str(error)})
    assert headers["Retry-After"] == ("5" if status == 503 else None)


def test_a_bug_is_in_the_log_and_not_in_the_answer(tmp_path) -> None:
    file = tmp_path / "log.jsonl"
    serving = Running(log=Log(file))
    serving.scorer.error = ZeroDivisionError("by nothing")
    status, document = serving.ask("POST", "/score", rows("a"))
    assert status == 500
    assert "by nothing" not in document["error"]
    assert "ZeroDivisionError: by nothing" in json.loads(file.read_text())["text"]
    serving.scorer.error = None
    serving.scorer.read = None  # type: ignore[assignment,method-assign]
    assert serving.ask("POST", "/score", rows("a"))[0] == 500
    del serving.scorer.read
    assert serving.ask("POST", "/score", rows("a"))[0] == 200
    serving.end()


def test_health_shows_the_partner(running: Running) -> None:
    partners = running.scorer.partners
    partners.lost("shop", "nobody listens there")
    status, document, headers = running.ask_all("GET", "/health")
    assert (status, document["status"], headers["Retry-After"]) == (503, "unreachable", "5")
    assert document["partners"]["shop"]["reachable"] is False
    assert document["partners"]["shop"]["error"] == "nobody listens there"
    partners.refused("shop", "shop does not agree")
    status, document = running.ask("GET", "/health")
    assert (status, document["status"], document["partners"]["shop"]["reachable"]) == (503, "refused", True)
    partners.reached("shop")
    assert running.ask("GET", "/health")[0] == 200


def test_every_method_and_path_is_answered_in_json(running: Running) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
        status, document, headers = running.ask_all(method, "/score")
        assert (status, headers["Allow"]) == (405, "POST")
        assert document["error"].startswith("/score is for POST")
        assert running.ask(method, "/")[0] == 404
        assert running.ask(method, "/score/../health")[0] == 404
    status, _, headers = running.ask_all("POST", "/health", {})
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    status, document, headers = running.ask_all("HEAD", "/health")
    assert (status, document) == (200, None)
    assert int(headers["Content-Length"]) > 0
    assert running.ask("HEAD", "/nothing") == (404, None)
    assert running.ask("GET", "/health?probe=1")[0] == 200


def test_requests_that_are_refused(running: Running) -> None:
    assert running.ask("POST", "/score", rows("a"), Content_Type="text/plain")[0] == 415
    assert running.ask("POST", "/score", rows("a"), Host="elsewhere.example:80")[0] == 421
    assert running.ask("POST", "/score", b"", Content_Length="-1")[0] == 411
    assert running.ask("POST", "/score", b"0\r\n\r\n", Transfer_Encoding="chunked")[0] == 411
    assert running.ask("POST", "/score", b"", Content_Length=str(MAX_BYTES + 1))[0] == 413
    assert running.ask("POST", "/score", b"", Content_Length="9" * 50)[0] == 413
    assert running.ask("POST", "/score", b"{")[0] == 400


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /health HTTP/x\r\n\r\n", 400),
        (b"GET /health HTTP/1.1 more\r\n\r\n", 400),
        (b"GET /health HTTP/2.0\r\n\r\n", 505),
        (b"GET /health\r\n\r\n", 421),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /" + b"x" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET /health HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n", 431),
        (POST + b"Content-Length: 9\r\n\r\n{", 400),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    ],
)
def test_bytes_that_are_no_request_are_answered_in_json(running: Running, data: bytes, status: int) -> None:
    answer = running.raw(data)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Type: application/json" in head
    assert b"Connection: close" in head or status in (400, 421)
    assert set(json.loads(body)) == {"error"}


def test_a_body_that_is_too_large_is_answered_while_it_is_sent(running: Running) -> None:
    with socket.create_connection((running.host, running.port), timeout=DEADLINE) as client:
        client.sendall(POST + b"Content-Length: %d\r\n\r\n" % (4 << 20))
        client.sendall(bytes(4 << 20))
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_client_that_waits_for_a_word_before_its_body(running: Running) -> None:
    body = json.dumps(rows("a")).encode()
    lines = ("POST /score HTTP/1.1", "Host: localhost", "Expect: 100-continue", f"Content-Length: {len(body)}")
    with socket.create_connection((running.host, running.port), timeout=DEADLINE) as client:
        client.sendall("\r\n".join((*lines, "Content-Type: application/json", "", "")).encode())
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert (answer.status, json.loads(answer.read())["scores"]) == (200, [10.0])
        # Here there is nothing to wait for.
        client.sendall("\r\n".join((*lines, "Content-Type: text/plain", "", "")).encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 415 ")


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


def test_slow_clients_are_dropped_with_an_answer(monkeypatch) -> None:
    monkeypatch.setattr(web, "CLIENT_SECONDS", 0.4)
    serving = Running()
    for begin in (b"POST /score HTTP/1.1\r\n", POST + b"Content-Length: 1000\r\n\r\n"):
        with socket.create_connection((serving.host, serving.port), timeout=DEADLINE) as client:
            client.sendall(begin)
            client.settimeout(0.1)
            answer = b""
            end = time.monotonic() + DEADLINE
            # A piece now and then keeps no connection open.
            while not answer and time.monotonic() < end:
                client.sendall(b"X-A: b\r\n")
                try:
                    answer = client.recv(1000)
                except TimeoutError:
                    continue
            assert answer.startswith(b"HTTP/1.1 408 ")
    with socket.create_connection((serving.host, serving.port), timeout=DEADLINE) as client:
        assert client.recv(1000) == b""
    assert serving.ask("POST", "/score", rows("a"))[0] == 200
    serving.end()


def test_idle_connections_end(monkeypatch) -> None:
    monkeypatch.setattr(web, "KEEP_SECONDS", 0.3)
    serving = Running()
    connection = serving.connect()
    assert exchange(connection, "GET", "/health")[0] == 200
    assert connection.sock.recv(1000) == b""
    connection.close()
    serving.end()


def test_beyond_so_many_connections_they_are_told_to_come_back(monkeypatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_CONNECTIONS", 8)
    serving = Running()
    server = serving.endpoint._server
    waiting = [socket.create_connection((serving.host, serving.port), timeout=DEADLINE) for _ in range(8)]
    try:
        end = time.monotonic() + DEADLINE
        while server._served < 8 and time.monotonic() < end:
            time.sleep(0.01)
        for _ in range(3):
            status, document, headers = serving.ask_all("POST", "/score", rows("a"))
            assert (status, headers["Retry-After"], headers["Connection"]) == (503, "1", "close")
            assert "too many connections" in document["error"]
        # A connection that is served ends with its answer while others need the place.
        waiting[0].sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = http.client.HTTPResponse(waiting[0])
        answer.begin()
        assert (answer.status, answer.headers["Connection"]) == (200, "close")
    finally:
        for client in waiting:
            client.close()
    end = time.monotonic() + DEADLINE
    while server._served and time.monotonic() < end:
        time.sleep(0.01)
    assert serving.ask("GET", "/health")[0] == 200
    serving.end()


def test_even_more_connections_wait_their_turn(monkeypatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(web, "MAX_REFUSED", 1)
    serving = Running()
    serving.scorer.gate.clear()

    def client(number: int) -> int:
        return serving.ask("POST", "/score", rows(f"person {number}"))[0]

    with ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(client, number) for number in range(12)]
        assert serving.scorer.asked.acquire(timeout=DEADLINE)
        serving.scorer.gate.set()
        assert {answer.result(DEADLINE) for answer in answers} <= {200, 503}
    serving.end()


def test_stopping_answers_what_is_under_way_and_waits_for_no_idle_connection() -> None:
    serving = Running()
    idle = serving.connect()
    assert exchange(idle, "GET", "/health")[0] == 200
    serving.scorer.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(serving.ask, "POST", "/score", rows("a"))
        assert serving.scorer.asked.acquire(timeout=DEADLINE)
        serving.stop.set()
        assert idle.sock.recv(1000) == b""
        serving.scorer.gate.set()
        assert asked.result(DEADLINE)[0] == 200
    begin = time.monotonic()
    serving.end()
    assert time.monotonic() - begin < endpoint.CLOSE_SECONDS
    idle.close()


def test_a_token(tmp_path) -> None:
    file = tmp_path / "log.jsonl"
    serving = Running(token=Token(SECRET, "a test"), log=Log(file))
    good = f"Bearer {SECRET}"
    assert serving.ask("POST", "/score", rows("a"), Authorization=good)[0] == 200
    assert serving.ask("POST", "/score", rows("a"), Authorization=f"bearer  {SECRET}")[0] == 200
    for wrong in ("", "Bearer", "Bearer x", SECRET, f"Basic {SECRET}", good[:-1], f"{good}x", "Bearer \xe4"):
        given = {"Authorization": wrong} if wrong else {}
        status, document, headers = serving.ask_all("POST", "/score", rows("a"), **given)
        assert (status, headers["WWW-Authenticate"]) == (401, 'Bearer realm="vfxgb"')
        assert headers[MODEL_HEADER] is None
        assert SECRET not in json.dumps(document)
        assert serving.ask("GET", "/nothing", **given)[0] == 401
    assert serving.ask("GET", "/nothing", Authorization=good)[0] == 404
    # A load balancer learns what it needs, and nothing else.
    assert serving.ask("GET", "/health") == (200, {"status": "ok"})
    assert serving.ask("GET", "/health", Authorization="Bearer x")[0] == 401
    assert serving.ask("GET", "/health", Authorization=good)[1]["model"] == RUN
    serving.scorer.error = ZeroDivisionError()
    assert serving.ask("POST", "/score", rows("a"), Authorization=good)[0] == 500
    assert SECRET not in file.read_text()
    serving.end()


def test_tls(tmp_path: Path) -> None:
    made = issue(make_authority(tmp_path), "bank", ("127.0.0.1",), 30, tmp_path)
    serving = Running(tls=server_tls(made.certificate, made.key))
    assert serving.endpoint.url.startswith("https://127.0.0.1:")
    plain = serving.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert plain.startswith(b"HTTP/1.1 400 ")
    assert b"this port speaks HTTPS" in plain
    serving.trust = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
    connection = serving.connect()
    for _ in range(2):
        assert exchange(connection, "POST", "/score", rows("a"))[0] == 200
    connection.close()
    # One that begins a handshake and goes, and one that was never told whom to trust.
    socket.create_connection((serving.host, serving.port), timeout=DEADLINE).close()
    serving.trust = ssl.create_default_context()
    with pytest.raises(ssl.SSLError):
        serving.ask("GET", "/health")
    serving.trust = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
    assert serving.ask("POST", "/score", b"", Content_Length=str(MAX_BYTES + 1))[0] == 413
    idle = serving.connect()
    assert exchange(idle, "GET", "/health")[0] == 200
    serving.end()
    idle.close()


def test_addresses() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    with pytest.raises(ConfigError, match="cannot be used"):
        Endpoint(Pretends(), "192.0.2.1", 0)  # type: ignore[arg-type]
