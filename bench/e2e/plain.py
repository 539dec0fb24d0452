"""Time per tree and peak memory of protocol `plain` with two parties in memory, against xgboost hist in the same run.

    python bench/e2e/plain.py [--rows 150000] [--features 10] [--depth 6] [--bins 32] [--threads 2] [--repeats 5]

Time per tree is (time of fit with 60 rounds - time of fit with 10 rounds) / 50 for both libraries, so that reading,
binning and starting threads do not count. Runs of the two alternate; the median of the repeats is reported, and the
ratio is that of the medians. Goal: at most 4 on an idle machine; the load average is printed with the result.

Memory is the peak of a child process during fit beyond what it held before (data loaded, a small fit done). Goal: at
most 1.5 x the binned data + 64 bytes a row. xgboost's is measured the same way, its QuantileDMatrix included.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_booster, assert_real_trees

FEW, MANY = 10, 60
RATIO_GOAL = 4.0
Data = tuple[NDArray[np.float32], NDArray[np.float32]]


def make_data(rows: int, features: int) -> Data:
    """Normal features, and labels that depend on three of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    logit = X[:, 0] + X[:, features // 2] * X[:, 1] + 0.5 * rng.normal(size=rows)
    return X, (logit > 1.0).astype(np.float32)


def fit_vfxgb(data: Data, rounds: int, args: argparse.Namespace) -> Any:
    half = args.features // 2
    parties = {"bank": list(range(half)), "shop": list(range(half, args.features))}
    model = VFXGBClassifier(
        n_estimators=rounds,
        max_depth=args.depth,
        max_bin=args.bins,
        n_jobs=args.threads,
        parties=parties,
        protocol="plain",
    )
    return model.fit(*data, verbose=False)


def fit_xgboost(data: Data, rounds: int, args: argparse.Namespace) -> Any:
    matrix = xgb.QuantileDMatrix(*data, max_bin=args.bins, nthread=args.threads)
    params = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": args.depth,
        "max_bin": args.bins,
        "nthread": args.threads,
    }
    return xgb.train(params, matrix, rounds)


FITS: dict[str, Callable[[Data, int, argparse.Namespace], Any]] = {"vfxgb": fit_vfxgb, "xgboost": fit_xgboost}


def seconds(fit: Callable[[Data, int, argparse.Namespace], Any], data: Data, rounds: int, args: Any) -> float:
    start = time.perf_counter()
    model = fit(data, rounds, args)
    taken = time.perf_counter() - start
    check(model)
    return taken


def check(model: Any) -> None:
    """What was measured had trees with splits."""
    if isinstance(model, xgb.Booster):
        assert_real_booster(model, "xgboost")
    else:
        assert_real_trees(model.model_.active_share, "plain")


def per_tree(args: argparse.Namespace) -> dict[str, list[float]]:
    """Milliseconds per tree of each repeat, by library."""
    data = make_data(args.rows, args.features)
    for fit in FITS.values():
        fit(data, 2, args)
    per_fit: dict[str, list[float]] = {name: [] for name in FITS}
    for _ in range(args.repeats):
        for name, fit in FITS.items():
            few, many = (seconds(fit, data, rounds, args) for rounds in (FEW, MANY))
            per_fit[name].append(1000 * (many - few) / (MANY - FEW))
    return per_fit


def status(field: str) -> int:
    """A field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise KeyError(field)


def peak_memory(name: str, args: argparse.Namespace) -> int:
    """Bytes that fit held at most beyond what was there before; call in a process of its own."""
    data = make_data(args.rows, args.features)
    FITS[name]((data[0][:2000].copy(), data[1][:2000].copy()), 2, args)
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to what is resident now
    before = status("VmRSS")
    model = FITS[name](data, FEW, args)
    peak = status("VmHWM") - before
    check(model)
    return peak


def child_memory(name: str) -> int | None:
    if not Path("/proc/self/clear_refs").exists():
        return None
    run = subprocess.run([sys.executable, *sys.argv, "--memory", name], capture_output=True, text=True, check=True)
    return int(json.loads(run.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 150_000), ("features", 10), ("depth", 6), ("bins", 32), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", choices=list(FITS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory:
        print(json.dumps(peak_memory(args.memory, args)))
        return
    load = os.getloadavg()[0]
    per_fit = per_tree(args)
    print(
        f"{args.rows} rows x {args.features} features, two parties, depth {args.depth}, {args.bins} bins, "
        f"{args.threads} threads, {args.repeats} repeats"
    )
    middle = {name: statistics.median(values) for name, values in per_fit.items()}
    for name, values in per_fit.items():
        print(f"{name:8} {middle[name]:7.2f} ms per tree (from {min(values):.2f} to {max(values):.2f})")
    print(f"ratio    {middle['vfxgb'] / middle['xgboost']:7.2f} (goal: at most {RATIO_GOAL:g}, idle machine)")
    bound = 1.5 * args.rows * args.features + 64 * args.rows
    for name in FITS:
        peak = child_memory(name)
        print(f"{name:8} {'unknown' if peak is None else f'{peak / 1e6:7.1f} MB'} peak during fit")
    print(f"goal     {bound / 1e6:7.1f} MB (1.5 x binned data + 64 bytes a row)")
    print(f"load average at the start {load:.2f}; " + "; ".join(f"{k} {v}" for k, v in machine_facts().items()))


if __name__ == "__main__":
    main()
