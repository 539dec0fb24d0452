"""AUC on tables with columns of text, next to xgboost's with enable_categorical.

    python bench/e2e/categories.py [--tables bank,adult] [--seeds 3] [--trees 60] [--depth 5]
        [--json docs/results/categories.json]

The texts of the columns are rebuilt from the encodings beside the data sets; set VFXGB_DATA to their folder. Two thirds
of the rows train. Both sides get the same frames and parameters, and each makes its own cut points. Columns go to the
active and the passive party in turn.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost

from vfxgb import VFXGBClassifier
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.metric import make_metric

LIMIT = 0.001


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The table with its texts as categories, and its labels."""
    folder = Path(os.environ["VFXGB_DATA"])
    table = pd.read_csv(folder / f"{name}.csv.gz")
    for column, codes in json.loads((folder / f"{name}.encoding.json").read_text())["categorical"].items():
        texts = {code: text for text, code in codes.items()}
        table[column] = table[column].map(texts).astype("category")
    return table.drop(columns="label"), table["label"].to_numpy()


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    return float(make_metric("auc")(labels, scores))


def compare(X: pd.DataFrame, y: np.ndarray, seed: int, trees: int, depth: int) -> dict[str, float]:
    """The AUC of both sides on a third of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [len(y) * 2 // 3])
    shared: dict[str, Any] = {"n_estimators": trees, "max_depth": depth, "learning_rate": 0.1, "n_jobs": 1}
    theirs = xgboost.XGBClassifier(enable_categorical=True, tree_method="hist", **shared)
    theirs.fit(X.iloc[train], y[train])
    names = list(X.columns)
    parties = {"bank": names[0::2], "shop": names[1::2]}
    ours = VFXGBClassifier(parties=parties, active="bank", protocol="plain", **shared)
    ours.fit(X.iloc[train], y[train], verbose=False)
    assert_real_trees(ours.model_.active_share, f"seed {seed}")
    pooled = ours.model_.pooled
    return {
        "xgboost": auc(y[test], theirs.predict_proba(X.iloc[test])[:, 1]),
        "vfxgb": auc(y[test], ours.predict_proba(X.iloc[test])[:, 1]),
        "splits": int((pooled.feature >= 0).sum()),
        "by_categories": len(pooled.right_codes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="bank,adult")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = {}
    for name in given.tables.split(","):
        X, y = read(name)
        runs = [compare(X, y, seed, given.trees, given.depth) for seed in range(given.seeds)]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        found[name] = {"rows": len(y), "runs": runs, "mean": mean, "difference": mean["vfxgb"] - mean["xgboost"]}
        print(
            f"{name}: xgboost {mean['xgboost']:.5f}, vfxgb {mean['vfxgb']:.5f}, {found[name]['difference']:+.5f}",
            flush=True,
        )
    settings = {"seeds": given.seeds, "trees": given.trees, "depth": given.depth, "xgboost": xgboost.__version__}
    if given.json:
        given.json.write_text(
            json.dumps({"machine": machine_facts(), "settings": settings, "tables": found}, indent=1) + "\n"
        )
    worst = max(abs(table["difference"]) for table in found.values())
    if worst > LIMIT:
        raise SystemExit(f"found a difference of {worst:.5f}, wanted at most {LIMIT}")


if __name__ == "__main__":
    main()
