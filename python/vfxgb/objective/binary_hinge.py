"""binary:hinge: two classes by the side of a margin, without probabilities.

t = 2 y - 1     g = -t and h = 1 where t m < 1, else g = 0 and h is the least float32 above 0

The start margin is the class of more weight, 0 or 1, as in XGBoost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.objective.arithmetic import ONE, column
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec

_LEAST = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Hinge(Objective):
    """The hinge loss."""

    n_outputs: int = 1

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n] of 0 and 1."""
        values = numeric_labels(labels, party)
        refuse_labels(values, (values != 0) & (values != 1), party, "0 or 1 for binary:hinge")
        return values

    def start_from(self, sums: FloatArray) -> FloatArray:
        """1 where more than half of the weight has label 1, else 0."""
        return self.margin_of(1.0 if sums[0] > 0.5 * sums[1] else 0.0)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        sides = np.float32(2.0) * labels - ONE
        inside = column(margins) * sides < ONE
        w = ONE if weights is None else weights
        g = np.where(inside, -sides * w, np.float32(0.0))
        h = np.where(inside, w, _LEAST)
        return g[:, None].astype(np.float32), h[:, None].astype(np.float32)

    def transform(self, margins: AnyFloat) -> FloatArray:
        """1 where the margin is above 0, else 0; [n]."""
        return np.asarray(super().transform(margins) > 0.0, dtype=np.float64)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name}


SPEC = ObjectiveSpec(
    name="binary:hinge",
    summary="two classes, predicted as 0 or 1 without a probability",
    make=lambda _: Hinge(),
    labels="two classes",
    default_metric="error",
    xgboost=_xgboost,
    bounds=(1.0, 1.0),
)
Hinge.spec = SPEC
