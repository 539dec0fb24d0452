"""Workers of a Dask cluster that are killed while a tree grows: what they held is made again, the model is equal."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.engine import dask
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import EngineError
from vfxgb.model.pooled import PooledModel
from vfxgb.params import TrainParams
from vfxgb.train.simulate import FitResult

distributed = pytest.importorskip("distributed", reason="Dask is an extra of vfxgb")
dask_config = pytest.importorskip("dask.config")

# Seconds that no worker takes to come up, however busy the machine is.
DEADLINE = 120.0
ROWS, FEATURES = 900, 6
PARAMS = TrainParams(n_estimators=2, max_depth=3, max_bin=16, objective="binary:logistic", n_jobs=1)
PROTOCOLS: dict[str, dict[str, Any]] = {
    "batch_he": {"key_bits": 256, "randomness": "short", "insecure": True, "chunk_rows": 100},
    "ot_shares": {"group_bits": 768, "insecure": True, "chunk_rows": 100, "setup_rows": 150},
    "sealed": {"group_bits": 768, "insecure": True, "coins": "random_state", "order_seed": 0},
}


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """The client of a cluster of worker processes, each with a nanny that replaces it, however long that takes.

    A local cluster ends a nanny whose new worker has not come up some seconds after the old one was lost.
    """
    with (
        dask_config.set({"distributed.deploy.lost-worker-timeout": DEADLINE}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2) as client:
        yield client


def all_at_work(client: Any) -> None:
    """Wait for every worker to answer. A nanny whose worker ends before it has come up gives it up.

    A worker that was killed a moment ago counts as running until its nanny has noticed, but it does not answer.
    """
    end = time.monotonic() + DEADLINE
    nannies = list(client.cluster.workers.values())

    def at_work() -> bool:
        running = all(nanny.process.status == distributed.Status.running for nanny in nannies)
        return running and len(client.run(os.getpid, on_error="ignore")) == len(nannies)

    while not at_work():
        assert time.monotonic() < end
        time.sleep(0.05)
    client.wait_for_workers(len(nannies), timeout=DEADLINE)


def train(engine: EngineSettings | None, protocol: str = "batch_he") -> FitResult:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0] + X[:, 4] * X[:, 5]) > 0).astype(np.float64)
    names = [f"column {i}" for i in range(FEATURES)]
    tables = {
        "bank": Table.read(X[:, :3], names=names[:3], party="bank"),
        "shop": Table.read(X[:, 3:], names=names[3:], party="shop"),
    }
    evals = [("valid", slice(800, ROWS))]
    return fit_tables(tables, "bank", y, None, 800, PARAMS, protocol, PROTOCOLS[protocol], evals, engine=engine)


def model_of(result: FitResult) -> dict[str, Any]:
    pooled = PooledModel(result.active_share, result.passive_shares)
    names = ("feature", "threshold", "default_left", "left", "right", "value", "gain", "cover")
    found = {name: np.nan_to_num(getattr(pooled, name)).tolist() for name in names}
    return {**found, "evals": result.evals_result}


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    """The model of each protocol, its rows in memory."""
    return {protocol: model_of(train(None, protocol)) for protocol in PROTOCOLS}


def killing(client: Any, function: str, call: int, kills: list[int]) -> Callable[..., Any]:
    """DaskEngine.run that kills a worker at the given call of a function of shards."""
    run, calls, lock = DaskEngine.run, 0, threading.Lock()

    def spy(self: DaskEngine, shard: int, asked: Callable[..., Any], *args: Any) -> Any:
        nonlocal calls
        held = run(self, shard, asked, *args)
        # Both parties' threads come by.
        with lock:
            calls += asked.__name__ == function
            due = calls == call and not kills
            if due:
                kills.append(call)
        if due:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return held

    return spy


# While gradients are encrypted, in the middle of a level's sums, after a split of the second tree; for `ot_shares` also
# while trees of masks are handed out, which either party's worker may lose, and while masked gradients are; and for
# `sealed` while columns are read and encrypted, while they are summed, and while rows are told.
@pytest.mark.parametrize(
    ("protocol", "function", "call"),
    [
        ("batch_he", "encrypt_rows", 3),
        ("batch_he", "partial_sums", 5),
        ("batch_he", "split_rows", 18),
        ("ot_shares", "bin_numbers", 2),
        ("ot_shares", "load_owned", 3),
        ("ot_shares", "load_held", 3),
        ("ot_shares", "mask_rows", 5),
        ("ot_shares", "load_masked", 3),
        ("ot_shares", "held_sums", 5),
        ("ot_shares", "owned_sums", 5),
        ("ot_shares", "split_rows", 18),
        ("sealed", "count_left", 3),
        ("sealed", "shard_bits", 3),
        ("sealed", "load_encrypted", 3),
        ("sealed", "round_shard", 6),
        ("sealed", "encrypted_sums", 6),
        ("sealed", "node_entries", 3),
        ("sealed", "left_node_sums", 5),
        ("sealed", "split_rows", 18),
    ],
)
def test_a_killed_worker_changes_nothing(
    protocol: str,
    function: str,
    call: int,
    client: Any,
    expected: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    all_at_work(client)
    kills: list[int] = []
    monkeypatch.setattr(DaskEngine, "run", killing(client, function, call, kills))
    # Four shards, however many workers are back from the test before: the number of calls follows from that.
    settings = EngineSettings(engine="dask", engine_address=client, workers_hold_key=True, shards=4)
    assert model_of(train(settings, protocol)) == expected[protocol]
    assert kills == [call]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_all_workers_at_once(
    protocol: str, expected: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was bound to a worker that never comes back is done by the one in its place."""
    with cluster_of(1) as client:
        kills: list[int] = []
        monkeypatch.setattr(DaskEngine, "run", killing(client, "split_rows", 9, kills))
        settings = EngineSettings(engine="dask", engine_address=client, workers_hold_key=True)
        assert model_of(train(settings, protocol)) == expected[protocol]
        assert kills == [9]


def test_workers_that_do_not_come_back_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(dask, "EMPTY_SECONDS", 0.5)
    run, calls = DaskEngine.run, 0

    def spy(self: DaskEngine, shard: int, asked: Callable[..., Any], *args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 40:
            client.cluster.scale(0)
        return run(self, shard, asked, *args)

    with cluster_of(1) as client:
        monkeypatch.setattr(DaskEngine, "run", spy)
        settings = EngineSettings(engine="dask", engine_address=client, workers_hold_key=True)
        with pytest.raises(EngineError, match=r"it has had no workers for 0\.5 seconds; start some"):
            train(settings)


def test_a_cluster_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a scheduler that was shut down."""
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    run, calls = DaskEngine.run, 0

    def spy(self: DaskEngine, shard: int, asked: Callable[..., Any], *args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 40:
            cluster.close()
        return run(self, shard, asked, *args)

    with distributed.Client(cluster, set_as_default=False) as client:
        monkeypatch.setattr(DaskEngine, "run", spy)
        with pytest.raises(EngineError, match=r"working on the Dask cluster: .*; it was shut down"):
            train(EngineSettings(engine="dask", engine_address=client))
