"""multi:softmax: multi:softprob under the name by which XGBoost predicts the class alone.

Gradients, margins and probabilities are those of multi:softprob; the estimators' predict gives classes in any case.
"""

from collections.abc import Mapping
from typing import Any

from vfxgb.objective.base import ObjectiveSpec
from vfxgb.objective.multi_softprob import SPEC as SOFTPROB
from vfxgb.objective.multi_softprob import Softprob


class Softmax(Softprob):
    """Softprob under another name."""


def _xgboost(params: Mapping[str, Any], n_outputs: int) -> dict[str, Any]:  # noqa: ARG001
    return {"name": SPEC.name, "softmax_multiclass_param": {"num_class": str(n_outputs)}}


SPEC = ObjectiveSpec(
    name="multi:softmax",
    summary="classes; for XGBoost's users, whose models predict the class alone",
    make=lambda params: Softmax(params.num_class),
    labels="classes",
    default_metric=SOFTPROB.default_metric,
    xgboost=_xgboost,
    bounds=SOFTPROB.bounds,
    residual=True,
    hessians_hide_labels=True,
)
Softmax.spec = SPEC
