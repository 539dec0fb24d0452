"""Figures 4 and 5 of papers/002 (MaskedXGBoost) and of papers/000 (FedXGBoost): what noise costs.

    VFXGB_DATA=<folder> python bench/papers/dp.py [--quick] [--data NAME ...] [--methods NAME ...] [--seeds 5]
        [--rows 20000] [--trees 60] [--minutes M] [--threads 2] [--out docs/results]

writes dp.json, dp.md, dp_auc.png and dp_loss.png to the folder `out`. Test AUC after 60 trees of depth 6 (papers/002,
6.2) against epsilon, and log loss on the test rows tree by tree. What epsilon means is the method's and stands in
METHODS: for a whole training where that is how a mechanism is used well, per tree where the papers do it.

Rows are drawn once: `rows` training rows and half as many test rows of each table, the same for all methods and seeds.
A cell that dp.json already holds for the same settings is not run again; `minutes` ends a run early.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.cli.machine import machine_facts
from vfxgb.cli.train_data import ACTIVE, Loaded, load
from vfxgb.errors import InsecureProtocolWarning
from vfxgb.protocols.masked.calibration import calibrate

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ("give_credit", "default_credit", "adult", "higgs")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
DEPTH, RATE, BINS = 6, 0.3, 32
DELTA = 1e-3


@dataclass(frozen=True)
class Settings:
    """What every cell has in common."""

    rows: int
    trees: int


@dataclass(frozen=True)
class Method:
    """`params(epsilon, settings)`: its protocol_params. `epsilon`: what the budget is spent on, in words."""

    protocol: str
    epsilon: str
    params: Callable[[float, Settings], dict[str, Any]]
    varies: bool = True


def masked(epsilon: float, settings: Settings) -> dict[str, Any]:
    """Parameters by the paper's theorems, for one message; epsilon of the passive party 1, as the paper has it."""
    found = calibrate(epsilon, DELTA, 1.0, 1.0 / settings.rows, settings.rows)
    return {**found.params(), "insecure": True}


def masked_own(epsilon: float, settings: Settings) -> dict[str, Any]:  # noqa: ARG001 - as in Method
    """Noise of the active party's own under the mask, which then need not be large."""
    noise = {"active_noise": "gaussian", "active_epsilon": epsilon, "active_delta": DELTA}
    return {"sigma1": 0.018, "sigma2": 0.1, **noise, "insecure": True}


METHODS: dict[str, Method] = {
    "plain": Method("plain", "nothing is protected", lambda epsilon, settings: {}, varies=False),
    "ldp": Method(
        "ldp", "the whole training, for labels: randomised once", lambda epsilon, settings: {"epsilon": epsilon}
    ),
    "ldp, unbiased": Method(
        "ldp",
        "the same; `unbiased=True`",
        lambda epsilon, settings: {"epsilon": epsilon, "unbiased": True},
    ),
    "XGBoost-LDP": Method(
        "ldp",
        "the whole training, for gradients and hessians: Gaussian noise, order 2",
        lambda epsilon, settings: {
            "mechanism": "gaussian",
            "hessians": "noisy",
            "total_epsilon": epsilon,
            "delta": DELTA,
        },
    ),
    "FedXGBoost-LDP": Method(
        "ldp",
        "each tree, for labels, as papers/000 counts: Laplace noise, order 1",
        lambda epsilon, settings: {"mechanism": "laplace", "order": 1, "epsilon": epsilon},
    ),
    "FederBoost": Method("federboost", "each feature's buckets, once", lambda epsilon, settings: {"epsilon": epsilon}),
    "FederBoost, unbiased": Method(
        "federboost", "the same; `unbiased=True`", lambda epsilon, settings: {"epsilon": epsilon, "unbiased": True}
    ),
    "masked": Method("masked", "each message, and does not hold (E41): theorems 2 and 3", masked),
    "masked, own noise": Method("masked", "the whole training, for labels: `active_noise`", masked_own),
}


@dataclass(frozen=True)
class Part:
    """The training and the test rows of a table."""

    train: Loaded
    test: Loaded


def part(name: str, rows: int) -> Part:
    """`rows` training rows and half as many test rows (or what there is), drawn once."""
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    train = min(rows, 2 * len(data.y) // 3)
    chosen = (order[:train], order[train : train + train // 2])
    return Part(*(Loaded(data.X[np.sort(c)], data.y[np.sort(c)], data.n_active, data.source) for c in chosen))


def run_cell(data: Part, method: Method, epsilon: float, seed: int, settings: Settings, threads: int) -> dict[str, Any]:
    """AUC in the end, and log loss after each tree, on the test rows."""
    model = VFXGBClassifier(
        n_estimators=settings.trees,
        max_depth=DEPTH,
        learning_rate=RATE,
        max_bin=BINS,
        base_score=0.5,
        parties=data.train.parties,
        active=ACTIVE,
        protocol=method.protocol,
        protocol_params=method.params(epsilon, settings),
        random_state=seed,
        n_jobs=threads,
        eval_metric=["auc", "logloss"],
    )
    begin = time.perf_counter()
    model.fit(data.train.X, data.train.y, eval_set=[(data.test.X, data.test.y)], verbose=False)
    seconds = time.perf_counter() - begin
    (log,) = model.evals_result_.values()
    params = method.params(epsilon, settings)
    return {
        "params": params,
        "auc": log["auc"][-1],
        "logloss": [round(loss, 5) for loss in log["logloss"]],
        "seconds": seconds,
    }


def cells(names: list[str], methods: list[str], seeds: int, epsilons: tuple[float, ...]) -> Iterator[tuple[str, ...]]:
    """(data, method, epsilon, seed) in an order that gives whole figures early."""
    for seed in range(seeds):
        for name in names:
            for method in methods:
                for epsilon in epsilons if METHODS[method].varies else epsilons[:1]:
                    yield name, method, f"{epsilon:g}", str(seed)


def summary(found: dict[str, Any]) -> dict[str, dict[str, dict[str, tuple[float, float, int]]]]:
    """data -> method -> epsilon -> mean AUC, its standard deviation, number of seeds."""
    grouped: dict[str, dict[str, dict[str, list[float]]]] = {}
    for key, cell in found.items():
        name, method, epsilon, _ = key.split("|")
        grouped.setdefault(name, {}).setdefault(method, {}).setdefault(epsilon, []).append(cell["auc"])
    return {
        name: {
            method: {e: (float(np.mean(v)), float(np.std(v)), len(v)) for e, v in methods[method].items()}
            for method in METHODS
            if method in methods
        }
        for name, methods in grouped.items()
    }


def markdown(found: dict[str, Any], settings: Settings) -> str:
    about = (
        f"Written by bench/papers/dp.py: test AUC (mean and standard deviation over seeds) after {settings.trees} "
        f"trees of depth {DEPTH}, learning rate {RATE}, {BINS} bins, on {settings.rows:,} training rows of each table. "
        "See dp_auc.png and, for the loss tree by tree, dp_loss.png."
    )
    lines = [
        "# What noise costs: AUC against epsilon",
        "",
        about,
        "",
        "| method | epsilon is spent on |",
        "|---|---|",
        *(f"| {name} | {method.epsilon} |" for name, method in METHODS.items()),
    ]
    for name, methods in summary(found).items():
        epsilons = sorted({e for by in methods.values() for e in by}, key=float)
        lines += ["", f"## {name}", "", "| | " + " | ".join(epsilons) + " |", "|---|" + "---:|" * len(epsilons)]
        for method, by in methods.items():
            values = [by.get(e) if METHODS[method].varies else next(iter(by.values())) for e in epsilons]
            texts = ["" if v is None else f"{v[0]:.4f} ± {v[1]:.4f} ({v[2]})" for v in values]
            lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def plot(found: dict[str, Any], out: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    table = summary(found)
    color = {method: f"C{place}" for place, method in enumerate(METHODS)}
    figure, axes = plt.subplots(1, len(table), figsize=(4.2 * len(table), 3.6), squeeze=False)
    for axis, (name, methods) in zip(axes[0], table.items(), strict=True):
        for method, by in methods.items():
            known = sorted((float(e), v) for e, v in by.items())
            if METHODS[method].varies:
                axis.errorbar(
                    [e for e, _ in known],
                    [v[0] for _, v in known],
                    [v[1] for _, v in known],
                    label=method,
                    capsize=2,
                    color=color[method],
                )
            else:
                axis.axhline(known[0][1][0], color="black", linestyle="--", label=method)
        axis.set(title=name, xlabel="epsilon", ylabel="test AUC")
    axes[0][-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(out / "dp_auc.png", dpi=110)
    figure, axes = plt.subplots(1, len(table), figsize=(4.2 * len(table), 3.6), squeeze=False)
    for axis, name in zip(axes[0], table, strict=True):
        for method in METHODS:
            curves = {
                e: c["logloss"]
                for key, c in found.items()
                for n, m, e, s in [key.split("|")]
                if (n, m, s) == (name, method, "0")
            }
            for epsilon in ("1", "8") if METHODS[method].varies else curves:
                if epsilon in curves:
                    label = f"{method}, {epsilon}" if METHODS[method].varies else method
                    axis.plot(
                        range(1, len(curves[epsilon]) + 1),
                        curves[epsilon],
                        label=label,
                        linewidth=1,
                        linestyle=":" if epsilon == "1" else "-",
                        color=color[method],
                    )
        axis.set(title=name, xlabel="trees", ylabel="log loss on test rows", ylim=(0, 1.5))
    axes[0][-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(out / "dp_loss.png", dpi=110)
    plt.close("all")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two tables, two epsilons, one seed, few rows and trees")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no cell after so long")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results")
    args = parser.parse_args()
    if not os.environ.get("VFXGB_DATA"):
        sys.exit(f"VFXGB_DATA is not set: it names the folder with {', '.join(f'{name}.csv.gz' for name in DATA)}")
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    if args.quick:
        args.data, args.seeds, args.rows, args.trees = args.data[1:3], 1, 2_000, 5
    settings = Settings(args.rows, args.trees)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "dp.json"
    document: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if document.get("settings") != asdict(settings):
        document = {"settings": asdict(settings), "cells": {}}
    # What another version of this script has measured does not count.
    found = {
        key: cell
        for key, cell in document["cells"].items()
        for method, epsilon in [key.split("|")[1:3]]
        if method in METHODS and cell["params"] == METHODS[method].params(float(epsilon), settings)
    }
    document["cells"] = found
    epsilons = (1.0, 8.0) if args.quick else EPSILONS
    tables = {name: part(name, settings.rows) for name in args.data}
    deadline = time.monotonic() + 60 * args.minutes
    for name, method, epsilon, seed in cells(args.data, args.methods, args.seeds, epsilons):
        key = "|".join((name, method, epsilon, seed))
        if key in found or time.monotonic() > deadline:
            continue
        print(f"{key} ...", file=sys.stderr, flush=True)
        found[key] = run_cell(tables[name], METHODS[method], float(epsilon), int(seed), settings, args.threads)
        document["machine"] = machine_facts()
        path.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    text = markdown(found, settings)
    print(text)
    (args.out / "dp.md").write_text(text, encoding="utf-8")
    plot(found, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
