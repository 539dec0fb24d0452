"""reg:gamma: positive numbers with a relative spread, by the logarithm of their mean.

mean exp(m)     g = 1 - y exp(-m)     h = y exp(-m)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.objective.arithmetic import ONE, column, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, Objective, ObjectiveSpec
from vfxgb.objective.loglink import LogLink, exp_of_margins


@dataclass(frozen=True)
class Gamma(LogLink, Objective):
    """The deviance of the gamma distribution."""

    n_outputs: int = 1

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], positive."""
        values = numeric_labels(labels, party)
        refuse_labels(values, values <= 0, party, "a number above 0 for reg:gamma")
        return values

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1. Raises GradientError when a mean overflows float32."""
        ratio = labels / exp_of_margins(column(margins), np.float32(1.0), self.name)
        return weighted(ONE - ratio, ratio, weights)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name, "reg_loss_param": {"scale_pos_weight": "1"}}


SPEC = ObjectiveSpec(
    name="reg:gamma",
    summary="positive numbers with a relative spread, predicted as their mean",
    make=lambda _: Gamma(),
    labels="numbers",
    default_metric="gamma-deviance",
    xgboost=_xgboost,
    base_score=(0.0, math.inf, "a mean above 0"),
)
Gamma.spec = SPEC
