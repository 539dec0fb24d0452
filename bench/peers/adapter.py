"""What a peer is. An adapter is a file of adapters/ with a `PEER`; the file's name is the peer's on the command line.

An adapter imports its peer inside functions only: these run in a process of their own (worker.py), so that neither a
missing package nor a crash ends the benchmark. It measures nothing and checks nothing; both are done by the worker, in
the same way for all.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers.inputs import Inputs
from vfxgb.bench.datasets import Loaded

PAILLIER, OU = "paillier", "ou"
# Names of operations; every peer has the first one of encryption, vfxgb all of them.
ENCRYPT = "encrypt"
ENCRYPT_SHORT = "encrypt, short randomness"
ENCRYPT_PUBLIC = "encrypt, public key alone"
ENCRYPT_PUBLIC_SHORT = "encrypt, public key alone, short randomness"
ENCRYPT_PUBLIC_WEAK = "encrypt, public key alone, weak randomness"
SUM = "add, in a long sum"
HISTOGRAM = "add, in a histogram"
SCALE = "scale"
DECRYPT = "decrypt"
# Keys of a trainer: nothing is encrypted; a key of any size.
NO_KEY, ANY_KEY = 0, -1


@dataclass(frozen=True)
class Operation:
    """`run` does one whole batch and is timed; `read` opens what it returned, as integers, and is not."""

    run: Callable[[], Any]
    read: Callable[[Any], Sequence[int]]


# A scheme of a peer: makes a key of inputs.bits and everything that is not to be timed, and returns name -> operation.
MakeOperations = Callable[[Inputs], Mapping[str, Operation]]


@dataclass(frozen=True)
class Task:
    """What to train: `trees` trees are timed, `trees` + 2 are grown. `key_bits`: 0 where nothing is encrypted."""

    data: Loaded
    depth: int
    bins: int
    trees: int
    key_bits: int

    @property
    def rounds(self) -> int:
        """Trees to grow: the first and the last one may differ from those between."""
        return self.trees + 2


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock and of the processor."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Trained:
    """Cost of each tree that counts, and predictions for the rows that were trained on (any increasing function)."""

    trees: list[Cost]
    predictions: NDArray[np.float64]


@dataclass(frozen=True)
class Trainer:
    """`key`: NO_KEY, ANY_KEY or the size in bits that the peer cannot change. `slow`: small tables only."""

    train: Callable[[Task], Trained]
    key: int = NO_KEY
    slow: bool = False


@dataclass(frozen=True)
class Peer:
    """`title`: as it calls itself. `distribution`: on PyPI. `module`: what to import. `install`: the command for it.

    `notes`: what a reader of its numbers must know. `operations`: scheme -> its operations. `most`: the largest batch
    for a peer that works ciphertext by ciphertext and gains nothing from a larger one, None for one that may gain.
    """

    title: str
    distribution: str
    module: str
    install: str
    notes: tuple[str, ...] = ()
    most: int | None = None
    operations: Mapping[str, MakeOperations] = field(default_factory=dict)
    trainers: Mapping[str, Trainer] = field(default_factory=dict)


class Clock:
    """Costs from one call to the next."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self) -> Cost:
        """Since the last call, or since the clock was made."""
        wall, cpu = time.perf_counter(), time.process_time()
        cost = Cost(wall - self._wall, cpu - self._cpu)
        self._wall, self._cpu = wall, cpu
        return cost


def middle(rounds: list[Cost]) -> list[Cost]:
    """Without the first, in which keys and tables are made, and the last, in which nothing is made ahead."""
    return rounds[1:-1]


def by_difference(fit: Callable[[int], Any], rounds: int) -> tuple[list[Cost], Any]:
    """Cost of a tree where a peer does not say when a tree is done: what `rounds` trees take beyond one tree.

    Returns it, as a list of one, and what `fit` returned for all trees.
    """
    clock = Clock()
    fit(1)
    single = clock.lap()
    model = fit(rounds)
    many = clock.lap()
    more = rounds - 1
    return [Cost((many.wall - single.wall) / more, (many.cpu - single.cpu) / more)], model
