"""Ways to treat missing values, of the slides papers/001 (SecureBoost; missing values in trees).

    vfxgb bench papers missing [--quick] [--seeds 3] [--threads 2] [--out FOLDER]

The slides name three ways: a default direction, predictive value imputation, and probabilistic imputation. Here:

    learned                     each split learns a direction for missing values (XGBoost's way)
    mean, median, mode          each party fills its columns from its training rows
    regression                  each party guesses a missing value from the row's other values at this party
    probabilistic               trained as learned; at prediction both branches, weighted by cover
    conditional                 the same, weighted by the row's other values at the party as well

on tables as they are, with the gaps that they have, and after further cells were removed: at random, or the higher a
value the more often (a cell whose value is the share r of its column from below goes with probability 2 r x rate).
Training and test rows lose cells alike. A seed draws rows, and which cells go; it is the same for every way.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from numpy.typing import NDArray
from trained import model_of

from vfxgb.bench.datasets import DATA_VARIABLE, Loaded
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.data.table import Table
from vfxgb.metric import make_metric

MINUTES = (0.3, 2.0)
WAYS = ("learned", "mean", "median", "mode", "regression", "probabilistic", "conditional")
TABLES = ("give_credit", "nomao", "adult", "default_credit")
RATES = (0.1, 0.3, 0.5)
NATURAL, AT_RANDOM, HIGH_ONES = "as it is", "at random", "high values"
ROWS, QUICK_ROWS = 4_000, 1_500
TREES, QUICK_TREES = 25, 10
DEPTH = 4
# What was measured so far, in the folder of the results.
UNFINISHED = "missing_unfinished"
# Differences of AUC below this are called none.
EVEN = 0.001

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Gaps:
    """How cells are removed: a kind, and which share of them."""

    kind: str
    rate: float

    @property
    def name(self) -> str:
        """What tables call this way of losing values."""
        return self.kind if self.kind == NATURAL else f"{self.kind}, {self.rate:.0%}"


def load(name: str) -> Loaded:
    """A table of VFXGB_DATA; nomao's first half of columns is the active party's."""
    if name != "nomao":
        return common.rows_of(name)
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder or "") / "nomao.csv.gz"
    if not folder or not path.is_file():
        rng = np.random.default_rng(0)
        made = rng.normal(size=(QUICK_ROWS * 2, 8)).astype(np.float32)
        made[rng.random(made.shape) < 0.28] = np.nan
        labels = (np.nansum(made, axis=1) > 0).astype(np.float32)
        return Loaded(made, labels, 4, f"generated table in place of nomao (set {DATA_VARIABLE} for the real one)")
    matrix = Table.read(path).matrix()
    X, n_active = np.ascontiguousarray(matrix[:, 1:]), (matrix.shape[1] - 1) // 2
    shape = f"{len(X):,} x ({n_active}+{X.shape[1] - n_active})"
    return Loaded(X, matrix[:, 0].copy(), n_active, f"{path.name}, {shape}")


def without_cells(X: Array, gaps: Gaps, seed: int) -> Array:
    """A copy of X from which cells are removed."""
    rng = np.random.default_rng([seed, int(1000 * gaps.rate), len(gaps.kind)])
    chance = np.full(X.shape, gaps.rate)
    if gaps.kind == HIGH_ONES:
        for column in range(X.shape[1]):
            # Equal values in any order, so that columns of few values lose as many cells as others.
            order = np.lexsort((rng.random(len(X)), np.nan_to_num(X[:, column])))
            chance[order, column] = 2.0 * gaps.rate * np.arange(len(X)) / len(X)
    kept = X.copy()
    kept[rng.random(X.shape) < chance] = np.nan
    return kept


def with_values(data: Loaded, n_train: int) -> Loaded:
    """The columns that have a value in some training row: without one nothing can be imputed, and no split tests it."""
    kept = ~np.isnan(data.X[:n_train]).all(axis=0)
    n_active = int(kept[: data.n_active].sum())
    return Loaded(np.ascontiguousarray(data.X[:, kept]), data.y, n_active, data.source)


def scores(data: Loaded, n_train: int, way: str, trees: int, threads: int) -> dict[str, float]:
    """AUC and log loss on the rows after the first `n_train`."""
    train = data.head(n_train)
    model = model_of(train, "plain", {}, trees, threads, max_depth=DEPTH, base_score=None, missing_strategy=way)
    model.fit(train.X, train.y, verbose=False)
    assert_real_trees(model.model_.active_share, f"{data.source} with {way}")
    probability, y = model.predict_proba(data.X[n_train:])[:, 1], data.y[n_train:]
    return {name: make_metric(name)(y, probability) for name in ("auc", "logloss")}


def cases(quick: bool) -> list[Gaps]:
    """The gaps that are tried."""
    rates = RATES[1:2] if quick else RATES
    return [Gaps(NATURAL, 0.0), *(Gaps(kind, rate) for kind in (AT_RANDOM, HIGH_ONES) for rate in rates)]


def measure(
    tables: dict[str, Loaded], quick: bool, seeds: int, threads: int, known: "Results"
) -> Iterator[tuple[str, str, dict[str, list[dict[str, float]]]]]:
    """(table, gaps, scores of each way by seed), without those that are known."""
    rows, trees, asked = (QUICK_ROWS, QUICK_TREES, cases(True)) if quick else (ROWS, TREES, cases(False))
    left = {name: [gaps for gaps in asked if gaps.name not in known.get(name, {})] for name in tables}
    steps = common.Steps(float(seeds * sum(len(left[name]) * (data.X.shape[1] + 20) for name, data in tables.items())))
    for name, data in tables.items():
        train = min(rows, 2 * len(data.y) // 3)
        for gaps in left[name]:
            by_way: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
            for seed in range(seeds):
                steps.begin(f"{name}, {gaps.name}, seed {seed}", data.X.shape[1] + 20.0)
                drawn = np.random.default_rng(seed).permutation(len(data.y))[: train + train // 2]
                part = common.choose(data, drawn)
                holed = Loaded(without_cells(part.X, gaps, seed), part.y, part.n_active, part.source)
                holed = with_values(holed, train)
                for way in WAYS:
                    by_way[way].append(scores(holed, train, way, trees, threads))
            yield name, gaps.name, by_way


Results = dict[str, dict[str, dict[str, list[dict[str, float]]]]]


def mean(runs: Sequence[dict[str, float]], metric: str = "auc") -> float:
    """The mean of a metric over seeds."""
    return float(np.mean([run[metric] for run in runs]))


def rows_of(by_gaps: dict[str, dict[str, list[dict[str, float]]]]) -> list[list[str]]:
    """AUC of every way, mean and standard deviation over seeds."""
    return [
        [gaps, *(f"{mean(by_way[way]):.4f} +- {np.std([run['auc'] for run in by_way[way]]):.4f}" for way in WAYS)]
        for gaps, by_way in by_gaps.items()
    ]


def differences(results: Results, kind: str, way: str, other: str, metric: str = "auc") -> list[float]:
    """Over tables and rates of a kind of gaps: how much a way is above another one, means over seeds."""
    return [
        mean(by_way[way], metric) - mean(by_way[other], metric)
        for by_gaps in results.values()
        for gaps, by_way in by_gaps.items()
        if gaps.startswith(kind)
    ]


def summary(results: Results, metric: str) -> list[list[str]]:
    """Per kind of gaps the mean difference of each way from learned directions."""
    rows = []
    for kind in (NATURAL, AT_RANDOM, HIGH_ONES):
        cells = [f"{np.mean(differences(results, kind, way, 'learned', metric)):+.4f}" for way in WAYS[1:]]
        rows.append([kind, *cells])
    return rows


def compared(results: Results, way: str, other: str) -> tuple[int, int, int, float]:
    """(cells in which a way is above another by more than EVEN, below by more, all cells, mean difference of AUC)."""
    every = [d for kind in (NATURAL, AT_RANDOM, HIGH_ONES) for d in differences(results, kind, way, other)]
    above, below = sum(d > EVEN for d in every), sum(d < -EVEN for d in every)
    return above, below, len(every), float(np.mean(every))


def told(results: Results, way: str, other: str) -> str:
    """The comparison in words."""
    above, below, count, difference = compared(results, way, other)
    return (
        f"{way} is above {other} in {above} of {count} cells and below in {below} (by more than {EVEN:g} of AUC); on "
        f"average {difference:+.4f}"
    )


def answer(results: Results, way: str, other: str) -> bool | str:
    """Whether a way is better than another: yes, no, or in part."""
    above, below, _, difference = compared(results, way, other)
    if difference > 0 and above > 2 * below:
        return True
    return "in part" if above > below else False


def best(results: Results, kind: str) -> str:
    """The way of the highest mean AUC in a kind of gaps."""
    return max(WAYS, key=lambda way: float(np.mean(differences(results, kind, way, "learned"))))


def conclude(run: common.Run, results: Results) -> None:
    """The verdict, from the numbers."""
    simple = max(("mean", "median", "mode"), key=lambda way: compared(results, way, "learned")[3])
    run.found(
        "Default direction: a learned direction does as well as imputation.",
        not any(answer(results, way, "learned") is True for way in ("mean", "median", "mode", "regression")),
        f"{told(results, simple, 'learned')} (the best of mean, median and mode); "
        f"{told(results, 'regression', 'learned')}.",
    )
    run.found(
        "Predictive value imputation: a model's guess is better than one number per column.",
        answer(results, "regression", simple),
        f"{told(results, 'regression', simple)}.",
    )
    run.found(
        "Probabilistic imputation: both branches are better than one.",
        answer(results, "probabilistic", "learned"),
        f"{told(results, 'probabilistic', 'learned')}.",
    )
    run.found(
        "Probabilistic imputation should use what is observed of the row.",
        answer(results, "conditional", "probabilistic"),
        f"{told(results, 'conditional', 'probabilistic')}; from learned directions: "
        f"{told(results, 'conditional', 'learned')}. Log loss against probabilistic: "
        + ", ".join(
            f"{np.mean(differences(results, kind, 'conditional', 'probabilistic', 'logloss')):+.4f} {kind}"
            for kind in (NATURAL, AT_RANDOM, HIGH_ONES)
        )
        + ".",
    )
    run.text(
        "The highest mean AUC: "
        + "; ".join(f"{kind}: {best(results, kind)}" for kind in (NATURAL, AT_RANDOM, HIGH_ONES))
        + "."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all tables."""
    args = common.parse(common.parser(__doc__, seeds=3), argv)
    seeds = 1 if args.quick else args.seeds
    run = common.Run(
        "missing",
        "Missing values: a direction, a guess, or both branches",
        "the second part of papers/001, which names three ways and measures none",
        args,
        "Test AUC, mean and standard deviation over seeds; each seed draws rows and gaps, the same for every way. "
        "Removed at random: every cell alike; high values: the higher, the more often. Gaps that a table has remain. "
        "Columns that are left without any value in training are taken out, for every way.",
    )
    run.set(
        rows=QUICK_ROWS if args.quick else ROWS,
        trees=QUICK_TREES if args.quick else TREES,
        depth=DEPTH,
        seeds=seeds,
        protocol="plain",
    )
    data: dict[str, Any] = {name: load(name) for name in TABLES}
    for loaded in data.values():
        run.use(loaded)
    # An interrupted run goes on where it stood, if it is the same.
    same = {"settings": run.settings, "data": run.data, "commit": run.machine["commit"]}
    kept = common.read_document(run.out, UNFINISHED)
    results: Results = kept["tables"] if kept.get("run") == same else {name: {} for name in data}
    for name, gaps, by_way in measure(data, args.quick, seeds, args.threads, results):
        results[name][gaps] = by_way
        common.write_document(run.out, UNFINISHED, {"run": same, "tables": results})
    for name, by_gaps in results.items():
        lacking = float(np.isnan(data[name].X).mean())
        run.table(f"{name} ({lacking:.1%} of its cells are missing as it is)", ["removed", *WAYS], rows_of(by_gaps))
    run.table("Mean difference of AUC from learned directions", ["removed", *WAYS[1:]], summary(results, "auc"))
    run.table("The same of log loss (below 0 is better)", ["removed", *WAYS[1:]], summary(results, "logloss"))
    conclude(run, results)
    run.write({"tables": results})
    (run.out / f"{UNFINISHED}.json").unlink()
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
