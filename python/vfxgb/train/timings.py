"""Seconds per party and phase of a run, and the operations that a protocol counts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings:
    """A stopwatch per phase. Each party has its own; one party's is used by one thread at a time.

    Phases that overlap between parties are counted at each: the sum over parties may exceed the wall clock.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.operations: dict[str, int] = {}
        self.parties: dict[str, Timings] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time the block takes to phase `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def count(self, operation: str, amount: int) -> None:
        """Add `amount` to the number of `operation`s done."""
        self.operations[operation] = self.operations.get(operation, 0) + amount

    def __repr__(self) -> str:
        phases = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in self.seconds.items())
        return f"Timings({phases})"
