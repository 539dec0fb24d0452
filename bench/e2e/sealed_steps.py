"""Processor time and bytes of a tree of `sealed`, step by step, and what all of a tree takes on the clock.

    python bench/e2e/sealed_steps.py [--shapes give_credit synthetic ...] [--trees 4] [--threads 2] [--quick]
        [--json docs/results/sealed_steps.json]

Both parties are in one process. Steps are measured with one thread each, so that a step has no helper threads:
processor time is then that of the party's own thread within the step, and other work on the machine does not count as
it does on the clock. A run of one tree is taken off one of more, so that neither the set-up nor the first tree count,
in which more is made ahead. What no step has (masks that are made in the background, messages, Python between steps) is
the rest of the process. A second pair of runs, with `--threads`, is what a tree takes on the clock, with the load of
the machine next to it.
"""

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, PASSIVE, Loaded, load
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.train.callbacks import TrainingCallback, TrainingState

# Step -> the phases of either party and the messages that belong to it.
STEPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "integers of nodes": (("integers",), ()),
    "sums over encrypted columns": (("sums",), ("lattice-nodes",)),
    "pieces of comparisons": (("pieces",), ("argmax-pieces", "sealed-pieces", "argmax-corrections")),
    "comparisons": (("compare",), ("argmax-flight", "argmax-winners")),
    "hidden routing": (("route",), ("hidden-route", "hidden-routed", "transfer-stock")),
    "the active party's own tree": (
        ("gradients", "own sums", "own splits", "apply splits", "margins", "evaluate", "keep"),
        (),
    ),
}
REST = "masks, messages, everything else"


@dataclass(frozen=True)
class Shape:
    """A table of bench/datasets.py, and how its trees are grown."""

    name: str
    data: str
    rows: int | None
    features: tuple[int, int] | None
    bins: int
    depth: int


SHAPES = (
    Shape("give_credit", "give_credit", None, None, 32, 6),
    Shape("synthetic", "synthetic", 100_000, (10, 10), 16, 5),
    Shape("million", "synthetic", 1_000_000, (10, 10), 16, 5),
    Shape("wide", "synthetic", 30_000, (5, 50), 64, 6),
)
QUICK_ROWS = 3000


class TreeClock(TrainingCallback):
    """Seconds of every round, and processor seconds of the process and of the active party's thread."""

    def __init__(self) -> None:
        self.rounds: list[float] = []
        self.process = self.thread = 0.0

    def before_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
        """Start the clocks."""
        self._start = time.perf_counter()
        self.process, self.thread = -time.process_time(), -time.thread_time()

    def after_iteration(self, state: TrainingState) -> bool:  # noqa: ARG002 - a hook
        """Note the time since the last round."""
        now = time.perf_counter()
        self.rounds.append(now - self._start)
        self._start = now
        return False

    def after_training(self, state: TrainingState) -> None:  # noqa: ARG002 - a hook
        """Stop them."""
        self.process += time.process_time()
        self.thread += time.thread_time()


def train(data: Loaded, shape: Shape, trees: int, threads: int) -> tuple[VFXGBClassifier, TreeClock]:
    clock = TreeClock()
    model = VFXGBClassifier(
        n_estimators=trees,
        max_depth=shape.depth,
        max_bin=shape.bins,
        n_jobs=threads,
        parties=data.parties,
        active=ACTIVE,
        protocol="sealed",
    ).fit(data.X, data.y, callbacks=[clock], verbose=False)
    assert_real_trees(model.model_.active_share, f"sealed_steps: {shape.name}")
    return model, clock


def counted(model: VFXGBClassifier, clock: TreeClock) -> dict[str, Any]:
    """Processor seconds by party and step, and bytes by step, of a whole run."""
    timings = {"active": model.timings_, "passive": model.timings_.parties[PASSIVE]}
    seconds = {
        party: {step: sum(own.cpu_seconds.get(phase, 0.0) for phase in phases) for step, (phases, _) in STEPS.items()}
        for party, own in timings.items()
    }
    once = {
        party: sum(own.cpu_seconds.get(phase, 0.0) for phase in ("bin", "set-up")) for party, own in timings.items()
    }
    sizes = {entry.message: 0 for entry in model.ledger_.totals()}
    for entry in model.ledger_.totals():
        sizes[entry.message] += entry.bytes
    size = {step: sum(sizes.get(tag, 0) for tag in tags) for step, (_, tags) in STEPS.items()}
    traffic = model.traffic_[PASSIVE]
    return {
        "seconds": seconds,
        "once": once,
        "bytes": size,
        "process": clock.process,
        "thread": clock.thread,
        "all_bytes": traffic.sent_bytes + traffic.received_bytes,
        "round_trips": traffic.round_trips,
    }


def steps_of(few: dict[str, Any], many: dict[str, Any], trees: int) -> list[dict[str, Any]]:
    """Per tree and step: processor seconds of either party, megabytes; the rest of the process last."""

    def each(*keys: str) -> float:
        lower, upper = few, many
        for key in keys:
            lower, upper = lower[key], upper[key]
        return (upper - lower) / trees

    lines = [
        {
            "step": step,
            "active": each("seconds", "active", step),
            "passive": each("seconds", "passive", step),
            "bytes": each("bytes", step),
        }
        for step in STEPS
    ]
    known = sum(line["active"] + line["passive"] for line in lines) + each("once", "active") + each("once", "passive")
    active = each("thread") - sum(line["active"] for line in lines) - each("once", "active")
    rest = each("process") - known
    size = each("all_bytes") - sum(line["bytes"] for line in lines)
    # Of the rest the active party's thread is known; masks are made on another thread of its own.
    return [*lines, {"step": REST, "active": active, "passive": rest - active, "bytes": size}]


def measure(shape: Shape, args: argparse.Namespace) -> dict[str, Any]:
    rows = QUICK_ROWS if args.quick else shape.rows
    data = load(shape.data, rows, shape.features)
    train(data.head(1000), shape, 1, 1)
    few, many = (counted(*train(data, shape, 1 + extra, 1)) for extra in (0, args.trees))
    load_before = os.getloadavg()[0]
    _, clock = train(data, shape, 1 + args.trees, args.threads)
    return {
        "shape": asdict(shape),
        "source": data.source,
        "rows": len(data.y),
        "features": [data.n_active, data.X.shape[1] - data.n_active],
        "steps": steps_of(few, many, args.trees),
        "process": (many["process"] - few["process"]) / args.trees,
        "bytes": (many["all_bytes"] - few["all_bytes"]) / args.trees,
        "round_trips": (many["round_trips"] - few["round_trips"]) / args.trees,
        "wall": median(clock.rounds[1:]),
        "load": load_before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [shape.name for shape in SHAPES]
    parser.add_argument("--shapes", nargs="+", choices=names, default=names)
    parser.add_argument("--trees", type=int, default=4, help="beyond the first (4)")
    parser.add_argument("--threads", type=int, default=2, help="of each party, on the clock (2)")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    result = {
        "machine": machine_facts(),
        "settings": {"trees": args.trees, "threads": args.threads},
        "shapes": [measure(shape, args) for shape in SHAPES if shape.name in args.shapes],
    }
    text = json.dumps(result, indent=2)
    print(text)
    if args.json is not None:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
