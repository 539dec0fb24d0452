"""What `vfxgb bench scale` finds, and its file of results.

The file is one JSON object: part -> the machine, the settings, and what was found: Costs, or a list of Trained.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from vfxgb.bench.scale.job import ScaleRun
from vfxgb.bench.scale.model import KeyCosts, RowCosts


class Costs(msgspec.Struct, frozen=True):
    """What part `costs` found."""

    keys: list[KeyCosts]
    rows: RowCosts


class Trained(msgspec.Struct, frozen=True):
    """One way to train, and what came of it. `workers` 0: no cluster, rows in the memory of the process.

    `scheme` and `key_bits` are those of `batch_he`, and empty and 0 for other protocols. Each worker, or the process,
    has `threads` threads. `runs` holds one run per repeat.
    """

    name: str
    rows: int
    features: tuple[int, int]
    depth: int
    bins: int
    scheme: str
    key_bits: int
    shards: int
    workers: int
    threads: int
    holds_key: bool
    runs: list[ScaleRun]
    protocol: str = "batch_he"

    def wall_seconds(self, run: ScaleRun) -> float:
        """Wall time of one of the runs: with a set-up, if the protocol has one, without a key, whose time is luck."""
        return run.seconds + self._set_up(run)

    def cpu_seconds(self, run: ScaleRun) -> float:
        """Processor time of all processes of one of the runs, counted in the same way."""
        return run.cpu_seconds + run.cluster_cpu_seconds + self._set_up(run)

    def _set_up(self, run: ScaleRun) -> float:
        return 0.0 if self.protocol == "batch_he" else run.key_seconds


def read_costs(document: Mapping[str, Any]) -> Costs | None:
    """The constants in a file of results, None if they were not measured."""
    return msgspec.convert(document["costs"]["found"], Costs) if "costs" in document else None


def read_trained(document: Mapping[str, Any], part: str) -> list[Trained]:
    """What a part measured; nothing if it was not run."""
    return msgspec.convert(document[part]["found"], list[Trained]) if part in document else []
