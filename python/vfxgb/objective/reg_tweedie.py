"""reg:tweedie: totals that are often 0 and otherwise positive, by the logarithm of their mean.

mean exp(m)     g = exp((2 - r) m) - y exp((1 - r) m)     h = (2 - r) exp((2 - r) m) - (1 - r) y exp((1 - r) m)

where r is tweedie_variance_power, between 1 (counts) and 2 (gamma).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.objective.arithmetic import column, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, Objective, ObjectiveSpec
from vfxgb.objective.loglink import LogLink, exp_of_margins


@dataclass(frozen=True)
class Tweedie(LogLink, Objective):
    """The negative log-likelihood of a Tweedie distribution whose variance is the mean to the power of `power`."""

    power: float
    n_outputs: int = 1

    @property
    def default_metric(self) -> str:
        """The log-likelihood, named with the power as XGBoost names it."""
        return f"tweedie-nloglik@{self.power:g}"

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], not negative."""
        values = numeric_labels(labels, party)
        refuse_labels(values, values < 0, party, "a number of at least 0 for reg:tweedie")
        return values

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1. Raises GradientError when a mean overflows float32."""
        m, power = column(margins), np.float32(self.power)
        first, second = np.float32(1.0) - power, np.float32(2.0) - power
        below, above = exp_of_margins(m, first, self.name), exp_of_margins(m, second, self.name)
        return weighted(above - labels * below, second * above - labels * first * below, weights)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    power = str(params["tweedie_variance_power"])
    return {"name": SPEC.name, "tweedie_regression_param": {"tweedie_variance_power": power}}


SPEC = ObjectiveSpec(
    name="reg:tweedie",
    summary="totals that are often 0 and otherwise positive, predicted as their mean",
    make=lambda params: Tweedie(float(params.tweedie_variance_power)),
    labels="numbers",
    default_metric="tweedie-nloglik@1.5",
    xgboost=_xgboost,
    base_score=(0.0, math.inf, "a mean above 0"),
)
Tweedie.spec = SPEC
