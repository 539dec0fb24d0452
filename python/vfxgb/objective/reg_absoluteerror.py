"""reg:absoluteerror: the median of numbers, by absolute differences.

g = sign(m - y)     h = 1

The gradients choose splits only: the weight of a leaf becomes the median of the residuals of its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfxgb.objective.arithmetic import column, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec
from vfxgb.objective.quantiles import quantile

MEDIAN = 0.5


@dataclass(frozen=True)
class AbsoluteError(Objective):
    """The absolute difference of margin and label."""

    n_outputs: int = 1

    @property
    def leaf_quantile(self) -> float:
        """See Objective."""
        return MEDIAN

    def start_of(self, labels: Float32Array, weights: Float32Array | None) -> FloatArray:
        """The median of the labels."""
        return self.margin_of(quantile(labels, weights, MEDIAN))

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        m = column(margins)
        return weighted(np.sign(m - labels), np.ones_like(m), weights)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name}


SPEC = ObjectiveSpec(
    name="reg:absoluteerror",
    summary="the median of numbers, by absolute differences",
    make=lambda _: AbsoluteError(),
    labels="numbers",
    default_metric="mae",
    xgboost=_xgboost,
    bounds=(1.0, 1.0),
    hessians_hide_labels=True,
    adaptive=True,
)
AbsoluteError.spec = SPEC
