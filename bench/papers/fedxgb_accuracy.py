"""Figure 4 of papers/003 (FEDXGB): accuracy and loss per round, with 0 to 30 % of the users dropping every 10th round.

    VFXGB_DATA=<folder> python bench/papers/fedxgb_accuracy.py [--quick] [--data adult mnist] [--rates 0 0.1 0.2 0.3]
        [--users 100] [--seeds 3] [--aggregator plain] [--threads 2] [--minutes M] [--out docs/results]

writes fedxgb_accuracy.json, .md and .png to the folder `out`. Rows are dealt to the users at random, as many to each,
as in the paper; the test rows are the server's. xgboost gets the pooled rows and the same settings, and finds its own
cut points; FedXGB's are searched for over the users (adult) or in public ranges from 0 to 255 (MNIST).

Every aggregator gives the same model (tests/protocol/test_horizontal.py), so that the one that protects nothing will do
here; `--aggregator masks` runs the real one. A run that the JSON file already holds is not repeated.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import FedXGBClassifier
from vfxgb.cli.machine import machine_facts
from vfxgb.data.table import Table

ROOT = Path(__file__).resolve().parent.parent.parent
EVERY = 10
XGBOOST = "xgboost"


@dataclass(frozen=True)
class Task:
    """One of the paper's two datasets. `error`, `loss`: names of the metrics."""

    rounds: int
    max_depth: int
    learning_rate: float
    max_bin: int
    error: str
    loss: str


TASKS = {
    "adult": Task(100, 5, 0.1, 64, "error", "logloss"),
    "mnist": Task(20, 6, 0.3, 16, "merror", "mlogloss"),
}


@dataclass(frozen=True)
class Data:
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


def read(name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    table = Table.read(Path(os.environ["VFXGB_DATA"]) / f"{name}.csv.gz").matrix()
    return table[:, 1:], table[:, 0].astype(np.int64)


def load(name: str, quick: bool) -> Data:
    if name == "adult":
        found = Data(*read("adult"), *read("adult_test"))
    else:
        X, y = read("mnist")
        found = Data(X[:60_000], y[:60_000], X[60_000:], y[60_000:])
    if quick:
        found = Data(found.X[:3_000], found.y[:3_000], found.X_test[:1_000], found.y_test[:1_000])
    return found


def run_xgboost(data: Data, task: Task, threads: int) -> dict[str, Any]:
    import xgboost

    model = xgboost.XGBClassifier(
        n_estimators=task.rounds,
        max_depth=task.max_depth,
        learning_rate=task.learning_rate,
        max_bin=task.max_bin,
        tree_method="hist",
        eval_metric=[task.error, task.loss],
        n_jobs=threads,
    )
    begin = time.perf_counter()
    model.fit(data.X, data.y, eval_set=[(data.X_test, data.y_test)], verbose=False)
    return curves(model.evals_result()["validation_0"], task, time.perf_counter() - begin)


def run_users(
    data: Data, task: Task, users: int, rate: float, seed: int, aggregator: str, threads: int
) -> dict[str, Any]:
    model = FedXGBClassifier(
        aggregator=aggregator,
        dropout={"rate": rate, "every": EVERY} if rate else None,
        n_estimators=task.rounds,
        max_depth=task.max_depth,
        learning_rate=task.learning_rate,
        max_bin=task.max_bin,
        eval_metric=[task.error, task.loss],
        random_state=seed,
        n_jobs=threads,
    )
    ids = np.random.default_rng(seed).permutation(np.arange(len(data.y)) % users)
    ranges = dict.fromkeys(range(data.X.shape[1]), (0.0, 255.0)) if task.error == "merror" else None
    begin = time.perf_counter()
    model.fit(data.X, data.y, users=ids, ranges=ranges, eval_set=[(data.X_test, data.y_test)], verbose=False)
    found = curves(model.evals_result_["validation_0"], task, time.perf_counter() - begin)
    spent = {"aggregator": aggregator, "megabytes": model.traffic_["users"].total_bytes / 1e6}
    return found | spent | {"notes": model.ledger_.notes}


def curves(log: dict[str, list[float]], task: Task, seconds: float) -> dict[str, Any]:
    return {
        "accuracy": [round(1.0 - error, 5) for error in log[task.error]],
        "loss": [round(loss, 5) for loss in log[task.loss]],
        "seconds": seconds,
    }


def seeds_of(found: dict[str, Any], name: str, kind: str) -> list[dict[str, Any]]:
    return [run for key, run in sorted(found.items()) if key.split("|")[:2] == [name, kind]]


def markdown(document: dict[str, Any]) -> str:
    users, found = document["users"], document["runs"]
    about = (
        f"Written by bench/papers/fedxgb_accuracy.py: figure 4 of papers/003. {users} users with as many rows each, "
        f"drawn at random; in every {EVERY}th round so many of them leave at a random stage of a random level, until "
        "the round ends. Test accuracy and loss after the last round, mean (least to most) over seeds; the difference "
        "is to xgboost on the pooled rows."
    )
    lines = ["# Accuracy with users that drop out", "", about]
    for name, task in document["tasks"].items():
        if not seeds_of(found, name, XGBOOST):
            continue
        title = f"{task['rounds']} rounds of depth {task['max_depth']}, learning rate {task['learning_rate']}"
        lines += ["", f"## {name}: {title}, {task['max_bin']} bins", ""]
        lines += ["| users that drop | accuracy | difference | loss | seeds |", "|---|---:|---:|---:|---:|"]
        reference = seeds_of(found, name, XGBOOST)[0]
        lines.append(f"| xgboost | {reference['accuracy'][-1]:.4f} | | {reference['loss'][-1]:.4f} | |")
        kinds = sorted({key.split("|")[1] for key in found if key.startswith(f"{name}|")} - {XGBOOST}, key=float)
        for kind in kinds:
            runs = seeds_of(found, name, kind)
            last = [run["accuracy"][-1] for run in runs]
            loss = np.mean([run["loss"][-1] for run in runs])
            lines.append(
                f"| {float(kind):.0%} | {np.mean(last):.4f} ({min(last):.4f} to {max(last):.4f}) | "
                f"{np.mean(last) - reference['accuracy'][-1]:+.4f} | {loss:.4f} | {len(runs)} |"
            )
    return "\n".join(lines) + "\n"


def plot(document: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = document["runs"]
    names = [name for name in document["tasks"] if seeds_of(found, name, XGBOOST)]
    figure, axes = plt.subplots(2, len(names), figsize=(4.6 * len(names), 6.4), squeeze=False)
    for place, name in enumerate(names):
        kinds = sorted({key.split("|")[1] for key in found if key.startswith(f"{name}|")} - {XGBOOST}, key=float)
        for row, what in enumerate(("accuracy", "loss")):
            axis = axes[row][place]
            for kind in kinds:
                curve = seeds_of(found, name, kind)[0][what]
                axis.plot(range(1, len(curve) + 1), curve, label=f"{float(kind):.0%}", linewidth=1)
            curve = seeds_of(found, name, XGBOOST)[0][what]
            axis.plot(range(1, len(curve) + 1), curve, "k--", label=XGBOOST, linewidth=1)
            axis.set(title=name, xlabel="round", ylabel=f"test {what}")
    axes[0][-1].legend(fontsize=8, title="users that drop")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close("all")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, users and rounds")
    parser.add_argument("--data", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--rates", nargs="+", type=float, default=[0.0, 0.1, 0.2, 0.3])
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--aggregator", default="plain")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after so long")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results")
    args = parser.parse_args()
    if not os.environ.get("VFXGB_DATA"):
        sys.exit("VFXGB_DATA is not set: it names the folder with adult.csv.gz, adult_test.csv.gz and mnist.csv.gz")
    tasks = dict(TASKS)
    if args.quick:
        args.users = 10
        tasks = {name: replace(task, rounds=10, max_depth=3) for name, task in TASKS.items()}
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "fedxgb_accuracy.json"
    setting = {"users": args.users, "quick": args.quick, "tasks": {name: asdict(task) for name, task in tasks.items()}}
    document: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if {key: document.get(key) for key in setting} != setting:
        document = setting | {"runs": {}}
    deadline = time.monotonic() + 60 * args.minutes
    for name in args.data:
        data = None
        wanted = [(XGBOOST, 0), *((f"{rate:g}", seed) for seed in range(args.seeds) for rate in args.rates)]
        for kind, seed in wanted:
            key = f"{name}|{kind}|{seed}"
            if key in document["runs"] or time.monotonic() > deadline:
                continue
            data = data or load(name, args.quick)
            print(f"{key} ...", file=sys.stderr, flush=True)
            document["runs"][key] = (
                run_xgboost(data, tasks[name], args.threads)
                if kind == XGBOOST
                else run_users(data, tasks[name], args.users, float(kind), seed, args.aggregator, args.threads)
            )
            document["machine"] = machine_facts()
            path.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    text = markdown(document)
    print(text)
    (args.out / "fedxgb_accuracy.md").write_text(text, encoding="utf-8")
    plot(document, args.out / "fedxgb_accuracy.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
