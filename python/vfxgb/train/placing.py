"""Where a party's rows are, decided when a run is set up: in the memory of this process, or in the shards of an engine.

Whoever takes part after that has a RowStore (rows/base.py) and, at the active party, a Target, and does not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import ONE_HOT_BELOW, BinnedTable
from vfxgb.contract import ProtocolSpec
from vfxgb.data.impute import STRATEGIES, filled
from vfxgb.data.source import Source, as_table
from vfxgb.data.table import Table
from vfxgb.data.target import TargetSource
from vfxgb.engine.base import Engine
from vfxgb.engine.table import ShardedTable
from vfxgb.engine.target import ShardedTarget
from vfxgb.errors import EngineError
from vfxgb.model.shares import CONDITIONAL
from vfxgb.objective import spec_of
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name, protocol_names
from vfxgb.train.target import Learning, MemoryTarget, Target

Float32Array = NDArray[np.float32]
# Labels of all rows, or where to read them, with the weights.
Labels: TypeAlias = NDArray[Any] | TargetSource


@dataclass(frozen=True)
class Placing:
    """How a party's rows shall be placed and binned.

    `engine`: None for the memory of this process. `row_bytes`: what the protocol keeps per row in a shard. `n_outputs`:
    of the active party's gradients, else 0. `hide_missing`, `one_hot_below`: see BinnedTable.build.
    """

    party: str
    n_train: int
    max_bin: int
    missing_strategy: str
    threads: int
    engine: Engine | None = None
    row_bytes: int = 0
    n_outputs: int = 0
    hide_missing: bool = False
    one_hot_below: int = ONE_HOT_BELOW


class Placed(Protocol):
    """A party's table where its rows are worked on."""

    def bin(self, cuts: Mapping[str, Any] | None) -> BinnedTable:
        """The rows in bins, by the table's own cuts or the imposed ones. Raises CutsError."""

    def target(self, labels: Labels, weights: Float32Array | None, learning: Learning) -> Target:
        """What the active party has per row beside its features. Raises LabelError, now or with the first round."""


def place_rows(table: Table | Source, how: Placing) -> Placed:
    """The table in its place; without an engine one that lies elsewhere is read. Raises EngineError for too many rows.

    What only rows in this process allow has been refused before (check_fits).
    """
    if how.engine is not None:
        shards = ShardedTable.of(table, how.n_train, how.max_bin, how.engine, how.row_bytes, how.n_outputs)
        return _InShards(shards, how)
    return _InMemory(as_table(table), how)


@dataclass(frozen=True)
class _InMemory:
    table: Table
    how: Placing

    def bin(self, cuts: Mapping[str, Any] | None) -> BinnedTable:
        how = self.how
        table, fill = filled(self.table, how.missing_strategy, how.n_train)
        binned = BinnedTable.build(
            table,
            how.n_train,
            how.max_bin,
            cuts,
            how.threads,
            hide_missing=how.hide_missing,
            one_hot_below=how.one_hot_below,
        )
        return replace(binned, fill=fill)

    def target(self, labels: Labels, weights: Float32Array | None, learning: Learning) -> Target:
        how = self.how
        if not isinstance(labels, np.ndarray):
            labels, weights = labels.read(0, self.table.n_rows)
        checked = learning.objective.check_labels(labels, how.party)
        return MemoryTarget(learning, checked, weights, how.n_train, how.threads)


@dataclass(frozen=True)
class _InShards:
    shards: ShardedTable
    how: Placing

    def bin(self, cuts: Mapping[str, Any] | None) -> BinnedTable:
        return self.shards.bin(self.how.max_bin, cuts)

    def target(self, labels: Labels, weights: Float32Array | None, learning: Learning) -> Target:
        shards = self.shards
        source = shards.target(labels, weights, self.how.party)
        objective, params, bits = learning.objective, learning.params, learning.options.precision_bits
        return ShardedTarget(shards.engine, shards.division, source, objective, params, bits)


def check_fits(spec: ProtocolSpec, params: TrainParams, recorded: bool, holds_key: bool) -> None:
    """Raise EngineError for what can only be done with all rows in this process.

    `holds_key`: the active party's engine may hold its secrets.
    """
    _check(spec, params.missing_strategy, recorded)
    if spec.secrets_with_rows and not holds_key:
        raise _unfit(
            f"with protocol {spec.name!r} secrets of the active party lie where its rows are, and workers_hold_key is "
            "False",
            "set workers_hold_key=True if all workers of the cluster may know them, or use engine='local' with a "
            "memory_limit",
        )
    if not isinstance(params.objective, str):
        raise _unfit("an objective that is a callable sees all rows at once", "name one of vfxgb's objectives")
    if spec_of(params.objective).adaptive:
        raise _unfit(f"objective={params.objective!r} orders the residuals of all rows", "use reg:pseudohubererror")


def check_passive(party: str, spec: ProtocolSpec, missing_strategy: str, recorded: bool) -> None:
    """Raise EngineError, which names the party, for what a passive party is asked for and cannot do on shards."""
    try:
        _check(spec, missing_strategy, recorded)
    except EngineError as error:
        raise EngineError(f"{party}: {error}") from None


def _check(spec: ProtocolSpec, missing_strategy: str, recorded: bool) -> None:
    if not spec.sharded or spec.release is not None:
        able = [name for name in protocol_names() if protocol_by_name(name).sharded]
        raise _unfit(f"protocol {spec.name!r} works on rows in one process", f"use one of {', '.join(able)}")
    if missing_strategy in STRATEGIES:
        raise _unfit(f"missing_strategy={missing_strategy!r} imputes from all rows", "use 'learned'")
    if missing_strategy == CONDITIONAL:
        raise _unfit(
            f"missing_strategy={missing_strategy!r} learns from all rows which way others lean", "use 'probabilistic'"
        )
    if recorded:
        raise _unfit("a run that is recorded keeps all rows here", "record on fewer rows")


def _unfit(what: str, remedy: str) -> EngineError:
    return EngineError(f"dividing rows into shards: {what}; {remedy}, or leave out engine and memory_limit")
