"""`vfxgb predict --serve`: scores over HTTP, with a passive party that is another process."""

import http.client
import json
import re
import signal
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from processes import DEADLINE, SIZES, Served, at_rest, events, joined, last_run, start, wait_until
from vfxgb.errors import AlignmentError, ConsentError, PeerError
from vfxgb.model.pooled import PooledModel
from vfxgb.party.config import load_config
from vfxgb.party.endpoint import Endpoint
from vfxgb.party.logs import Log
from vfxgb.party.scoring import Scorer
from vfxgb.party.train import Trainer

# Two rows for the command, then three questions of four.
LIMIT = 14


@pytest.fixture(scope="module")
def shop(world) -> Iterator[list[Served]]:
    """A shop that may be stopped, and answers for a few rows only."""
    consent = {"max_predicted_rows": LIMIT}
    one = [Served(world.passive("shop", name="scoring-shop", folder="scoring-folder", consent=consent))]
    yield one
    one[0].kill()


@pytest.fixture(scope="module")
def config(world, shop) -> Path:
    """The bank's, with a model that was just trained."""
    path = world.active({"shop": shop[0].address}, name="scoring-bank")
    Trainer(load_config(path, {}), Log(None)).run()
    return path


def _wanted(world, config: Path, rows: np.ndarray) -> np.ndarray:
    model = joined(world, last_run(config).run, ("bank", "shop"))
    pooled = PooledModel(model.active_share, model.passive_shares)
    matrix = np.column_stack([world.values[name][rows] for name in pooled.feature_names]).astype(np.float32)
    scores = 1 / (1 + np.exp(-pooled.margins(matrix)[:, 0]))
    return np.where(world.has["shop"][rows], scores, np.nan)


def _asked(world, scorer: Scorer, rows: np.ndarray) -> np.ndarray:
    columns = {name: world.values[name][rows].tolist() for name in scorer.features}
    return scorer.score(world.ids[rows].tolist(), columns)[:, 0]


def test_the_command(world, config, tmp_path) -> None:
    log = tmp_path / "out"
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("0123456789abcdef0123\n")
    tls = ("--tls-certificate", world.folder / "bank.pem", "--tls-key", world.folder / "bank.key")
    process = start("predict", config, "--serve", "--port", "0", "--token-file", token, *tls, log=log)
    try:
        wait_until(lambda: "scoring at" in log.read_text() or process.poll() is not None)
        found = re.search(r"https://(\S+):(\d+)/score with the model ([0-9a-f]+)\n", log.read_text())
        assert found is not None, log.read_text()
        rows = np.flatnonzero(world.has["shop"])[:2]
        features = load_config(config, {}).data.features or ()
        body: Any = {
            "rows": [
                {"id": str(world.ids[row]), "features": {name: world.values[name][row] for name in features}}
                for row in rows
            ]
        }
        trust = ssl.create_default_context(cafile=str(world.folder / "authority.pem"))
        trust.check_hostname = False
        connection = http.client.HTTPSConnection(found[1], int(found[2]), timeout=DEADLINE, context=trust)
        for given, status in (("", 401), (token.read_text().strip(), 200)):
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {given}"}
            connection.request("POST", "/score", json.dumps(body), headers)
            answer = connection.getresponse()
            document = json.loads(answer.read())
            assert answer.status == status, document
        connection.close()
        assert document["model"] == found[3] == last_run(config).run
        assert token.read_text().strip() not in log.read_text()
        np.testing.assert_allclose(document["scores"], _wanted(world, config, rows), rtol=1e-6)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0


def test_sessions_are_kept_and_opened_again(world, shop, config) -> None:
    scorer = Scorer(load_config(config, {}), Log(None))
    lacking = np.flatnonzero(~world.has["shop"])[:1]
    rows = np.concatenate([np.flatnonzero(world.has["shop"])[:4], lacking])
    try:
        for _ in range(2):
            np.testing.assert_allclose(_asked(world, scorer, rows), _wanted(world, config, rows), rtol=1e-6)
        # Ids that are none are this side's mistake, and end no session.
        with pytest.raises(AlignmentError, match="same id"):
            _asked(world, scorer, rows[[0, 0]])
        assert np.isnan(_asked(world, scorer, lacking)).all()
        assert shop[0].stop() == 0
        with pytest.raises(PeerError):
            _asked(world, scorer, rows)
        shop[0] = shop[0].again()
        np.testing.assert_allclose(_asked(world, scorer, rows), _wanted(world, config, rows), rtol=1e-6)
        # The command above uses two of the rows, if it runs in this process.
        with pytest.raises(ConsentError, match=r"1[24] of 14 are used"):
            _asked(world, scorer, rows)
    finally:
        scorer.close()


def test_metrics_of_both_sides(world, tmp_path) -> None:
    """What monitoring reads at a serving party and at the endpoint, after a training and two requests."""
    one = Served(world.passive("shop", name="watched-shop", folder="watched-folder", metrics={"listen": "127.0.0.1:0"}))
    try:
        path = world.active({"shop": one.address}, name="watched-bank", folder="watched-bank-folder")
        Trainer(load_config(path, {}), Log(None)).run()
        at_rest(one.folder)
        (told,) = (event for event in events(one.folder) if event["event"] == "metrics")
        found = _samples(told["address"])
        bank = (("peer", "bank"),)
        assert found["vfxgb_trainings_total", bank] == 1
        assert found["vfxgb_requests_total", (*bank, ("what", "train"))] == 1
        assert found["vfxgb_budget_used", (*bank, ("what", "trees"))] == SIZES["n_estimators"]
        assert found["vfxgb_bytes_total", (("direction", "sent"), *bank)] > 1000
        assert found["vfxgb_sessions", ()] == 0
        assert found["vfxgb_account_damaged", bank] == 0

        scorer = Scorer(load_config(path, {}), Log(None))
        scorer.connect()
        served = Endpoint(scorer, "127.0.0.1", 0)
        stop = threading.Event()
        running = threading.Thread(target=served.run, args=(stop,), daemon=True)
        running.start()
        row = {"id": "nobody", "features": dict.fromkeys(scorer.features)}
        assert _ask(served.address, "POST", "/score", {"rows": [row]})[0] == 200
        assert _ask(served.address, "POST", "/score", {"rows": []})[0] == 400
        found = _samples(served.address)
        stop.set()
        running.join(DEADLINE)
        assert found["vfxgb_score_requests_total", (("path", "/score"), ("status", "200"))] == 1
        assert found["vfxgb_score_requests_total", (("path", "/score"), ("status", "400"))] == 1
        assert found["vfxgb_scored_rows_total", ()] == 1
        assert found["vfxgb_score_seconds_count", ()] == 1
        assert found["vfxgb_partner_reachable", (("peer", "shop"),)] == 1
        assert found["vfxgb_model_info", (("run", last_run(path).run),)] == 1
    finally:
        one.kill()


def _samples(address: str) -> dict[Any, float]:
    """All samples at an address by name and sorted labels, as Prometheus reads them."""
    status, text = _ask(address, "GET", "/metrics")
    assert status == 200
    families = text_string_to_metric_families(text)
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def _ask(address: str, method: str, path: str, document: Any = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(*address.rsplit(":", 1), timeout=DEADLINE)  # type: ignore[arg-type]
    try:
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
