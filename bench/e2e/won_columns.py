"""How much honest runs of `sealed` win, what a limit on it costs in accuracy, and what is left to tell of the table.

    python bench/e2e/won_columns.py [--rows 6000] [--limits 1 0.5 0.3] [--json docs/results/won_columns.json]

Trees of depth 6 on rows of four tables, their columns given to the active and the passive party in turn. A limit is
`max_won_columns`: the share of the passive party's candidate splits whose rows may be told. After 20, 50 and 100 trees:
the splits that the passive party has won, the share of its candidates among them, and the AUC on other rows. After the
last tree the run is attacked by `row-bits` and `row-bits-cuts`. Set VFXGB_DATA to the folder of the data sets.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from split_rules import read

from vfxgb import VFXGBClassifier
from vfxgb.audit.auditor import view_of
from vfxgb.audit.row_comparisons import told_by
from vfxgb.audit.truth import Truth
from vfxgb.bench.machine import machine_facts
from vfxgb.lattice import LatticeOffer

RESULTS = Path(__file__).resolve().parent.parent.parent / "docs" / "results"
TABLES = ("give_credit", "default_credit", "bank", "adult")
TREES = (20, 50, 100)
TEST_ROWS = 6000
SETTINGS: dict[str, Any] = {"max_depth": 6, "learning_rate": 0.1, "max_bin": 32}


def measure(name: str, rows: int, limit: float) -> dict[str, Any]:
    """One training of one table under one limit."""
    X, y = read(name)
    order = np.random.default_rng(1).permutation(len(X))[: rows + TEST_ROWS]
    X, y = X[order], y[order]
    parties = {"bank": list(range(0, X.shape[1], 2)), "shop": list(range(1, X.shape[1], 2))}
    clf = VFXGBClassifier(
        n_estimators=TREES[-1],
        **SETTINGS,
        protocol="sealed",
        protocol_params={"max_won_columns": limit},
        parties=parties,
        active="bank",
        eval_metric="auc",
        record=True,
    )
    clf.fit(X[:rows], y[:rows], eval_set=[(X[rows:], y[rows:])], verbose=False)
    transcript = clf.transcript_
    truth = Truth(transcript)
    (offer,) = view_of(transcript, "bank", truth).messages("shop", LatticeOffer.TAG, LatticeOffer)
    (auc,) = (log["auc"] for log in clf.evals_result_.values())
    won = truth.cuts()["shop"].splits
    after = []
    for trees in TREES:
        splits = [
            split for (tree, _, _), chosen in won.items() if tree < trees for split in map(tuple, chosen.tolist())
        ]
        after.append({"trees": trees, "wins": len(splits), "columns": len(set(splits)), "auc": auc[trees - 1]})
    told = told_by(view_of(transcript, "bank", truth), "shop").sides
    findings = {finding.attack: finding for finding in clf.audit(["row-bits", "row-bits-cuts"]).findings}
    return {
        "table": name,
        "limit": limit,
        "candidates": offer.columns,
        "after": after,
        "withheld": after[-1]["wins"] - len(told),
        **{attack: finding.success for attack, finding in findings.items()},
        "guess": findings["row-bits"].guess,
        "details": [finding.detail for finding in findings.values()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 0.5, 0.3])
    parser.add_argument("--json", type=Path, default=RESULTS / "won_columns.json")
    args = parser.parse_args()
    results: list[dict[str, Any]] = []
    settings = {**SETTINGS, "rows": args.rows, "test_rows": TEST_ROWS}
    document = {"machine": machine_facts(), "settings": settings, "runs": results}
    for limit in args.limits:
        for name in TABLES:
            begun = time.process_time()
            results.append({**measure(name, args.rows, limit), "cpu_seconds": time.process_time() - begun})
            print(results[-1], flush=True)
            args.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
