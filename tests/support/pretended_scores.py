"""A scoring endpoint over a made-up scorer, and a client of it."""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from vfxgb.align import make_ids
from vfxgb.errors import ConsentError
from vfxgb.party.endpoint import Endpoint
from vfxgb.party.partner_health import Partners
from vfxgb.party.scoring import Answer, Question

FEATURES = ("age", "income")
DEADLINE = 20.0
RUN = "ab" * 16


class Pretends:
    """A Scorer that adds the features up and has no row whose age is -1.

    `gate`: rounds wait for it. `rounds`: how many rows each round had.
    """

    follow = False

    def __init__(self, outputs: int = 1) -> None:
        self.share = SimpleNamespace(
            run=RUN, parties=("bank", "shop"), n_outputs=outputs, records=SimpleNamespace(features=FEATURES)
        )
        self.features = FEATURES
        self.partners = Partners(("shop",))
        self.partners.reached("shop")
        self.closed = False
        self.error: Exception | None = None
        self.most = 10**9
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Semaphore(0)
        self.rounds: list[list[int]] = []

    def read(self, ids: list[Any], columns: dict[str, list[float]]) -> Question:
        return Question(make_ids(ids, "bank"), {name: np.array(values) for name, values in columns.items()})

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        self.rounds.append([len(question) for question in questions])
        self.asked.release()
        assert self.gate.wait(DEADLINE)
        if self.error is not None:
            raise self.error
        if sum(map(len, questions)) > self.most:
            raise ConsentError(f"at most {self.most} rows")
        answers = []
        for question in questions:
            scores = np.nan_to_num(np.array(list(question.columns.values()))).sum(axis=0)[:, None]
            scores = scores + np.arange(self.share.n_outputs)
            scores[question.columns["age"] == -1] = np.nan
            answers.append(Answer(self.share.run, scores))
        return answers

    def look(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Running:
    def __init__(self, scorer: Pretends | None = None, **options: Any) -> None:
        self.scorer = scorer or Pretends()
        self.endpoint = Endpoint(self.scorer, "127.0.0.1", 0, **options)  # type: ignore[arg-type]
        self.host, port = self.endpoint.address.rsplit(":", 1)
        self.port = int(port)
        self.trust: ssl.SSLContext | None = None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.endpoint.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def connect(self) -> http.client.HTTPConnection:
        if self.trust is not None:
            return http.client.HTTPSConnection(self.host, self.port, timeout=DEADLINE, context=self.trust)
        return http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        status, document, _ = self.ask_all(method, path, body, **headers)
        return status, document

    def ask_all(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        connection = self.connect()
        try:
            return exchange(connection, method, path, body, **headers)
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """Everything that comes back after these bytes."""
        with socket.create_connection((self.host, self.port), timeout=DEADLINE) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            heard = b""
            while part := client.recv(1 << 16):
                heard += part
            return heard

    def end(self) -> None:
        self.scorer.gate.set()
        self.stop.set()
        self.thread.join(DEADLINE)
        assert not self.thread.is_alive()
        assert self.scorer.closed


def exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any, Any]:
    data = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    connection.request(method, path, data, given)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(text) if text else None, answer.headers
