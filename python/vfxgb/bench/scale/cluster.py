"""A Dask cluster for `vfxgb bench scale`: workers as processes, and the scheduler in a process of its own.

So the process that trains holds nothing of the cluster, and what it takes of memory and processor time is its own.
`Cluster` starts `main` of this module, which prints the address, and ends it by closing its stdin.
"""

import logging
import subprocess
import sys
from importlib import import_module
from types import TracebackType
from typing import Any

from vfxgb.errors import MissingPackageError, VfxgbError

END_SECONDS = 30.0


class Cluster:
    """A context of `workers` processes with `threads` threads each, on this machine; the scheduler is at `address`."""

    def __init__(self, workers: int, threads: int) -> None:
        distributed()
        self.workers = workers
        self.threads = threads
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Cluster":
        code = f"import vfxgb.bench.scale.cluster as cluster; cluster.main({self.workers}, {self.threads})"
        command = [sys.executable, "-c", code]
        # Ctrl-C is for the process that measures; the cluster ends with it.
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            ended = self._end()
            raise VfxgbError(f"starting a Dask cluster of {self.workers} workers: its process ended with code {ended}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def _end(self) -> int:
        """Close what leads to the process; when it has ended, its code."""
        assert self._process is not None  # noqa: S101 - it was started
        try:
            # Closes stdin, which is the end of a cluster, and waits.
            self._process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        return self._process.returncode


def distributed() -> Any:
    """Dask's package. Raises MissingPackageError."""
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingPackageError(
            "bench scale: it measures training on a Dask cluster, and Dask is not installed; pip install 'vfxgb[dask]'"
        ) from None


def main(workers: int, threads: int) -> None:
    """Run a cluster until stdin ends."""
    made = distributed().LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.ERROR,
    )
    with made as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
