"""`vfxgb bench ops --paths`: the same operations by several kernels of big integers, in one run.

One key of each scheme is loaded once for every path. Repeats are interleaved, path by path within each operation, on
one thread; the clock is the processor's, so that other work on the machine disturbs little.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from vfxgb import _native
from vfxgb.bench.ops.measure import BenchSettings, Operation, scheme_operations
from vfxgb.bench.progress import Progress
from vfxgb.crypto import PrivateKey, generate
from vfxgb.errors import ParameterError

VARIABLE = "VFXGB_SIMD"
KNOWN = ("portable", "avx2", "ifma")
THREADS = 1


@dataclass(frozen=True)
class PathOperation:
    """One operation by several paths: `by_path[path]` has the measurements."""

    scheme: str
    name: str
    by_path: dict[str, Operation]

    def microseconds(self, path: str) -> float:
        """Median processor time of one operation."""
        measured = self.by_path[path]
        return 1e6 * median(measured.seconds[THREADS]) / measured.count


def measure_paths(settings: BenchSettings, paths: tuple[str, ...]) -> list[PathOperation]:
    """Run everything by each of the `paths`, on one thread. Raises ParameterError for one that this machine lacks."""
    check_paths(paths)
    found: list[PathOperation] = []
    for scheme in settings.schemes:
        djn, short = (generate(scheme, settings.bits, randomness) for randomness in ("djn", "short"))
        by_path: dict[str, list[Operation]] = {}
        for path in paths:
            with forced(path):
                by_path[path] = scheme_operations(_again(djn), _again(short), settings.count)
        found += [
            PathOperation(scheme, same[0].name, dict(zip(paths, same, strict=True)))
            for same in zip(*by_path.values(), strict=True)
            if same[0].parallel  # what is made ahead, in a thread of its own, is on another clock
        ]
    progress = Progress("measuring", settings.repeats * len(found))
    for repeat in range(settings.repeats):
        for number, operation in enumerate(found):
            for measured in operation.by_path.values():
                measured.measure(THREADS, time.process_time)
            progress.update(repeat * len(found) + number + 1)
    return found


def check_paths(paths: tuple[str, ...]) -> None:
    """Raise ParameterError for a path that this machine lacks."""
    available = _native.bigint.available_paths()
    if not set(paths) <= set(available):
        raise ParameterError(
            f"measuring kernels: found --paths {','.join(paths)}, wanted some of {','.join(available)}, which are "
            "what this machine can run"
        )


@contextmanager
def forced(path: str) -> Iterator[None]:
    """Keys that are loaded in here use this path."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = path
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _again(key: PrivateKey) -> PrivateKey:
    return PrivateKey.from_bytes(key.to_bytes())
