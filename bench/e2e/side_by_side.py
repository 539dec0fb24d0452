"""Protocols side by side, in one run: what an audit finds, seconds and megabytes a tree, the set-up, and test AUC.

    python bench/e2e/side_by_side.py [--trees 20] [--depth 5] [--bins 32] [--epsilon 4]
        [--json docs/results/side_by_side.json]

Costs and AUC: default_credit (set VFXGB_DATA to the folder of the data sets), 70 % of its rows train and the others are
scored; the active party has the columns of FATE's guest. Both parties are in this process. Seconds are the median wall
time of the trees but the first and the last. Every protocol has its own defaults, `sealed` its rule of splits.

Audit: a table of AUDIT_ROWS rows is trained on and recorded, and every attack that is registered is run on what each
party saw. Of all attacks after one thing the one that beats guessing by most is reported.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, PASSIVE, Loaded, load
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.bench.train.job import SETUP_BYTES, RoundClock, costs_of, steps_of
from vfxgb.metric import make_metric

PROTOCOLS = ("sealed", "ot_shares", "batch_he", "ldp", "plain")
TABLE, TRAIN_SHARE = "default_credit", 0.7
# `batch_he` with the scheme that docs/choosing.md recommends.
PARAMS: dict[str, dict[str, Any]] = {"batch_he": {"scheme": "ou", "key_bits": 2048}}
# What is opened does not depend on keys or groups.
QUICK: dict[str, dict[str, Any]] = {
    "batch_he": {"scheme": "ou", "key_bits": 512, "randomness": "short", "insecure": True},
    "ot_shares": {"group_bits": 768, "insecure": True},
    "sealed": {"group_bits": 768, "insecure": True},
}
AUDIT_ROWS, AUDIT_PARTIES = 1000, {ACTIVE: [0, 1, 2], PASSIVE: [3, 4, 5, 6, 7]}
AUDIT = {"n_estimators": 40, "max_depth": 5, "max_bin": 32, "learning_rate": 0.1}


def params_of(protocol: str, given: dict[str, dict[str, Any]], epsilon: float) -> dict[str, Any]:
    return {"epsilon": epsilon} if protocol == "ldp" else given.get(protocol, {})


def measure(protocol: str, data: Loaded, args: argparse.Namespace) -> dict[str, Any]:
    """Cost and AUC of one training."""
    count = int(TRAIN_SHARE * len(data.y))
    clock = RoundClock(args.trees)
    model = VFXGBClassifier(
        n_estimators=args.trees,
        max_depth=args.depth,
        max_bin=args.bins,
        learning_rate=0.1,
        parties=data.parties,
        active=ACTIVE,
        protocol=protocol,
        protocol_params=params_of(protocol, PARAMS, args.epsilon),
    ).fit(data.X[:count], data.y[:count], callbacks=[clock], verbose=False)
    assert_real_trees(model.model_.active_share, f"{protocol} on {data.source}")
    costs = costs_of(model)
    setup = costs["operations"].get(SETUP_BYTES, 0)
    auc = make_metric("auc")(data.y[count:], model.predict_proba(data.X[count:])[:, 1])
    return {
        "seconds": median(clock.rounds[1:-1]),
        "cpu_seconds": median(clock.round_cpu[1:-1]),
        "megabytes": (costs["sent"] + costs["received"] - setup) / args.trees / 1e6,
        "setup_seconds": costs["key_seconds"],
        "setup_megabytes": setup / 1e6,
        "flights": steps_of(model)["flights"],
        "auc": auc,
    }


def audited_table() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Columns, and labels that depend on all of them."""
    random = np.random.default_rng(1)
    X = random.normal(size=(AUDIT_ROWS, 8))
    score = X @ random.normal(size=8) + X[:, 0] * X[:, 3] + 0.5 * random.normal(size=AUDIT_ROWS)
    return X, (score > 0).astype(np.int64)


def attack(protocol: str, epsilon: float) -> dict[str, Any]:
    """What every attack makes of a recorded run: by attacker and target the best of them, and which were not run."""
    model = VFXGBClassifier(
        **AUDIT,
        parties=AUDIT_PARTIES,
        active=ACTIVE,
        protocol=protocol,
        protocol_params=params_of(protocol, QUICK, epsilon),
        record=True,
    ).fit(*audited_table(), verbose=False)
    assert_real_trees(model.model_.active_share, f"{protocol}, recorded")
    report = model.audit()
    best: dict[tuple[str, str], Any] = {}
    for finding in report.summary:
        place = (finding.attacker, finding.target)
        if place not in best or finding.success - finding.guess > best[place].success - best[place].guess:
            best[place] = finding
    return {
        "findings": [{**asdict(finding), "better": finding.better} for finding in best.values()],
        "run": sorted({finding.attack for finding in report.findings}),
        "not_run": {each.attack: each.why for each in report.not_run},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--bins", type=int, default=32)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file")
    args = parser.parse_args()
    data = load(TABLE)
    settings = {
        **{name: getattr(args, name) for name in ("trees", "depth", "bins", "epsilon")},
        "source": data.source,
        "train_share": TRAIN_SHARE,
        "audit": {**AUDIT, "rows": AUDIT_ROWS, "features": [len(own) for own in AUDIT_PARTIES.values()]},
    }
    result: dict[str, Any] = {"machine": machine_facts(), "settings": settings, "protocols": {}}
    for protocol in PROTOCOLS:
        result["protocols"][protocol] = {**measure(protocol, data, args), "audit": attack(protocol, args.epsilon)}
        print(protocol, json.dumps(result["protocols"][protocol]), flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
