"""What noise costs with settings that suit it: test AUC by epsilon, next to no noise and to the active party alone.

    python bench/e2e/noise_cost.py [--data NAME ...] [--rows 30000] [--seeds 3] [--threads 1] [--json FILE]

Noise in labels punishes deep trees and large steps: depth 3, a learning rate of 0.1 and reg_lambda = 50 for every
method, the noiseless ones too. Rows are drawn once for a table; a seed stands for another draw of the noise.
`ldp` and `ldp, last stage` are one run: the joint model, and what the active party makes of it with its true labels.
The active party alone trains on its own columns and true labels, and nobody learns anything: what a joint model has to
beat.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE
from vfxgb.bench.machine import machine_facts
from vfxgb.metric import make_metrics
from vfxgb.model.fitted import FittedModel

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/papers"))

from trained import Part, part  # noqa: E402 - the folder of the scripts is not a package

DATA = ("give_credit", "default_credit", "adult")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SETTINGS = {"n_estimators": 60, "max_depth": 3, "learning_rate": 0.1, "reg_lambda": 50.0, "max_bin": 32}
STAGE_TREES = 60
Scores = dict[str, float]


def auc_of(model: VFXGBClassifier, X: NDArray[Any], y: NDArray[Any]) -> float:
    """AUC of a model's predictions."""
    (auc,) = make_metrics("auc", "auc")
    return round(float(auc(y.astype(np.float64), model.predict_proba(X)[:, 1], None)), 5)


def jointly(data: Part, protocol: str, params: dict[str, Any], threads: int) -> VFXGBClassifier:
    """A model of both parties."""
    model = VFXGBClassifier(
        **SETTINGS,
        parties=data.train.parties,
        active=ACTIVE,
        protocol=protocol,
        protocol_params=params,
        n_jobs=threads,
    )
    return model.fit(data.train.X, data.train.y, verbose=False)


def plain(data: Part, epsilon: float, threads: int) -> Scores:  # noqa: ARG001 - as in METHODS
    """Nothing is protected."""
    return {"plain": auc_of(jointly(data, "plain", {}, threads), data.test.X, data.test.y)}


def alone(data: Part, epsilon: float, threads: int) -> Scores:  # noqa: ARG001 - as in METHODS
    """The active party's columns, and nobody else."""
    own = slice(0, data.train.n_active)
    model = VFXGBClassifier(**SETTINGS, n_jobs=threads).fit(data.train.X[:, own], data.train.y, verbose=False)
    return {"active party alone": auc_of(model, data.test.X[:, own], data.test.y)}


def ldp(data: Part, epsilon: float, threads: int) -> Scores:
    """Labels randomised once; with the private last stage, and the joint model without it."""
    model = jointly(data, "ldp", {"epsilon": epsilon, "private_stage_trees": STAGE_TREES}, threads)
    staged = auc_of(model, data.test.X, data.test.y)
    model.model_ = FittedModel(model.model_.active_share.joint, model.model_.passive_shares)
    return {"ldp": auc_of(model, data.test.X, data.test.y), "ldp, last stage": staged}


def unbiased(data: Part, epsilon: float, threads: int) -> Scores:
    """Labels whose mean is the true one."""
    model = jointly(data, "ldp", {"epsilon": epsilon, "unbiased": True}, threads)
    return {"ldp, unbiased": auc_of(model, data.test.X, data.test.y)}


def federboost(data: Part, epsilon: float, threads: int) -> Scores:
    """The passive party's buckets randomised once."""
    return {"FederBoost": auc_of(jointly(data, "federboost", {"epsilon": epsilon}, threads), data.test.X, data.test.y)}


# Method, and whether epsilon and the seed make a difference.
METHODS: dict[Callable[[Part, float, int], Scores], bool] = {
    plain: False,
    alone: False,
    ldp: True,
    unbiased: True,
    federboost: True,
}


def runs(names: list[str], seeds: int) -> Iterator[tuple[str, Callable[[Part, float, int], Scores], float, int]]:
    """(data, method, epsilon, seed) of every run."""
    for name in names:
        for method, varies in METHODS.items():
            for seed in range(seeds if varies else 1):
                for epsilon in EPSILONS if varies else EPSILONS[:1]:
                    yield name, method, epsilon, seed


def main() -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    for option, default in (("rows", 30_000), ("seeds", 3), ("threads", 1)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--json", type=Path, default=ROOT / "docs/results/noise_cost.json")
    args = parser.parse_args()
    begin = time.perf_counter()
    tables = {name: part(name, args.rows) for name in args.data}
    cells: dict[str, dict[str, float]] = {}
    for name, method, epsilon, seed in runs(args.data, args.seeds):
        for title, auc in method(tables[name], epsilon, args.threads).items():
            cells[f"{name}|{title}|{epsilon:g}|{seed}"] = {"auc": auc}
            print(f"{name}, {title}, epsilon {epsilon:g}, seed {seed}: {auc:.4f}", flush=True)
    document = {
        "machine": machine_facts(),
        "settings": {**SETTINGS, "private_stage_trees": STAGE_TREES, "seeds": args.seeds},
        "data": {
            name: {"source": data.train.source, "train": len(data.train.y), "test": len(data.test.y)}
            for name, data in tables.items()
        },
        "seconds": time.perf_counter() - begin,
        "cells": cells,
    }
    args.json.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
