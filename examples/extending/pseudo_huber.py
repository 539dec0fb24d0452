"""reg:pseudohubererror: numbers of which some are far off. Squares near 0, absolute values far from it.

z = m - y      loss sqrt(1 + z^2) - 1      g = z / sqrt(1 + z^2)      h = 1 / sqrt(1 + z^2)^3
"""

from dataclasses import dataclass

import numpy as np

from vfxgb.data.labels import numeric_labels
from vfxgb.metric import Metric
from vfxgb.objective.arithmetic import column, label_sums, weighted
from vfxgb.objective.base import Objective, ObjectiveSpec


@dataclass(frozen=True)
class PseudoHuber(Objective):
    """The slope is 1; training starts from the mean label."""

    n_outputs: int = 1

    @property
    def spec(self):
        """What others ask about it."""
        return SPEC

    def check_labels(self, labels, party=""):
        """float32[n], finite."""
        return numeric_labels(labels, party)

    def start_parts(self, labels, weights=None):
        """Sums of labels and weights, which add up however the rows are divided."""
        return label_sums(labels, weights)

    def start_from(self, sums):
        """The mean label."""
        return self.margin_of(sums[0] / sums[1])

    def margin_of(self, base_score):
        """The score itself: there is no link."""
        return np.array([np.float32(base_score)], dtype=np.float64)

    def gradients(self, margins, labels, weights=None):
        """(g, h), each float32[n, 1]."""
        z = column(margins) - labels
        root = np.sqrt(1 + z * z)
        return weighted(z / root, 1 / root**3, weights)

    def transform(self, margins):
        """The margins, [n]."""
        return np.asarray(margins, dtype=np.float64).reshape(len(margins))


def mean_loss(labels, predictions, weights):
    """The mean loss of rows, weighted."""
    return np.average(np.sqrt(1 + (predictions - labels) ** 2) - 1, weights=weights)


SPEC = ObjectiveSpec(
    name="reg:pseudohubererror",
    summary="numbers of which some are far off",
    make=lambda _: PseudoHuber(),
    labels="numbers",
    default_metric="mphe",
    metrics=(Metric("mphe", maximize=False, function=mean_loss),),
    xgboost=lambda *_: {"name": SPEC.name, "pseudo_huber_param": {"huber_slope": "1"}},
    bounds=(1.0, 1.0),
)
