"""What the columns of a party's bins stand for, where some of its features hold categories.

A feature of numbers is one column. So is a feature of categories that is split by sorted partitions: its bins are the
categories in the order of their codes. A feature that is split one category at a time (one-hot) is a column for each
category: bin 0 for all others, bin 1 for this one. So a one-hot split is an ordinary split, and every protocol has it.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

NUMBER, PARTITION = -1, -2
# What goes right at a split by a set of categories: bool per bin.
RightBins: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BinColumns:
    """`feature`: int32[c], ascending, the feature that each column belongs to; every feature has a column.

    `category`: int32[c], the category that a column tests, NUMBER or PARTITION.
    """

    feature: NDArray[np.int32]
    category: NDArray[np.int32]

    @property
    def one_hot(self) -> NDArray[np.bool_]:
        """Which columns test one category."""
        return np.greater_equal(self.category, 0)

    @property
    def partitioned(self) -> NDArray[np.bool_]:
        """Which columns are split by sets of categories."""
        return np.equal(self.category, PARTITION)

    def of(self, features: NDArray[np.int32]) -> NDArray[np.int32]:
        """The columns of some features (ascending), ascending."""
        return np.flatnonzero(np.isin(self.feature, features)).astype(np.int32)

    def spread(self, allowed: NDArray[np.bool_], features: NDArray[np.int32]) -> NDArray[np.bool_]:
        """What is said of some features (ascending), bool[m, len(features)], said of their columns."""
        said: NDArray[np.bool_] = allowed[:, np.searchsorted(features, self.feature[self.of(features)])]
        return np.ascontiguousarray(said)


def columns_of(columns: BinColumns | None, features: NDArray[np.int32]) -> NDArray[np.int32]:
    """The columns of some features; without `columns` every feature is one."""
    return features if columns is None else columns.of(features)


def spread(
    columns: BinColumns | None, allowed: NDArray[np.bool_] | None, features: NDArray[np.int32]
) -> NDArray[np.bool_] | None:
    """See BinColumns.spread; None stands for all."""
    return allowed if columns is None or allowed is None else columns.spread(allowed, features)
