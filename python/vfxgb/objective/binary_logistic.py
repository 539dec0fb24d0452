"""binary:logistic: two classes by their log-odds.

    p = 1 / (1 + exp(-m))      g = p - y          h = max(p (1 - p), 1e-16)

With scale_pos_weight the start margin is one Newton step from zero, as in XGBoost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.numeric.exact_sums import ExactSums, exact_sum
from vfxgb.objective.arithmetic import LARGEST_EXPONENT, ONE, column, exp, half_weights
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec
from vfxgb.threads import resolve_threads

if TYPE_CHECKING:
    from vfxgb.params import TrainParams

# XGBoost's: keeps logit finite when all labels are 0 or all are 1.
_LEAST_PROBABILITY = np.float32(1e-6)


@dataclass(frozen=True)
class Logistic(Objective):
    """`scale_pos_weight` multiplies the weight of rows with label 1."""

    scale_pos_weight: float = 1.0
    threads: int = 1
    n_outputs: int = 1

    @property
    def unit_gradients(self) -> bool:
        """Unless scale_pos_weight makes them larger."""
        return self.scale_pos_weight <= 1.0

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n] in [0, 1]: XGBoost takes probabilities as labels too."""
        values = numeric_labels(labels, party)
        refuse_labels(values, (values < 0) | (values > 1), party, "a label between 0 and 1 for binary:logistic")
        return values

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """Sums of labels and weights; with scale_pos_weight those of g and h at margin 0."""
        if self._scaled:
            g, h = self.gradients(np.zeros((len(labels), 1), dtype=np.float32), labels, weights)
            return ExactSums((exact_sum(g[:, 0]), exact_sum(h[:, 0])))
        return super().start_parts(labels, weights)

    def start_from(self, sums: FloatArray) -> FloatArray:
        """logit of the mean label; with scale_pos_weight one Newton step from margin 0."""
        if self._scaled:
            step = -np.float32(sums[0]) / np.float32(sums[1])
            # XGBoost stores the start as a probability and goes back through the link.
            return self.margin_of(float(_sigmoid(np.array([step]))[0]))
        return super().start_from(sums)

    @property
    def _scaled(self) -> bool:
        return abs(self.scale_pos_weight - 1.0) > 1e-6

    def margin_of(self, base_score: float) -> FloatArray:
        """logit(base_score), a probability; 0 and 1 are moved inside by 1e-6."""
        p = np.clip(np.float32(base_score), _LEAST_PROBABILITY, ONE - _LEAST_PROBABILITY)
        return np.array([np.float32(-np.log(np.float64(ONE / p - ONE)))], dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        w = weights
        if self.scale_pos_weight != 1.0:
            factor = np.where(labels == ONE, np.float32(self.scale_pos_weight), ONE)
            w = factor if w is None else w * factor
        g, h = _native.gbdt.logistic(column(margins), labels, w, self.threads)
        return g[:, None], h[:, None]

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """w (p - 1/2); None with scale_pos_weight, which lets a label move a gradient by more."""
        if self.scale_pos_weight != 1.0:
            return None
        g, _ = self.gradients(margins, np.zeros(len(margins), dtype=np.float32), weights)
        return g - half_weights(weights)

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Probability of label 1, [n]."""
        m = super().transform(margins)
        return np.asarray(1.0 / (1.0 + np.exp(np.minimum(-m, LARGEST_EXPONENT))))

    def with_threads(self, threads: int) -> "Logistic":
        """See Objective.with_threads."""
        return replace(self, threads=threads)


def _sigmoid(margins: Float32Array) -> Float32Array:
    return np.asarray(ONE / (ONE + exp(np.minimum(-margins, np.float32(LARGEST_EXPONENT)))), dtype=np.float32)


def _make(params: "TrainParams") -> Logistic:
    return Logistic(float(params.scale_pos_weight), resolve_threads(params.n_jobs))


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    positive = params.get("scale_pos_weight", 1.0)
    return {"name": SPEC.name, "reg_loss_param": {"scale_pos_weight": str(positive)}}


SPEC = ObjectiveSpec(
    name="binary:logistic",
    summary="two classes, predicted as the probability of the second",
    make=_make,
    labels="two classes",
    default_metric="logloss",
    xgboost=_xgboost,
    base_score=(0.0, 1.0, "a probability above 0 and below 1"),
    scale_pos_weight=True,
    bounds=(1.0, 0.25),
    residual=True,
    hessians_hide_labels=True,
)
Logistic.spec = SPEC
