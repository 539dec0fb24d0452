"""reg:squarederror: numbers by squared differences.

g = m - y          h = 1
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfxgb.objective.arithmetic import column, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, Objective, ObjectiveSpec


@dataclass(frozen=True)
class SquaredError(Objective):
    """Half the squared difference of margin and label."""

    n_outputs: int = 1

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        m = column(margins)
        return weighted(m - labels, np.ones_like(m), weights)


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
SquaredError.spec = SPEC
