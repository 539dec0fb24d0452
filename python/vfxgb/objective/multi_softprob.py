"""multi:softprob: more than two classes, by the softmax of their margins.

    p_k = softmax(m)_k         g_k = p_k - [y=k]  h_k = max(2 p_k (1 - p_k), 1e-16)

The start margins are the centred logarithms of the class shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.numeric.exact_sums import ExactSum, ExactSums, grouped_sums
from vfxgb.objective.arithmetic import LEAST_HESSIAN, ONE, exp, half_weights
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec


@dataclass(frozen=True)
class Softprob(Objective):
    """`n_outputs` classes, labels 0 .. K-1."""

    n_outputs: int

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n] of whole numbers from 0 to K-1."""
        values = numeric_labels(labels, party)
        outside = (values < 0) | (values >= self.n_outputs) | (values != np.floor(values))
        refuse_labels(values, outside, party, f"a class number from 0 to {self.n_outputs - 1} for multi:softprob")
        return values

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """The weight of each class."""
        classes = labels.astype(np.int64)
        if weights is not None:
            return grouped_sums(weights, classes, self.n_outputs)
        counts = np.bincount(classes, minlength=self.n_outputs)
        return ExactSums(tuple(ExactSum.of(int(count)) for count in counts))

    def start_from(self, sums: FloatArray) -> FloatArray:
        """log(share of the class + 1e-6), minus the mean of these. A base_score is the same for all, and cancels."""
        logs = np.log(sums / sums.sum() + 1e-6)
        return np.asarray((logs - logs.mean()).astype(np.float32), dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients."""
        m = np.asarray(margins, dtype=np.float32)
        e = exp(m - m.max(axis=1, keepdims=True))
        p = e / e.astype(np.float64).sum(axis=1, keepdims=True).astype(np.float32)
        w = None if weights is None else weights[:, None]
        h = np.float32(2.0) * p * (ONE - p)
        g = p
        g[np.arange(len(m)), labels.astype(np.int64)] -= ONE
        g, h = (g, h) if w is None else (g * w, h * w)
        return g, np.maximum(h, LEAST_HESSIAN)

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """w (p_k - 1/2)."""
        g, _ = self.gradients(margins, np.zeros(len(margins), dtype=np.float32), weights)
        half = half_weights(weights)
        centres = g - half
        # Class 0 stood for the label: its gradient is w (p_0 - 1).
        centres[:, :1] += 2.0 * half
        return centres

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Class probabilities [n, K]; rows sum to 1."""
        m = np.asarray(margins, dtype=np.float64)
        e = np.exp(m - m.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True), dtype=np.float64)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name, "softmax_multiclass_param": {"num_class": str(n_outputs)}}


SPEC = ObjectiveSpec(
    name="multi:softprob",
    summary="classes, predicted as the probability of each",
    make=lambda params: Softprob(params.num_class),
    labels="classes",
    default_metric="mlogloss",
    xgboost=_xgboost,
    bounds=(1.0, 0.5),
    residual=True,
    hessians_hide_labels=True,
)
Softprob.spec = SPEC
