"""How much of the passive party's binned table an active party that follows the protocol works out from bits of rows.

    python bench/e2e/row_bits.py [--json docs/results/row_bits.json]

The table and the trees of bench/e2e/solve.py. Runs of `sealed` are attacked by `row-bits`, which knows no cut, and by
`row-bits-cuts`, which knows feature and cut of every split that the passive party has won; runs of `ot_shares` by
`solve`, here with room for 30,000 rows. Bins found: the share of all (row, feature) of the passive party. Pinned: the
share that can lie in one bin only, for somebody who knows the cuts.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from solve import BINS, DEPTH, PARTIES, RESULTS, problem

from vfxgb import VFXGBClassifier
from vfxgb.audit.attack import attack_by_name
from vfxgb.audit.attacks import solve
from vfxgb.audit.auditor import view_of
from vfxgb.audit.row_comparisons import pinned, possible_bins, told_by
from vfxgb.audit.truth import Truth
from vfxgb.bench.machine import machine_facts
from vfxgb.train.transcript import Transcript

SIZES = tuple((rows, trees) for rows in (1_000, 4_000, 30_000) for trees in (20, 60))
# The matrix of `solve` at 30,000 rows: 3,000 equations.
MOST_NUMBERS = 90_000_000


def recorded(protocol: str, rows: int, trees: int) -> VFXGBClassifier:
    """A recorded run."""
    clf = VFXGBClassifier(
        n_estimators=trees,
        max_depth=DEPTH,
        max_bin=BINS,
        learning_rate=0.1,
        protocol=protocol,
        parties=PARTIES,
        active="bank",
        record=True,
    )
    return clf.fit(*problem(rows), verbose=False)


def by_bits(rows: int, trees: int) -> dict[str, Any]:
    """What is found in a run of `sealed`."""
    clf = recorded("sealed", rows, trees)
    findings = {finding.attack: finding for finding in clf.audit(["row-bits", "row-bits-cuts"]).findings}
    blind, knowing = findings["row-bits"], findings["row-bits-cuts"]
    return {
        **told(clf.transcript_),
        "found": blind.success,
        "found_with_cuts": knowing.success,
        "guess": blind.guess,
        "detail": blind.detail,
        "detail_with_cuts": knowing.detail,
    }


def told(transcript: Transcript) -> dict[str, Any]:
    """What the active party was told, and what that pins down."""
    view = view_of(transcript, "bank", Truth(transcript), attack_by_name("row-bits-cuts"))
    bits, cuts = told_by(view, "shop"), view.known_cuts["shop"]
    columns = {tuple(split) for won in cuts.splits.values() for split in won.tolist()}
    return {
        "wins": len(bits.sides),
        "columns": len(columns),
        "bits_per_row": float(np.count_nonzero(bits.sides, axis=0).mean()),
        "pinned": pinned(list(possible_bins(bits, cuts))),
    }


def by_sums(rows: int, trees: int) -> dict[str, Any]:
    """What is found in a run of `ot_shares`."""
    report = recorded("ot_shares", rows, trees).audit(["solve"])
    (finding,) = report.findings
    return {
        "found": finding.success,
        "guess": finding.guess,
        "detail": finding.detail,
        "remark": report.remarks.get("solve", ""),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=RESULTS / "row_bits.json")
    args = parser.parse_args()
    solve.MOST_NUMBERS = MOST_NUMBERS
    settings = {"depth": DEPTH, "bins": BINS, "features": [len(columns) for columns in PARTIES.values()]}
    results: list[dict[str, Any]] = []
    document = {"machine": machine_facts(), "settings": settings, "runs": results}
    for rows, trees in SIZES:
        for protocol, attacked in {"sealed": by_bits, "ot_shares": by_sums}.items():
            begun = time.process_time()
            result = {"protocol": protocol, "rows": rows, "trees": trees, **attacked(rows, trees)}
            results.append({**result, "cpu_seconds": time.process_time() - begun})
            print(results[-1], flush=True)
            args.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
