"""What losses share whose margin is the logarithm of a mean: start margin, link, and the limit of the exponential."""

import numpy as np

from vfxgb.errors import GradientError, LabelError
from vfxgb.objective.arithmetic import LARGEST_EXPONENT, Float32Array, exp
from vfxgb.objective.base import AnyFloat, FloatArray


class LogLink:
    """The link exp, for an Objective with one output to derive from as well."""

    name: str

    def start_from(self, sums: FloatArray) -> FloatArray:
        """log of the mean label. Raises LabelError when all labels are 0, where XGBoost starts from -inf."""
        if sums[0] <= 0.0:
            raise LabelError(
                f"estimating base_score: every label is 0, so {self.name} has no finite start; pass base_score above 0"
            )
        return self.margin_of(float(sums[0] / sums[1]))

    def margin_of(self, base_score: float) -> FloatArray:
        """log(base_score), a mean above 0."""
        return np.array([np.float32(np.log(np.float64(np.float32(base_score))))], dtype=np.float64)

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Means, [n]."""
        return np.asarray(np.exp(np.asarray(margins, dtype=np.float64).reshape(len(margins))))


def exp_of_margins(margins: Float32Array, factor: np.float32, name: str) -> Float32Array:
    """exp(factor m). Raises GradientError when one overflows float32."""
    exponents = factor * margins
    if len(margins) and float(exponents.max()) > LARGEST_EXPONENT:
        raise GradientError(
            f"computing gradients: {name} reached margin {float(np.abs(margins).max()):g}, whose exponential float32 "
            "cannot hold; lower learning_rate or set max_delta_step"
        )
    return exp(exponents)
