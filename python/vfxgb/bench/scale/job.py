"""One training of `vfxgb bench scale`, in a process of its own: both parties' own processes in one, from Parquet files.

What is timed is a whole `fit`: reading, cut points and bins included; the making of keys, whose time is luck, and the
set-up of `ot_shares` are timed apart.
Before it everything is imported, here and on the workers, and there is a training on a few rows unless memory is what
is measured.
"""

import hashlib
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.bench.children import answer
from vfxgb.bench.datasets import ACTIVE, LABEL
from vfxgb.bench.memory import known_bytes, start_peak
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.bench.scale.cluster import distributed
from vfxgb.bench.train.job import costs_of
from vfxgb.protocols import protocol_names

IO = Path("/proc/self/io")
SAMPLE_SECONDS = 0.2
# What a training would import, sooner or later, here or on a worker.
IMPORTED = ("pyarrow.parquet", "vfxgb.estimator", "vfxgb.engine.dask", "vfxgb.protocols.batch_he.spec")


class ScaleJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to train. `data` and `warm_up` give each party's Parquet file; there is no warm-up if it is None.

    `engine` holds the parameters of the estimator that say where rows are worked on, without the address; Dask's
    scheduler is at `address`. `params` are those of `protocol`. Each party here has `threads` threads.
    """

    data: dict[str, str]
    warm_up: dict[str, str] | None
    engine: dict[str, Any]
    address: str | None
    params: dict[str, Any]
    trees: int
    depth: int
    bins: int
    threads: int
    protocol: str = "batch_he"


class ScaleRun(msgspec.Struct, frozen=True):
    """What came of it.

    `seconds` is wall time without `key_seconds`, which keys or the set-up took. `cpu_seconds` is processor time of this
    process, both left out as if one thread had made them; `cluster_cpu_seconds` is that of scheduler and workers.

    This process had `start_bytes` resident when training began, and `peak_bytes` more at most. `anonymous_bytes` is the
    most that was not pages of files, looked at now and then. `read_bytes` came from disks and `written_bytes` went to
    them. `worker_peak_bytes` is the most that each worker had resident. They are None and empty where the system does
    not tell.

    `phases` gives seconds by party and phase. `operations` are those of all parties. `sent` and `received` are bytes as
    the active party counts them. `model` is a digest of the pooled model.
    """

    seconds: float
    key_seconds: float
    cpu_seconds: float
    cluster_cpu_seconds: float
    start_bytes: int | None
    peak_bytes: int | None
    anonymous_bytes: int | None
    read_bytes: int | None
    written_bytes: int | None
    worker_peak_bytes: list[int]
    phases: dict[str, dict[str, float]]
    operations: dict[str, int]
    sent: int
    received: int
    model: str


class AnonymousPeak:
    """A context that looks at the anonymous memory of this process every now and then; `bytes`: the most it saw."""

    def __init__(self) -> None:
        self.bytes: int | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, name="vfxgb-memory")

    def __enter__(self) -> "AnonymousPeak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            now = known_bytes("RssAnon")
            if now is None:
                return
            self.bytes = max(now, self.bytes or 0)
            if self._end.wait(SAMPLE_SECONDS):
                return


def run_job(job: ScaleJob) -> ScaleRun:
    """Do it. Raises what training raises."""
    if job.address is None:
        return _run(job, job.engine, None)
    with distributed().Client(job.address, set_as_default=False) as client:
        return _run(job, {**job.engine, "engine_address": client}, client)


def _run(job: ScaleJob, engine: dict[str, Any], client: Any) -> ScaleRun:
    load_modules()
    if client is not None:
        client.run(load_modules)
    if job.warm_up is not None:
        _fit(job, engine, job.warm_up)
    cluster_cpu = _cluster_cpu(client)
    start_bytes, peak = known_bytes("VmRSS"), start_peak()
    disk, cpu, wall = _disk(), time.process_time(), time.perf_counter()
    with AnonymousPeak() as anonymous:
        model = _fit(job, engine, job.data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert_real_trees(model.model_.active_share, f"bench scale: {engine}")
    cluster_cpu, used = _cluster_cpu(client) - cluster_cpu, _disk()
    read, written = (None, None) if disk is None or used is None else (used[0] - disk[0], used[1] - disk[1])
    costs = costs_of(model)
    return ScaleRun(
        seconds=wall - costs["key_seconds"],
        cpu_seconds=cpu - costs["key_seconds"],
        cluster_cpu_seconds=cluster_cpu,
        start_bytes=start_bytes,
        peak_bytes=peak(),
        anonymous_bytes=anonymous.bytes,
        read_bytes=read,
        written_bytes=written,
        worker_peak_bytes=_worker_peaks(client),
        model=_digest(model),
        **costs,
    )


def _fit(job: ScaleJob, engine: dict[str, Any], data: dict[str, str]) -> VFXGBClassifier:
    return VFXGBClassifier(
        n_estimators=job.trees,
        max_depth=job.depth,
        max_bin=job.bins,
        n_jobs=job.threads,
        active=ACTIVE,
        protocol=job.protocol,
        protocol_params=job.params,
        **engine,
    ).fit(data, LABEL, verbose=False)


def load_modules() -> None:
    """Import what a training needs, and register the protocols."""
    for name in IMPORTED:
        import_module(name)
    protocol_names()
    # Arrow imports pandas, if that is installed, with the first column that becomes an array.
    np.asarray(import_module("pyarrow").chunked_array([[1.0]]))


def _digest(model: VFXGBClassifier) -> str:
    """Hash trees, cuts and leaf weights of all parties: equal models have equal digests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.export_xgboost(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _cluster_cpu(client: Any) -> float:
    """Processor time of scheduler and workers so far."""
    if client is None:
        return 0.0
    return float(client.run_on_scheduler(time.process_time) + sum(client.run(time.process_time).values()))


def _worker_peaks(client: Any) -> list[int]:
    """The most memory that each worker had, in bytes."""
    sizes = [] if client is None else client.run(known_bytes, "VmHWM").values()
    return [size for size in sizes if size is not None]


def _disk() -> tuple[int, int] | None:
    """Bytes that this process has had read from and written to disks so far."""
    try:
        counters = dict(line.split(": ") for line in IO.read_text(encoding="ascii").splitlines())
    except OSError:
        return None
    return int(counters["read_bytes"]), int(counters["write_bytes"])


def main() -> int:
    """Read a job from stdin, write its result, or `{"error": ...}`, to stdout."""
    return answer(ScaleJob, run_job)
