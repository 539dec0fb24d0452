"""What noise over users costs in accuracy: test AUC by epsilon, beside no noise, `ldp` and Maddock et al.

    python bench/e2e/users_privacy.py [--tables give_credit,adult] [--seeds 5] [--epsilons 0.1,0.5,1,2]
        [--json docs/results/users_privacy.json]

Seven tenths of the rows train, others are scored. Rows lie at 100 users at random, a call needs 90 of them, and all
are there. Aggregator `plain` stands for `masks`: users draw the same noise, and the integers that the server opens
are the same (tests/unit/horizontal/test_privacy.py). delta is 1e-5; epsilon is that of one row of one user over the
whole training, cut points and start margin included. `ldp` randomises labels, once, with the same epsilon: it
protects them from a party that has other columns, and no values; its columns lie at two parties in turn. The settings
of each way were chosen on the split of seed 1, so that its numbers flatter, and are the same for every epsilon and
table. Every cell is written as soon as it is there; a run that was broken off goes on where it stood. Set VFXGB_DATA to
the folder of the data sets.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from split_rules import read

from vfxgb import FedXGBClassifier, VFXGBClassifier
from vfxgb.bench.machine import machine_facts
from vfxgb.metric import make_metric

TABLES = ("give_credit", "adult")
N_USERS, THRESHOLD, DELTA = 100, 0.9, 1e-5
TRAIN_SHARE = 0.7
COMMON = {"max_bin": 32, "n_jobs": 1}
NOISY = {"aggregator": "plain", "threshold": THRESHOLD, "quantile_bits": 14, "delta": DELTA}
WAYS: dict[str, dict[str, Any]] = {
    "histogram": {"n_estimators": 10, "max_depth": 3, "learning_rate": 0.3},
    "random": {"n_estimators": 100, "max_depth": 4, "learning_rate": 0.2},
    "none": {"n_estimators": 100, "max_depth": 4, "learning_rate": 0.2},
    "ldp": {"n_estimators": 30, "max_depth": 4, "learning_rate": 0.2},
}
# Maddock et al., "Federated Boosted Decision Trees with Differential Privacy", CCS 2022, on their table Credit 1, which
# is give_credit: splits from noisy histograms at epsilon 0.5 and 1, and at random at 0.1, 0.5 and 1.
PUBLISHED = {"histogram": {"0.5": 0.752, "1": 0.780}, "random": {"0.1": 0.832, "0.5": 0.844, "1": 0.846}}


def auc_of(way: str, epsilon: float | None, name: str, seed: int) -> dict[str, Any]:
    """One cell: test AUC, and what the ledger says was spent."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))
    count = int(TRAIN_SHARE * len(y))
    train, test = order[:count], order[count:]
    settings = {**COMMON, **WAYS[way], "random_state": seed}
    if way == "ldp":
        model: Any = VFXGBClassifier(
            parties={"bank": list(range(0, X.shape[1], 2)), "shop": list(range(1, X.shape[1], 2))},
            active="bank",
            protocol="ldp",
            protocol_params={"mechanism": "label_rr", "epsilon": epsilon},
            **settings,
        ).fit(X[train], y[train], verbose=False)
    else:
        users = np.random.default_rng(1000 + seed).integers(0, N_USERS, count)
        noise = {"dp_splits": way, "epsilon": epsilon} if epsilon is not None else {}
        model = FedXGBClassifier(**NOISY, **noise, **settings).fit(X[train], y[train], users=users)
    events = model.ledger_.privacy.events
    auc = make_metric("auc")(y[test], model.predict_proba(X[test])[:, 1])
    return {"auc": float(auc), "train": count, "test": len(test), "releases": len(events)}


def cells(args: argparse.Namespace) -> list[tuple[str, float | None, str, int]]:
    """All cells, those of one seed together, so that what there is after a while is whole."""
    epsilons = [float(text) for text in args.epsilons.split(",")]
    return [
        (way, epsilon, name, seed)
        for seed in range(args.seeds)
        for name in args.tables.split(",")
        for way in WAYS
        for epsilon in ([None] if way == "none" else epsilons)
    ]


def summary(runs: dict[str, Any]) -> list[dict[str, Any]]:
    """Mean and standard deviation over the seeds there are."""
    grouped: dict[tuple[str, str, str], list[float]] = {}
    for key, cell in runs.items():
        name, way, epsilon, _ = key.split("|")
        grouped.setdefault((name, way, epsilon), []).append(cell["auc"])
    return [
        {
            "table": name,
            "way": way,
            "epsilon": epsilon,
            "auc": round(float(np.mean(values)), 4),
            "deviation": round(float(np.std(values, ddof=1)), 4) if len(values) > 1 else None,
            "seeds": len(values),
            "published": PUBLISHED.get(way, {}).get(epsilon) if name == "give_credit" else None,
        }
        for (name, way, epsilon), values in sorted(grouped.items())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", default="0.1,0.5,1,2")
    parser.add_argument("--json", type=Path, default=Path("users_privacy.json"), help="results, kept and continued")
    args = parser.parse_args()
    settings = {"users": N_USERS, "threshold": THRESHOLD, "delta": DELTA, **COMMON, "ways": WAYS}
    result: dict[str, Any] = {"machine": machine_facts(), "settings": settings, "runs": {}}
    if args.json.exists():
        before = json.loads(args.json.read_text(encoding="utf-8"))
        if before["settings"] != settings:
            parser.error(f"{args.json} was made with other settings; give another file")
        result["runs"] = before["runs"]
    for way, epsilon, name, seed in cells(args):
        key = f"{name}|{way}|{'none' if epsilon is None else f'{epsilon:g}'}|{seed}"
        if key in result["runs"]:
            continue
        result["runs"][key] = auc_of(way, epsilon, name, seed)
        result["summary"] = summary(result["runs"])
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(key, f"{result['runs'][key]['auc']:.4f}", flush=True)
    for line in summary(result["runs"]):
        print(line)


if __name__ == "__main__":
    main()
