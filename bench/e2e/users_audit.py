"""What the server of many users finds by attack, with noise and without, and what a single run says about epsilon.

    python bench/e2e/users_audit.py [--table adult] [--rows 2000] [--epsilons none,1,8] [--runs 5]
        [--json docs/results/users_audit.json]

Attacks: 100 users with `--rows` rows of the table and public cut points; two trees of depth 10, recorded, and attacked
by `FedXGBClassifier.audit`. One run: 1,000 canaries, each a row in a bin of its own of the only column, with label 1,
put into the run by a coin, beside 2,000 rows without a value. The attacker scores each by the noisy sums of its bin
in the one level there is (log-likelihood of the plan's noise, which everybody knows) and guesses the half with the
most extreme scores; the lower bound of epsilon has a confidence of 95 % and has to stay below the claim. "none" has
no noise. Cells are kept in the file, and a run that was broken off goes on.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from split_rules import read

from vfxgb import FedXGBClassifier
from vfxgb.audit.one_run import audit_one_run
from vfxgb.audit.users import ServerView
from vfxgb.bench.machine import machine_facts
from vfxgb.binning.cuts import make_cuts

N_USERS, DELTA, CANARIES, OTHERS = 100, 1e-5, 1000, 2000
SHARE = 0.5


def attacked(name: str, rows: int, epsilon: float | None, seed: int) -> dict[str, Any]:
    """Shares that the attacks find, and the guesses."""
    X, y = read(name)
    pick = np.random.default_rng(seed).permutation(len(y))[:rows]
    names = [f"f{column}" for column in range(X.shape[1])]
    cuts = {name: make_cuts(X[:, column], 16) for column, name in enumerate(names)}
    noise = {} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    model = FedXGBClassifier(
        aggregator="plain", n_estimators=2, max_depth=10, min_child_weight=0.0, record=True, random_state=seed, **noise
    ).fit(X[pick], y[pick], users=np.arange(rows) % N_USERS, cuts=cuts)
    findings = model.audit().findings
    return {f"{one.attack}: {one.target}": {"found": one.success, "guess": one.guess} for one in findings}


def canaries(epsilon: float | None, seed: int) -> dict[str, Any]:
    """The least epsilon that one run must have had."""
    rng = np.random.default_rng(seed)
    inside = rng.random(CANARIES) < 0.5
    values = np.concatenate([np.arange(CANARIES)[inside], np.full(OTHERS, np.nan)]).astype(np.float32)
    labels = np.concatenate([np.ones(int(inside.sum())), rng.integers(0, 2, OTHERS)]).astype(int)
    noise = {} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    model = FedXGBClassifier(
        aggregator="plain", n_estimators=1, max_depth=1, base_score=0.5, record=True, threshold=1.0, **noise
    ).fit(
        values[:, None],
        labels,
        users=np.arange(len(labels)) % N_USERS,
        cuts={"f0": np.arange(CANARIES - 1, dtype=np.float32) + 0.5},
    )
    transcript = model.transcript_
    view = ServerView(transcript.opened, transcript.plan, None)
    cells = view.nodes[0, 0, 0].cells[0][:CANARIES]
    # g is -1/2 and h 1/4 at the start; their noise is in the same proportion as their bounds, 1 and 1/4.
    scores = -0.5 * cells[:, 0] + 0.25 * 16 * cells[:, 1]
    found = audit_one_run(scores, inside, SHARE, DELTA)
    return {"guesses": found.guesses, "right": found.right, "least_epsilon": found.epsilon}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="adult")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--epsilons", default="none,1,8")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, default=Path("users_audit.json"), help="results, kept and continued")
    args = parser.parse_args()
    settings = {"table": args.table, "rows": args.rows, "users": N_USERS, "canaries": CANARIES, "delta": DELTA}
    result: dict[str, Any] = {"machine": machine_facts(), "settings": settings, "runs": {}}
    if args.json.exists():
        before = json.loads(args.json.read_text(encoding="utf-8"))
        if before["settings"] != settings:
            parser.error(f"{args.json} was made with other settings; give another file")
        result["runs"] = before["runs"]
    for text in args.epsilons.split(","):
        epsilon = None if text == "none" else float(text)
        for seed in range(args.runs):
            key = f"{text}|{seed}"
            if key not in result["runs"]:
                result["runs"][key] = {
                    "attacks": attacked(args.table, args.rows, epsilon, seed),
                    "one_run": canaries(epsilon, seed),
                }
                args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            print(key, result["runs"][key], flush=True)


if __name__ == "__main__":
    main()
