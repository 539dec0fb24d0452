"""A party's table in shards: where it is read from, how it is divided, and its bins.

Cut points are those that the whole column would give, to the bit, from surveys of the shards (binning/sketch.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.binning.cuts import Float32Array, check_cuts
from vfxgb.binning.sketch import CutSearch, Survey
from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.shards import shard_ranges
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.data.target import ArrayTarget, TargetSource
from vfxgb.engine import shard
from vfxgb.engine.base import Engine, ShardHandle, join_all
from vfxgb.engine.parts import Division
from vfxgb.engine.sharded import ShardedRows

# What a row takes in memory while its shard is worked on, beside bins and ciphertexts: its places in partitions, a
# column as it is read, gradients.
WORK_BYTES = 64
# What a row takes all the time: its place in a partition, before and after a split; at the active party, besides,
# label, weight, and for each output margin, gradients and what is encrypted.
KEPT_BYTES, KEPT_ACTIVE_BYTES, KEPT_OUTPUT_BYTES = 24, 12, 48


@dataclass(frozen=True)
class ShardedTable:
    """The table `source`, divided among the shards of an engine."""

    engine: Engine
    source: Source
    division: Division

    @classmethod
    def of(
        cls,
        table: Table | Source,
        n_train: int,
        max_bin: int,
        engine: Engine,
        row_bytes: int = 0,
        n_outputs: int = 0,
    ) -> "ShardedTable":
        """Divide a table into shards.

        A protocol keeps `row_bytes` per row in a shard. The active party's gradients have `n_outputs` outputs; it is 0
        at other parties. A table in memory reaches other processes through files. Raises EngineError for too many rows.
        """
        source = source_of(table, engine)
        binned = len(source.names) * (1 if max_bin < 256 else 2)
        kept = KEPT_BYTES + (KEPT_ACTIVE_BYTES + KEPT_OUTPUT_BYTES * n_outputs if n_outputs else 0)
        engine.check_room(source.n_rows, kept)
        at_most = engine.rows_at_most(binned + row_bytes + WORK_BYTES)
        ranges = shard_ranges(source, at_most, engine.shards_for(source.n_rows))
        edges = np.array([0, *(stop for _, stop in ranges)], dtype=np.int64)
        return cls(engine, source, Division(edges, n_train))

    def target(self, labels: NDArray[Any] | TargetSource, weights: Float32Array | None, party: str) -> TargetSource:
        """Labels and weights so that shards can read them."""
        if not isinstance(labels, np.ndarray):
            return labels
        target = ArrayTarget(labels, weights, party)
        return target if self.engine.mapped else target.write(self.engine.folder)

    def bin(self, max_bin: int, cuts: Mapping[str, Any] | None) -> BinnedTable:
        """The bins, by the table's own cuts or the imposed ones; see BinnedTable.build. Raises CutsError."""
        names, engine, division = self.source.names, self.engine, self.division
        searches = [CutSearch(survey, max_bin) for survey in self._joined(join_surveys, shard.survey_columns)]
        if cuts is None:
            self._refine(searches)
            chosen = [search.cuts() for search in searches]
        else:
            imposed = check_cuts(cuts, names, self.source.party)
            chosen = [imposed[name] for name in names]
        exact = [column_cuts.astype(np.float64) for column_cuts in chosen]
        folder = str(engine.folder) if engine.mapped else None
        parts = [
            engine.run(s, shard.make_bins, self.source, first, stop, exact, folder, engine.threads)
            for s, (first, stop) in enumerate(division.ranges())
        ]
        n_bins = np.array([len(column_cuts) + 1 for column_cuts in chosen], dtype=np.int32)
        missing = np.array([search.has_missing for search in searches])
        return BinnedTable(
            names, tuple(chosen), ShardedRows(engine, division, parts, n_bins), missing, division.n_train
        )

    def _refine(self, searches: list[CutSearch]) -> None:
        """Ask until every search is done; they are all at one level."""
        while unfinished := [(feature, search) for feature, search in enumerate(searches) if search.wanted is not None]:
            wanted = [(feature, search.wanted, search.level) for feature, search in unfinished]
            counts = self._joined(join_counts, shard.refine_columns, wanted)
            for (_, search), counted in zip(unfinished, counts, strict=True):
                search.refine(counted)

    def _joined(self, join: Any, function: Any, *args: Any) -> list[Any]:
        """What `function` says of the training rows of each shard that has any, joined, column by column."""
        used = self.division.train_sizes.tolist()
        parts: list[ShardHandle] = [
            self.engine.run(s, function, self.source, first, first + used[s], *args)
            for s, (first, _) in enumerate(self.division.ranges())
            if used[s]
        ]
        (joined,) = self.engine.get([join_all(self.engine, parts, join)])
        return list(joined)


def join_surveys(parts: list[list[Survey]]) -> list[Survey]:
    """Join what shards say, column by column."""
    return [Survey.join(list(column)) for column in zip(*parts, strict=True)]


def join_counts(parts: list[list[NDArray[np.int64]]]) -> list[NDArray[np.int64]]:
    """Join what shards say, column by column."""
    return [shard.add_arrays(list(column)) for column in zip(*parts, strict=True)]


def source_of(table: Table | Source, engine: Engine) -> Source:
    """A table so that the shards of an engine can read it: if it is in memory, other processes do so from files.

    Files are in a new folder within the engine's, which goes with the engine at the latest.
    """
    if not isinstance(table, Table) or engine.mapped:
        return table
    return ColumnFiles.write(table, Path(shard.new_file(str(engine.folder))))
