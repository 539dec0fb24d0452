"""Seconds per party and phase of a run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings:
    """A stopwatch per phase. Each party has its own; one party's is used by one thread at a time.

    Phases that overlap between parties are counted at each: the sum over parties may exceed the wall clock.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.parties: dict[str, dict[str, float]] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time the block takes to phase `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def merge(self, party: str, other: "Timings") -> None:
        """Keep another party's phases under its name."""
        self.parties[party] = dict(other.seconds)

    def __repr__(self) -> str:
        phases = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in self.seconds.items())
        return f"Timings({phases})"
