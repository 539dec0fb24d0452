"""Figures 4 and 12 of papers/002 (MaskedXGBoost): test AUC against epsilon, and loss tree by tree.

    vfxgb bench papers dp [--quick] [--seeds 5] [--threads 2] [--out FOLDER]
    python bench/papers/dp.py [--data NAME ...] [--methods NAME ...] [--rows 10000] [--trees 60] [--minutes M] ...

Sixty trees of depth 6, as in the paper, on four of its six tables. What epsilon means is the method's and stands in
competitors.py. A cell that dp.json of the folder `out` already holds for the same settings is not run again; `minutes`
ends a run early.
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import common
import numpy as np
from competitors import METHODS, Settings
from trained import BINS, DEPTH, RATE, curves, part

from vfxgb.errors import InsecureProtocolWarning

MINUTES = (0.6, 60.0)
DATA = ("give_credit", "default_credit", "adult", "higgs")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
# The epsilons of the plot of losses.
SHOWN = ("1", "8")
Cells = dict[str, dict[str, Any]]
Summary = dict[str, dict[str, dict[str, tuple[float, float, int]]]]


def cells(
    names: Sequence[str], methods: Sequence[str], seeds: int, epsilons: Sequence[float]
) -> Iterator[tuple[str, ...]]:
    """(data, method, epsilon, seed) in an order that gives whole figures early."""
    for seed in range(seeds):
        for name in names:
            for method in methods:
                for epsilon in epsilons if METHODS[method].varies else epsilons[:1]:
                    yield name, method, f"{epsilon:g}", str(seed)


def still_good(document: dict[str, Any], settings: Settings) -> Cells:
    """The cells of an earlier run with these settings, without those that other parameters gave."""
    if {name: document.get("settings", {}).get(name) for name in asdict(settings)} != asdict(settings):
        return {}
    return {
        key: cell
        for key, cell in document["cells"].items()
        for method, epsilon in [key.split("|")[1:3]]
        if method in METHODS and cell["params"] == METHODS[method].params(float(epsilon), settings)
    }


def summary(measured: Cells) -> Summary:
    """data -> method -> epsilon -> mean AUC, its standard deviation, number of seeds."""
    grouped: dict[str, dict[str, dict[str, list[float]]]] = {}
    for key, cell in measured.items():
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


def tables(run: common.Run, by_table: Summary) -> None:
    """What epsilon is spent on, and a table of AUC for each of the data."""
    spent = [[name, method.epsilon] for name, method in METHODS.items()]
    run.table("What epsilon is spent on", ["method", ""], spent, left=2)
    for name, methods in by_table.items():
        epsilons = sorted({e for by in methods.values() for e in by}, key=float)
        rows = []
        for method, by in methods.items():
            values = [by.get(e) if METHODS[method].varies else next(iter(by.values())) for e in epsilons]
            rows.append([method, *("" if v is None else f"{v[0]:.4f} ± {v[1]:.4f} ({v[2]})" for v in values)])
        run.table(f"{name}: AUC by epsilon, mean ± deviation (seeds)", ["", *epsilons], rows)


def draw(run: common.Run, by_table: Summary) -> None:
    """AUC against epsilon, a panel for each of the data."""
    place = {method: i for i, method in enumerate(METHODS)}
    with run.plot(f"{run.name}_auc", 1, len(by_table), (4.2, 3.6)) as axes:
        for axis, (name, methods) in zip(axes[0], by_table.items(), strict=True):
            for method, by in methods.items():
                known = sorted((float(e), v) for e, v in by.items())
                means, spread = [v[0] for _, v in known], [v[1] for _, v in known]
                if METHODS[method].varies:
                    style = common.line_style(place[method])
                    axis.errorbar([e for e, _ in known], means, spread, label=method, capsize=2, **style)
                else:
                    axis.axhline(means[0], color="black", linestyle="--", label=method)
            axis.set(title=name, xlabel="epsilon", ylabel="test AUC")
        axes[0][-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def shows_loss(epsilon: str, seed: str) -> bool:
    """Whether the loss of a cell is drawn tree by tree; that of others is not kept."""
    return epsilon in SHOWN and seed == "0"


def draw_losses(run: common.Run, measured: Cells, names: Sequence[str]) -> None:
    """Loss of the first seed tree by tree, a panel for each of the data."""
    with run.plot(f"{run.name}_loss", 1, len(names), (4.2, 3.6)) as axes:
        for axis, name in zip(axes[0], names, strict=True):
            for place, (method, known) in enumerate(METHODS.items()):
                for epsilon in SHOWN:
                    cell = measured.get(f"{name}|{method}|{epsilon}|0")
                    if cell is None or "logloss" not in cell:
                        continue
                    label = f"{method}, {epsilon}" if known.varies else method
                    dash = ":" if epsilon == SHOWN[0] else "-"
                    style = common.line_style(place) | {"marker": "", "linestyle": dash, "linewidth": 1}
                    axis.plot(range(1, len(cell["logloss"]) + 1), cell["logloss"], label=label, **style)
            axis.set(title=name, xlabel="trees", ylabel="log loss on test rows", ylim=(0, 1.5))
        axes[0][-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))


def conclude(run: common.Run, by_table: Summary) -> None:
    """What the AUCs say about the paper's sentences; only methods that were run are compared."""

    def means(method: str, epsilon: str) -> dict[str, float]:
        return {name: by[method][epsilon][0] for name, by in by_table.items() if epsilon in by.get(method, {})}

    def differences(method: str, other: str, first: str, second: str) -> dict[str, float]:
        left, right = means(method, first), means(other, second)
        return {name: left[name] - right[name] for name in left if name in right}

    def answer(values: dict[str, float], least: float) -> bool | str:
        return min(values.values()) > least or ("in part" if max(values.values()) > least else "no")

    low, high = (f"{e:g}" for e in (min(EPSILONS), max(EPSILONS)))
    low = low if means("masked", low) else SHOWN[0]
    better = differences("masked", "XGBoost-LDP", high, high)
    if better:
        run.found(
            "MaskedXGBoost is far better than XGBoost-LDP at equal epsilon.",
            answer(better, 0.0),
            f"In AUC, by {listed(better)} at {high}; not at equal privacy. Noise of theorem 2 drowns the passive "
            "party's sums (E42), splits of the active party and leaves are exact, and the epsilon, of a message, does "
            "not hold against the passive party (E41).",
        )
    for method in ("masked", "masked, per row"):
        rise = differences(method, method, high, low)
        if rise:
            run.found(
                f"Its AUC rises with epsilon ({method}).", answer(rise, 0.005), f"By {listed(rise)}, {low} to {high}."
            )
    own = differences("masked, own noise", "XGBoost-LDP", high, high)
    if own:
        run.found(
            "With noise that does hold against the passive party it would still be better.",
            answer(own, 0.05),
            f"By {listed(own)} at {high}: of the kind of XGBoost-LDP, as the noise is.",
        )
    once = differences("ldp", "XGBoost-LDP", SHOWN[0], SHOWN[0])
    if once:
        run.found(
            "Not in the paper: labels randomised once (ldp).",
            "the best that protects labels" if min(once.values()) > 0 else "see the tables",
            f"AUC over XGBoost-LDP's at the same epsilon for the whole training: {listed(once)} at {SHOWN[0]} (E55).",
        )


def listed(values: dict[str, float]) -> str:
    """Differences by table, in words."""
    return ", ".join(f"{value:+.3f} on {name}" for name, value in values.items())


def measure(args: Any, settings: Settings, epsilons: Sequence[float], document: dict[str, Any], path: Path) -> Cells:
    """Run the cells that are missing, writing after each."""
    measured = still_good(document, settings)
    wanted = [cell for cell in cells(args.data, args.methods, args.seeds, epsilons) if "|".join(cell) not in measured]
    data = {name: part(name, settings.rows) for name in {cell[0] for cell in wanted}}
    steps = common.Steps(len(wanted))
    deadline = time.monotonic() + 60 * args.minutes
    for name, method, epsilon, seed in wanted:
        if time.monotonic() > deadline:
            break
        key = "|".join((name, method, epsilon, seed))
        steps.begin(key)
        params = METHODS[method].params(float(epsilon), settings)
        run = curves(data[name], METHODS[method].protocol, params, settings.trees, int(seed), args.threads)
        measured[key] = {"params": params, **run, "auc": run["auc"][-1]}
        if not shows_loss(epsilon, seed):
            del measured[key]["logloss"]
        known = {"machine": common.facts(), "settings": asdict(settings), "cells": measured}
        path.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
    return measured


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing, write tables and plots."""
    parser = common.parser(__doc__, seeds=5)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no cell after so long")
    args = common.parse(parser, argv)
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    epsilons: Sequence[float] = EPSILONS
    if args.quick:
        args.data, args.seeds, args.rows, args.trees, epsilons = args.data[1:3], 1, 1_000, 10, (1.0, 8.0)
    settings = Settings(args.rows, args.trees)
    run = common.Run(
        "dp",
        "What noise costs: AUC against epsilon",
        "figures 4 and 12 of papers/002",
        args,
        "Test AUC after the last tree. The same rows for all methods and seeds. The paper prints curves without "
        "numbers, ten runs each, on all rows; its Bank and Nomao are not at hand.",
    )
    document = common.read_document(args.out, "dp")
    measured = measure(args, settings, epsilons, document, args.out / "dp.json")
    run.machine = common.read_document(args.out, "dp").get("machine", run.machine)
    run.set(**asdict(settings), depth=DEPTH, learning_rate=RATE, bins=BINS)
    for name in dict.fromkeys(key.split("|")[0] for key in measured):
        run.use(common.rows_of(name))
    known = summary(measured)
    tables(run, known)
    draw(run, known)
    draw_losses(run, measured, list(known))
    conclude(run, known)
    whole = {**run.document({"cells": measured}), "seconds": sum(cell["seconds"] for cell in measured.values())}
    text = run.markdown(whole)
    print(text)
    (args.out / "dp.json").write_text(json.dumps(whole, indent=0) + "\n", encoding="utf-8")
    (args.out / "dp.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
