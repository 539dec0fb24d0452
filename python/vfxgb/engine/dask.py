"""Shards on the workers of a Dask cluster.

A shard has a worker where its functions run by preference. When a worker is lost the scheduler makes what it held
again, elsewhere, from what that was made of (base.py): Dask keeps for every handle how it came about. What came from
outside and cannot be made again, such as ciphertexts of another party, lies in the run's folder, which all workers see.

Everything a function is given passes the scheduler: whoever allows `workers_hold_key` lets the private key pass it too.
"""

import shutil
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from vfxgb.engine.base import ShardHandle
from vfxgb.engine.worker import call, forget_keys, read_probe
from vfxgb.errors import EngineError, MissingPackageError

T = TypeVar("T")

CONNECT_SECONDS = 10
# How long an answer is waited for before a look at whether it can still come, and how long a cluster may be without
# any worker.
LOOK_SECONDS = 2.0
EMPTY_SECONDS = 60.0
SHARDS_PER_WORKER = 2
PROBE = b"vfxgb"


class DaskEngine:
    """See Engine. `address`: a scheduler's ("tcp://host:8786"), or a distributed.Client, which stays the caller's.

    `folder`: one that this process and every worker can read and write; None: the system's own for temporary files,
    which does where all workers run on this machine. `shards`: how many there shall be, None for two per worker.
    """

    name = "dask"
    ahead: int | None = None
    mapped = False

    def __init__(
        self, address: Any, folder: Path | None = None, *, holds_key: bool = False, shards: int | None = None
    ) -> None:
        self._distributed = distributed = _distributed()
        self.holds_key = holds_key
        self._own_client = not isinstance(address, distributed.Client)
        self._client = _connect(distributed, address) if self._own_client else address
        self._lost = _lost(distributed)
        cores = _cores(self._client)
        self._places = sorted(cores)
        self._shards = SHARDS_PER_WORKER * len(cores) if shards is None else shards
        self.threads = max(1, min(*cores.values(), -(-sum(cores.values()) // self._shards)))
        # What was asked for and is still referred to: released in the end, whoever has forgotten to let go.
        self._asked: weakref.WeakSet[Any] = weakref.WeakSet()
        self.folder = Path(tempfile.mkdtemp(prefix="vfxgb-", dir=folder))
        try:
            self._check_folder()
        except BaseException:
            self.close()
            raise

    def _check_folder(self) -> None:
        """Every worker must have vfxgb and see what this process writes."""
        probe = self.folder / "probe"
        probe.write_bytes(PROBE)
        for worker, probed in self._client.run(read_probe, str(probe), on_error="return").items():
            if isinstance(probed, ImportError):
                raise EngineError(f"starting the Dask engine: worker {worker}: {probed}; install the same vfxgb there")
            if probed != PROBE:
                raise EngineError(
                    f"starting the Dask engine: worker {worker} does not see the folder {str(self.folder)!r}; "
                    "name one that all workers share as engine_folder"
                )

    def run(self, shard: int, function: Callable[..., T], *args: Any) -> ShardHandle:
        """See Engine."""
        place = self._places[shard % len(self._places)]
        name = f"{function.__name__}-{uuid.uuid4().hex}"
        with self._cluster():
            held = self._client.submit(call, function, *args, key=name, workers=[place], allow_other_workers=True)
        self._asked.add(held)
        return held

    def get(self, held: Sequence[ShardHandle]) -> list[Any]:
        """See Engine."""
        wanted = list(held)
        with self._cluster():
            self._wait(wanted)
            return list(self._client.gather(wanted, direct=True))

    def _wait(self, wanted: list[ShardHandle]) -> None:
        """Until all is made or has failed. Raises EngineError where no worker is left to make it."""
        empty_since: float | None = None
        while True:
            try:
                with self._client.as_current():
                    self._distributed.wait(wanted, timeout=LOOK_SECONDS)
                return
            except TimeoutError:
                if self._client.run_on_scheduler(_free_bound_tasks()):
                    empty_since = None
                    continue
            empty_since = empty_since or time.monotonic()
            if time.monotonic() - empty_since >= EMPTY_SECONDS:
                raise EngineError(
                    f"working on the Dask cluster: it has had no workers for {EMPTY_SECONDS:g} seconds; start some, "
                    "with more memory or more shards if they ran out of memory"
                )

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        """Words for a cluster that is not there any more."""
        try:
            yield
        except self._lost as error:
            raise EngineError(
                f"working on the Dask cluster: {type(error).__name__}: {error}; it was shut down, or lost the workers "
                "that a shard was tried on; start it again, with more memory or more shards if they ran out of memory"
            ) from error

    def keep(self, shard: int, value: Any) -> ShardHandle:
        """See Engine."""
        return self.run(shard, _same, value)

    def shards_for(self, n_rows: int) -> int:
        """See Engine."""
        return min(n_rows, self._shards)

    def rows_at_most(self, row_bytes: int) -> int | None:  # noqa: ARG002 - as below
        """See Engine."""
        return None

    def check_room(self, n_rows: int, row_bytes: int) -> None:
        """See Engine; the workers have their own limits."""

    def close(self) -> None:
        """See Engine."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for held in list(self._asked):
            held.release()
        try:
            if self._client.status == "running":
                self._client.run(forget_keys, on_error="ignore")
        finally:
            if self._own_client:
                self._client.close()


def _same(value: T) -> T:
    return value


def _free_bound_tasks() -> Callable[..., int]:
    """What a scheduler does about tasks that wait for the worker they prefer; it returns how many workers there are.

    A task whose worker is lost goes to another one. But if there was none at that moment, the scheduler of Dask keeps
    it until the very worker comes back that it preferred, and that one never does: a worker that is started again has
    another address.

    The function is made here, so that it travels as a whole: a scheduler need not have vfxgb.
    """

    def free(dask_scheduler: Any) -> int:
        running = list(dask_scheduler.running)
        if running:
            for task in list(dask_scheduler.unrunnable):
                if task.loose_restrictions:
                    task.worker_restrictions = None
            ready = dask_scheduler.bulk_schedule_unrunnable_after_adding_worker(running[0])
            dask_scheduler.transitions(ready, "vfxgb-free-bound-tasks")
        return len(running)

    return free


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingPackageError(
            "engine='dask' needs Dask, which is not installed: pip install 'vfxgb[dask]'"
        ) from None


def _lost(distributed: Any) -> tuple[type[BaseException], ...]:
    """What Dask raises when a cluster is gone, or a worker again and again; older ones have fewer names for it."""
    names = (
        (distributed.client, "FutureCancelledError"),
        (distributed.client, "ClosedClientError"),
        (distributed.scheduler, "KilledWorker"),
        (distributed.comm, "CommClosedError"),
    )
    return tuple(getattr(module, name) for module, name in names if hasattr(module, name))


def _connect(distributed: Any, address: Any) -> Any:
    if not isinstance(address, str) or not address:
        raise EngineError(
            f"starting the Dask engine: engine_address={address!r}, wanted the address of a scheduler, such as "
            "'tcp://host:8786', or a distributed.Client"
        )
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"starting the Dask engine: no scheduler answers at {address!r} ({error}); start one with `dask "
            "scheduler`, or correct engine_address"
        ) from None


def _cores(client: Any) -> dict[str, int]:
    """Address -> threads of every worker."""
    cores: dict[str, int] = client.nthreads()
    if not cores:
        raise EngineError(
            "starting the Dask engine: the cluster has no workers; start some with `dask worker`, or wait until they "
            "have come up"
        )
    return cores
