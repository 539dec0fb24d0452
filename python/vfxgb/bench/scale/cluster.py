"""A Dask cluster for `vfxgb bench scale`: workers as processes, and the scheduler in a process of its own.

So the process that trains holds nothing of the cluster, and what it takes of memory and processor time is its own.
`running_cluster` starts `main` of this module, which prints the address, and ends it by closing its stdin.
"""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from vfxgb.errors import MissingPackageError, VfxgbError

END_SECONDS = 30.0


@contextmanager
def running_cluster(workers: int, threads: int) -> Iterator[str]:
    """A cluster of `workers` processes with `threads` threads each, on this machine; gives its scheduler's address.

    Raises MissingPackageError, and VfxgbError if it does not start.
    """
    distributed()
    code = f"import vfxgb.bench.scale.cluster as cluster; cluster.main({workers}, {threads})"
    # Ctrl-C is for the process that measures; the cluster ends with it.
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None  # noqa: S101 - asked for above
    address = process.stdout.readline().strip()
    try:
        if address:
            yield address
    finally:
        try:
            # Closes stdin, which is the end of a cluster, and waits.
            process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    if not address:
        ended = process.returncode
        raise VfxgbError(f"starting a Dask cluster of {workers} workers: its process ended with code {ended}")


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
