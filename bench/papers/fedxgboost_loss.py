"""Figures 4 and 5 of papers/000 (FedXGBoost): loss tree by tree under noise on the gradients.

    vfxgb bench papers fedxgboost_loss [--quick] [--seeds 3] [--threads 2] [--out FOLDER]

Log loss on test rows after each of 20 trees, as the paper's axes have it, with Laplace noise (LM) and Duchi's mechanism
(DM) at epsilon 1 and 3, scored by second and by first order. Each is trained as it has to be for its epsilon to
hold (noise once per tree, everything after it made of noisy gradients), and DM also as algorithm 6 is printed: true
totals, fresh noise on every level, leaves of true gradients (E48 to E52), which protects nothing.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import common
import numpy as np
from trained import BINS, DEPTH, RATE, Part, curves, part

from vfxgb.errors import InsecureProtocolWarning

MINUTES = (0.4, 2.5)
FIGURES = {"give_credit": "Figure 4", "default_credit": "Figure 5"}
EPSILONS = (1.0, 3.0)
TREES = 20
# papers/000 says where figures 4b and 5b begin, to compare how fast losses fall.
FROM_TREE = 5
PLAIN = "plain"
LABELS = "labels once"
# Losses that differ by less count as the same course.
CLOSE = 0.05


def lines() -> dict[str, tuple[str, dict[str, Any]]]:
    """Line of the figures -> protocol and its parameters."""
    protocols: dict[str, tuple[str, dict[str, Any]]] = {PLAIN: ("plain", {})}
    for epsilon in EPSILONS:
        for short, mechanism, order in (("LM", "laplace", 2), ("DM", "duchi", 2), ("DM first order", "duchi", 1)):
            params = {"mechanism": mechanism, "epsilon": epsilon, "order": order}
            protocols[f"{short}, {epsilon:g}"] = ("ldp", params)
        printed = {"mechanism": "duchi", "epsilon": epsilon, "as_printed": True, "insecure": True}
        protocols[f"DM as printed, {epsilon:g}"] = ("ldp", printed)
        protocols[f"{LABELS}, {epsilon:g}"] = ("ldp", {"epsilon": epsilon})
    return protocols


def measure(data: dict[str, Part], trees: int, seeds: int, threads: int) -> dict[str, dict[str, list[list[float]]]]:
    """Table -> line -> loss after each tree, by seed."""
    asked = lines()
    steps = common.Steps(len(data) * len(asked) * seeds)
    by_table: dict[str, dict[str, list[list[float]]]] = {name: {line: [] for line in asked} for name in data}
    for name, rows in data.items():
        for line, (protocol, params) in asked.items():
            for seed in range(seeds if line != PLAIN else 1):
                steps.begin(f"{name}: {line}, seed {seed}")
                by_table[name][line].append(curves(rows, protocol, params, trees, seed, threads)["logloss"])
    return by_table


def table(losses: dict[str, list[list[float]]]) -> list[list[str]]:
    """First and last loss, the least of all trees and where it was: means over seeds."""
    rows = []
    for line, runs in losses.items():
        mean = np.mean(runs, axis=0)
        least = int(np.argmin(mean))
        rows.append([line, f"{mean[0]:.4f}", f"{mean[least]:.4f}", str(least + 1), f"{mean[-1]:.4f}"])
    return rows


def style(line: str) -> dict[str, Any]:
    """A colour for each mechanism, dotted at the smaller epsilon; plain in black."""
    if line == PLAIN:
        return {"color": "black", "linewidth": 2}
    mechanism, epsilon = line.rsplit(", ", 1)
    place = list(dict.fromkeys(name.rsplit(", ", 1)[0] for name in lines() if name != PLAIN)).index(mechanism)
    dash = ":" if float(epsilon) == EPSILONS[0] else "-"
    return common.line_style(place) | {"linestyle": dash, "markersize": 2.5, "linewidth": 1.1}


def draw(run: common.Run, by_table: dict[str, dict[str, list[list[float]]]]) -> None:
    """A row of panels for each table: overall, and from the fifth tree."""
    with run.plot(run.name, len(by_table), 2, (5.2, 3.6)) as axes:
        for row, (name, losses) in zip(axes, by_table.items(), strict=True):
            for axis, first in zip(row, (0, FROM_TREE - 1), strict=True):
                for line, runs in losses.items():
                    mean = np.mean(runs, axis=0)
                    axis.plot(range(first + 1, len(mean) + 1), mean[first:], label=line, **style(line))
                axis.xaxis.get_major_locator().set_params(integer=True)
                shown = f"{FIGURES[name]}{'b' if first else 'a'}: {name}"
                axis.set(title=shown, xlabel="trees", ylabel="log loss on test rows")
            row[-1].legend(fontsize=6.5, loc="center left", bbox_to_anchor=(1, 0.5), title="method, epsilon")


def conclude(run: common.Run, by_table: dict[str, dict[str, list[list[float]]]]) -> None:
    """What the curves say about the paper's sentences."""

    def last(name: str, line: str) -> float:
        return float(np.mean([curve[-1] for curve in by_table[name][line]]))

    def over_plain(line: str) -> str:
        return ", ".join(f"{last(name, line) - last(name, PLAIN):+.3f} on {name}" for name in by_table)

    repaired = [line for line in lines() if line.startswith(("LM", "DM")) and "printed" not in line]
    rising = {
        line: all(last(name, line) > float(np.mean([curve[0] for curve in by_table[name][line]])) for name in by_table)
        for line in repaired
    }
    risen = [line for line, up in rising.items() if up]
    rising_again = sum(
        float(np.min(np.mean(by_table[name][line], axis=0))) < last(name, line) - 1e-3
        for name in by_table
        for line in repaired
    )
    close = all(last(name, line) - last(name, PLAIN) < CLOSE for name in by_table for line in repaired)
    run.found(
        "Noise costs little, and losses fall as without it.",
        close,
        "With noise that keeps its epsilon the loss after the last tree differs from plain's by "
        f"{over_plain('LM, 1')} (LM, 1) and {over_plain('DM, 3')} (DM, 3). "
        + (f"On both tables it ends higher than it began with {'; '.join(risen)}. " if risen else "")
        + f"It rises again after its least in {rising_again} of {len(repaired) * len(by_table)} curves: leaves of a "
        "tree add the noise of its gradients.",
    )
    printed = [line for line in lines() if "printed" in line]
    run.found(
        "The same, as printed.",
        all(last(name, line) - last(name, PLAIN) < CLOSE for name in by_table for line in printed) or "in part",
        "; ".join(f"{line}: {over_plain(line)}" for line in printed)
        + ". Leaves of true gradients keep the loss low, and are why its epsilon does not hold (E50, E52).",
    )
    better = [last(name, f"DM, {e:g}") - last(name, f"DM first order, {e:g}") for name in by_table for e in EPSILONS]
    run.found(
        "First order reduces what noise costs.",
        min(better) > 0 or ("no" if max(better) < 0 else "in part"),
        f"Loss of the second order less that of the first, DM: {min(better):+.3f} to {max(better):+.3f}. Leaf weights "
        "are -G / (H + lambda) in either, so that it is the choice of splits alone that differs.",
    )
    once = all(
        last(name, f"{LABELS}, {e:g}") < min(last(name, line) for line in repaired if line.endswith(f", {e:g}"))
        for name in by_table
        for e in EPSILONS
    )
    run.found(
        "Not in the paper: labels randomised once, epsilon for the whole training.",
        "better than any of these" if once else "not always better",
        f"Loss differs from plain's by {over_plain(f'{LABELS}, 1')} at 1 and {over_plain(f'{LABELS}, 3')} at 3, where "
        f"the other lines have spent {len(by_table[next(iter(by_table))][PLAIN][0])} times their epsilon (E55).",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Train, draw, conclude."""
    args = common.parse(common.parser(__doc__, seeds=3), argv)
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    run = common.Run(
        "fedxgboost_loss",
        "FedXGBoost-LDP: loss tree by tree",
        "figures 4 and 5 of papers/000",
        args,
        "Mean over seeds. The paper prints curves without numbers, and neither depth nor learning rate.",
    )
    rows, trees, seeds = (3_000, TREES, 1) if args.quick else (100_000, TREES, args.seeds)
    data = {name: part(name, rows) for name in FIGURES}
    sizes = {name: len(loaded.train.y) for name, loaded in data.items()}
    run.set(rows=sizes, trees=trees, depth=DEPTH, learning_rate=RATE, bins=BINS, seeds=seeds)
    for loaded in data.values():
        run.use(loaded.train)
    by_table = measure(data, trees, seeds, args.threads)
    head = ["method, epsilon", "after 1 tree", "least", "at tree", f"after {trees}"]
    for name, losses in by_table.items():
        run.table(f"{FIGURES[name]}: {name}, log loss on test rows", head, table(losses))
    draw(run, by_table)
    conclude(run, by_table)
    run.write({"losses": by_table})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
