"""reg:squarederror: numbers by squared differences.

g = m - y          h = 1
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels
from vfxgb.numeric.exact_sums import ExactSums
from vfxgb.objective.arithmetic import column, label_sums, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec


@dataclass(frozen=True)
class SquaredError(Objective):
    """Half the squared difference of margin and label."""

    n_outputs: int = 1

    @property
    def spec(self) -> ObjectiveSpec:
        """See Objective.spec."""
        return SPEC

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], finite."""
        return numeric_labels(labels, party)

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """Sums of labels and weights."""
        return label_sums(labels, weights)

    def start_from(self, sums: FloatArray) -> FloatArray:
        """Start from the mean label."""
        return self.margin_of(float(sums[0] / sums[1]))

    def margin_of(self, base_score: float) -> FloatArray:
        """The margin is the score itself."""
        return np.array([np.float32(base_score)], dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        m = column(margins)
        return weighted(m - labels, np.ones_like(m), weights)

    def transform(self, margins: AnyFloat) -> FloatArray:
        """The margins, [n]."""
        return np.asarray(margins, dtype=np.float64).reshape(len(margins))


def as_squared_error(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    """The objective with which XGBoost predicts margins as they are."""
    return {"name": SPEC.name, "reg_loss_param": {"scale_pos_weight": "1"}}


SPEC = ObjectiveSpec(
    name="reg:squarederror",
    summary="numbers, by squared differences",
    make=lambda _: SquaredError(),
    labels="numbers",
    default_metric="rmse",
    xgboost=as_squared_error,
    hessians_hide_labels=True,
)
