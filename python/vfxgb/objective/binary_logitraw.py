"""binary:logitraw: binary:logistic whose predictions are margins.

As in XGBoost the start margin is the mean label itself, which does not pass a link.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec
from vfxgb.objective.binary_logistic import Logistic
from vfxgb.threads import resolve_threads


@dataclass(frozen=True)
class LogitRaw(Objective):
    """The logistic loss without its link."""

    logistic: Logistic
    n_outputs: int = 1

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n] in [0, 1]."""
        return self.logistic.check_labels(labels, party)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        return self.logistic.gradients(margins, labels, weights)

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """w (p - 1/2)."""
        return self.logistic.centres(margins, weights)

    def with_threads(self, threads: int) -> "LogitRaw":
        """See Objective.with_threads."""
        return replace(self, logistic=self.logistic.with_threads(threads))


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name, "reg_loss_param": {"scale_pos_weight": "1"}}


SPEC = ObjectiveSpec(
    name="binary:logitraw",
    summary="two classes, predicted as log-odds",
    make=lambda params: LogitRaw(Logistic(1.0, resolve_threads(params.n_jobs))),
    labels="two classes",
    default_metric="logloss",
    xgboost=_xgboost,
    bounds=(1.0, 0.25),
    residual=True,
    hessians_hide_labels=True,
)
LogitRaw.spec = SPEC
