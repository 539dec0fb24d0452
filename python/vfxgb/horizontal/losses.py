"""Metrics over the rows of all users: each sends the sum of its rows' losses, and the server divides by the weight.

That works for metrics that are means over rows. AUC and KS compare rows of different users with each other and are no
sums. A sum is a float64 of any size: it travels as LIMBS integers in base 2**32, the lowest in units of 2**LOWEST. They
hold its 53 bits exactly and add up over users without a common scale.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ParameterError
from vfxgb.metric import METRICS, Metric

LIMBS = 8
LOWEST = -64
_BASE_BITS = 32
_LARGEST = 2.0 ** (LOWEST + _BASE_BITS * LIMBS - 1)


def to_limbs(value: float) -> NDArray[np.int64]:
    """A sum of losses, at least 0, as int64[LIMBS]. Larger ones than 2**191, and what is no number, count as that."""
    value = _LARGEST if math.isnan(value) else min(max(value, 0.0), _LARGEST)
    whole = int(math.ldexp(value, -LOWEST))
    return np.array([(whole >> _BASE_BITS * place) & 0xFFFFFFFF for place in range(LIMBS)], dtype=np.int64)


def from_limbs(limbs: NDArray[np.int64]) -> float:
    """The number of limbs that were added up."""
    whole = sum(limb << _BASE_BITS * place for place, limb in enumerate(limbs.tolist()))
    return math.ldexp(float(whole), LOWEST)


def summable(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Those metrics that are means over rows. Raises ParameterError if none of them is."""
    chosen = tuple(metric for metric in metrics if metric.loss is not None and METRICS.get(metric.name) is metric)
    if not chosen:
        known = ", ".join(metric.name for metric in METRICS.values() if metric.loss is not None)
        raise ParameterError(
            f"choosing metrics of the users' rows: {', '.join(metric.name for metric in metrics)} compares rows of "
            f"different users, which no sum over users tells; wanted one of {known}, or eval rows at the server"
        )
    return chosen
