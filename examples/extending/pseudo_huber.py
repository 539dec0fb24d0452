"""robust:pseudohuber: numbers of which some are far off. Squares near 0, absolute values far from it.

z = m - y      loss sqrt(1 + z^2) - 1      g = z / sqrt(1 + z^2)      h = 1 / sqrt(1 + z^2)^3
"""

from dataclasses import dataclass

import numpy as np

from vfxgb.metric import Metric
from vfxgb.objective.arithmetic import column, weighted
from vfxgb.objective.base import Objective, ObjectiveSpec


@dataclass(frozen=True)
class PseudoHuber(Objective):
    """The slope is 1; training starts from the mean label."""

    n_outputs: int = 1

    def gradients(self, margins, labels, weights=None):
        """(g, h), each float32[n, 1]."""
        z = column(margins) - labels
        root = np.sqrt(1 + z * z)
        return weighted(z / root, 1 / root**3, weights)


def mean_loss(labels, predictions, weights):
    """The mean loss of rows, weighted."""
    return np.average(np.sqrt(1 + (predictions - labels) ** 2) - 1, weights=weights)


SPEC = ObjectiveSpec(
    name="robust:pseudohuber",
    summary="numbers of which some are far off",
    make=lambda _: PseudoHuber(),
    labels="numbers",
    default_metric="huberloss",
    metrics=(Metric("huberloss", maximize=False, function=mean_loss),),
    xgboost=lambda *_: {"name": "reg:pseudohubererror", "pseudo_huber_param": {"huber_slope": "1"}},
    bounds=(1.0, 1.0),
)
PseudoHuber.spec = SPEC
