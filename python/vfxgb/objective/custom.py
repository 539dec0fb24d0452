"""A loss that is a callable of the user. It has no name of its own: in models it is "custom"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vfxgb.errors import ExportError, GradientError
from vfxgb.numeric.exact_sums import ExactSums
from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec
from vfxgb.objective.reg_squarederror import as_squared_error

if TYPE_CHECKING:
    from vfxgb.params import TrainParams

# The name of an objective that is a callable of the user.
CUSTOM = "custom"


@dataclass(frozen=True)
class CustomObjective(Objective):
    """A user's loss, with the signature of XGBoost's scikit-learn interface.

    function(labels, margins) -> (g, h); with sample weights function(labels, margins, sample_weight=weights), and it
    must apply them itself. `margins` and both results are [n] for one output, else [n, K]. No link: predictions are
    margins. The start margin is 0.5, as in XGBoost.
    """

    function: Callable[..., Any]
    n_outputs: int = 1

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:  # noqa: ARG002
        """None are needed."""
        return ExactSums(())

    def start_from(self, sums: FloatArray) -> FloatArray:  # noqa: ARG002
        """0.5, whatever the labels."""
        return self.margin_of(0.5)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """What the function returns, rounded to float32. Raises GradientError for a wrong shape, NaN, inf or h < 0."""
        m = np.asarray(margins, dtype=np.float32)
        m = m[:, 0] if self.n_outputs == 1 else m
        extra = {} if weights is None else {"sample_weight": weights}
        returned = self.function(labels, m.copy(), **extra)
        if not (isinstance(returned, tuple) and len(returned) == 2):
            raise GradientError(
                f"computing gradients: the objective returned {type(returned).__name__}, "
                "wanted a pair (gradients, hessians)"
            )
        g, h = (
            _checked_gradient(values, what, m.shape)
            for values, what in zip(returned, ("gradients", "hessians"), strict=True)
        )
        if h.size and h.min() < 0:
            raise GradientError(
                f"computing gradients: the objective returned a hessian of {h.min():g}, wanted at least 0"
            )
        return g.reshape(len(m), self.n_outputs), h.reshape(len(m), self.n_outputs)


def _checked_gradient(values: Any, what: str, shape: tuple[int, ...]) -> Float32Array:
    array = np.asarray(values, dtype=np.float32)
    if array.shape != shape:
        raise GradientError(
            f"computing gradients: the objective returned {what} of shape {array.shape}, wanted {shape}"
        )
    if not np.isfinite(array).all():
        raise GradientError(f"computing gradients: the objective returned {what} that are NaN or infinite in float32")
    return array


def _make(params: "TrainParams") -> CustomObjective:
    assert not isinstance(params.objective, str)  # noqa: S101 - names have specs of their own
    return CustomObjective(params.objective, params.num_class)


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:
    if n_outputs > 1:
        raise ExportError(
            f"exporting to XGBoost: a callable objective with {n_outputs} outputs has no XGBoost name; wanted "
            "multi:softprob, or one output"
        )
    return as_squared_error(params, n_outputs)


SPEC = ObjectiveSpec(
    name=CUSTOM,
    summary="a callable of the user",
    make=_make,
    labels="numbers",
    default_metric="rmse",
    xgboost=_xgboost,
)
CustomObjective.spec = SPEC
