"""count:poisson: counts by the logarithm of their rate.

rate exp(m)                g = exp(m) - y     h = exp(m + max_delta_step)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.errors import GradientError
from vfxgb.objective.arithmetic import LARGEST_EXPONENT, column, exp, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, Objective, ObjectiveSpec
from vfxgb.objective.loglink import LogLink


@dataclass(frozen=True)
class Poisson(LogLink, Objective):
    """`max_delta_step` inflates the hessian so that steps stay short."""

    max_delta_step: float
    n_outputs: int = 1

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], not negative."""
        values = numeric_labels(labels, party)
        refuse_labels(values, values < 0, party, "a count of at least 0 for count:poisson")
        return values

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1. Raises GradientError when a rate overflows float32."""
        m = column(margins)
        if len(m) and float(m.max()) + self.max_delta_step > LARGEST_EXPONENT:
            raise GradientError(
                f"computing gradients: count:poisson reached margin {float(m.max()):g}, wanted at most "
                f"{LARGEST_EXPONENT - self.max_delta_step:g}; lower learning_rate or max_delta_step"
            )
        return weighted(exp(m) - labels, exp(m + np.float32(self.max_delta_step)), weights)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    step = params.get("max_delta_step")
    step = SPEC.max_delta_step if step is None else step
    return {"name": SPEC.name, "poisson_regression_param": {"max_delta_step": str(step)}}


SPEC = ObjectiveSpec(
    name="count:poisson",
    summary="counts, predicted as a rate",
    make=lambda params: Poisson(params.delta_step),
    labels="numbers",
    default_metric="poisson-nloglik",
    xgboost=_xgboost,
    base_score=(0.0, math.inf, "a rate above 0"),
    # XGBoost's: the bound on a leaf's step that keeps the exponential link from running away.
    max_delta_step=0.7,
    hessians_hide_labels=True,
)
Poisson.spec = SPEC
