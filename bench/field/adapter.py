"""What an entrant is. An adapter is a file of adapters/ with a `PEER`, named as the peer is on the command line.

An adapter imports its library inside functions only. It measures nothing and checks nothing: it says when a training
begins and when a tree is done, and leaves predictions; party.py and the benchmark do the rest, in the same way for all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ACTIVE, PASSIVE = "bank", "shop"
# The role of an entrant whose parties are simulated in one process.
BOTH = "both"


@dataclass(frozen=True)
class Entrant:
    """One way to train. `level`: a level of privacy of vfxgb.bench.field.axes; `learns`: who learns what, in words.

    `alone`: all parties are in one process, and nothing goes over a line. `key_bits`: 0 where nothing is encrypted.
    `twin`: protocol_params of vfxgb's `plain` that gives the same model bit for bit, None where no such model is known.
    `warm_trees`: the first trees, in which keys are made or code is compiled, and which are not timed.
    """

    level: str
    learns: str
    alone: bool = False
    key_bits: int = 0
    twin: Mapping[str, Any] | None = None
    warm_trees: int = 1
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """What one party is to do. `features`: columns of the active and of the passive party.

    `listen`: party -> the port at which it hears the other one. `dial`: party -> the port that leads there, over the
    line. Files of the party are in `folder`: its table as <party>.npy, the active party's labels as label.npy.
    """

    entrant: str
    role: str
    folder: str
    rows: int
    features: tuple[int, int]
    depth: int
    bins: int
    trees: int
    threads: int
    mbit: float
    delay_ms: float
    listen: dict[str, int] = field(default_factory=dict)
    dial: dict[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    def table(self, party: str) -> Any:
        """float32[rows, columns of the party]."""
        return np.load(self.path / f"{party}.npy")

    def labels(self) -> Any:
        """float32[rows] of 0 and 1."""
        return np.load(self.path / "label.npy")

    def save_predictions(self, predictions: Any) -> None:
        """For the rows that were trained on: any increasing function of the probability."""
        np.save(self.path / "predictions.npy", np.asarray(predictions, dtype=np.float64))


class Reporter:
    """Tells the benchmark how far a party is: a line of JSON for each event, with the time of time.monotonic()."""

    def __init__(self) -> None:
        # What libraries print goes to stderr.
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(self, event: str, **more: Any) -> None:
        """Tell an event."""
        print(json.dumps({"event": event, "time": time.monotonic(), **more}), file=self._out, flush=True)

    def ready(self) -> None:
        """Libraries are loaded, tables are read, ports are open; returns when the other party is ready, too."""
        self.tell("ready")
        if not sys.stdin.readline():
            raise SystemExit("the benchmark has ended")

    def begin(self) -> None:
        """The parties are connected; keys and set-up follow."""
        self.tell("begin")

    def tree(self, **counters: float) -> None:
        """Another tree is done; `counters`: totals until now, such as messages."""
        self.tell("tree", **counters)


# What a party does: trains, tells events, and leaves its part of the result in the folder.
Play = Callable[[Job, Reporter], None]


@dataclass(frozen=True)
class Peer:
    """A library or system. `title`: its name for itself. `distribution`: its name on PyPI. `module`: what to import.

    `requirements`: what pip installs into an environment of its own. `install`: how a person does it. `source`: where
    it is read who learns what. `entrants`: makes name -> entrant; called where the library is installed. `play`: the
    function of every party, which looks at job.role.
    """

    title: str
    distribution: str
    module: str
    requirements: tuple[str, ...]
    install: str
    source: str
    entrants: Callable[[], Mapping[str, Entrant]]
    play: Play
    notes: tuple[str, ...] = ()
