"""Figures 5 and 11 of papers/002 (MaskedXGBoost): test AUC tree by tree, at several budgets.

    vfxgb bench papers masked_training [--quick] [--seeds 5] [--threads 2] [--out FOLDER]

Sixty trees of depth 6, as in the paper, on its six tables, with two thirds of their rows. What epsilon is spent on
differs by method (competitors.py); "masked" is theorem 2 with noise adapted to the rows of each node (section 6.3),
"masked, root noise" the same with the root's noise in every node, "masked, per row" a reading with far less noise; all
per message, none true against the passive party (E41, E42). The trainings are those of dp, which are not done again
(cells.py).
"""

import sys
import warnings
from collections.abc import Sequence

import cells
import common
import numpy as np
from competitors import EPSILON_PASSIVE, METHODS, Method
from dp import answer, differences, listed, settings_of, wanted
from trained import BINS, DEPTH, PAPER_NAMES, RATE

from vfxgb.errors import InsecureProtocolWarning

# After dp, whose trainings these are; alone it takes as long as they do.
MINUTES = (0.7, 1.0)
TABLES: Sequence[str] = tuple(PAPER_NAMES)
EPSILONS: Sequence[float] = (0.5, 2.0, 8.0)
TREES = 60
PLAIN, MASKED, ROOT, PER_ROW = "plain", "masked", "masked, root noise", "masked, per row"
# The paper's four, ours next to them.
COMPARED: dict[str, Method] = {
    name: METHODS[name] for name in (PLAIN, MASKED, ROOT, PER_ROW, "XGBoost-LDP", "FedXGBoost-LDP", "FederBoost", "ldp")
}
Results = dict[str, dict[str, dict[str, list[list[float]]]]]


def by_table(asked: dict[str, cells.Training], found: dict[cells.Training, dict[str, list[float]]]) -> Results:
    """Table -> method -> epsilon -> AUC after each tree, by seed."""
    results: Results = {}
    for key, one in asked.items():
        table_name, method, epsilon, _ = key.split("|")
        by = results.setdefault(table_name, {}).setdefault(method, {})
        by.setdefault(epsilon, []).append(found[one]["auc"])
    return results


def table(methods: dict[str, dict[str, list[list[float]]]], epsilons: Sequence[float]) -> list[list[str]]:
    """AUC after the last tree, mean and deviation over seeds, for each epsilon."""
    rows = []
    for name, by in methods.items():
        cells = []
        for epsilon in epsilons:
            runs = by.get(f"{epsilon:g}") or next(iter(by.values()))
            last = [run[-1] for run in runs]
            cells.append(f"{np.mean(last):.4f} ± {np.std(last):.4f}" if len(last) > 1 else f"{last[0]:.4f}")
        rows.append([name, *cells])
    return rows


def draw(run: common.Run, results: Results, epsilons: Sequence[float]) -> None:
    """A row of panels for each table, a panel for each epsilon."""
    with run.plot(run.name, len(results), len(epsilons), (4.4, 3.0)) as axes:
        for row, (name, methods) in zip(axes, results.items(), strict=True):
            for axis, epsilon in zip(row, epsilons, strict=True):
                for place, (method, by) in enumerate(methods.items()):
                    runs = np.array(by.get(f"{epsilon:g}") or next(iter(by.values())))
                    style = common.line_style(place) | {"marker": "", "linewidth": 1.2}
                    trees = np.arange(1, runs.shape[1] + 1)
                    axis.plot(trees, runs.mean(axis=0), label=method, **style)
                    axis.fill_between(trees, runs.min(axis=0), runs.max(axis=0), color=style["color"], alpha=0.15)
                axis.set(title=f"{name}, epsilon {epsilon:g}", xlabel="trees", ylabel="test AUC")
            row[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def last_auc(results: Results, table_name: str, method: str, epsilon: float) -> float:
    """Mean AUC after the last tree."""
    by = results[table_name][method]
    return float(np.mean([run[-1] for run in by.get(f"{epsilon:g}") or next(iter(by.values()))]))


def conclude(run: common.Run, results: Results, epsilons: Sequence[float]) -> None:
    """What the curves say about the paper's sentences."""
    low, high = epsilons[0], epsilons[-1]

    def last(method: str, epsilon: float) -> dict[str, float]:
        return {name: last_auc(results, name, method, epsilon) for name in results}

    for method, what in ((MASKED, "noise of each node"), (ROOT, "noise of the root"), (PER_ROW, "per row")):
        risen = differences(last(method, high), last(method, low))
        gap = differences(last(method, high), last(PLAIN, high))
        run.found(
            f"The AUC of MaskedXGBoost rises with epsilon, towards plain ({what}).",
            answer(risen, 0.005),
            f"From epsilon {low:g} to {high:g}: {listed(risen)}; next to plain at {high:g}: {listed(gap)}.",
        )
    steady = {name: roughness(results[name][MASKED][f"{high:g}"]) for name in results}
    rough = {name: roughness(results[name]["XGBoost-LDP"][f"{high:g}"]) for name in results}
    run.found(
        "Its training is stable and gradually rises, that of XGBoost-LDP is not.",
        all(steady[name] < rough[name] for name in results) or "in part",
        f"What the AUC loses on its way, tree by tree, at {high:g}: "
        + ", ".join(f"{steady[name]:.3f} against {rough[name]:.3f} on {name}" for name in results)
        + ".",
    )
    ldp = differences(last(MASKED, high), last("XGBoost-LDP", high))
    run.found(
        "MaskedXGBoost is far better than XGBoost-LDP at equal epsilon.",
        "in AUC, yes" if min(ldp.values()) > 0 else "in part",
        f"By {listed(ldp)} at {high:g}. Not at equal privacy: XGBoost-LDP's epsilon is for the whole training and "
        "true, that of MaskedXGBoost is for a message and false (E41, E43).",
    )
    ours = differences(last("ldp", high), last(MASKED, high))
    run.found(
        "Not in the paper: labels randomised once (ldp).",
        "as good or better at the largest epsilon" if min(ours.values()) > -0.01 else "see the table",
        f"Against masked at {high:g}: {listed(ours)}, with an epsilon that holds for the whole training (E55).",
    )


def roughness(runs: list[list[float]]) -> float:
    """The sum of all falls from one tree to the next; mean over seeds."""
    return float(np.mean([-np.minimum(np.diff(run), 0.0).sum() for run in runs]))


def main(argv: Sequence[str] | None = None) -> int:
    """Train what is missing, draw, conclude."""
    args = common.parse(common.parser(__doc__, seeds=5), argv)
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    run = common.Run(
        "masked_training",
        "MaskedXGBoost: AUC tree by tree",
        "figures 5 and 11 of papers/002",
        args,
        "Test AUC after each tree; means over seeds, bands from the least to the most. The paper prints curves without "
        "numbers, ten runs each. Trainings by `masked` draw the errors of its sums; dp has some by the protocol "
        "itself.",
    )
    names, epsilons, rows, trees = TABLES, EPSILONS, None, TREES
    if args.quick:
        names, epsilons, rows, trees, args.seeds = TABLES[1:3], EPSILONS[::2], 1_000, 10, 1
    settings = {name: settings_of(name, rows, trees) for name in names}
    asked = dict(wanted(settings, rows, COMPARED, epsilons, args.seeds))
    results = by_table(asked, cells.train(asked.values(), args.out, args.threads))
    run.set(trees=trees, depth=DEPTH, learning_rate=RATE, bins=BINS, passive_epsilon=EPSILON_PASSIVE)
    run.set(training_rows={name: sizes.rows for name, sizes in settings.items()})
    for name in names:
        run.use(cells.rows_of(name, rows).train)
    run.table("What epsilon is spent on", ["method", ""], [[k, m.epsilon] for k, m in COMPARED.items()], left=2)
    for name, methods in results.items():
        head = ["epsilon", *(f"{epsilon:g}" for epsilon in epsilons)]
        title = f"{name} ({PAPER_NAMES[name]}): AUC after {trees} trees"
        run.table(title, head, table(methods, epsilons))
    draw(run, results, epsilons)
    conclude(run, results, epsilons)
    run.write({"auc": results})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
