"""Numbers for monitoring: the text that Prometheus' own parser reads, counts of log lines, budgets, the server."""

import http.client
import math
import threading
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from vfxgb.errors import ConfigError
from vfxgb.party.budget import Budget
from vfxgb.party.event_metrics import EventMetrics, describe_budgets
from vfxgb.party.logs import Log
from vfxgb.party.metrics import CONTENT_TYPE, SECONDS, Metrics, describe_process, labels
from vfxgb.party.metrics_server import MetricsServer
from vfxgb.party.sections import ConsentSection
from vfxgb.train.account import Account

DEADLINE = 20.0


def read(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples by name and labels, as Prometheus' client reads them."""
    families = text_string_to_metric_families(metrics.write().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_counters_gauges_and_labels() -> None:
    metrics = Metrics()
    metrics.describe("asked_total", "counter", "What was asked.")
    metrics.describe(
        "left", "gauge", "What is left.", lambda: {labels(peer="bank"): 2.5, labels(peer="mill"): math.inf}
    )
    metrics.add("asked_total", peer="bank")
    metrics.add("asked_total", 4, peer="bank")
    metrics.add("asked_total", peer='a "quoted\\ name\nof two lines')
    found = read(metrics)
    assert found["asked_total", (("peer", "bank"),)] == 5
    assert found["left", (("peer", "bank"),)] == 2.5
    assert found["left", (("peer", "mill"),)] == math.inf
    odd = [dict(names)["peer"] for name, names in found if name == "asked_total" and dict(names)["peer"] != "bank"]
    assert len(odd) == 1
    assert odd[0].startswith('a "quoted\\ name')
    assert "\n" not in odd[0].replace("\\n", "")


def test_a_histogram_counts_values_at_a_bound_with_those_below() -> None:
    metrics = Metrics()
    metrics.describe("took", "histogram", "Seconds.")
    for value in (0.0, SECONDS[0], SECONDS[-1], SECONDS[-1] + 1):
        metrics.observe("took", value)
    found = read(metrics)
    assert found["took_bucket", (("le", "0.01"),)] == 2
    assert found["took_bucket", (("le", "10"),)] == 3
    assert found["took_bucket", (("le", "+Inf"),)] == found["took_count", ()] == 4
    assert found["took_sum", ()] == pytest.approx(SECONDS[0] + 2 * SECONDS[-1] + 1)


def test_a_gauge_that_cannot_be_read_is_left_out() -> None:
    def broken() -> Any:
        raise OSError("no such file")

    metrics = Metrics()
    metrics.describe("left", "gauge", "What is left.", broken)
    metrics.describe("here", "gauge", "One.", lambda: {(): 1.0})
    assert read(metrics) == {("here", ()): 1.0}


def test_many_threads_lose_no_count() -> None:
    metrics = Metrics()
    metrics.describe("asked_total", "counter", "What was asked.")
    threads = [threading.Thread(target=lambda: [metrics.add("asked_total") for _ in range(2000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(metrics)["asked_total", ()] == 16000


def test_lines_of_the_log_are_counted() -> None:
    metrics, log = Metrics(), Log(None)
    log.watch(EventMetrics(metrics).watch)
    log.info("asked", peer="bank", what="train")
    log.info("trained", peer="bank", seconds=2.5)
    log.info("trained", peer="bank", seconds=1.5)
    log.info("predicted", peer="bank", rows=7)
    log.info("ended", peer="bank", sent_bytes=100, received_bytes=30)
    log.warning("refused", text="no", peer="bank")
    found = read(metrics)
    bank = ("peer", "bank")
    assert found["vfxgb_requests_total", (bank, ("what", "train"))] == 1
    assert found["vfxgb_trainings_total", (bank,)] == 2
    assert found["vfxgb_training_seconds_total", (bank,)] == 4.0
    assert found["vfxgb_predicted_rows_total", (bank,)] == 7
    assert found["vfxgb_bytes_total", (("direction", "sent"), bank)] == 100
    assert found["vfxgb_bytes_total", (("direction", "received"), bank)] == 30
    assert found["vfxgb_events_total", (("event", "refused"), ("level", "warning"))] == 1


def test_budgets_and_a_damaged_account(tmp_path: Path) -> None:
    section = ConsentSection(total_trees=20, total_predicted_rows=None)
    accounts = {peer: Account(tmp_path, "shop", peer) for peer in ("bank", "mill")}
    budgets = {peer: Budget(section, account) for peer, account in accounts.items()}
    metrics = Metrics()
    describe_budgets(metrics, lambda: ("bank", "mill"), budgets.__getitem__)
    budgets["bank"].charge(trees=3, predicted_rows=11)
    budgets["mill"].charge(trees=1)
    (tmp_path / "mill.json").write_text("{}")
    found = read(metrics)

    def shown(name: str, what: str, peer: str = "bank") -> float | None:
        return found.get((name, (("peer", peer), ("what", what))))

    assert shown("vfxgb_budget_used", "trees") == 3
    assert shown("vfxgb_budget_limit", "trees") == 20
    assert shown("vfxgb_budget_used", "predicted_rows") == 11
    assert shown("vfxgb_budget_limit", "predicted_rows") is None
    assert shown("vfxgb_budget_used", "epsilon") == 0
    assert shown("vfxgb_budget_limit", "epsilon") == section.max_total_epsilon
    assert shown("vfxgb_budget_used", "trees", "mill") is None
    assert found["vfxgb_account_damaged", (("peer", "bank"),)] == 0
    assert found["vfxgb_account_damaged", (("peer", "mill"),)] == 1


def ask(address: str, method: str, path: str, **headers: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection(*address.rsplit(":", 1), timeout=DEADLINE)  # type: ignore[arg-type]
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()
    finally:
        connection.close()


def test_the_server() -> None:
    metrics = Metrics()
    describe_process(metrics, "shop", "1.2.3")
    server = MetricsServer(metrics, "127.0.0.1:0")
    server.start()
    try:
        status, kind, body = ask(server.address, "GET", "/metrics")
        assert (status, kind) == (200, CONTENT_TYPE)
        assert b'vfxgb_info{party="shop",version="1.2.3"} 1\n' in body
        assert ask(server.address, "GET", "/")[0] == 404
        assert ask(server.address, "POST", "/metrics")[0] == 405
        assert ask(server.address, "GET", "/metrics", Host="evil.example.com")[0] == 421
        with pytest.raises(ConfigError, match="serving metrics at "):
            MetricsServer(metrics, server.address)
    finally:
        server.close()
    with pytest.raises(ConnectionRefusedError):
        ask(server.address, "GET", "/metrics")
