"""How much of the passive party's binned table an active party that follows the protocol computes from opened sums.

    python bench/e2e/solve.py [--json docs/results/solve.json]

Columns drawn from normal distributions, 3 at the active party and 5 at the passive one; trees of depth 6, 32 bins,
learning rate 0.1. Each run is recorded and attacked by `solve` (python/vfxgb/audit/attacks/solve.py). Bins found: the
share of all (row, feature) of the passive party. Guess: the share that whoever names each feature's commonest bin has
right.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.machine import machine_facts

RESULTS = Path(__file__).resolve().parent.parent.parent / "docs" / "results"
PARTIES = {"bank": [0, 1, 2], "shop": [3, 4, 5, 6, 7]}
# Small keys: what is opened does not depend on them.
SMALL_KEYS: dict[str, Any] = {"scheme": "ou", "key_bits": 1024, "randomness": "short", "insecure": True}
PROTOCOLS: dict[str, dict[str, Any]] = {"ot_shares": {}, "batch_he": SMALL_KEYS}
# Rows, and after how many trees.
SIZES = ((1000, (5, 20, 40, 60)), (4000, (30, 60)))
DEPTH, BINS = 6, 32


def problem(rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Columns, and labels that depend on all of them."""
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, 8))
    score = X @ random.normal(size=8) + X[:, 0] * X[:, 3] + 0.5 * random.normal(size=rows)
    return X, (score > 0).astype(np.int64)


def measure(protocol: str, rows: int, trees: int) -> dict[str, Any]:
    """One run and what the attack finds in it."""
    clf = VFXGBClassifier(
        n_estimators=trees,
        max_depth=DEPTH,
        max_bin=BINS,
        learning_rate=0.1,
        protocol=protocol,
        protocol_params=PROTOCOLS[protocol],
        parties=PARTIES,
        active="bank",
        record=True,
    ).fit(*problem(rows), verbose=False)
    begun = time.perf_counter()
    (finding,) = clf.audit(["solve"]).findings
    opened = clf.ledger_.opened["shop"]
    return {
        "protocol": protocol,
        "rows": rows,
        "trees": trees,
        "equations": opened.equations,
        "found": finding.success,
        "guess": finding.guess,
        "detail": finding.detail,
        "seconds": time.perf_counter() - begun,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=RESULTS / "solve.json")
    args = parser.parse_args()
    settings = {"depth": DEPTH, "bins": BINS, "features": [len(columns) for columns in PARTIES.values()]}
    results: list[dict[str, Any]] = []
    document = {"machine": machine_facts(), "settings": settings, "runs": results}
    for rows, counts in SIZES:
        for trees in counts:
            for protocol in PROTOCOLS:
                results.append(measure(protocol, rows, trees))
                print(results[-1], flush=True)
                args.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
