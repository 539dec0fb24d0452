"""reg:pseudohubererror: numbers by differences that count squared when small and plainly when large.

z = m - y     g = z / sqrt(1 + (z / s)^2)     h = s^2 / ((s^2 + z^2) sqrt(1 + (z / s)^2)), where s is huber_slope

The start margin is one Newton step from zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vfxgb.numeric.exact_sums import ExactSums, exact_sum
from vfxgb.objective.arithmetic import ONE, column, weighted
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec


@dataclass(frozen=True)
class PseudoHuber(Objective):
    """`slope`: from about which difference on the loss grows plainly."""

    slope: float
    n_outputs: int = 1

    @property
    def metric_numbers(self) -> Mapping[str, float]:
        """The loss itself, with this slope."""
        return {"mphe": self.slope}

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """Sums of g and h at margin 0."""
        g, h = self.gradients(np.zeros((len(labels), 1), dtype=np.float32), labels, weights)
        return ExactSums((exact_sum(g[:, 0]), exact_sum(h[:, 0])))

    def start_from(self, sums: FloatArray) -> FloatArray:
        """One Newton step from margin 0."""
        return self.margin_of(float(-sums[0] / max(sums[1], 1e-6)))

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        z = column(margins) - labels
        slope = np.float32(self.slope)
        root = np.sqrt(ONE + np.square(z / slope))
        return weighted(z / root, np.square(slope) / ((np.square(slope) + np.square(z)) * root), weights)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name, "pseudo_huber_param": {"huber_slope": str(params["huber_slope"])}}


SPEC = ObjectiveSpec(
    name="reg:pseudohubererror",
    summary="numbers, by differences that count squared when small and plainly when large",
    make=lambda params: PseudoHuber(float(params.huber_slope)),
    labels="numbers",
    default_metric="mphe",
    xgboost=_xgboost,
)
PseudoHuber.spec = SPEC
