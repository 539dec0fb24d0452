"""What the rule `centred` costs in accuracy: AUC by both rules on seven tables, and with other weights.

    python bench/e2e/split_rules.py [--tables bank,adult] [--depths 3 4 5 6 7 8] [--seeds 5] [--rows 20000] [--trees 40]
        [--json docs/results/split_rules.json]

`plain` trains on `--rows` rows of each table and scores others, for each seed and depth by both rules; at the depths
WEIGHT_DEPTHS also with other weights than the rule has, and at depth INTEGER_DEPTH with scores of SCORE_BITS bits.
Columns go to the active and the passive party in turn. Differences are those of the same seed and depth. mnist has ten
classes: accuracy and log loss there. Set VFXGB_DATA to the folder of the data sets. Time is the processor's: other work
on the machine does not change it much.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.data.table import Table
from vfxgb.metric import make_metric

TABLES = ("give_credit", "default_credit", "adult", "a9a", "bank", "higgs", "nomao")
SETTINGS = {"learning_rate": 0.1, "max_bin": 32, "n_jobs": 1}
TEST_ROWS = 20_000
WEIGHT_DEPTHS = (6, 8)
INTEGER_DEPTH, SCORE_BITS = 6, 22
# mnist: training rows, rounds, depth and seeds.
MNIST = {"rows": 5000, "trees": 10, "depth": 6, "seeds": 3}


def spread(left: np.ndarray, rows: int, most: float) -> np.ndarray:
    """1 / sqrt(share left * share right), at most `most`."""
    return np.minimum(rows / np.sqrt(np.maximum(left * (rows - left), 1)), most)


# Weights that the rule could have, all of them integers up to 32 as its own are.
WEIGHTS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "square root": lambda left, rows: np.round(32 * np.sqrt(spread(left, rows, 8) / 8)),
    "power 3/4": lambda left, rows: np.round(32 * (spread(left, rows, 8) / 8) ** 0.75),
    "at most 2.5": lambda left, rows: np.round(32 * spread(left, rows, 2.5) / 2.5),
}


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    table = Table.read(Path(os.environ["VFXGB_DATA"]) / f"{name}.csv.gz")
    features = [column for column in table.names if column != "label"]
    return np.ascontiguousarray(table.select(features).matrix()), table.column("label").copy()


def weighted(way: str) -> Any:
    """While it lasts, candidates have the weights of that way."""
    if way not in WEIGHTS:
        return nullcontext()
    chosen = WEIGHTS[way]
    return patch("vfxgb.tree.split_weights.split_weights", lambda left, rows: chosen(left, rows).astype(np.uint8))


def predictions(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, way: str, **settings: Any
) -> np.ndarray:
    parties = {"bank": list(range(0, X.shape[1], 2)), "shop": list(range(1, X.shape[1], 2))}
    if way != "gain":
        settings["split_rule"] = "centred"
    if way == "integers":
        settings |= {"score_bits": SCORE_BITS, "protocol_params": {"hide_nodes": True}}
    with weighted(way):
        model = VFXGBClassifier(parties=parties, active="bank", protocol="plain", **SETTINGS, **settings)
        model.fit(X[train], y[train], verbose=False)
    assert_real_trees(model.model_.active_share, f"{way} on {len(train)} rows")
    return np.asarray(model.predict_proba(X[test]))


def measure_table(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """AUC by way, depth and seed."""
    X, y = read(name)
    auc, begin = make_metric("auc"), time.process_time()
    scores: dict[str, dict[str, list[float]]] = {}
    n_train = min(args.rows, int(0.7 * len(y)))
    for seed in range(args.seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train : n_train + TEST_ROWS]
        for depth in args.depths:
            ways = ["gain", "centred"]
            ways += list(WEIGHTS) if depth in WEIGHT_DEPTHS else []
            ways += ["integers"] if depth == INTEGER_DEPTH else []
            for way in ways:
                fitted = {"max_depth": depth, "n_estimators": args.trees, "random_state": seed}
                found = auc(y[test], predictions(X, y, train, test, way, **fitted)[:, 1])
                scores.setdefault(way, {}).setdefault(str(depth), []).append(found)
    seconds = time.process_time() - begin
    print(f"{name}: {seconds:.0f} s of the processor", flush=True)
    return {"train": n_train, "test": min(TEST_ROWS, len(y) - n_train), "seconds": seconds, "auc": scores}


def measure_classes() -> dict[str, Any]:
    """Accuracy and log loss on mnist, by way and seed."""
    X, y = read("mnist")
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(MNIST["seeds"]):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: MNIST["rows"]], order[MNIST["rows"] : MNIST["rows"] + TEST_ROWS]
        labels = y[test].astype(np.int64)
        for way in ("gain", "centred", *WEIGHTS):
            fitted = {"max_depth": MNIST["depth"], "n_estimators": MNIST["trees"], "random_state": seed}
            shares = predictions(X, y, train, test, way, **fitted)
            of_way = found.setdefault(way, {"accuracy": [], "log loss": []})
            of_way["accuracy"].append(float((shares.argmax(axis=1) == labels).mean()))
            of_way["log loss"].append(float(-np.log(shares[np.arange(len(labels)), labels]).mean()))
    return {**MNIST, "found": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 4, 5, 6, 7, 8])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--without-mnist", action="store_true")
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file")
    args = parser.parse_args()
    result = {
        "machine": machine_facts(),
        "settings": {**SETTINGS, "trees": args.trees, "depths": args.depths, "seeds": args.seeds},
        "integers": {"depth": INTEGER_DEPTH, "score_bits": SCORE_BITS},
        "weight_depths": list(WEIGHT_DEPTHS),
        "tables": {name: measure_table(name, args) for name in args.tables.split(",")},
        "mnist": None if args.without_mnist else measure_classes(),
        "seconds": time.process_time(),
    }
    if args.json is None:
        print(json.dumps(result, indent=1))
    else:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
