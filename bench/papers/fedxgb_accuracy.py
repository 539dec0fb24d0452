"""Figure 4 of papers/003 (FEDXGB): accuracy and loss per round, with 0 to 30 % of the users dropping every 10th round.

    VFXGB_DATA=<folder> python bench/papers/fedxgb_accuracy.py [--quick] [--data adult a9a mnist]
        [--rates 0 0.1 0.2 0.3] [--users N] [--seeds 3] [--aggregator masks] [--threads 2] [--minutes M]
        [--out docs/results]

writes fedxgb_accuracy.json, .md and .png to the folder `out`. Rows are dealt to the users at random, as many to each,
as in the paper; the test rows are the server's. xgboost gets the pooled rows and the same settings, and finds its own
cut points; FedXGB's are searched for over the users (adult) or in public ranges, from 0 to 255 (MNIST) and from 0 to 1
(a9a, the form of adult that the paper names).

Sums are taken by `masks`, with fresh keys for every sum, so that users drop out of the real protocol. In a sum each
user agrees on a key with each other one and masks its vector once for each, which takes time as the square of the users
and in proportion to nodes x features x bins: hence 50 users here, for MNIST 20, at depth 4 and 4 bins. The paper says
neither how many there were nor depth and bins. `plain` is trained besides, without drops, and has to give the same
curve. Trainings go side by side, in as many processes as --threads says. One that the JSON file already holds is not
repeated. Without the folder VFXGB_DATA tables of the same shape are generated.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import common
import numpy as np
from numpy.typing import NDArray

from vfxgb import FedXGBClassifier
from vfxgb.bench.datasets import DATA_VARIABLE
from vfxgb.bench.real_trees import assert_real_booster, assert_real_trees
from vfxgb.data.table import Table

NAME = "fedxgb_accuracy"
MINUTES = (1.0, 40.0)
EVERY = 10
# The paper's panels of accuracy and loss; adult and a9a are two forms of the same table.
PANELS = {"adult": "ab", "a9a": "ab", "mnist": "cd"}
XGBOOST = "xgboost"
PLAIN = "plain"


@dataclass(frozen=True)
class Task:
    """One of the tables. `error`, `loss`: names of the metrics; `top`: where public ranges end, None without them."""

    users: int
    rounds: int
    max_depth: int
    learning_rate: float
    max_bin: int
    error: str
    loss: str
    top: float | None = None


TASKS = {
    "adult": Task(50, 100, 5, 0.1, 64, "error", "logloss"),
    "a9a": Task(50, 100, 5, 0.1, 2, "error", "logloss", 1.0),
    "mnist": Task(20, 20, 4, 0.3, 4, "merror", "mlogloss", 255.0),
}


@dataclass(frozen=True)
class Data:
    """Training and test rows, and where they come from."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    source: str

    def head(self, train: int, test: int) -> "Data":
        """The first rows of both parts."""
        source = f"{self.source}, of them the first {train:,} + {test:,}"
        return Data(self.X[:train], self.y[:train], self.X_test[:test], self.y_test[:test], source)


# Training rows, test rows, columns and classes.
SHAPES = {"adult": (32_561, 16_281, 14, 2), "a9a": (32_561, 16_281, 123, 2), "mnist": (60_000, 10_000, 784, 10)}
FILES = {"adult": ("adult", "adult_test"), "a9a": ("a9a", "a9a_test"), "mnist": ("mnist",)}


@dataclass(frozen=True)
class Training:
    """One training: `kind` is the share of users that drop out, as text, or XGBOOST, or PLAIN."""

    name: str
    kind: str
    seed: int
    task: Task
    aggregator: str
    quick: bool

    @property
    def key(self) -> str:
        """What the JSON file calls it."""
        return f"{self.name}|{self.kind}|{self.seed}"

    @property
    def cost(self) -> float:
        """How long it takes in comparison with others."""
        masked = 0.0 if self.kind in (XGBOOST, PLAIN) else self.task.users**2
        return self.task.rounds * (1.0 + masked / 100) * (5 if self.name == "mnist" else 1)


@cache
def load(name: str, quick: bool) -> Data:
    """A table of VFXGB_DATA, or a generated one of its shape; quick: the first rows."""
    folder = os.environ.get(DATA_VARIABLE)
    paths = [Path(folder) / f"{file}.csv.gz" for file in FILES[name]] if folder else []
    loaded = read(name, paths) if paths and all(path.is_file() for path in paths) else generate(name)
    return loaded.head(3_000, 1_000) if quick else loaded


def read(name: str, paths: Sequence[Path]) -> Data:
    table = np.concatenate([Table.read(path).matrix() for path in paths])
    X, y, n_train = table[:, 1:], table[:, 0].astype(np.int64), SHAPES[name][0]
    source = f"{' and '.join(path.name for path in paths)}, {n_train:,} + {len(y) - n_train:,} rows"
    return Data(X[:n_train], y[:n_train], X[n_train:], y[n_train:], source)


def generate(name: str) -> Data:
    """Whole numbers from 0 to 255 around a centre per class that a few columns show."""
    n_train, n_test, columns, classes = SHAPES[name]
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n_train + n_test)
    X = rng.integers(0, 256, (len(y), columns)).astype(np.float32)
    shown = min(columns, 4 * classes)
    X[:, :shown] = np.clip(X[:, :shown] / 2 + rng.integers(0, 128, (classes, shown))[y], 0, 255).round()
    if TASKS[name].top == 1.0:
        X = (X > 127).astype(np.float32)
    source = f"generated table in place of {name}, {n_train:,} + {n_test:,} rows (set {DATA_VARIABLE} for the real one)"
    return Data(X[:n_train], y[:n_train], X[n_train:], y[n_train:], source)


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
    seconds = time.perf_counter() - begin
    assert_real_booster(model.get_booster(), f"xgboost on {data.source}")
    return curves(model.evals_result()["validation_0"], task, seconds)


def run_users(data: Data, task: Task, rate: float, seed: int, aggregator: str, threads: int) -> dict[str, Any]:
    model = FedXGBClassifier(
        aggregator=aggregator,
        dropout={"rate": rate, "every": EVERY} if rate else None,
        # The paper's levels go on with the users that are left, whatever the difference of sums tells.
        hide_among=1,
        n_estimators=task.rounds,
        max_depth=task.max_depth,
        learning_rate=task.learning_rate,
        max_bin=task.max_bin,
        eval_metric=[task.error, task.loss],
        random_state=seed,
        n_jobs=threads,
    )
    ids = np.random.default_rng(seed).permutation(np.arange(len(data.y)) % task.users)
    ranges = None if task.top is None else dict.fromkeys(range(data.X.shape[1]), (0.0, task.top))
    begin = time.perf_counter()
    model.fit(data.X, data.y, users=ids, ranges=ranges, eval_set=[(data.X_test, data.y_test)], verbose=False)
    seconds = time.perf_counter() - begin
    assert_real_trees(model.model_.active_share, f"{aggregator} with {task.users} users on {data.source}")
    result = curves(model.evals_result_["validation_0"], task, seconds)
    spent = {"aggregator": aggregator, "megabytes": model.traffic_["users"].total_bytes / 1e6}
    return result | spent | {"notes": model.ledger_.notes}


def curves(log: dict[str, list[float]], task: Task, seconds: float) -> dict[str, Any]:
    return {
        "accuracy": [round(1.0 - error, 5) for error in log[task.error]],
        "loss": [round(loss, 5) for loss in log[task.loss]],
        "seconds": seconds,
    }


def train(training: Training) -> tuple[str, dict[str, Any]]:
    """A training in this process, by one thread: its key, and its curves."""
    data = load(training.name, training.quick)
    if training.kind == XGBOOST:
        return training.key, run_xgboost(data, training.task, threads=1)
    plain = training.kind == PLAIN
    rate, aggregator = (0.0, PLAIN) if plain else (float(training.kind), training.aggregator)
    return training.key, run_users(data, training.task, rate, training.seed, aggregator, threads=1)


def train_all(trainings: Sequence[Training], processes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The trainings, so many at a time, as they end."""
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(train, trainings)


def seeds_of(known: dict[str, Any], name: str, kind: str) -> list[dict[str, Any]]:
    return [run for key, run in sorted(known.items()) if key.split("|")[:2] == [name, kind]]


def same_curves(known: dict[str, Any], name: str) -> bool:
    """Whether the curves without drops are those of `plain`."""
    masked, plain = known[f"{name}|0|0"], known[f"{name}|{PLAIN}|0"]
    return all(masked[what] == plain[what] for what in ("accuracy", "loss"))


def kinds_of(known: dict[str, Any], name: str) -> list[str]:
    """The rates of dropping users that were measured."""
    return sorted({key.split("|")[1] for key in known if key.startswith(f"{name}|")} - {XGBOOST, PLAIN}, key=float)


def report(run: common.Run, document: dict[str, Any]) -> None:
    """Tables, plot and findings."""
    known = document["runs"]
    names = [name for name in document["tasks"] if seeds_of(known, name, XGBOOST)]
    gained: dict[str, float] = {}
    for name in names:
        task = document["tasks"][name]
        reference = seeds_of(known, name, XGBOOST)[0]
        rows = [[XGBOOST, f"{reference['accuracy'][-1]:.4f}", "", f"{reference['loss'][-1]:.4f}", ""]]
        for kind in kinds_of(known, name):
            runs = seeds_of(known, name, kind)
            last = [seed["accuracy"][-1] for seed in runs]
            gained[f"{name}|{kind}"] = float(np.mean(last)) - reference["accuracy"][-1]
            cells = [f"{float(kind):.0%}", f"{np.mean(last):.4f} ({min(last):.4f} to {max(last):.4f})"]
            cells += [f"{gained[f'{name}|{kind}']:+.4f}", f"{np.mean([seed['loss'][-1] for seed in runs]):.4f}"]
            rows.append([*cells, str(len(runs))])
        title = f"{task['rounds']} rounds of depth {task['max_depth']}, learning rate {task['learning_rate']}"
        head = ["users that drop", "accuracy", "difference", "loss", "seeds"]
        run.table(f"{name}: {task['users']} users, {title}, {task['max_bin']} bins", head, rows)
    plot(run, known, names)
    worst = min(gained, key=lambda key: gained[key], default="")
    if worst:
        name, kind = worst.split("|")
        run.found(
            "Less than 1 % of accuracy is lost against xgboost, with up to 30 % of the users dropping out.",
            gained[worst] > -0.01,
            f"The largest loss is {gained[worst]:+.4f} ({name}, {float(kind):.0%} drop out). Depth, learning rate and "
            "bins are ours, as the paper gives none.",
        )
    same = {name: same_curves(known, name) for name in names if f"{name}|0|0" in known and f"{name}|{PLAIN}|0" in known}
    if same:
        run.found(
            "Secure aggregation changes nothing but what the server sees.",
            all(same.values()),
            "Without drops accuracy and loss after every round are those of sums that nobody hides, on "
            f"{', '.join(same)}.",
        )


def plot(run: common.Run, known: dict[str, Any], names: list[str]) -> None:
    with run.plot(NAME, 2, max(1, len(names)), (4.6, 3.2)) as axes:
        for column, name in enumerate(names):
            for row, what in enumerate(("accuracy", "loss")):
                axis = axes[row][column]
                for place, kind in enumerate(kinds_of(known, name)):
                    curve = seeds_of(known, name, kind)[0][what]
                    style = common.line_style(place) | {"markevery": max(1, len(curve) // 10), "linewidth": 1}
                    axis.plot(range(1, len(curve) + 1), curve, label=f"{float(kind):.0%} drop", **style)
                curve = seeds_of(known, name, XGBOOST)[0][what]
                axis.plot(range(1, len(curve) + 1), curve, "k--", label=XGBOOST, linewidth=1)
                axis.set(title=f"figure 4{PANELS[name][row]}: {name}", xlabel="round", ylabel=f"test {what}")
        axes[0][-1].legend(fontsize=8)


def main(argv: Sequence[str] | None = None) -> int:
    parser = common.parser(__doc__, seeds=3)
    parser.add_argument("--data", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--rates", nargs="+", type=float, default=[0.0, 0.1, 0.2, 0.3])
    parser.add_argument("--users", type=int, default=None, help="of every table (50, for MNIST 20)")
    parser.add_argument("--aggregator", default="masks")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after so long")
    args = common.parse(parser, argv)
    tasks = dict(TASKS)
    if args.users is not None:
        tasks = {name: replace(task, users=args.users) for name, task in tasks.items()}
    if args.quick:
        args.seeds = 1
        tasks = {name: replace(task, users=10, rounds=11, max_depth=2, max_bin=4) for name, task in TASKS.items()}
    about = (
        f"Users have as many rows each, drawn at random; in every {EVERY}th round so many of them leave at a random "
        f"stage of a random level, until the round ends. Sums are taken by `{args.aggregator}`. Test accuracy and loss "
        "after the last round, mean (least to most) over seeds; the difference is to xgboost on the pooled rows."
    )
    run = common.Run(NAME, "Accuracy with users that drop out", "figure 4 of FEDXGB (papers/003)", args, about)
    run.set(users={name: tasks[name].users for name in args.data}, aggregator=args.aggregator, seeds=args.seeds)
    setting = {"quick": args.quick, "tasks": {name: asdict(task) for name, task in tasks.items()}}
    setting |= {"aggregator": args.aggregator, "commit": run.machine["commit"]}
    before = common.read_document(args.out, NAME)
    runs = before["runs"] if {key: before.get(key) for key in setting} == setting else {}
    rates = [(f"{rate:g}", seed) for seed in range(args.seeds) for rate in args.rates]
    wanted = [
        Training(name, kind, seed, tasks[name], args.aggregator, args.quick)
        for kind, seed in [(XGBOOST, 0), (PLAIN, 0), *rates]
        for name in args.data
    ]
    left = [training for training in wanted if training.key not in runs]
    costs = {training.key: training.cost for training in left}
    deadline = time.monotonic() + 60 * args.minutes
    for name in args.data:
        run.use(load(name, args.quick).source)
    steps = common.Steps(max(1.0, sum(costs.values())))
    steps.begin(f"{len(left)} trainings, {args.threads} at a time", 0.0)
    for key, curve in train_all(left, args.threads):
        runs[key] = curve
        common.write_document(args.out, NAME, run.document({**setting, "runs": runs}))
        cost = costs.pop(key)
        steps.finish(f"{key.replace('|', ', ')} done, {len(costs)} trainings left", cost)
        if time.monotonic() > deadline:
            break
    document = {**setting, "runs": runs}
    report(run, document)
    run.write(document)
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
