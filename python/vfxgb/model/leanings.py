"""Which way a row with a missing value leans at a split, judged by what its party does observe of it.

A split tests x < cut, and x is missing. The party predicts x from the row's other values (data/column_regressions.py)
and sorts the prediction into one of STRATA classes with about as many training rows each. Rows of one class are alike
in the way that matters here. Of the training rows that the party's own splits above send to this split, let p be the
share that goes left, and p_s the share among those of class s. The lean of class s is

    EVIDENCE * log(p_s / (1 - p_s) : p / (1 - p))          in steps of 1 / LEAN_STEPS, at most MAX_LEAN of them

The active party knows the covers of both branches and weights them in the odds

    cover of the left one * exp(lean) : cover of the right one

so that a lean of 0 is "weighted by cover". Where all rows go one way, no class leans. EVIDENCE is a half, because the
covers know a part of it already: splits of all parties above sort rows by columns that go with x.
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.data.column_regressions import ColumnRegressions

STRATA = 16
LEAN_STEPS = 16
MAX_LEAN = 127
EVIDENCE = 0.5

# Steps of leans, one for each row.
Leans = NDArray[np.int8]


class Leanings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a party needs to say which way rows lean. Private to it, like its splits: it is made of the training rows.

    `regressions` predict each of its F columns. `edges`: float64[F * (STRATA - 1)], the classes of each column's
    prediction, ascending. `leans`: int32[r * STRATA], the lean of each class at each of its splits.
    """

    regressions: ColumnRegressions
    edges: NDArray[np.float64]
    leans: NDArray[np.int32]

    def strata(self, feature: int, scores: NDArray[np.float64]) -> NDArray[np.intp]:
        """The classes of predictions of a column."""
        edges = self.edges.reshape(-1, STRATA - 1)[feature]
        return np.searchsorted(edges, scores, side="right")

    def of_strata(self, record: int, strata: NDArray[np.intp]) -> Leans:
        """The leans of rows of these classes at a split."""
        leans: Leans = self.leans.reshape(-1, STRATA)[record].astype(np.int8)[strata]
        return leans


def left_shares(left_cover: float, right_cover: float, leans: Leans) -> NDArray[np.float64]:
    """The weight of the left branch for rows with these leans, float64."""
    left = left_cover * np.exp(leans / LEAN_STEPS)
    total = left + right_cover
    shares: NDArray[np.float64] = np.divide(left, total, out=np.full(len(leans), 0.5), where=total > 0)
    return shares
