"""Tables II to IV of papers/004 (Batch HE): AUC and KS of batched against single encryption, and against xgboost.

    VFXGB_DATA=<folder> python bench/papers/batch_he.py [--quick] [--threads 2] [--out docs/results]

writes batch_he.json and batch_he.md to the folder `out`. Columns:

    plain        nothing encrypted: the reference
    non-batch    `secureboost`: g and h in a ciphertext each
    batch        `batch_he`, encoding "exact"
    shift        `batch_he`, encoding "shift", with the paper's s, alpha, alpha_max and r: what the paper proposes
    xgboost      xgboost on the pooled table, its own cut points
    own cuts     plain again, with cut points of our own in place of xgboost's

The first four are given xgboost's cut points, so that all five have the same candidates. Splits are fixed: the test
rows are FATE's (the paper's are not published); the training rows are all others, or a sample of them drawn once.
Where the paper varies the key it goes down to 128 bits: such keys protect nothing. Exact sums do not depend on the key,
so the other tables use the smallest one that holds a pair. Depth 3, learning rate 0.3, 32 bins: FATE's defaults.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.cli.machine import machine_facts
from vfxgb.cli.train_data import ACTIVE, Loaded, load
from vfxgb.metric import make_metric

ROOT = Path(__file__).resolve().parent.parent.parent
DEPTH, RATE, BINS = 3, 0.3, 32
SMALL_KEY = 256
GOAL = 0.001
METRICS = ("auc", "ks")
COLUMNS = ("plain", "non-batch", "batch", "shift", "xgboost", "own cuts")
# What should be equal, column by column.
EQUAL = (("batch", "non-batch"), ("batch", "plain"), ("batch", "xgboost"))
PAPER_SHIFT = {"s": -10.0, "alpha": 20.0}
DEFAULT_SHIFT = {**PAPER_SHIFT, "alpha_max": 1e6, "r": 30}
GIVEME_SHIFT = {**PAPER_SHIFT, "alpha_max": 1e7, "r": 40}


@dataclass(frozen=True)
class Split:
    """Training and test rows of a table."""

    train: Loaded
    test: Loaded


@dataclass(frozen=True)
class Case:
    """One line of a table: its name, how many trees, the key, and the parameters of encoding "shift"."""

    name: str
    split: Split
    trees: int
    key_bits: int
    shift: dict[str, float]


def split(name: str, folder: Path, sample: int | None = None) -> Split:
    """FATE's test rows and the others, or `sample` of these."""
    data = load(name)
    test = np.zeros(len(data.y), dtype=bool)
    test[np.loadtxt(folder / f"{name}.fate_test_rows.txt", dtype=int)] = True
    train = np.flatnonzero(~test)
    if sample is not None:
        train = np.sort(np.random.default_rng(0).choice(train, sample, replace=False))
    return Split(rows(data, train), rows(data, np.flatnonzero(test)))


def rows(data: Loaded, chosen: NDArray[np.int64]) -> Loaded:
    return Loaded(np.ascontiguousarray(data.X[chosen]), data.y[chosen], data.n_active, data.source)


def fit(case: Case, threads: int, protocol: str, params: dict[str, Any], cuts: Any) -> VFXGBClassifier:
    train = case.split.train
    model = VFXGBClassifier(
        n_estimators=case.trees,
        max_depth=DEPTH,
        learning_rate=RATE,
        max_bin=BINS,
        parties=train.parties,
        active=ACTIVE,
        protocol=protocol,
        protocol_params=params,
        n_jobs=threads,
    )
    return model.fit(train.X, train.y, verbose=False, cuts=cuts)


def fit_xgboost(case: Case, threads: int) -> tuple[xgb.Booster, Any]:
    train = case.split.train
    data = xgb.QuantileDMatrix(train.X, train.y, max_bin=BINS, nthread=threads)
    params = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": DEPTH,
        "eta": RATE,
        "max_bin": BINS,
        "nthread": threads,
    }
    return xgb.train(params, data, case.trees), data.get_quantile_cut()


def metrics(case: Case, predict: Any) -> dict[str, float]:
    """auc and ks of training and test rows."""
    found = {}
    for part, data in (("train", case.split.train), ("test", case.split.test)):
        predictions = predict(data.X)
        for name in METRICS:
            found[f"{name} {part}"] = make_metric(name)(data.y, predictions)
    return found


def run_case(case: Case, threads: int) -> dict[str, dict[str, float]]:
    """Column -> metric -> value, and the seconds of training."""
    booster, cuts = fit_xgboost(case, threads)
    key = {"key_bits": case.key_bits, "insecure": True}
    asked: dict[str, tuple[str, dict[str, Any], Any]] = {
        "plain": ("plain", {}, cuts),
        "non-batch": ("secureboost", key, cuts),
        "batch": ("batch_he", key, cuts),
        "shift": ("batch_he", {**key, "encoding": "shift", **case.shift}, cuts),
        "own cuts": ("plain", {}, None),
    }
    found = {"xgboost": metrics(case, lambda X: booster.predict(xgb.DMatrix(X)))}
    for column, (protocol, params, given) in asked.items():
        print(f"{case.name}: {column} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        model = fit(case, threads, protocol, params, given)
        seconds = time.perf_counter() - start
        found[column] = {**metrics(case, lambda X, model=model: model.predict_proba(X)[:, 1]), "seconds": seconds}
    return found


def tables(folder: Path, quick: bool) -> dict[str, list[Case]]:
    """The paper's tables as cases. Quick: fewer lines, fewer trees."""
    default = split("default_credit", folder)
    trees = 5 if quick else 50
    keys = (128, 512) if quick else (128, 256, 512, 1024)
    sizes: Sequence[int | None] = (30_000,) if quick else (30_000, 60_000, 91_500, None)
    counts = (2, 6) if quick else (10, 30, 50, 70, 90)
    giveme = [split("give_credit", folder, size) for size in sizes]
    return {
        "II: key length, default_credit": [Case(f"{bits} bits", default, trees, bits, DEFAULT_SHIFT) for bits in keys],
        "III: training rows, give_credit": [
            Case(f"{len(part.train.y):,} rows", part, trees, SMALL_KEY, GIVEME_SHIFT) for part in giveme
        ],
        "IV: trees, default_credit": [
            Case(f"{count} trees", default, count, SMALL_KEY, DEFAULT_SHIFT) for count in counts
        ],
    }


def largest_differences(results: dict[str, dict[str, dict[str, dict[str, float]]]]) -> dict[str, float]:
    """The largest difference of any metric in any line, for each two columns that should be equal."""
    found = {}
    for one, other in (*EQUAL, ("shift", "batch"), ("own cuts", "xgboost")):
        found[f"{one} against {other}"] = max(
            abs(line[one][metric] - line[other][metric])
            for lines in results.values()
            for line in lines.values()
            for metric in line["xgboost"]
        )
    return found


def markdown(results: dict[str, dict[str, dict[str, dict[str, float]]]], settings: dict[str, Any]) -> str:
    worst = largest_differences(results)
    about = (
        f"Written by bench/papers/batch_he.py{' --quick' if settings['quick'] else ''}: tables II to IV of Batch HE "
        f"(papers/004) on fixed splits. Depth {DEPTH}, learning rate {RATE}, {BINS} bins, {settings['trees']} trees "
        "unless said. Keys this short protect nothing; exact sums do not depend on the key. All columns but the last "
        "have xgboost's cut points."
    )
    lines = [
        "# Batched against single encryption: AUC and KS",
        "",
        about,
        "",
        "| largest difference of any number below | | goal |",
        "|---|---:|---:|",
    ]
    equal = {f"{one} against {other}" for one, other in EQUAL}
    lines += [f"| {pair} | {value:.6f} | {GOAL if pair in equal else ''} |" for pair, value in worst.items()]
    for title, entries in results.items():
        lines += [
            "",
            f"## Table {title}",
            "",
            "| | metric | " + " | ".join(COLUMNS) + " |",
            "|---|---|" + "---:|" * len(COLUMNS),
        ]
        for name, line in entries.items():
            for place, metric in enumerate(line["xgboost"]):
                cells = " | ".join(f"{line[column][metric]:.4f}" for column in COLUMNS)
                lines.append(f"| {name if place == 0 else ''} | {metric} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer lines and trees")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results")
    args = parser.parse_args()
    folder = os.environ.get("VFXGB_DATA")
    if not folder:
        sys.exit("VFXGB_DATA is not set: it names the folder with default_credit.csv.gz and give_credit.csv.gz")
    asked = tables(Path(folder), args.quick)
    results = {title: {case.name: run_case(case, args.threads) for case in cases} for title, cases in asked.items()}
    settings = {
        "quick": args.quick,
        "threads": args.threads,
        "depth": DEPTH,
        "bins": BINS,
        "learning_rate": RATE,
        "trees": 5 if args.quick else 50,
        "small_key": SMALL_KEY,
        "shift": {"default_credit": DEFAULT_SHIFT, "give_credit": GIVEME_SHIFT},
    }
    worst = largest_differences(results)
    text = markdown(results, settings)
    print(text)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "batch_he.md").write_text(text, encoding="utf-8")
    document = {"machine": machine_facts(), "settings": settings, "differences": worst, "tables": results}
    (args.out / "batch_he.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(any(worst[f"{one} against {other}"] > GOAL for one, other in EQUAL))


if __name__ == "__main__":
    sys.exit(main())
