"""A party learns which way rows with a missing value lean at its splits (model/leanings.py), from its training rows.

It needs its own columns and where its own splits stand, and nothing of any other party.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.column_regressions import ColumnRegressions, fit_regressions
from vfxgb.data.table import Float32Array, Table
from vfxgb.model.leanings import EVIDENCE, LEAN_STEPS, MAX_LEAN, STRATA, Leanings
from vfxgb.model.shares import SplitPaths, SplitRecords

BY_COVER = "rows that lack them are weighted by cover alone"
# Rows that a class counts as if it had them beside its own, divided like all rows at the split: few rows prove little.
PRIOR_ROWS = 10.0


def with_leanings(records: SplitRecords, paths: SplitPaths, table: Table, n_train: int) -> SplitRecords:
    """The records of a party with the leans of the first `n_train` rows of its table. Raises ImputationError."""
    rows = _TrainingRows(table, n_train, fit_regressions(table, n_train, BY_COVER))
    leans = np.zeros((len(records), STRATA), dtype=np.int32)
    for record, reached in _reached(records, paths, rows):
        feature, cut = int(records.feature[record]), np.float32(records.cut[record])
        values = rows.column(feature)
        here = reached & ~np.isnan(values)
        leans[record] = _leans(rows.strata(feature)[here], values[here] < cut)
    edges = [rows.edges(feature) for feature in range(table.n_features)]
    leanings = Leanings(rows.regressions, np.concatenate(edges), leans.reshape(-1))
    return SplitRecords(
        records.features, records.feature, records.cut, records.default_left, records.fill, None, leanings
    )


@dataclass
class _TrainingRows:
    """Training rows with what is expected of their values; a column that splits test is converted once."""

    table: Table
    n_train: int
    regressions: ColumnRegressions
    _columns: dict[int, Float32Array] = field(default_factory=dict)
    _edges: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    _strata: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    def column(self, feature: int) -> Float32Array:
        values = self._columns.get(feature)
        if values is None:
            values = self._columns[feature] = self.table.column(feature, 0, self.n_train)
        return values

    def edges(self, feature: int) -> NDArray[np.float64]:
        """The inner edges of a column's classes; those of a column that no split tests are all 0 and never used."""
        return self._edges.get(feature, np.zeros(STRATA - 1))

    def strata(self, feature: int) -> NDArray[np.uint8]:
        """The class of every row by what is expected of a column."""
        known = self._strata.get(feature)
        if known is None:
            read = lambda other: self.table.column(other, 0, self.n_train)  # noqa: E731
            scores = self.regressions.scores(feature, read, self.n_train)
            present = scores[~np.isnan(self.column(feature))]
            edges = np.quantile(present, np.arange(1, STRATA) / STRATA) if len(present) else np.zeros(STRATA - 1)
            self._edges[feature] = edges
            known = self._strata[feature] = np.searchsorted(edges, scores, side="right").astype(np.uint8)
        return known


def _reached(records: SplitRecords, paths: SplitPaths, rows: _TrainingRows) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Per split the training rows that the party's own splits above do not keep away; where these lack a value, both
    sides are open.
    """
    everyone = np.ones(rows.n_train, dtype=np.bool_)
    tree, reach = -1, {-1: everyone}
    # Splits come in the order of their trees, each after those above it.
    for record in np.argsort(paths.tree, kind="stable").tolist():
        if paths.tree[record] != tree:
            tree, reach = int(paths.tree[record]), {-1: everyone}
        reached = reach[int(paths.above[record])]
        values = rows.column(int(records.feature[record]))
        right = values >= np.float32(records.cut[record])
        reach[2 * record] = reached & ~right
        reach[2 * record + 1] = reached & (right | np.isnan(values))
        yield record, reached


def _leans(strata: NDArray[np.uint8], left: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The lean of each class, from the classes of rows at a split and whether they go left; int32[STRATA]."""
    rows, lefts = np.bincount(strata, minlength=STRATA), np.bincount(strata[left], minlength=STRATA)
    all_rows, all_lefts = int(rows.sum()), int(lefts.sum())
    if all_lefts in (0, all_rows):
        return np.zeros(STRATA, dtype=np.int32)
    share = all_lefts / all_rows
    shares = (lefts + PRIOR_ROWS * share) / (rows + PRIOR_ROWS)
    steps = [LEAN_STEPS * EVIDENCE * (_log_odds(own) - _log_odds(share)) for own in shares.tolist()]
    return np.clip(np.rint(steps), -MAX_LEAN, MAX_LEAN).astype(np.int32)


def _log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))
