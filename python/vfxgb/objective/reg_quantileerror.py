"""reg:quantileerror: a quantile of numbers, by the pinball loss.

g = 1 - a for m >= y, else -a     h = 1, where a is quantile_alpha

The gradients choose splits only: the weight of a leaf becomes the quantile a of the residuals of its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfxgb.objective.arithmetic import column, half_weights, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec
from vfxgb.objective.quantiles import quantile


@dataclass(frozen=True)
class QuantileError(Objective):
    """The loss whose least is at the quantile `alpha`."""

    alpha: float
    n_outputs: int = 1

    @property
    def leaf_quantile(self) -> float:
        """See Objective."""
        return self.alpha

    @property
    def metric_numbers(self) -> Mapping[str, float]:
        """The pinball loss at this quantile."""
        return {"quantile": self.alpha}

    def start_of(self, labels: Float32Array, weights: Float32Array | None) -> FloatArray:
        """The quantile of the labels."""
        return self.margin_of(quantile(labels, weights, self.alpha))

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        m = column(margins)
        alpha = np.float32(self.alpha)
        return weighted(np.where(m >= labels, np.float32(1.0) - alpha, -alpha), np.ones_like(m), weights)

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """w (1/2 - a): a label moves a gradient from -a to 1 - a."""
        return np.broadcast_to((1.0 - 2.0 * self.alpha) * half_weights(weights), (len(margins), 1)).copy()


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name, "quantile_loss_param": {"quantile_alpha": f"[{params['quantile_alpha']}]"}}


SPEC = ObjectiveSpec(
    name="reg:quantileerror",
    summary="a quantile of numbers, by the pinball loss",
    # XGBoost's alpha is a float32, which decides where a share of integer weights is a whole number.
    make=lambda params: QuantileError(float(np.float32(params.quantile_alpha))),
    labels="numbers",
    default_metric="quantile",
    xgboost=_xgboost,
    bounds=(1.0, 1.0),
    hessians_hide_labels=True,
    adaptive=True,
)
QuantileError.spec = SPEC
