"""What few bits of precision cost and save: AUC on four tables, seconds and bytes of `ot_shares` on one.

    python bench/e2e/precision.py [--bits 8] [--seeds 5] [--trees 40] [--repeats 5] [--json FILE]

Accuracy: `plain`, which gives the models of every exact protocol, trains on 70 % of each table and scores the rest, for
each seed with 31 bits, with `--bits` rounded to the nearest number, and with `--bits` rounded at random. Differences
are those of the same seed; `error` is the standard error of their mean. Cost: `ot_shares` on give_credit, 32 bins,
depth 6, both precisions in turn; a tree is what `COST_TREES` further trees take, divided by their number. Set
VFXGB_DATA to the folder of the data sets.
"""

import argparse
import json
import math
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import Loaded, load
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.metric import make_metric

EXACT_BITS = 31
TABLES = ("give_credit", "default_credit", "adult", "higgs")
COST_TREES = 4


def fit(data: Loaded, rows: np.ndarray, protocol: str, bits: int, rounding: str, **settings: Any) -> VFXGBClassifier:
    model = VFXGBClassifier(
        parties=data.parties,
        active="bank",
        protocol=protocol,
        protocol_params={"precision_bits": bits},
        rounding=rounding,
        **settings,
    ).fit(data.X[rows], data.y[rows], verbose=False)
    assert_real_trees(model.model_.active_share, f"{protocol} with {bits} bits on {data.source}")
    return model


def accuracy(data: Loaded, args: argparse.Namespace) -> dict[str, Any]:
    """Mean AUC by precision, and the differences to 31 bits."""
    ways = {
        "exact": (EXACT_BITS, "nearest"),
        "nearest": (args.bits, "nearest"),
        "stochastic": (args.bits, "stochastic"),
    }
    auc = make_metric("auc")
    scores: dict[str, list[float]] = {way: [] for way in ways}
    for seed in range(args.seeds):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.split(order, [int(0.7 * len(order))])
        for way, (bits, rounding) in ways.items():
            settings = {"n_estimators": args.trees, "max_depth": 5, "learning_rate": 0.1, "max_bin": 64}
            model = fit(data, train, "plain", bits, rounding, random_state=seed, **settings)
            scores[way].append(auc(data.y[test], model.predict_proba(data.X[test])[:, 1]))
    differences = {way: np.subtract(scores[way], scores["exact"]) for way in ("nearest", "stochastic")}
    return {
        "auc": {way: statistics.mean(values) for way, values in scores.items()},
        "difference": {way: float(values.mean()) for way, values in differences.items()},
        "error": {way: float(values.std(ddof=1) / math.sqrt(len(values))) for way, values in differences.items()},
    }


def cost(data: Loaded, bits: int, args: argparse.Namespace) -> tuple[float, float]:
    """Seconds and bytes of a tree."""
    rows, found = np.arange(len(data.y)), []
    for trees in (1, 1 + COST_TREES):
        begin = time.perf_counter()
        rounding = "nearest" if bits == EXACT_BITS else "stochastic"
        settings = {"n_estimators": trees, "max_depth": 6, "max_bin": 32, "n_jobs": args.threads}
        model = fit(data, rows, "ot_shares", bits, rounding, **settings)
        found.append((time.perf_counter() - begin, model.traffic_["shop"].total_bytes))
    (first_seconds, first_bytes), (seconds, size) = found
    return (seconds - first_seconds) / COST_TREES, (size - first_bytes) / COST_TREES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file too")
    args = parser.parse_args()
    tables = {name: accuracy(load(name), args) for name in TABLES}
    data = load("give_credit")
    costs = [(cost(data, EXACT_BITS, args), cost(data, args.bits, args)) for _ in range(args.repeats)]
    seconds, sizes = ([statistics.median(pair[way][kind] for pair in costs) for way in (0, 1)] for kind in (0, 1))
    result = {
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "bits": args.bits,
        "seeds": args.seeds,
        "trees": args.trees,
        "tables": tables,
        "cost": {
            "exact": {"seconds": seconds[0], "bytes": sizes[0]},
            "few": {"seconds": seconds[1], "bytes": sizes[1]},
            "seconds_ratio": statistics.median(few[0] / exact[0] for exact, few in costs),
        },
    }
    text = json.dumps(result, indent=2, default=str)
    print(text)
    if args.json is not None:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
