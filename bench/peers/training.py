"""Seconds per tree in the middle of a training, on one core: all peers on whole tables, and encryption on a small one.

The second part is there for peers whose encryption takes too long for a whole table, or that have a key of one size
only: everybody is measured with every such key, and with the usual one where a peer allows it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from peers.adapter import ANY_KEY, NO_KEY
from peers.child import Child, PeerFailedError

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """`tables`: names for vfxgb.bench.datasets. `rows`: None for all. `small`: table and rows of the second part.

    `trees`, `encrypted_trees`: timed trees without and with encryption.
    """

    tables: tuple[str, ...]
    rows: int | None
    small: tuple[str, int]
    depth: int
    bins: int
    key_bits: int
    trees: int
    encrypted_trees: int


@dataclass(frozen=True)
class Job:
    """One training. `part`: "whole" or "small"."""

    part: str
    peer: str
    trainer: str
    data: str
    rows: int | None
    key_bits: int


def jobs(trainers: dict[str, dict[str, dict[str, Any]]], plan: Plan) -> list[Job]:
    """What to train. `trainers`: peer -> trainer -> {"key", "slow"}."""
    every = [
        (peer, name, trainer["key"], trainer["slow"])
        for peer, known in trainers.items()
        for name, trainer in known.items()
    ]
    asked = []
    for data in plan.tables:
        for peer, name, key, slow in every:
            if not slow:
                bits = plan.key_bits if key == ANY_KEY else key
                asked.append(Job("whole", peer, name, data, plan.rows, bits))
    fixed = sorted({key for _, _, key, _ in every if key not in (NO_KEY, ANY_KEY)})
    if not fixed:
        return asked
    data, rows = plan.small
    for bits in sorted({*fixed, plan.key_bits}):
        asked += [Job("small", peer, name, data, rows, bits) for peer, name, key, _ in every if key in (bits, ANY_KEY)]
    return asked


def measure(folder: Path, asked: list[Job], plan: Plan, say: Say) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(measurements, "peer trainer" -> why it failed). Each training has a process of its own.

    A measurement has part, peer, trainer, data, key_bits, source, rows, features, rounds, wall and cpu (seconds per
    tree), seconds (processor time of a tree, the median) and auc.
    """
    trained: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for place, job in enumerate(asked):
        label = f"{job.peer} {job.trainer}"
        if label in failed:
            continue
        key = f", {job.key_bits} bits" if job.key_bits else ""
        say(f"training {place + 1} of {len(asked)}: {label}, {job.data}{key}")
        trees = plan.encrypted_trees if job.key_bits else plan.trees
        with Child(folder, job.peer) as child:
            try:
                answer = child.ask(
                    "train",
                    trainer=job.trainer,
                    data=job.data,
                    rows=job.rows,
                    depth=plan.depth,
                    bins=plan.bins,
                    trees=trees,
                    key_bits=job.key_bits,
                )
            except PeerFailedError as failure:
                failed[label] = str(failure)
                continue
        head = {"part": job.part, "peer": job.peer, "trainer": job.trainer, "data": job.data, "key_bits": job.key_bits}
        trained.append({**head, **answer, "seconds": median(answer["cpu"])})
    return trained, failed
