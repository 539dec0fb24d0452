"""Seconds per party and phase of a run, wall and processor, and the operations that a protocol counts."""

import time
from types import TracebackType


class Timings:
    """A stopwatch per phase. Each party has its own; one party's is used by one thread at a time.

    Phases that overlap between parties are counted at each: the sum over parties may exceed the wall clock.
    `cpu_seconds` is the processor time of the thread that ran the phase; threads that worked for it are not in it.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self.operations: dict[str, int] = {}
        self.parties: dict[str, Timings] = {}

    def phase(self, name: str) -> "Phase":
        """A context that adds the time its block takes to phase `name`."""
        return Phase(self.seconds, self.cpu_seconds, name)

    def count(self, operation: str, amount: int) -> None:
        """Add `amount` to the number of `operation`s done."""
        self.operations[operation] = self.operations.get(operation, 0) + amount

    def __repr__(self) -> str:
        phases = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in self.seconds.items())
        return f"Timings({phases})"


class Phase:
    """One block on the stopwatch. A class, not a generator: it is entered some thousand times a second."""

    __slots__ = ("_cpu_seconds", "_cpu_start", "_name", "_seconds", "_start")

    def __init__(self, seconds: dict[str, float], cpu_seconds: dict[str, float], name: str) -> None:
        self._seconds = seconds
        self._cpu_seconds = cpu_seconds
        self._name = name

    def __enter__(self) -> None:
        self._start, self._cpu_start = time.perf_counter(), time.thread_time()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        name = self._name
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - self._start
        self._cpu_seconds[name] = self._cpu_seconds.get(name, 0.0) + time.thread_time() - self._cpu_start
