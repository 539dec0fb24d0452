"""Trainings that figures share: each is done once, in a process with a thread of its own, and kept beside the results.

`train` takes a list of trainings and gives the curves of each; `results_of` does the same for any jobs. What is done
stands in the file KEPT of the folder `out`, a line a job: another script takes it from there, and so does a run after
one that was interrupted. A line counts only for the code that made it (`state`).
"""

import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

import common
import masked_sums
from trained import BINS, DEPTH, RATE, Part, curves, part

import vfxgb
from vfxgb import _native
from vfxgb.bench.datasets import DATA_SETS, generate
from vfxgb.errors import InsecureProtocolWarning

KEPT = ".trainings.jsonl"
# A line of progress comes no more often.
SECONDS_APART = 5.0
# A training by `masked` itself, which draws a number for every row and candidate, against others.
MASKED_COST = 30.0


class AnyJob(Protocol):
    """A frozen value that can be sent to another process."""

    @property
    def key(self) -> str:
        """The job as text: two jobs with the same text have the same result."""

    @property
    def cost(self) -> float:
        """How long it takes next to others, roughly."""


Job = TypeVar("Job", bound=AnyJob)


@dataclass(frozen=True)
class Training:
    """One training, and what of the table it is on: `rows` training rows, or two thirds of all for None."""

    table: str
    rows: int | None
    protocol: str
    params: tuple[tuple[str, Any], ...]
    trees: int
    seed: int

    def __str__(self) -> str:
        return f"{self.table}, {self.protocol}, seed {self.seed}"

    @property
    def key(self) -> str:
        """The training as text, with what all of them have in common."""
        return json.dumps([self.table, self.rows, asdict(self), DEPTH, RATE, BINS], sort_keys=True)

    @property
    def cost(self) -> float:
        """How long it takes next to others, roughly."""
        return rows_trained(self.table, self.rows) * self.trees * (MASKED_COST if self.protocol == "masked" else 1.0)


def training(
    table: str, rows: int | None, protocol: str, params: dict[str, Any], trees: int, seed: int, itself: bool = False
) -> Training:
    """A training; `masked` by its sums (masked_sums.py) unless `itself`."""
    name = masked_sums.NAME if protocol == "masked" and not itself else protocol
    return Training(table, rows, name, tuple(sorted(params.items())), trees, seed)


def rows_trained(table: str, rows: int | None) -> int:
    """How many rows train."""
    most = 2 * (DATA_SETS[table].rows if table in DATA_SETS else rows or 0) // 3
    return most if rows is None else min(rows, most)


def train(wanted: Iterable[Training], out: Path, processes: int) -> dict[Training, dict[str, Any]]:
    """The curves of each training (trained.py)."""
    return results_of(work, sorted(set(wanted), key=lambda one: one.key), out, processes)


def results_of(
    function: Callable[[Job], dict[str, Any]], wanted: Sequence[Job], out: Path, processes: int
) -> dict[Job, dict[str, Any]]:
    """What a function of a module gives for each job; what is not kept yet is computed, and kept."""
    done = kept(out)
    results = {job: done[job.key] for job in wanted if job.key in done}
    missing = [job for job in wanted if job not in results]
    say(f"  {len(results):,} of {len(wanted):,} are done already")
    with (out / KEPT).open("a", encoding="utf-8") as file:
        for job, found in spread(function, missing, processes):
            results[job] = found
            file.write(json.dumps({"state": state(), "key": job.key, "result": found}) + "\n")
            file.flush()
    return results


def kept(out: Path) -> dict[str, dict[str, Any]]:
    """Key -> result of the jobs that the code as it is has done; a line that broke off counts as none."""
    path = out / KEPT
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if entry["state"] == state():
            found[entry["key"]] = entry["result"]
    return found


@cache
def state() -> str:
    """Which code this is: the commit, and a digest of the package and of these scripts, which may differ from it."""
    package, digest = Path(vfxgb.__file__).parent, hashlib.sha256()
    files = [*package.rglob("*.py"), *Path(__file__).parent.glob("*.py"), Path(_native.__file__)]
    for file in sorted(files):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return f"{common.facts()['commit'].rstrip('+')} {digest.hexdigest()[:16]}"


def work(one: Training) -> dict[str, Any]:
    """Train, in a process of the pool."""
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    data, exact = rows_of(one.table, one.rows), one.protocol == "plain"
    return curves(data, one.protocol, dict(one.params), one.trees, one.seed, 1, checked=exact)


@lru_cache(maxsize=1)
def rows_of(table: str, rows: int | None) -> Part:
    """The rows of a table, kept while the next training is on it, too; "generated" is for tests."""
    if table == "generated":
        data = generate(rows or 300, (2, 2))
        return Part(data, data)
    return part(table, rows)


def spread(
    function: Callable[[Job], dict[str, Any]], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """(job, its result) as they are done, with lines that say how much is left."""
    steps, shown, cost = common.Steps(sum(job.cost for job in jobs) or 1.0), time.monotonic(), 0.0
    for job, found in _as_done(function, jobs, processes):
        yield job, found
        cost += job.cost
        if time.monotonic() - shown > SECONDS_APART:
            steps.begin(f"after {job}", cost)
            shown, cost = time.monotonic(), 0.0


def _as_done(
    function: Callable[[Job], dict[str, Any]], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[Job, dict[str, Any]]]:
    if processes < 2 or len(jobs) < 2:
        yield from ((job, function(job)) for job in jobs)
        return
    with ProcessPoolExecutor(min(processes, len(jobs)), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(function, job): job for job in jobs}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def say(line: str) -> None:
    """A line on stderr."""
    print(line, file=sys.stderr, flush=True)
