"""Figures 4 and 12 of papers/002 (MaskedXGBoost): test AUC against epsilon, and loss tree by tree.

    vfxgb bench papers dp [--quick] [--seeds 5] [--threads 2] [--out FOLDER]
    python bench/papers/dp.py [--data NAME ...] [--methods NAME ...] [--rows N] [--trees 60] ...

Sixty trees of depth 6, as in the paper, on its six tables, with two thirds of their rows; the others are test rows.
What epsilon means is the method's and stands in competitors.py; in one more plot it is the same for all, by advanced
composition (section 6.2). Trainings are shared with masked_training and masked_ablation and kept on disk (cells.py).
Those by `masked` draw the errors of its sums (masked_sums.py); trainings by the protocol itself stand next to them.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import cells
import common
import numpy as np
from competitors import METHODS, WHOLE, Method, Settings
from trained import BINS, DEPTH, PAPER_NAMES, RATE, Part

from vfxgb.errors import InsecureProtocolWarning

MINUTES = (0.7, 42.0)
DATA = tuple(PAPER_NAMES)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
WHOLE_EPSILONS = (0.5, 2.0, 8.0)
# The epsilons of the plot of losses.
SHOWN = ("1", "8")
MASKED, ROOT = "masked", "masked, root noise"
# By `masked` itself: one epsilon, and so many rows that a training takes less than a minute on a core.
ITSELF_EPSILON = 8.0
ITSELF_ROWS: dict[str, int | None] = {"give_credit": 80_000, "nomao": 6_000}
Cells = dict[str, dict[str, Any]]
Summary = dict[str, dict[str, dict[str, tuple[float, float, int]]]]


def candidates_of(data: Part) -> int:
    """How many candidates the passive party has at most: cuts of each column, twice where values are missing."""
    count = 0
    for column in data.train.X[:, data.train.n_active :].T:
        missing = np.isnan(column)
        cuts = min(BINS, len(np.unique(column[~missing]))) - 1
        count += cuts * (2 if missing.any() else 1)
    return count


def settings_of(table: str, rows: int | None, trees: int) -> Settings:
    """What the cells of a table have in common."""
    data = cells.rows_of(table, rows)
    return Settings(len(data.train.y), trees, candidates_of(data))


def wanted(
    settings: Mapping[str, Settings],
    rows: int | None,
    methods: Mapping[str, Method],
    epsilons: Sequence[float],
    seeds: int,
) -> Iterator[tuple[str, cells.Training]]:
    """(table|method|epsilon|seed, its training); what does not vary is trained once."""
    for table, sizes in settings.items():
        for name, method in methods.items():
            for epsilon in epsilons if method.varies else epsilons[:1]:
                params = method.params(epsilon, sizes)
                for seed in range(seeds if method.varies else 1):
                    one = cells.training(table, rows, method.protocol, params, sizes.trees, seed)
                    yield f"{table}|{name}|{epsilon:g}|{seed}", one


def itself(rows: Mapping[str, int | None], trees: int, seeds: int) -> Iterator[tuple[str, cells.Training]]:
    """(table|how|epsilon|seed, its training): `masked` itself and by its sums, on so many rows of each table."""
    for table, some in rows.items():
        params = METHODS[MASKED].params(ITSELF_EPSILON, settings_of(table, some, trees))
        for how in ("itself", "sums"):
            for seed in range(seeds):
                one = cells.training(table, some, "masked", params, trees, seed, itself=how == "itself")
                yield f"{table}|{how}|{ITSELF_EPSILON:g}|{seed}", one


def measured_cells(asked: Mapping[str, cells.Training], found: Mapping[cells.Training, Any]) -> Cells:
    """What a page and its file hold of each cell."""
    measured: Cells = {}
    for key, one in asked.items():
        run = found[one]
        last = {"auc": run["auc"][-1], "passive_splits": run["passive_splits"]}
        measured[key] = {"params": dict(one.params), "seconds": run["seconds"], **last}
        if shows_loss(*key.split("|")[2:]):
            measured[key]["logloss"] = run["logloss"]
    return measured


def summary(measured: Cells) -> Summary:
    """data -> method -> epsilon -> mean AUC, its standard deviation, number of seeds."""
    grouped: dict[str, dict[str, dict[str, list[float]]]] = {}
    for key, cell in measured.items():
        name, method, epsilon, _ = key.split("|")
        grouped.setdefault(name, {}).setdefault(method, {}).setdefault(epsilon, []).append(cell["auc"])
    return {
        name: {
            method: {e: (float(np.mean(v)), float(np.std(v)), len(v)) for e, v in by.items()}
            for method, by in methods.items()
        }
        for name, methods in grouped.items()
    }


def tables(run: common.Run, by_table: Summary, methods: Mapping[str, Method], what: str) -> None:
    """What epsilon is spent on, and a table of AUC for each of the data."""
    spent = [[name, method.epsilon] for name, method in methods.items()]
    run.table(f"What epsilon is spent on{what}", ["method", ""], spent, left=2)
    for name, known in by_table.items():
        epsilons = sorted({e for by in known.values() for e in by}, key=float)
        rows = []
        for method, by in known.items():
            values = [by.get(e) if methods[method].varies else next(iter(by.values())) for e in epsilons]
            rows.append([method, *("" if v is None else f"{v[0]:.4f} ± {v[1]:.4f} ({v[2]})" for v in values)])
        title = f"{name} ({PAPER_NAMES.get(name, name)}): AUC by epsilon{what}, mean ± deviation (seeds)"
        run.table(title, ["", *epsilons], rows)


def grid(count: int) -> tuple[int, int]:
    """Rows and columns of panels: three next to each other."""
    return -(-count // 3), min(count, 3)


def panels(axes: Any, names: Sequence[str]) -> Iterator[tuple[Any, str]]:
    """(axis, name); what remains of the last row is left empty but for the first of these, where the legend goes."""
    flat = list(axes.ravel())
    for axis in flat[len(names) :]:
        axis.set_axis_off()
    return zip(flat, names, strict=False)


def legend(axes: Any, size: int = 7) -> None:
    """One legend for all panels, right of the first row."""
    axes[0][-1].legend(fontsize=size, loc="upper left", bbox_to_anchor=(1.02, 1))


def draw(run: common.Run, by_table: Summary, methods: Mapping[str, Method], what: str, axis_name: str) -> None:
    """AUC against epsilon, a panel for each of the data."""
    place = {method: i for i, method in enumerate(methods)}
    with run.plot(f"{run.name}_{what}", *grid(len(by_table)), (4.2, 3.3)) as axes:
        for axis, name in panels(axes, list(by_table)):
            for method, by in by_table[name].items():
                known = sorted((float(e), v) for e, v in by.items())
                means, spread = [v[0] for _, v in known], [v[1] for _, v in known]
                if methods[method].varies:
                    style = common.line_style(place[method])
                    axis.errorbar([e for e, _ in known], means, spread, label=method, capsize=2, **style)
                else:
                    axis.axhline(means[0], color="black", linestyle="--", label=method)
            axis.set(title=name, xlabel=axis_name, ylabel="test AUC")
        legend(axes)


def shows_loss(epsilon: str, seed: str) -> bool:
    """Whether the loss of a cell is drawn tree by tree; that of others is not kept."""
    return epsilon in SHOWN and seed == "0"


def draw_losses(run: common.Run, measured: Cells, names: Sequence[str]) -> None:
    """Loss of the first seed tree by tree, a panel for each of the data."""
    with run.plot(f"{run.name}_loss", *grid(len(names)), (4.2, 3.3)) as axes:
        for axis, name in panels(axes, names):
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
        legend(axes, 6)


def conclude(run: common.Run, by_table: Summary, whole: Summary) -> None:
    """What the AUCs say about the paper's sentences; only methods that were run are compared."""

    def means(method: str, epsilon: str) -> dict[str, float]:
        found = {name: by[method] for name, by in by_table.items() if method in by}
        return {
            name: by.get(epsilon, next(iter(by.values())))[0]
            for name, by in found.items()
            if epsilon in by or not METHODS[method].varies
        }

    low, high = (f"{e:g}" for e in (min(EPSILONS), max(EPSILONS)))
    low = low if means(MASKED, low) else SHOWN[0]
    better = differences(means(MASKED, high), means("XGBoost-LDP", high))
    if better:
        run.found(
            "MaskedXGBoost is far better than XGBoost-LDP at equal epsilon.",
            answer(better, 0.0),
            f"In AUC, by {listed(better)} at {high}; not at equal privacy. Its epsilon is that of one message, given "
            "the rows of a node, and does not hold against the passive party (E41); splits of the active party and "
            "leaves are exact.",
        )
    for method in (MASKED, ROOT, "masked, per row"):
        rise = differences(means(method, high), means(method, low))
        if rise:
            short = differences(means(method, high), means("plain", high))
            run.found(
                f"Its AUC rises with epsilon, towards that without privacy ({method}).",
                answer(rise, 0.005),
                f"By {listed(rise)}, {low} to {high}; next to plain at {high}: {listed(short)}.",
            )
    for epsilon in (low, high):
        adapted = differences(means(MASKED, epsilon), means(ROOT, epsilon))
        if adapted:
            run.found(
                f"Noise adapted to nodes corrects errors (section 6.3), epsilon {epsilon}.",
                answer(adapted, 0.002),
                f"Against the noise of the root in every node: {listed(adapted)}.",
            )
    own = differences(means("masked, own noise", high), means("XGBoost-LDP", high))
    if own:
        run.found(
            "With noise that does hold against the passive party it would still be better.",
            answer(own, 0.05),
            f"By {listed(own)} at {high}: of the kind of XGBoost-LDP, as the noise is.",
        )
    once = differences(means("ldp", SHOWN[0]), means("XGBoost-LDP", SHOWN[0]))
    if once:
        run.found(
            "Not in the paper: labels randomised once (ldp).",
            "better than noise on gradients" if min(once.values()) > 0 else "see the tables",
            f"AUC over XGBoost-LDP's at the same epsilon for the whole training: {listed(once)} at {SHOWN[0]} (E55).",
        )
    common_axis = {
        name: by[MASKED][high][0] - by["ldp"][high][0]
        for name, by in whole.items()
        if high in by.get(MASKED, {}) and high in by.get("ldp", {})
    }
    if common_axis:
        run.found(
            "It is the best when epsilon is counted for the training, by advanced composition (section 6.2).",
            answer(common_axis, 0.0),
            f"Against labels randomised once, at {high} for the whole training: {listed(common_axis)}. Each of its "
            "messages is left with so little that every sum of the passive party drowns (E42), however noise is "
            "adapted.",
        )


def differences(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    """Table -> how much more the first has, where both have something."""
    return {name: left[name] - right[name] for name in left if name in right}


def answer(values: Mapping[str, float], least: float) -> bool | str:
    """Whether all are above `least`; "in part" if some are."""
    return min(values.values()) > least or ("in part" if max(values.values()) > least else "no")


def listed(values: Mapping[str, float]) -> str:
    """Differences by table, in words."""
    return ", ".join(f"{value:+.3f} on {name}" for name, value in values.items())


def passive_splits(run: common.Run, measured: Cells) -> None:
    """A table of the passive party's share of all splits, and what follows."""
    grouped: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, cell in measured.items():
        table, method, epsilon, _ = key.split("|")
        if method == "plain" or METHODS[method].protocol == "masked":
            grouped.setdefault((table, method), {}).setdefault(epsilon, []).append(cell["passive_splits"])
    epsilons = sorted({epsilon for by in grouped.values() for epsilon in by}, key=float)
    rows = [
        [*name, *(f"{np.mean(by[e]):.2f}" if e in by else f"{np.mean(next(iter(by.values()))):.2f}" for e in epsilons)]
        for name, by in grouped.items()
    ]
    run.table("Share of all splits that are the passive party's, by epsilon", ["table", "method", *epsilons], rows, 2)
    rises = {
        table: float(np.mean(by[epsilons[-1]]) - np.mean(by[epsilons[0]]))
        for (table, method), by in grouped.items()
        if method == ROOT and len(by) > 1
    }
    if rises:
        run.found(
            "Not in the paper: where noise is largest, the passive party's candidates drop out.",
            answer(rises, 0.05),
            f"Its share of splits rises by {listed(rises)} from epsilon {epsilons[0]} to {epsilons[-1]} with the noise "
            "of the root. A sum of hessians that noise makes negative, on either side, is no candidate, so that nodes "
            "are split by the active party, whose sums are exact. Less noise lets false candidates win: AUC need not "
            "rise with epsilon.",
        )


def compare_itself(run: common.Run, measured: Cells, sizes: Mapping[str, int]) -> None:
    """A table of trainings by `masked` itself, next to those by its sums."""
    rows, off = [], {}
    for table, by in summary(measured).items():
        (own,), (sums,) = by["itself"].values(), by["sums"].values()
        off[table] = own[0] - sums[0]
        seconds = [cell["seconds"] for key, cell in measured.items() if key.startswith(f"{table}|itself|")]
        shown = [f"{v[0]:.4f} ± {v[1]:.4f} ({v[2]})" for v in (own, sums)]
        rows.append([table, f"{sizes[table]:,}", *shown, f"{np.mean(seconds):.0f}"])
    head = ["table", "training rows", "masked itself", "errors drawn at its sums", "seconds of the first"]
    run.table(f"By the protocol itself, epsilon {ITSELF_EPSILON:g}: AUC, mean ± deviation (seeds)", head, rows)
    run.found(
        "Not in the paper: errors drawn at the sums stand for the protocol.",
        max(abs(value) for value in off.values()) < 0.01,
        f"Mean AUC of `masked` itself over theirs: {listed(off)}.",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Train what is missing, write tables and plots."""
    parser = common.parser(__doc__, seeds=5)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rows", type=int, default=None, help="training rows (two thirds of each table)")
    parser.add_argument("--trees", type=int, default=60)
    args = common.parse(parser, argv)
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    epsilons: Sequence[float] = EPSILONS
    whole_epsilons: Sequence[float] = WHOLE_EPSILONS
    by_itself = {table: args.rows or ITSELF_ROWS.get(table) for table in args.data}
    if args.quick:
        args.data, args.seeds, args.rows, args.trees = args.data[1:3], 1, 1_000, 10
        epsilons, whole_epsilons, by_itself = (1.0, 8.0), (8.0,), {args.data[0]: 500}
    run = common.Run(
        "dp",
        "What noise costs: AUC against epsilon",
        "figures 4 and 12 of papers/002",
        args,
        "Test AUC after the last tree. The same rows for all methods and seeds; `plain` does not depend on the seed. "
        "The paper prints curves without numbers, ten runs each. Its Higgs has 200,000 rows, and its Nomao 10 of the "
        "118 columns, which it does not name. Trainings by `masked` draw the errors of its sums; the last table has "
        "some by the protocol itself.",
    )
    settings = {table: settings_of(table, args.rows, args.trees) for table in args.data}
    sizes = {table: settings_of(table, some, args.trees).rows for table, some in by_itself.items()}
    methods = {name: METHODS[name] for name in args.methods}
    asked = dict(wanted(settings, args.rows, methods, epsilons, args.seeds))
    asked_whole = dict(wanted(settings, args.rows, WHOLE, whole_epsilons, args.seeds))
    asked_itself = dict(itself(by_itself, args.trees, args.seeds))
    every = [*asked.values(), *asked_whole.values(), *asked_itself.values()]
    found = cells.train(every, args.out, args.threads)
    measured, measured_whole = measured_cells(asked, found), measured_cells(asked_whole, found)
    run.set(trees=args.trees, depth=DEPTH, learning_rate=RATE, bins=BINS)
    run.set(training_rows={table: sizes.rows for table, sizes in settings.items()})
    run.set(candidates={table: sizes.candidates for table, sizes in settings.items()})
    for table in args.data:
        run.use(cells.rows_of(table, args.rows).train)
    known, whole = summary(measured), summary(measured_whole)
    tables(run, known, methods, "")
    draw(run, known, methods, "auc", "epsilon (what it is spent on differs)")
    tables(run, whole, WHOLE, ", for the whole training")
    draw(run, whole, WHOLE, "whole", "epsilon of the whole training")
    draw_losses(run, measured, list(known))
    conclude(run, known, whole)
    passive_splits(run, measured)
    measured_itself = measured_cells(asked_itself, found)
    compare_itself(run, measured_itself, sizes)
    document = {"cells": measured, "whole": measured_whole, "itself": measured_itself}
    run.write({**document, "table_settings": {table: asdict(sizes) for table, sizes in settings.items()}})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
