"""What all estimators share: parameters in scikit-learn's manner, and everything after training.

scikit-learn is no dependency. Its protocol is spoken without it: get_params and set_params from the constructor's
signature, attributes with a trailing underscore after fit, `__sklearn_tags__` where scikit-learn asks for it, and its
own classes of warnings and errors wherever it is loaded already.
"""

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.checks import closest_name
from vfxgb.data.labels import read_labels
from vfxgb.errors import UnfittedError, UnknownNameError
from vfxgb.estimator.data import Layout, read_again
from vfxgb.files import write_atomically
from vfxgb.model.fitted import FittedModel
from vfxgb.model.importance import importance
from vfxgb.params import ALIASES, TrainParams
from vfxgb.predict.joint import predict_leaves, predict_margin
from vfxgb.predict.sides import values_of
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.train.callbacks import EvalsLog, TrainingCallback, as_callbacks
from vfxgb.train.progress import make_monitor
from vfxgb.transport.traffic import Traffic

if TYPE_CHECKING:
    from vfxgb.audit import AuditReport

T = TypeVar("T", bound=Exception)
Self = TypeVar("Self", bound="EstimatorBase")


class EstimatorBase:
    """Parameters and prediction. A constructor with keywords only is for those who derive from it.

    `_estimator_type`: scikit-learn's. `_own`: constructor arguments that are no training parameters. `_refused`:
    training parameters that the constructor does not take, and why not. Training leaves the attributes declared without
    a value; `_ran`: role of the party with the trees, name of the protocol or aggregator, its parameters as given.
    """

    _estimator_type: str
    _own: ClassVar[tuple[str, ...]] = ()
    _refused: ClassVar[Mapping[str, str]] = {}
    _layout: Layout
    _ran: tuple[str, str, Mapping[str, Any]]
    model_: FittedModel
    ledger_: Ledger
    traffic_: dict[str, Traffic]
    timings_: Timings
    evals_result_: EvalsLog
    best_iteration_: int | None
    best_score_: float | None

    def _store(self, given: Mapping[str, Any]) -> None:
        """Keep the constructor's arguments, which `given` holds under their names, and those too many in "unknown".

        scikit-learn's rule: store what was given, unchanged and unchecked; fit checks it. Raises UnknownNameError.
        """
        for name in given["unknown"]:
            raise UnknownNameError(f"{type(self).__name__}: there is no parameter {name!r}; {self._suggest(name)}")
        for name in self._names():
            setattr(self, name, given[name])

    @classmethod
    def _names(cls) -> list[str]:
        """The constructor's parameters, in its order."""
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(cls.__init__).parameters
        return [name for name, p in parameters.items() if p.kind in kinds and name != "self"]

    @classmethod
    def _suggest(cls, name: str) -> str:
        if name in cls._refused:
            return str(cls._refused[name])
        known = cls._names()
        meant = ALIASES.get(name) if ALIASES.get(name) in known else closest_name(name, known)
        listed = ", ".join(known)
        return f"did you mean {meant!r}? Known: {listed}" if meant else f"known: {listed}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - nothing is nested
        """All parameters by name, as given. `deep` is scikit-learn's and changes nothing here."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Replace parameters by name. Raises UnknownNameError for a name that is none, and then changes nothing."""
        known = self._names()
        for name in params:
            if name not in known:
                raise UnknownNameError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}: {self._suggest(name)}"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if not _same(value, defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _train_params(self, objective: str | Callable[..., Any], num_class: int) -> TrainParams:
        values = {name: value for name, value in self.get_params().items() if name not in self._own}
        return TrainParams.from_dict({**values, "objective": objective, "num_class": num_class})

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Margins float64[n, n_outputs] by joint prediction of all parties, up to the best round."""
        found: NDArray[np.float64] = self._jointly(X, predict_margin)
        return found

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        """What the objective's link makes of the margins: [n], or class probabilities [n, n_outputs]."""
        margins = self._margins(X)
        return values_of(self.model_.active_share, margins)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf each row reaches in each tree, int32[n, n_trees], as XGBoost numbers them within a tree."""
        found: NDArray[np.int32] = self._jointly(X, predict_leaves)
        return found

    def _jointly(self, X: Any, predict: Callable[..., Any]) -> Any:
        """What one of the functions of predict/joint.py makes of X."""
        model = self._fitted()
        tables = read_again(X, self._layout, "prediction", type(self).__name__)
        return predict(model.active_share, model.passive_shares, tables, threads=self.get_params()["n_jobs"])

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """float64[n_features_in_] in the order of X, summing to 1 (all 0 for a model without splits).

        By `importance_type`: "gain", "weight", "cover", "total_gain" or "total_cover", as xgboost defines them.
        """
        pooled = self._fitted().pooled
        amounts = importance(pooled, self.get_params()["importance_type"])
        place = {name: i for i, name in enumerate(pooled.feature_names)}
        ordered = amounts[[place[name] for name in self._layout.order]]
        total = ordered.sum()
        return ordered / total if total > 0 else ordered

    def export_xgboost(self, path: str | Path) -> None:
        """Write XGBoost JSON of the pooled model: this REVEALS EVERY PARTY'S SPLITS to whoever reads the file.

        Real parties must each consent first. Features stand in party order. `xgboost.Booster` loads the file and
        predicts the same. Raises ExportError where XGBoost cannot express the model (missing_strategy="probabilistic").
        """
        self._fitted().export_xgboost(path)

    def report(self, path: str | Path, audit: "AuditReport | None" = None) -> None:
        """Write a page of HTML on the fit: what `vfxgb report -o` writes for real parties, with NOTHING MASKED.

        `audit`: findings to show with it, as `audit()` returns them. The file opens without a network. Raises
        UnfittedError, OSError.
        """
        from vfxgb.report.page import render
        from vfxgb.report.simulated import simulated_document

        model = self._fitted()
        document = simulated_document(
            *self._ran,
            model,
            self.ledger_,
            self.traffic_,
            self.timings_,
            self.evals_result_,
            (self.best_iteration_, self.best_score_),
            None if audit is None else audit.to_dict(),
        )
        write_atomically(Path(path), render(document).encode())

    def _fitted(self) -> FittedModel:
        """The model. Raises UnfittedError, which is scikit-learn's NotFittedError too where that is loaded."""
        if not hasattr(self, "model_"):
            message = f"This {type(self).__name__} instance is not fitted yet; call fit before this method."
            raise _as_sklearn(UnfittedError, "NotFittedError")(message)
        return self.model_


def hide_unknown(constructor: Callable[..., None]) -> None:
    """Take the catch-all for unknown names out of a constructor's signature: it is there for its message only."""
    shown = inspect.signature(constructor)
    kept = [one for one in shown.parameters.values() if one.kind is not one.VAR_KEYWORD]
    setattr(constructor, "__signature__", shown.replace(parameters=kept))  # noqa: B010 - mypy knows no such attribute


@dataclass(frozen=True)
class FitOptions:
    """The optional arguments of `fit`, as given."""

    sample_weight: Any = None
    eval_set: Sequence[tuple[Any, Any]] | None = None
    eval_weights: Sequence[Any] | None = None
    callbacks: Sequence[TrainingCallback] | None = None
    verbose: bool | int | None = None
    cuts: Any = None

    def all_callbacks(self) -> list[TrainingCallback]:
        """Those given, and the one that shows progress if `verbose` asks for it."""
        return [*as_callbacks(self.callbacks), *make_monitor(self.verbose)]


def read_target(y: Any, n_rows: int, party: str, what: str = "y") -> NDArray[Any]:
    """Labels [n] of any type, checked. A column vector is taken as [n] with the warning scikit-learn gives."""
    array = None if y is None else np.asarray(y)
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            _as_sklearn(UserWarning, "DataConversionWarning")(
                f"A column-vector y was passed when a 1d array was expected ({what}); it is read as one label per row"
            ),
            stacklevel=4,
        )
    return read_labels(array, n_rows, party)


def _as_sklearn(ours: type[T], name: str) -> type[T]:
    """`ours`, made a subclass of that class of sklearn.exceptions as well if scikit-learn is loaded."""
    module = sys.modules.get("sklearn.exceptions")
    if module is None:
        return ours
    theirs = getattr(module, name)
    return theirs if issubclass(theirs, ours) else type(ours.__name__, (ours, theirs), {"__module__": ours.__module__})


def _same(value: object, default: object) -> bool:
    """Whether a parameter has its default value, NaN included."""
    if value is default:
        return True
    if isinstance(value, float) and isinstance(default, float) and value != value:
        return default != default
    return type(value) is type(default) and bool(value == default)
