"""How much each feature contributed, from the splits of the pooled model.

    weight         number of splits
    gain, cover    mean gain, mean cover of the feature's splits
    total_gain, total_cover    their sums

as xgboost defines them. In a user's copy of a model gains and covers are not shared: all but `weight` are NaN.
Importances are the active party's to compute with consent: they show which features of which party the model uses.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import UnknownNameError
from vfxgb.model.pooled import PooledModel

KINDS = ("gain", "weight", "cover", "total_gain", "total_cover")


def importance(model: PooledModel, kind: str = "gain") -> NDArray[np.float64]:
    """float64[n_features] in global feature order, not normalised; 0 for a feature that no split uses.

    Raises UnknownNameError for a kind that is none of KINDS.
    """
    if kind not in KINDS:
        raise UnknownNameError(f"feature importance: there is no kind {kind!r}; known: {', '.join(KINDS)}")
    n_features = len(model.feature_names)
    split = model.feature >= 0
    used = model.feature[split]
    counts = np.bincount(used, minlength=n_features).astype(np.float64)
    if kind == "weight":
        return counts
    if not model.gains_shared:
        return np.full(n_features, np.nan)
    amounts = model.gain if kind.endswith("gain") else model.cover
    totals = np.bincount(used, weights=amounts[split], minlength=n_features).astype(np.float64)
    if kind.startswith("total"):
        return totals
    return np.divide(totals, counts, out=np.zeros(n_features), where=counts > 0)
