"""Trainings for the tables and figures of papers/000 and papers/002: rows, curves tree by tree, seconds per tree.

Rows are drawn once for a table and a number of rows, the same for all methods and seeds.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, PASSIVE, Loaded, load
from vfxgb.bench.real_trees import assert_real_trees, splits_by_party
from vfxgb.bench.train.job import ONCE_PHASES
from vfxgb.train.callbacks import TrainingCallback, TrainingState

# Depth is papers/002's; the papers give neither learning rate nor bins.
DEPTH, RATE, BINS = 6, 0.3, 32
# The six tables of papers/002, and their names there.
PAPER_NAMES = {
    "give_credit": "Credit 1",
    "default_credit": "Credit 2",
    "adult": "Adult",
    "higgs": "Higgs",
    "bank": "Bank",
    "nomao": "Nomao",
}


@dataclass(frozen=True)
class Part:
    """The training and the test rows of a table."""

    train: Loaded
    test: Loaded


def part(name: str, rows: int | None) -> Part:
    """`rows` training rows (None: two thirds of all) and half as many test rows (or what there is), drawn once."""
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    most = 2 * len(data.y) // 3
    train = most if rows is None else min(rows, most)
    chosen = (order[:train], order[train : train + train // 2])
    return Part(*(Loaded(data.X[np.sort(c)], data.y[np.sort(c)], data.n_active, data.source) for c in chosen))


def model_of(
    data: Loaded, protocol: str, params: dict[str, Any], trees: int, threads: int, **others: Any
) -> VFXGBClassifier:
    """A classifier for the two parties of a table. `others`: any of its parameters."""
    chosen = {"max_depth": DEPTH, "learning_rate": RATE, "max_bin": BINS, "base_score": 0.5, **others}
    return VFXGBClassifier(
        n_estimators=trees,
        parties=data.parties,
        active=ACTIVE,
        protocol=protocol,
        protocol_params=params,
        n_jobs=threads,
        **chosen,
    )


def curves(
    data: Part,
    protocol: str,
    params: dict[str, Any],
    trees: int,
    seed: int,
    threads: int,
    checked: bool = True,
    **others: Any,
) -> dict[str, Any]:
    """Test AUC and log loss after each tree, the passive party's share of all splits, and the seconds of the whole.

    `checked`: whether every tree must have a split, which is not so where noise may well leave none.
    """
    model = model_of(
        data.train, protocol, params, trees, threads, random_state=seed, eval_metric=["auc", "logloss"], **others
    )
    begin = time.perf_counter()
    model.fit(data.train.X, data.train.y, eval_set=[(data.test.X, data.test.y)], verbose=False)
    seconds = time.perf_counter() - begin
    if checked:
        assert_real_trees(model.model_.active_share, f"{protocol} {params} on {data.train.source}")
    (log,) = model.evals_result_.values()
    share = model.model_.active_share
    splits = [sum(tree[party] for tree in splits_by_party(share.trees, share.parties)) for party in (ACTIVE, PASSIVE)]
    return {
        "passive_splits": round(splits[1] / max(1, sum(splits)), 4),
        "auc": [round(value, 5) for value in log["auc"]],
        "logloss": [round(value, 5) for value in log["logloss"]],
        "seconds": seconds,
    }


class Clock(TrainingCallback):
    """Wall and processor seconds from the first tree's beginning to the last one's end, of all threads together."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self._start = (0.0, 0.0)

    def before_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
        """Start."""
        self._start = (time.perf_counter(), time.process_time())

    def after_iteration(self, state: TrainingState) -> bool:  # noqa: ARG002 - a hook
        """Note what has passed."""
        self.wall, self.cpu = time.perf_counter() - self._start[0], time.process_time() - self._start[1]
        return False


def time_per_tree(data: Loaded, protocol: str, params: dict[str, Any], trees: int, threads: int) -> dict[str, float]:
    """Wall and processor seconds of both parties, and megabytes in both directions: means over trees.

    Making keys is left out. All trees count, as randomness for one is made during another. Processor seconds hardly
    depend on what else the machine does.
    """
    clock = Clock()
    model = model_of(data, protocol, params, trees, threads, random_state=0)
    model.fit(data.X, data.y, verbose=False, callbacks=[clock])
    assert_real_trees(model.model_.active_share, f"{protocol} {params} on {data.source}")
    timings = model.timings_
    once, once_cpu = (
        sum(spent.get(name, 0.0) for name in ONCE_PHASES) for spent in (timings.seconds, timings.cpu_seconds)
    )
    total = sum(traffic.total_bytes for traffic in model.traffic_.values())
    return {
        "seconds": (clock.wall - once) / trees,
        "cpu": (clock.cpu - once_cpu) / trees,
        "megabytes": total / trees / 1e6,
        "trees": trees,
    }
