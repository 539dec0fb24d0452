"""What `sealed` scores next to XGBoost's gain: test AUC on five tables, and how many of its winners were refused.

    python bench/e2e/sealed_auc.py [--tables bank,adult] [--seeds 5] [--trees 50] [--depth 5] [--rows 105000]
        [--json docs/results/sealed_auc.json]

For each table and seed `plain` trains by the gain, and the twin of `sealed`: `plain` with split_rule="centred",
hide_nodes=True and the score_bits that `sealed` takes for so many rows, which gives its models to the last bit. On the
tables REAL `sealed` itself trains as well, with the first seed, and the script ends with an error unless its trees are
those of the twin. Seven tenths of the rows train, others are scored, columns go to both parties in turn. Refused: the
share of nodes that a split of the passive party had won and that the active party then split otherwise or not at all,
as the ledger counts them. Set VFXGB_DATA to the folder of the data sets.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from split_rules import read

from vfxgb import VFXGBClassifier
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.bench.train.twin import same_trees
from vfxgb.errors import BenchmarkError
from vfxgb.metric import make_metric
from vfxgb.protocols import protocol_by_name

TABLES = ("give_credit", "default_credit", "adult", "bank", "higgs")
# Where `sealed` itself trains with the first seed, too.
REAL = ("default_credit", "adult", "bank")
SETTINGS = {"learning_rate": 0.1, "max_bin": 32, "n_jobs": 1}
TRAIN_SHARE = 0.7
# The coins and the order of candidates are those of the twin, so that the run can be compared.
KNOWN = {"coins": "random_state", "order_seed": 0}


def fit(X: np.ndarray, y: np.ndarray, protocol: str, params: dict[str, Any], **settings: Any) -> VFXGBClassifier:
    parties = {"bank": list(range(0, X.shape[1], 2)), "shop": list(range(1, X.shape[1], 2))}
    model = VFXGBClassifier(
        parties=parties, active="bank", protocol=protocol, protocol_params=params, **SETTINGS, **settings
    ).fit(X, y, verbose=False)
    assert_real_trees(model.model_.active_share, f"{protocol} on {len(y)} rows")
    return model


def told(model: VFXGBClassifier, message: str) -> int:
    """How much of what a message says the passive party was told."""
    return sum(entry.amount for entry in model.ledger_.learned_by("shop") if entry.message == message)


def measure(name: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """AUC by both rules; nodes that the passive party has won, and splits of it that were kept."""
    X, y = read(name)
    auc = make_metric("auc")
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(args.rows, int(TRAIN_SHARE * len(y)))
    train, test = order[:count], order[count:]
    spec = protocol_by_name("sealed")
    bits = spec.score_bits(spec.params(), count)
    grown = {"n_estimators": args.trees, "max_depth": args.depth, "random_state": seed}
    centred = {**grown, "split_rule": "centred", "score_bits": bits}
    rows = X[train], y[train]
    gain = fit(*rows, "plain", {}, **grown)
    twin = fit(*rows, "plain", {"hide_nodes": True, "order_seed": 0}, **centred)
    real = name in REAL and seed == 0
    if real and not same_trees(fit(*rows, "sealed", KNOWN, **centred), twin):
        raise BenchmarkError(f"sealed on {name}: found other trees than those of its twin, wanted the same")
    scores = {
        way: auc(y[test], model.predict_proba(X[test])[:, 1]) for way, model in (("gain", gain), ("sealed", twin))
    }
    counts = {"won": told(twin, "won-slots"), "kept": told(twin, "place-splits")}
    sizes = {"train": count, "test": len(test), "score_bits": bits}
    return {"table": name, "seed": seed, "auc": scores, **counts, **sizes, "compared": real}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--rows", type=int, default=105_000)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file")
    args = parser.parse_args()
    settings = {**SETTINGS, "trees": args.trees, "depth": args.depth, "seeds": args.seeds}
    result: dict[str, Any] = {"machine": machine_facts(), "settings": settings, "runs": []}
    for name in args.tables.split(","):
        for seed in range(args.seeds):
            result["runs"].append(measure(name, seed, args))
            print(result["runs"][-1], flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
