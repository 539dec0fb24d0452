"""Where the time of a tree of `plain` goes, and what a tree takes next to xgboost's in the same run.

    python bench/e2e/plain_steps.py [--data give_credit] [--rows N] [--trees 50] [--repeats 5]
        [--json docs/results/plain_steps.json]

Both parties are in one process. On the clock a tree is (time of fit with 10 + trees rounds - time with 10) / trees,
with one thread and with two for either library; runs of the two alternate, and ratios are those of medians.

Processor time is divided with one thread for each party, where a native call runs in the thread that makes it. Every
function of the tree kernels (_native.gbdt) is timed by the processor time of its thread, from the outside; what the
process takes beyond them, measured in other runs without these stopwatches, is Python: messages and their bytes, the
ledger, checks, the bookkeeping of nodes.
"""

import argparse
import functools
import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xgboost as xgb

from vfxgb import VFXGBClassifier, _native
from vfxgb.bench.datasets import Loaded, load
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_booster, assert_real_trees

FEW = 10
THREADS = (1, 2)
# Step -> the native functions that do it. What is not named here is counted with the bookkeeping of nodes.
STEPS = {
    "gradients and fixed point": ("logistic", "encode_pairs"),
    "sums of candidates": ("node_left_sums",),
    "scores": ("complete_and_score", "score", "best_by_score"),
    "who goes left": ("left_bits",),
    "moving rows": ("plan_split", "settle", "split", "RowPartition"),
    "sums of the root": ("node_sums",),
    "rows of buckets, for the ledger": ("histogram_counts",),
    "margins": ("add_values",),
}
NODES = "bookkeeping of nodes"
Fit = Callable[[Loaded, int, int, argparse.Namespace], Any]


def fit_vfxgb(data: Loaded, rounds: int, threads: int, args: argparse.Namespace) -> Any:
    model = VFXGBClassifier(
        n_estimators=rounds,
        max_depth=args.depth,
        max_bin=args.bins,
        n_jobs=threads,
        parties=data.parties,
        protocol="plain",
    ).fit(data.X, data.y, verbose=False)
    assert_real_trees(model.model_.active_share, "plain")
    return model


def fit_xgboost(data: Loaded, rounds: int, threads: int, args: argparse.Namespace) -> Any:
    matrix = xgb.QuantileDMatrix(data.X, data.y, max_bin=args.bins, nthread=threads)
    params = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": args.depth,
        "max_bin": args.bins,
        "nthread": threads,
    }
    booster = xgb.train(params, matrix, rounds)
    assert_real_booster(booster, "xgboost")
    return booster


FITS: dict[str, Fit] = {"vfxgb": fit_vfxgb, "xgboost": fit_xgboost}


def a_tree(clock: Callable[[], float], fit: Fit, data: Loaded, threads: int, args: argparse.Namespace) -> float:
    """Milliseconds of a tree by `clock`, those of the first trees left out."""
    taken = []
    for rounds in (FEW, FEW + args.trees):
        start = clock()
        fit(data, rounds, threads, args)
        taken.append(clock() - start)
    return 1000 * (taken[1] - taken[0]) / args.trees


def on_the_clock(data: Loaded, args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a tree by number of threads and library, each repeat, and the ratio of the medians."""
    found: dict[str, Any] = {}
    for threads in THREADS:
        times: dict[str, list[float]] = {name: [] for name in FITS}
        for _ in range(args.repeats):
            for name, fit in FITS.items():
                times[name].append(a_tree(time.perf_counter, fit, data, threads, args))
        middle = {name: statistics.median(values) for name, values in times.items()}
        found[str(threads)] = {"milliseconds": times, "ratio": middle["vfxgb"] / middle["xgboost"]}
    return found


@contextmanager
def stopwatches() -> Iterator[tuple[dict[str, float], dict[str, int]]]:
    """Seconds of processor time and calls of every function of the tree kernels, by its name, while the block runs."""
    seconds: dict[str, float] = defaultdict(float)
    calls: dict[str, int] = defaultdict(int)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[name] += time.thread_time() - start
                calls[name] += 1

        return run

    kernels = _native.gbdt
    owners: list[Any] = [kernels, kernels.RowPartition, kernels.SplitRule]
    replaced = []
    for owner in owners:
        for name, function in list(vars(owner).items()):
            plain = not name.startswith("_") and callable(function) and not isinstance(function, type)
            if plain or (name == "__init__" and owner is not kernels):
                replaced.append((owner, name, function))
                setattr(owner, name, timed(owner.__name__ if name == "__init__" else name, function))
    try:
        yield seconds, calls
    finally:
        for owner, name, function in replaced:
            setattr(owner, name, function)


def native_steps(data: Loaded, args: argparse.Namespace) -> tuple[dict[str, float], float]:
    """Processor milliseconds of a tree by step, and native calls of a tree, both parties together."""
    found, counts = [], []
    for rounds in (FEW, FEW + args.trees):
        with stopwatches() as (seconds, calls):
            fit_vfxgb(data, rounds, 1, args)
        found.append(dict(seconds))
        counts.append(sum(calls.values()))
    few, many = found
    step_of = {function: step for step, functions in STEPS.items() for function in functions}
    steps = dict.fromkeys((*STEPS, NODES), 0.0)
    for name, seconds_of in many.items():
        steps[step_of.get(name, NODES)] += 1000 * (seconds_of - few.get(name, 0.0)) / args.trees
    return steps, (counts[1] - counts[0]) / args.trees


def measure(args: argparse.Namespace) -> dict[str, Any]:
    data = load(args.data, args.rows, None)
    for fit in FITS.values():
        fit(data, 2, max(THREADS), args)
    whole = min(a_tree(time.process_time, fit_vfxgb, data, 1, args) for _ in range(args.repeats))
    runs = [native_steps(data, args) for _ in range(args.repeats)]
    # Other work on the machine only ever makes processor time longer.
    steps = {step: min(run[0][step] for run in runs) for step in runs[0][0]}
    return {
        "settings": {"source": data.source, "depth": args.depth, "bins": args.bins, "trees": args.trees},
        "repeats": args.repeats,
        "load": os.getloadavg()[0],
        "clock": on_the_clock(data, args),
        "processor": {"tree": whole, "native": steps, "calls": runs[0][1]},
        "machine": machine_facts(),
    }


def report(found: dict[str, Any], depth: int) -> None:
    for threads, times in found["clock"].items():
        for name, values in times["milliseconds"].items():
            middle = statistics.median(values)
            print(f"{threads} threads, {name:8} {middle:6.2f} ms a tree (from {min(values):.2f} to {max(values):.2f})")
        print(f"{threads} threads, ratio    {times['ratio']:6.2f}")
    whole, steps = found["processor"]["tree"], found["processor"]["native"]
    print(f"processor time of a tree, one thread a party: {whole:.2f} ms")
    for step, milliseconds in steps.items():
        print(f"  {step:34} {milliseconds:6.2f}")
    rest = whole - sum(steps.values())
    print(f"  {'Python':34} {rest:6.2f}, or {1000 * rest / depth:.0f} us a level, both parties together")
    print(f"native calls of a tree: {found['processor']['calls']:.0f}; load average {found['load']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="give_credit")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--bins", type=int, default=32)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = measure(args)
    report(found, args.depth)
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
