"""Aggregators as the scripts of papers/003 (FEDXGB) compare them, and the jobs that measure them."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from aggregation_run import Call, Job, UserRows, measure

from vfxgb.crypto import primes
from vfxgb.crypto.sizes import MIN_BITS

Results = list[dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """A row of the table: an aggregator, its parameters, and whether they include a key."""

    aggregator: str
    params: dict[str, Any] = field(default_factory=dict)
    keyed: bool = True
    secure_only: bool = False


ROWS = {
    "bcp": Row("bcp", {"slots": 1}),
    "bcp, packed": Row("bcp", secure_only=True),
    "masks": Row("masks", keyed=False),
    "ibmhom, printed": Row("ibmhom", {"slots": 1, "coefficients": "printed"}),
    "ibmhom, reduced": Row("ibmhom", {"slots": 1}),
    "fpe": Row("fpe", {"slots": 1}),
}


class Bench:
    """Runs jobs, one process each, with one modulus for all jobs of a size. `rows`, `trace`: see Job."""

    def __init__(self, threads: int, repetitions: int = 1, rows: UserRows | None = None, trace: bool = True) -> None:
        self._threads, self._repetitions = threads, repetitions
        self._rows, self._trace = rows, trace
        self._primes: dict[int, tuple[int, int]] = {}
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def ask(self, row: Row, bits: int, users: int, calls: Sequence[Call], warm_up: bool = True) -> Results:
        """One result per call, the median of all repetitions; what was asked before is not measured again."""
        keys = [(row.aggregator, str(row.params), bits * row.keyed, users, call) for call in calls]
        if any(key not in self._known for key in keys):
            results = self._measure(row, bits, users, calls, warm_up)
            self._known |= dict(zip(keys, results, strict=True))
        return [self._known[key] for key in keys]

    def _measure(self, row: Row, bits: int, users: int, calls: Sequence[Call], warm_up: bool) -> Results:
        params = dict(row.params)
        if row.keyed:
            params |= {"key_bits": bits, "insecure": bits < MIN_BITS}
        if row.aggregator == "fpe":
            params["prepared"] = 1 + self._repetitions * sum(call.entries for call in calls)
        sizes = ", ".join(f"{call.entries} entries and {call.dropout:.0%} dropped" for call in calls)
        print(f"{row.aggregator} {params}: {users} users, {sizes} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        job = Job(
            row.aggregator,
            users,
            tuple(calls) * self._repetitions,
            params,
            self._factors(bits) if row.keyed else None,
            self._threads,
            warm_up=warm_up,
            trace=self._trace,
            rows=self._rows,
        )
        timings = measure(job)
        print(f"    {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        return [middle(timings[place :: len(calls)]) for place in range(len(calls))]

    def _factors(self, bits: int) -> tuple[int, int]:
        if bits not in self._primes:
            self._primes[bits] = (primes.safe_prime(bits // 2), primes.safe_prime(bits // 2))
        return self._primes[bits]


def middle(results: Results) -> dict[str, Any]:
    """The result with the median of the server's seconds."""
    wanted = median(sorted(result["server seconds"] for result in results)[: (len(results) + 1) // 2 * 2 - 1])
    return min(results, key=lambda result: abs(result["server seconds"] - wanted))
