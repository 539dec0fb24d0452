"""A party's table in bins: what histograms are built from.

Column f with cuts c_0 < c_1 < ... has bins 0 .. len(cuts); the bin of x is the number of cuts <= x, so that x < c_b if
and only if its bin is at most b, for rows of training and for any others. Missing is a state of its own, after them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.binning.cuts import Float32Array, check_cuts, cuts_with_missing, make_cuts
from vfxgb.data.categories import Encoding, Split
from vfxgb.data.impute import StandIns
from vfxgb.data.table import Table
from vfxgb.errors import CutsError
from vfxgb.rows.base import RowStore
from vfxgb.rows.columns import NUMBER, PARTITION, BinColumns, RightBins
from vfxgb.rows.memory import MemoryRows

# XGBoost's default of max_cat_to_onehot.
ONE_HOT_BELOW = 4


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Bins of all rows, of which the first `n_train` are training rows.

    `cuts[c]`: float32, strictly ascending: the thresholds of a column of the bins. `has_missing[c]`: some training row
    misses it, or it is binned as if one did. `fill`: what stood in for missing values before binning; None where they
    stayed. A feature is one column, unless `rows.columns` says otherwise. `encodings`: per feature the categories that
    its bins stand for, None for numbers; () where all are numbers.
    """

    names: tuple[str, ...]
    cuts: tuple[Float32Array, ...]
    rows: RowStore
    has_missing: NDArray[np.bool_]
    n_train: int
    fill: StandIns | None = None
    encodings: tuple[Encoding | None, ...] = ()

    def splits(
        self,
        columns: NDArray[np.int32],
        split_bins: NDArray[np.int32],
        default_left: NDArray[np.bool_],
        right: Sequence[RightBins | None] | None = None,
    ) -> list[Split]:
        """Splits as a model holds them; a bin stands for the cut above it. `right`: those by sets of categories."""
        places = zip(columns.tolist(), split_bins.tolist(), default_left.tolist(), strict=True)
        known = self.rows.columns
        if known is None:
            return [(column, float(self.cuts[column][cut]), left) for column, cut, left in places]
        sets = [None] * len(columns) if right is None else right
        splits: list[Split] = []
        for (column, cut, left), chosen in zip(places, sets, strict=True):
            category = int(known.category[column])
            way: float | tuple[int, ...] = (category,)
            if chosen is not None:
                way = tuple(np.flatnonzero(chosen).tolist())
            elif category == NUMBER:
                way = float(self.cuts[column][cut])
            splits.append((int(known.feature[column]), way, left))
        return splits

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
        one_hot_below: int = ONE_HOT_BELOW,
    ) -> "BinnedTable":
        """Bin `table` by its own cuts, from its first `n_train` rows, or by the imposed `cuts` (column to thresholds).

        A column that misses values in training gets one more cut, above all values: the split into rows that have a
        value and rows that do not. Imposed cuts are taken as they are; those of categories must be all of their codes.
        `hide_missing`: every column is treated as if it missed values, so that neither the number of its bins nor its
        candidates tell whether it does. Features of fewer than `one_hot_below` categories are split one category at a
        time. Raises CutsError.
        """
        imposed = None if cuts is None else check_cuts(cuts, table.names, table.party)
        making = _Columns()
        encodings: list[Encoding | None] = []
        # One column is converted at a time; only if cuts are its own is it converted twice.
        for feature, name in enumerate(table.names):
            training = table.column(feature)[:n_train]
            missing = hide_missing or bool(np.isnan(training).any())
            encoding = table.encoding(feature)
            encodings.append(encoding)
            if encoding is not None:
                count = category_bins(training)
                encodings[-1] = encoding[:count]
                if imposed is not None:
                    _check_codes(imposed[name], count, name)
                making.add_categories(feature, count, missing, one_hot_below)
                continue
            own = imposed[name] if imposed is not None else _own_cuts(training, max_bin, missing)
            making.add(feature, NUMBER, own, missing)
        held = making.columns if table.encodings else None
        bins = _native.gbdt.Bins(table.n_rows, [column_cuts.astype(np.float64) for column_cuts in making.cuts])
        for column, (feature, category) in enumerate(zip(making.feature, making.category, strict=True)):
            encoding = encodings[feature]
            values = table.column(feature)
            if encoding is not None:
                values[values >= len(encoding)] = np.nan
            if category >= 0:
                values = np.where(np.isnan(values), values, values == category).astype(np.float32)
            bins.fill(column, values, 0, threads)
        rows = MemoryRows(bins, n_train, threads, held)
        missing_columns = np.array(making.missing, dtype=np.bool_)
        categories = tuple(encodings) if table.encodings else ()
        return cls(table.names, tuple(making.cuts), rows, missing_columns, n_train, encodings=categories)

    @property
    def bins(self) -> _native.gbdt.Bins:
        """The bins themselves. Raises EngineError where the rows are not in this process."""
        return self.rows.bins

    @property
    def n_features(self) -> int:
        """Count the features."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, eval rows included."""
        return self.rows.n_rows

    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins per column of the bins, missing not counted."""
        return self.rows.n_bins

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each column's bins begin in a histogram: int64[columns + 1], the last entry is the total."""
        return np.append(0, np.cumsum(self.n_bins, dtype=np.int64)).astype(np.int64)


def _own_cuts(training: Float32Array, max_bin: int, has_missing: bool) -> Float32Array:
    cuts = make_cuts(training, max_bin)
    return cuts_with_missing(cuts) if has_missing else cuts


class _Columns:
    """The columns of bins while they are listed, feature by feature."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.category: list[int] = []
        self.cuts: list[Float32Array] = []
        self.missing: list[bool] = []

    def add(self, feature: int, category: int, cuts: Float32Array, missing: bool) -> None:
        self.feature.append(feature)
        self.category.append(category)
        self.cuts.append(cuts)
        self.missing.append(missing)

    def add_categories(self, feature: int, count: int, missing: bool, one_hot_below: int) -> None:
        """A feature of `count` categories: a column for each, or one for all."""
        if count >= one_hot_below:
            self.add(feature, PARTITION, np.arange(1, count, dtype=np.float32), missing)
            return
        for category in range(count):
            self.add(feature, category, np.ones(1, dtype=np.float32), missing)

    @property
    def columns(self) -> BinColumns:
        return BinColumns(np.array(self.feature, dtype=np.int32), np.array(self.category, dtype=np.int32))


def category_bins(training: Float32Array) -> int:
    """How many categories the bins of a feature have: up to the highest code of a training row, and at least 1."""
    present = training[~np.isnan(training)]
    return int(present.max()) + 1 if len(present) else 1


def _check_codes(cuts: Float32Array, count: int, name: str) -> None:
    if not np.array_equal(cuts, np.arange(count)):
        raise CutsError(
            f"imposing cuts on column {name!r}, which holds categories: found {cuts[:8].tolist()}, wanted the codes 0 "
            f"to {count - 1}, or none"
        )
