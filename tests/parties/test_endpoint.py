"""The scoring endpoint with a passive party that is another process: many clients, a lost partner, newer models."""

import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from processes import DEADLINE, Served, World, joined, last_run, wait_until
from vfxgb.errors import ShareMismatchError
from vfxgb.model.pooled import PooledModel
from vfxgb.party import endpoint, partner_health
from vfxgb.party.config import load_config
from vfxgb.party.endpoint import Endpoint
from vfxgb.party.logs import Log
from vfxgb.party.scoring import Scorer
from vfxgb.party.train import Trainer

CLIENTS = 40


@pytest.fixture(scope="module")
def shop(world: World) -> Iterator[list[Served]]:
    """In a list, for it is stopped and started again."""
    held = [Served(world.passive("shop", name="endpoint-shop", folder="endpoint-shop-folder"))]
    yield held
    held[0].kill()


def _trained(world: World, shop: list[Served], features: tuple[str, ...]) -> Path:
    """The bank's configuration, after another run with these columns."""
    data = {"train": "bank.csv", "label": "binary", "features": list(features)}
    changes = {"folder": "endpoint-bank-folder", "data": data}
    path = world.active({"shop": shop[0].address}, name="endpoint-bank", **changes)
    Trainer(load_config(path, {}), Log(None)).run()
    return path


@pytest.fixture(scope="module")
def config(world, shop) -> Path:
    return _trained(world, shop, ("a0", "a1", "a2"))


@contextmanager
def _serving(scorer: Scorer) -> Iterator[str]:
    """The endpoint of a scorer; gives its address."""
    served = Endpoint(scorer, "127.0.0.1", 0)
    stop = threading.Event()
    running = threading.Thread(target=served.run, args=(stop,), daemon=True)
    running.start()
    try:
        yield served.address
    finally:
        stop.set()
        running.join(DEADLINE)
        assert not running.is_alive()


def _ask(address: str, method: str, path: str, body: Any = None) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection(address, timeout=DEADLINE)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.headers
    finally:
        connection.close()


def _body(world: World, features: tuple[str, ...], *rows: int) -> dict[str, Any]:
    people = [(str(world.ids[row]), {name: float(world.values[name][row]) for name in features}) for row in rows]
    return {"rows": [{"id": id_, "features": values} for id_, values in people]}


def _wanted(world: World, run: str, rows: np.ndarray) -> np.ndarray:
    model = joined(world, run, ("bank", "shop"))
    pooled = PooledModel(model.active_share, model.passive_shares)
    matrix = np.column_stack([world.values[name][rows] for name in pooled.feature_names]).astype(np.float32)
    return 1 / (1 + np.exp(-pooled.margins(matrix)[:, 0]))


def test_many_clients_at_once(world, config) -> None:
    scorer = Scorer(load_config(config, {}), Log(None))
    rows = np.flatnonzero(world.has["shop"])[:CLIENTS]
    with _serving(scorer) as address, ThreadPoolExecutor(CLIENTS) as pool:
        together = threading.Barrier(CLIENTS)

        def client(row: int) -> tuple[int, Any, Any]:
            together.wait(DEADLINE)
            return _ask(address, "POST", "/score", _body(world, scorer.features, row))

        answers = list(pool.map(client, rows.tolist()))
    assert [status for status, _, _ in answers] == [200] * CLIENTS
    scores = [document["scores"][0] for _, document, _ in answers]
    np.testing.assert_allclose(scores, _wanted(world, scorer.share.run, rows), rtol=1e-6)
    assert {document["model"] for _, document, _ in answers} == {scorer.share.run}


def test_health_shows_a_partner_that_goes_and_comes_back(world, shop, config, monkeypatch) -> None:
    monkeypatch.setattr(endpoint, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(partner_health, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(partner_health, "LONGEST_WAIT", 0.2)
    scorer = Scorer(load_config(config, {}), Log(None))
    rows = np.flatnonzero(world.has["shop"])[:2]
    body = _body(world, scorer.features, *rows.tolist())
    with _serving(scorer) as address:
        wait_until(lambda: _ask(address, "GET", "/health")[0] == 200)
        before = _ask(address, "GET", "/health")[1]["partners"]["shop"]
        assert before["reachable"] is True
        assert shop[0].stop() == 0
        # Nobody asked for a score: the endpoint looks after its partner itself.
        wait_until(lambda: _ask(address, "GET", "/health")[0] == 503)
        status, document, headers = _ask(address, "GET", "/health")
        assert (status, document["status"], headers["Retry-After"]) == (503, "unreachable", "5")
        assert document["partners"]["shop"]["reachable"] is False
        assert document["partners"]["shop"]["since"] >= before["since"]
        assert document["partners"]["shop"]["error"]
        status, document, headers = _ask(address, "POST", "/score", body)
        assert (status, headers["Retry-After"]) == (503, "5")
        assert "nobody listens there; start shop" in document["error"]
        shop[0] = shop[0].again()
        wait_until(lambda: _ask(address, "GET", "/health")[0] == 200)
        status, document, _ = _ask(address, "POST", "/score", body)
        assert status == 200
        np.testing.assert_allclose(document["scores"], _wanted(world, scorer.share.run, rows), rtol=1e-6)


def test_a_newer_model_is_used_only_by_who_follows(world, shop, config) -> None:
    path, first = config, last_run(config).run
    pinned, follows = (Scorer(load_config(path, {}), Log(None), follow=follow) for follow in (False, True))
    rows = np.flatnonzero(world.has["shop"])[:3]
    values = {name: world.values[name][rows].tolist() for name in ("a0", "a1", "a2")}
    ids = world.ids[rows].tolist()
    try:
        early = follows.read(ids, values)
        path = _trained(world, shop, ("a1", "a0"))
        second = last_run(path).run
        assert second != first
        for scorer in (pinned, follows):
            scorer.look()
        assert (pinned.share.run, follows.share.run) == (first, second)
        np.testing.assert_allclose(pinned.score(ids, values)[:, 0], _wanted(world, first, rows), rtol=1e-6)
        values.pop("a2")
        chosen = {name: values[name] for name in follows.features}
        np.testing.assert_allclose(follows.score(ids, chosen)[:, 0], _wanted(world, second, rows), rtol=1e-6)
        # A question that was read before the change does not fit any more, and its client is told.
        with pytest.raises(ShareMismatchError, match=f"has changed to run {second}"):
            follows.answer([early])
        # Without the partner's share a newer model is not used, and the one in use stays.
        third = last_run(_trained(world, shop, ("a0",))).run
        share = world.folder / "endpoint-shop-folder" / "runs" / third / "share.json"
        share.rename(share.with_suffix(".away"))
        follows.look()
        assert follows.share.run == second
        np.testing.assert_allclose(follows.score(ids, chosen)[:, 0], _wanted(world, second, rows), rtol=1e-6)
    finally:
        pinned.close()
        follows.close()
