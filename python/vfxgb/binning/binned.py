"""A party's table in bins: what histograms are built from.

Column f with cuts c_0 < c_1 < ... has bins 0 .. len(cuts); the bin of x is the number of cuts <= x, so that x < c_b if
and only if its bin is at most b, for rows of training and for any others. Missing is a state of its own, after them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.binning.cuts import Float32Array, check_cuts, cuts_with_missing, make_cuts
from vfxgb.data.impute import StandIns
from vfxgb.data.table import Table
from vfxgb.rows.base import RowStore
from vfxgb.rows.memory import MemoryRows


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Bins of all rows, of which the first `n_train` are training rows.

    `cuts[f]`: float32, strictly ascending: the thresholds of f. `has_missing[f]`: some training row misses f, or f is
    binned as if one did. `fill`: what stood in for missing values before binning; None where they stayed.
    """

    names: tuple[str, ...]
    cuts: tuple[Float32Array, ...]
    rows: RowStore
    has_missing: NDArray[np.bool_]
    n_train: int
    fill: StandIns | None = None

    def splits(
        self, features: NDArray[np.int32], split_bins: NDArray[np.int32], default_left: NDArray[np.bool_]
    ) -> list[tuple[int, float, bool]]:
        """Splits as a model holds them, (feature, threshold, default direction); a bin stands for the cut above it."""
        places = zip(features.tolist(), split_bins.tolist(), default_left.tolist(), strict=True)
        return [(feature, float(self.cuts[feature][cut]), left) for feature, cut, left in places]

    @classmethod
    def build(
        cls,
        table: Table,
        n_train: int,
        max_bin: int,
        cuts: Mapping[str, Any] | None = None,
        threads: int = 1,
        *,
        hide_missing: bool = False,
    ) -> "BinnedTable":
        """Bin `table` by its own cuts, from its first `n_train` rows, or by the imposed `cuts` (column to thresholds).

        A column that misses values in training gets one more cut, above all values: the split into rows that have a
        value and rows that do not. Imposed cuts are taken as they are. `hide_missing`: every column is treated as if it
        missed values, so that neither the number of its bins nor its candidates tell whether it does. Raises CutsError.
        """
        imposed = None if cuts is None else check_cuts(cuts, table.names, table.party)
        # One column is converted at a time; only if cuts are its own is it converted twice.
        missing = np.zeros(table.n_features, dtype=np.bool_)
        chosen: list[Float32Array] = []
        for feature, name in enumerate(table.names):
            training = table.column(feature)[:n_train]
            missing[feature] = hide_missing or bool(np.isnan(training).any())
            chosen.append(
                imposed[name] if imposed is not None else _own_cuts(training, max_bin, bool(missing[feature]))
            )
        bins = _native.gbdt.Bins(table.n_rows, [column_cuts.astype(np.float64) for column_cuts in chosen])
        for feature in range(table.n_features):
            bins.fill(feature, table.column(feature), 0, threads)
        return cls(table.names, tuple(chosen), MemoryRows(bins, n_train, threads), missing, n_train)

    @property
    def bins(self) -> _native.gbdt.Bins:
        """The bins themselves. Raises EngineError where the rows are not in this process."""
        return self.rows.bins

    @property
    def n_features(self) -> int:
        """Count the columns."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, eval rows included."""
        return self.rows.n_rows

    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins per column, missing not counted: int32[n_features]."""
        return self.rows.n_bins

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each column's bins begin in a histogram: int64[n_features + 1], the last entry is the total."""
        return np.append(0, np.cumsum(self.n_bins, dtype=np.int64)).astype(np.int64)


def _own_cuts(training: Float32Array, max_bin: int, has_missing: bool) -> Float32Array:
    cuts = make_cuts(training, max_bin)
    return cuts_with_missing(cuts) if has_missing else cuts
