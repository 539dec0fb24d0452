"""One measurement of `vfxgb bench train`, in a process of its own so that its peak memory is its own.

`main` reads a job from stdin and writes its result to stdout. A job trains one tree, then `extra` + 1 trees from the
beginning again. What the second run takes beyond the first is the cost of `extra` trees in the middle of a training:
the first tree, in which keys and tables are made, is in both, and so is the last one, after which no randomness is made
ahead. Key generation and set-up are left out of either.

Operation costs are measured half before and half after the training, on a key of the same kind.

A job that asks for steps trains both again with one thread for each party: there the processor time of a step is that
of the thread that runs it. One that asks for its twin compares models with those of `plain` (twin.py).
"""

import time
from collections import Counter
from typing import Any

import msgspec

from vfxgb import VFXGBClassifier
from vfxgb.bench.children import answer
from vfxgb.bench.datasets import ACTIVE, PASSIVE, Loaded, load
from vfxgb.bench.memory import start_peak
from vfxgb.bench.ops.measure import Operation
from vfxgb.bench.progress import Progress
from vfxgb.bench.real_trees import assert_real_booster, assert_real_trees
from vfxgb.bench.train.costs import operations as timed_operations
from vfxgb.bench.train.twin import Twin, compare_with_twin
from vfxgb.crypto import generate
from vfxgb.errors import MissingPackageError
from vfxgb.kernels import kernels_in_use
from vfxgb.train.callbacks import TrainingCallback, TrainingState

XGBOOST = "xgboost"
# What is done once per training, at the active party: making keys, or a set-up; and its bytes in both directions.
ONCE_PHASES = ("key", "set-up")
SETUP_BYTES = "set-up bytes"
WARM_UP_ROWS = 1000
# Trees beyond the first in which processor time by step is measured.
STEP_TREES = 2


class TrainJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to train. `cost_batch`: ciphertexts per batch when measuring operations, 0 for not measuring them.

    `steps`: also measure processor time by step. `twin_rows`: also compare models on so many rows, 0 for not doing it.
    `path`: the process is started with kernels up to this one, None for the best there are.
    """

    data: str
    rows: int | None
    features: tuple[int, int] | None
    protocol: str
    params: dict[str, Any]
    depth: int
    bins: int
    threads: int
    extra: int
    cost_batch: int = 0
    cost_repeats: int = 4
    steps: bool = False
    twin_rows: int = 0
    path: str | None = None


class TrainRun(msgspec.Struct, frozen=True):
    """One training.

    `rounds`: wall seconds of each round, that of the first without `key_seconds`, which key or set-up took.
    `cpu_seconds`: processor time of all threads over all rounds, keys included. `operations`: counted by any party.
    `phases`: party -> phase -> seconds. `sent`, `received`: bytes as the active party counts them. `peak_bytes`: beyond
    what the process held with the data loaded, of all parties together; None where the system does not tell.
    `round_cpu`: processor time of each round. `phase_cpu`: party -> phase -> processor seconds of its own thread.
    `messages`: type of message -> bytes in both directions. `flights`: messages that had to wait for one another.
    """

    rounds: list[float]
    cpu_seconds: float
    key_seconds: float
    operations: dict[str, int]
    phases: dict[str, dict[str, float]]
    sent: int
    received: int
    peak_bytes: int | None = None
    round_cpu: list[float] = []
    phase_cpu: dict[str, dict[str, float]] = {}
    messages: dict[str, int] = {}
    flights: int = 0


class JobResult(msgspec.Struct, frozen=True):
    """The result of a job. `costs` gives the seconds of one operation by name and number of threads, per repeat.

    `fixed_bytes` is the peak of a run on a few rows: keys, tables, buffers. One ciphertext takes `wire_bytes` on the
    wire and `element_bytes` in memory; both are 0 without encryption. `steps`: a run of one tree and a longer one, with
    one thread a party; empty where steps were not measured. `twin`: None where nothing was compared. `kernels`: those
    in use.
    """

    source: str
    rows: int
    features: tuple[int, int]
    fixed_bytes: int | None
    single: TrainRun
    whole: TrainRun | None
    costs: dict[str, dict[str, list[float]]]
    wire_bytes: int
    element_bytes: int
    steps: list[TrainRun] = []
    twin: Twin | None = None
    kernels: str = ""


class RoundClock(TrainingCallback):
    """Wall seconds and processor time of each of `trees` rounds."""

    def __init__(self, trees: int) -> None:
        self.rounds: list[float] = []
        self.round_cpu: list[float] = []
        self._last = self._last_cpu = 0.0
        self._progress = Progress("training", trees)

    def before_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
        """Start the clock."""
        self._last, self._last_cpu = time.perf_counter(), time.process_time()

    def after_iteration(self, state: TrainingState) -> bool:  # noqa: ARG002 - a hook
        """Note the time since the last one."""
        now, cpu = time.perf_counter(), time.process_time()
        self.rounds.append(now - self._last)
        self.round_cpu.append(cpu - self._last_cpu)
        self._last, self._last_cpu = now, cpu
        self._progress.update(len(self.rounds))
        return False


def run_job(job: TrainJob) -> JobResult:
    """Do it. Raises what training raises."""
    data = load(job.data, job.rows, job.features)
    # Libraries loaded and threads started: neither time nor memory of that counts.
    few = data.head(WARM_UP_ROWS)
    _run(job, few, 1, real=False)
    fixed_bytes = _run(job, few, 1, real=False).peak_bytes
    costs: list[Operation] = []
    wire_bytes = element_bytes = 0
    if job.cost_batch:
        wanted = {name: job.params[name] for name in ("scheme", "randomness", "insecure")}
        key = generate(bits=job.params["key_bits"], **wanted)
        costs = timed_operations(key, len(data.y), job.cost_batch)
        for operation in costs:
            operation.run(job.threads)  # makes the tables
        wire_bytes, element_bytes = key.public_key.wire_bytes, key.public_key.native.element_bytes
    _measure(costs, job.cost_repeats // 2, job.threads)
    single = _run(job, data, 1)
    whole = _run(job, data, 1 + job.extra) if job.extra else None
    _measure(costs, job.cost_repeats - job.cost_repeats // 2, job.threads)
    steps: list[TrainRun] = []
    if job.steps:
        alone = msgspec.structs.replace(job, threads=1)
        steps = [_run(alone, data, 1), _run(alone, data, 1 + STEP_TREES)]
    twin = compare_with_twin(job.protocol, job.params, data.head(job.twin_rows), job.depth, job.bins)
    return JobResult(
        data.source,
        len(data.y),
        (data.n_active, data.X.shape[1] - data.n_active),
        fixed_bytes,
        single,
        whole,
        {
            operation.name: {
                str(threads): [seconds / operation.count for seconds in times]
                for threads, times in operation.seconds.items()
            }
            for operation in costs
        },
        wire_bytes,
        element_bytes,
        steps,
        twin,
        kernels_in_use(),
    )


def _measure(costs: list[Operation], repeats: int, threads: int) -> None:
    for _ in range(repeats):
        for operation in costs:
            for count in sorted({1, threads}):
                operation.measure(count)


def _run(job: TrainJob, data: Loaded, trees: int, real: bool = True) -> TrainRun:
    """`real`: the run is a measurement, and ends with an error if its trees have no splits."""
    peak = start_peak()
    run = _fit_xgboost(job, data, trees, real) if job.protocol == XGBOOST else _fit(job, data, trees, real)
    return msgspec.structs.replace(run, peak_bytes=peak())


def _fit(job: TrainJob, data: Loaded, trees: int, real: bool) -> TrainRun:
    clock = RoundClock(trees)
    model = VFXGBClassifier(
        n_estimators=trees,
        max_depth=job.depth,
        max_bin=job.bins,
        n_jobs=job.threads,
        parties=data.parties,
        active=ACTIVE,
        protocol=job.protocol,
        protocol_params=job.params,
    ).fit(data.X, data.y, callbacks=[clock], verbose=False)
    if real:
        assert_real_trees(model.model_.active_share, f"bench train: {job.protocol} {job.params} on {data.source}")
    costs = costs_of(model)
    clock.rounds[0] -= costs["key_seconds"]
    return TrainRun(
        rounds=clock.rounds, cpu_seconds=sum(clock.round_cpu), round_cpu=clock.round_cpu, **costs, **steps_of(model)
    )


def costs_of(model: VFXGBClassifier) -> dict[str, Any]:
    """What a training has counted: keys or set-up, operations and phases of all parties, bytes."""
    timings, traffic = model.timings_, model.traffic_[PASSIVE]
    parties = {ACTIVE: timings, **timings.parties}
    operations: Counter[str] = Counter()
    for counted in parties.values():
        operations.update(counted.operations)
    return {
        "key_seconds": sum(timings.seconds.get(phase, 0.0) for phase in ONCE_PHASES),
        "operations": dict(operations),
        "phases": {party: dict(counted.seconds) for party, counted in parties.items()},
        "sent": traffic.sent_bytes,
        "received": traffic.received_bytes,
    }


def steps_of(model: VFXGBClassifier) -> dict[str, Any]:
    """Processor time by phase, bytes by type of message, and flights."""
    timings = model.timings_
    parties = {ACTIVE: timings, **timings.parties}
    messages: Counter[str] = Counter()
    for entry in model.ledger_.entries:
        messages[entry.message] += entry.bytes
    return {
        "phase_cpu": {party: dict(counted.cpu_seconds) for party, counted in parties.items()},
        "messages": dict(messages),
        "flights": model.traffic_[PASSIVE].flights,
    }


def _fit_xgboost(job: TrainJob, data: Loaded, trees: int, real: bool) -> TrainRun:
    try:
        import xgboost
    except ImportError:
        raise MissingPackageError('comparing with xgboost: it is not installed; pip install "vfxgb[bench]"') from None
    table = xgboost.QuantileDMatrix(data.X, data.y, max_bin=job.bins, nthread=job.threads)
    params = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": job.depth,
        "max_bin": job.bins,
        "nthread": job.threads,
    }
    start, start_cpu = time.perf_counter(), time.process_time()
    booster = xgboost.train(params, table, trees)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    if real:
        assert_real_booster(booster, f"bench train: xgboost on {data.source}")
    return TrainRun([seconds / trees] * trees, cpu, 0.0, {}, {}, 0, 0)


def main() -> int:
    """Read a job from stdin, write its result, or `{"error": ...}`, to stdout."""
    return answer(TrainJob, run_job)
