"""The three ways with missing values on default_credit, 0 to 50% of all cells removed at random: test AUC.

    VFXGB_DATA=<folder> python bench/e2e/missing.py [--repeats 5] [--trees 50] [--depth 3] [--out docs/results]

    learned        a default direction per split (XGBoost's way)
    mean, median, mode    each party fills its own columns from its training rows
    probabilistic  trained as learned; at prediction both branches, weighted by cover

Training and test rows (the fixed split of 24,000 / 6,000) lose cells alike. Each number is the mean over `repeats`
random patterns of removal, the same for every strategy, with the standard deviation over them. Writes missing.md.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.data.table import Table
from vfxgb.metric import make_metric

STRATEGIES = ("learned", "mean", "median", "mode", "probabilistic")
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
NAME = "default_credit"
ROOT = Path(__file__).resolve().parent.parent.parent
Array = NDArray[np.float32]


def load(folder: Path) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Features, labels, and which rows are for testing."""
    table = Table.read(folder / f"{NAME}.csv.gz").matrix()
    test = np.zeros(len(table), dtype=bool)
    test[np.loadtxt(folder / f"{NAME}.fate_test_rows.txt", dtype=int)] = True
    return table[:, 1:], table[:, 0], test


def auc(X: Array, y: Array, test: NDArray[np.bool_], strategy: str, args: argparse.Namespace) -> float:
    # The split of the papers: the guest holds PAY_6, bills and payments, the host the rest.
    parties = {"host": list(range(10)), "guest": list(range(10, 23))}
    model = VFXGBClassifier(
        n_estimators=args.trees,
        max_depth=args.depth,
        max_bin=32,
        missing_strategy=strategy,
        parties=parties,
        active="guest",
        protocol="plain",
        n_jobs=args.threads,
    ).fit(X[~test], y[~test], verbose=False)
    assert_real_trees(model.model_.active_share, f"{NAME} with {strategy}")
    return make_metric("auc")(y[test], model.predict_proba(X[test])[:, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("repeats", 5), ("trees", 50), ("depth", 3), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    args = parser.parse_args()
    folder = os.environ.get("VFXGB_DATA")
    if not folder:
        sys.exit("VFXGB_DATA is not set: it names the folder with default_credit.csv.gz")
    X, y, test = load(Path(folder))
    lines = [
        (
            f"{NAME}: test AUC, {args.trees} trees of depth {args.depth}, 32 bins, mean and standard deviation of "
            f"{args.repeats} patterns (bench/e2e/missing.py)"
        ),
        "",
        "| removed | " + " | ".join(STRATEGIES) + " |",
        "|---" * (1 + len(STRATEGIES)) + "|",
    ]
    print("\n".join(lines))
    for share in SHARES:
        aucs = np.empty((args.repeats if share else 1, len(STRATEGIES)))
        for repeat in range(len(aucs)):
            holes = X.copy()
            holes[np.random.default_rng(repeat).random(X.shape) < share] = np.nan
            aucs[repeat] = [auc(holes, y, test, strategy, args) for strategy in STRATEGIES]
        cells = (f"{m:.4f} +- {s:.4f}" for m, s in zip(aucs.mean(axis=0), aucs.std(axis=0), strict=True))
        lines.append(f"| {share:.0%} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "missing.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
