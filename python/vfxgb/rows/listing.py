"""The candidate splits of some features, as a RowStore needs them to make the sums left of each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.rows.parts import Nodes


@dataclass(frozen=True, eq=False)
class Listing:
    """The candidates of `features` (int32, ascending) in their true order, or in `order`.

    `n_bins` and `has_missing` have an entry for each of these features. `order`: int64[c], a permutation; position j
    has the sums of candidate order[j]. None stands for the true order. Raises ValueError for arrays that do not fit.
    """

    features: Nodes
    n_bins: NDArray[np.int32]
    has_missing: NDArray[np.bool_]
    order: NDArray[np.int64] | None

    @cached_property
    def native(self) -> _native.gbdt.CandidateList:
        """The same for the kernels, checked once."""
        return _native.gbdt.CandidateList(self.features, self.n_bins, self.has_missing, self.order)
