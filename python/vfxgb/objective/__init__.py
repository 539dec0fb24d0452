"""Objectives: losses with their gradients, start values and links, in XGBoost's arithmetic. One file each.

A file `<task>_<loss>.py` here is the objective "<task>:<loss>" and registered by being there. Its `SPEC` says all that
the rest of the package asks about it. Objectives of other packages come in by an entry point of the group
"vfxgb.objectives", or by `register` (docs/extending.md). `custom.py` is for a callable of the user.

Notation: n rows, K outputs (1, or one per class), m the margin (the sum of leaf weights before the link), y label, w
sample weight, g and h first and second derivative of the loss in m, times w.

XGBoost keeps margins and gradients in float32. The same operations in the same order and precision are used here,
so that a training on equal cut points meets the same gradients and grows the same trees. The start margin follows
XGBoost 3: the mean label through the link, unless the objective's file says otherwise.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vfxgb.objective.base import AnyFloat, Float32Array, FloatArray, Objective, ObjectiveSpec
from vfxgb.objective.binary_logistic import Logistic
from vfxgb.objective.count_poisson import Poisson
from vfxgb.objective.custom import CUSTOM, CustomObjective
from vfxgb.objective.custom import SPEC as CUSTOM_SPEC
from vfxgb.objective.multi_softprob import Softprob
from vfxgb.objective.reg_squarederror import SquaredError
from vfxgb.registry import Registry

if TYPE_CHECKING:
    from vfxgb.params import TrainParams

__all__ = [
    "CUSTOM",
    "AnyFloat",
    "CustomObjective",
    "Float32Array",
    "FloatArray",
    "Logistic",
    "Objective",
    "ObjectiveSpec",
    "Poisson",
    "Softprob",
    "SquaredError",
    "is_objective",
    "make_objective",
    "objective_names",
    "register",
    "shipped_objectives",
    "spec_of",
    "start_margin",
]


def make_registry() -> Registry:
    """A registry of the objectives in this folder and of installed packages."""
    files = [path.stem for path in Path(__file__).parent.glob("[a-z]*_*.py")]
    return Registry(
        __name__,
        __file__,
        "objective",
        "ObjectiveSpec",
        modules={stem.replace("_", ":", 1): f"{__name__}.{stem}" for stem in files},
        group="vfxgb.objectives",
        spelling=(r"[^\W\d]\w*:\w+", "two words with a colon between them, such as 'reg:squarederror'"),
    )


_REGISTRY = make_registry()


def objective_names() -> tuple[str, ...]:
    """The names of all objectives, sorted."""
    return _REGISTRY.names()


def shipped_objectives() -> tuple[str, ...]:
    """The names of those that are part of vfxgb, sorted."""
    return _REGISTRY.shipped


def is_objective(name: object) -> bool:
    """Whether `name` is the name of an objective."""
    return isinstance(name, str) and name in _REGISTRY


def spec_of(objective: str | Callable[..., Any]) -> ObjectiveSpec:
    """What is to be known about an objective: by its name, or that of every callable ("custom" is its name in models).

    Raises UnknownNameError, RegistrationError for one that cannot be loaded.
    """
    if objective == CUSTOM or not isinstance(objective, str):
        return CUSTOM_SPEC
    spec: ObjectiveSpec = _REGISTRY.load(objective)
    return spec


def register(spec: ObjectiveSpec) -> None:
    """Add an objective of another package to this process. Raises RegistrationError, for a name that is taken too."""
    _REGISTRY.register(spec)


def make_objective(params: "TrainParams") -> Objective:
    """The objective that `params` asks for."""
    return spec_of(params.objective).make(params)


def start_margin(
    objective: Objective, params: "TrainParams", labels: Float32Array, weights: Float32Array | None
) -> FloatArray:
    """The margin [K] every row starts from: `params.base_score` if given, else estimated from the training rows."""
    if params.base_score is not None:
        return objective.margin_of(float(params.base_score))
    return objective.start_of(labels, weights)
