"""A training with 1,000 users, which papers/003 (FEDXGB) does not show: what each stage takes, and what limits it.

    vfxgb bench papers fedxgb_training [--quick] [--users 1000] [--threads 2] [--out FOLDER]

Adult, dealt to the users at random, by `masks`. All users and the server are in this process, one after the other, so
that the time of a stage at users, divided by their number, is that of one user alone, but for signatures, which are
checked once for all. `plain` on the same users is the twin: its curve has to be the same.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import common
import fedxgb_accuracy
import numpy as np

from vfxgb import FedXGBClassifier
from vfxgb.bench.real_trees import assert_real_trees

NAME = "fedxgb_training"
MINUTES = (0.2, 15.0)
USERS, QUICK_USERS = 1000, 30
ROUNDS, DEPTH, RATE, BINS = 2, 3, 0.3, 32
AGGREGATOR, TWIN = "masks", "plain"


def fit(data: fedxgb_accuracy.Data, users: int, aggregator: str, threads: int) -> dict[str, Any]:
    """Seconds by stage at all users and at the server, bytes, and the curve."""
    ids = np.random.default_rng(0).permutation(np.arange(len(data.y)) % users)
    model = FedXGBClassifier(
        aggregator=aggregator,
        n_estimators=ROUNDS,
        max_depth=DEPTH,
        learning_rate=RATE,
        max_bin=BINS,
        eval_metric=["error", "logloss"],
        random_state=0,
        n_jobs=threads,
    )
    start = time.perf_counter()
    model.fit(data.X, data.y, users=ids, eval_set=[(data.X_test, data.y_test)], verbose=False)
    wall = time.perf_counter() - start
    assert_real_trees(model.model_.active_share, f"{aggregator} with {users} users on {data.source}")
    return {
        "wall seconds": wall,
        "at users": dict(model.timings_.parties["users"].seconds),
        "at the server": dict(model.timings_.seconds),
        "bytes": model.traffic_["users"].total_bytes,
        "log": model.evals_result_["validation_0"],
    }


def report(run: common.Run, results: dict[str, dict[str, Any]], users: int) -> None:
    """The tables, and the stage that takes longest."""
    for aggregator, result in results.items():
        rows = [
            [stage, f"{seconds:.1f}", f"{1e3 * seconds / users:.1f}", f"{seconds / result['wall seconds']:.0%}"]
            for stage, seconds in sorted(result["at users"].items(), key=lambda item: -item[1])
        ]
        run.table(f"`{aggregator}`: stages at users", ["stage", "s, all users", "ms, a user", "of the wall time"], rows)
        server = sorted(result["at the server"].items(), key=lambda item: -item[1])
        run.table(
            f"`{aggregator}`: phases at the server",
            ["phase", "s"],
            [[phase, f"{seconds:.1f}"] for phase, seconds in server],
        )
    masked, twin = results[AGGREGATOR], results[TWIN]
    slowest, most = max(masked["at users"].items(), key=lambda item: item[1])
    at_users = sum(masked["at users"].values())
    run.found(
        "A training with many users is practical (the paper measures sums, and no training, with 500).",
        "with the users' own processors",
        f"{ROUNDS} trees of depth {DEPTH} with {users:,} users took {masked['wall seconds']:.0f} s in one process, "
        f"{twin['wall seconds']:.0f} s with sums that nobody hides; {at_users / users:.1f} s of it at each user, and "
        f"{masked['bytes'] / 1e6 / users:.1f} MB. Stage `{slowest}` at users is the largest part "
        f"({most / masked['wall seconds']:.0%}): for every sum each user agrees on a fresh key with each other one, "
        "shares its own among them and masks its vector once for each, so that a user's work grows with the users, and "
        "the bytes of the server with their square.",
    )
    run.found(
        "The model is that of sums that nobody hides.",
        masked["log"] == twin["log"],
        "Test error and loss, round by round.",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Train with both aggregators."""
    parser = common.parser(__doc__)
    parser.add_argument("--users", type=int, default=USERS)
    args = common.parse(parser, argv)
    users = QUICK_USERS if args.quick else args.users
    run = common.Run(
        NAME,
        "A training with many users: what limits it",
        "a training of the size of figures 5 to 7 of FEDXGB (papers/003)",
        args,
        "Seconds at users are of all of them together, one after the other in one process.",
    )
    data = fedxgb_accuracy.load("adult", args.quick)
    run.use(data.source)
    run.set(users=users, rounds=ROUNDS, depth=DEPTH, learning_rate=RATE, bins=BINS)
    steps = common.Steps(1.0 + users)
    results = {}
    for aggregator, cost in ((TWIN, 1.0), (AGGREGATOR, float(users))):
        steps.begin(f"{aggregator}, {users:,} users", cost)
        results[aggregator] = fit(data, users, aggregator, args.threads)
    report(run, results, users)
    run.write({"results": results})
    return int(results[AGGREGATOR]["log"] != results[TWIN]["log"])


if __name__ == "__main__":
    sys.exit(common.guarded(main))
