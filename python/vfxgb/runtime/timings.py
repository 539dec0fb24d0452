"""Seconds per party and phase of a run, wall and processor, and the operations that a protocol counts."""

import time
from types import TracebackType


class Timings:
    """A stopwatch per phase. Each party has its own; one party's is used by one thread at a time.

    Phases that overlap between parties are counted at each: the sum over parties may exceed the wall clock.
    `processor` has the processor time of the thread that was in the phase; its helpers are not counted.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.operations: dict[str, int] = {}
        self.parties: dict[str, Timings] = {}

    def phase(self, name: str) -> "Phase":
        """A context that adds the times its block takes to phase `name`."""
        return Phase(self, name)

    def count(self, operation: str, amount: int) -> None:
        """Add `amount` to the number of `operation`s done."""
        self.operations[operation] = self.operations.get(operation, 0) + amount

    def __repr__(self) -> str:
        phases = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in self.seconds.items())
        return f"Timings({phases})"


class Phase:
    """One block on the stopwatch. A class, not a generator: it is entered some thousand times a second."""

    __slots__ = ("_name", "_processor", "_start", "_timings")

    def __init__(self, timings: Timings, name: str) -> None:
        self._timings = timings
        self._name = name

    def __enter__(self) -> None:
        self._start = time.perf_counter()
        self._processor = time.thread_time()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        seconds, processor = self._timings.seconds, self._timings.processor
        processor[self._name] = processor.get(self._name, 0.0) + time.thread_time() - self._processor
        seconds[self._name] = seconds.get(self._name, 0.0) + time.perf_counter() - self._start
