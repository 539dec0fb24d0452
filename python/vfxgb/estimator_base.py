"""What both estimators share: parameters in scikit-learn's manner, one training call, one prediction call.

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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_labels, read_weights
from vfxgb.errors import ParameterError, PartiesError, UnfittedError, UnknownNameError
from vfxgb.estimator_data import (
    Layout,
    Tables,
    drop_weightless,
    read_again,
    read_cuts,
    read_eval_sets,
    stack_rows,
    stack_weights,
)
from vfxgb.model.fitted import FittedModel
from vfxgb.model.importance import importance
from vfxgb.objective import make_objective
from vfxgb.params import ALIASES, TrainParams, closest_name
from vfxgb.predict.joint import predict_leaves, predict_margin
from vfxgb.protocols import protocol_names
from vfxgb.train.callbacks import TrainingCallback, as_callbacks
from vfxgb.train.progress import make_monitor, tell
from vfxgb.train.session import fit as train

if TYPE_CHECKING:
    from vfxgb.audit import AuditReport

D = TrainParams  # every default below is written there, once
T = TypeVar("T", bound=Exception)
Self = TypeVar("Self", bound="EstimatorBase")

# Constructor arguments that are no training parameters.
OWN = ("parties", "active", "protocol", "protocol_params", "importance_type", "record")
UNPROTECTED = "plain"
RECOMMENDED = "batch_he"
CUSTOM = "custom"


class EstimatorBase:
    """Parameters, training and prediction common to classifier and regressor."""

    _estimator_type: str

    def __init__(
        self,
        *,
        parties: Mapping[str, Sequence[str | int]] | None = None,
        active: str | None = None,
        protocol: str | None = None,
        protocol_params: Mapping[str, Any] | None = None,
        n_estimators: int = D.n_estimators,
        max_depth: int = D.max_depth,
        learning_rate: float = D.learning_rate,
        reg_lambda: float = D.reg_lambda,
        reg_alpha: float = D.reg_alpha,
        gamma: float = D.gamma,
        min_child_weight: float = D.min_child_weight,
        max_delta_step: float | None = D.max_delta_step,
        max_bin: int = D.max_bin,
        subsample: float = D.subsample,
        sampling_method: str = D.sampling_method,
        top_rate: float = D.top_rate,
        other_rate: float = D.other_rate,
        colsample_bytree: float = D.colsample_bytree,
        colsample_bylevel: float = D.colsample_bylevel,
        colsample_bynode: float = D.colsample_bynode,
        scale_pos_weight: float = D.scale_pos_weight,
        base_score: float | None = D.base_score,
        objective: str | Callable[..., Any] | None = None,
        eval_metric: Any = D.eval_metric,
        early_stopping_rounds: int | None = D.early_stopping_rounds,
        missing: float = D.missing,
        missing_strategy: str = D.missing_strategy,
        monotone_constraints: Mapping[str, int] | Sequence[int] | None = D.monotone_constraints,
        random_state: int = D.random_state,
        n_jobs: int | None = D.n_jobs,
        min_bucket_rows: int = D.min_bucket_rows,
        reduced_leakage: bool = D.reduced_leakage,
        importance_type: str = "gain",
        record: bool = False,
        **unknown: Any,
    ) -> None:
        # scikit-learn's rule: store what was given, unchanged and unchecked; fit checks it.
        given = locals()
        for name in unknown:
            raise UnknownNameError(f"{type(self).__name__}: there is no parameter {name!r}; {self._suggest(name)}")
        for name in self._names():
            setattr(self, name, given[name])

    @classmethod
    def _names(cls) -> list[str]:
        """The constructor's parameters, in its order."""
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(EstimatorBase.__init__).parameters
        return [name for name, p in parameters.items() if p.kind in kinds and name != "self"]

    @classmethod
    def _suggest(cls, name: str) -> str:
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
        defaults = inspect.signature(EstimatorBase.__init__).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if not _same(value, defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _train_params(self, objective: str | Callable[..., Any], num_class: int) -> TrainParams:
        values = {name: value for name, value in self.get_params().items() if name not in OWN}
        return TrainParams.from_dict({**values, "objective": objective, "num_class": num_class})

    def _fit(
        self,
        tables: Tables,
        layout: Layout,
        params: TrainParams,
        labels: NDArray[np.floating],
        encode: Callable[[Any, int, str], NDArray[np.floating]],
        options: "FitOptions",
    ) -> None:
        """Run all parties in this process and keep what they leave. `encode` reads the labels of eval sets."""
        record = self.get_params()["record"]
        if not isinstance(record, bool):
            raise ParameterError(f"reading parameters: record={record!r}, wanted True or False")
        hooks = [*as_callbacks(options.callbacks), *make_monitor(options.verbose)]
        weight = read_weights(options.sample_weight, len(labels), layout.active)
        tables, labels, weight = drop_weightless(tables, labels, weight)
        sets = read_eval_sets(options.eval_set, options.eval_weights, layout, encode, type(self).__name__)
        rows, slices = stack_rows(tables, sets)
        result = train(
            rows,
            layout.active,
            np.concatenate([labels, *(entry.labels for entry in sets)]) if sets else labels,
            stack_weights(weight, len(labels), sets),
            len(labels),
            params,
            self._protocol(layout),
            self.get_params()["protocol_params"],
            slices,
            hooks,
            read_cuts(options.cuts, layout),
            record,
        )
        if len(result.ledger.privacy):
            tell(result.ledger.privacy.summary(), options.verbose)
        self._layout = layout
        self.model_ = FittedModel(result.active_share, result.passive_shares)
        self.ledger_ = result.ledger
        self.traffic_ = result.traffic
        self.timings_ = result.timings
        self.evals_result_ = result.evals_result
        self.best_iteration_ = result.best_iteration
        self.best_score_ = result.best_score
        self.__dict__.pop("transcript_", None)
        if result.transcript is not None:
            self.transcript_ = result.transcript
        self.n_features_in_ = len(layout.order)
        self.__dict__.pop("feature_names_in_", None)
        if layout.named:
            self.feature_names_in_ = np.array(layout.order, dtype=object)

    def _protocol(self, layout: Layout) -> str:
        """The protocol asked for; a single party needs none, as nothing leaves it."""
        protocol = self.get_params()["protocol"]
        if protocol is not None:
            return str(protocol)
        if len(layout.parties) == 1:
            return UNPROTECTED
        raise PartiesError(
            f"choosing a protocol: {len(layout.parties)} parties ({', '.join(layout.parties)}) and protocol=None, "
            f"wanted one of {', '.join(protocol_names())}; {RECOMMENDED!r} keeps gradients encrypted and is the one to "
            f"begin with, {UNPROTECTED!r} protects nothing and is for simulation only"
        )

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Margins float64[n, n_outputs] by joint prediction of all parties, up to the best round."""
        model = self._fitted()
        tables = read_again(X, self._layout, "prediction", type(self).__name__)
        return predict_margin(model.active_share, model.passive_shares, tables, threads=self.get_params()["n_jobs"])

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        """What the objective's link makes of the margins: [n], or class probabilities [n, n_outputs]."""
        margins = self._margins(X)
        share = self.model_.active_share
        if share.objective == CUSTOM:
            return margins[:, 0] if share.n_outputs == 1 else margins
        return make_objective(TrainParams(objective=share.objective, num_class=share.n_outputs)).transform(margins)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf each row reaches in each tree, int32[n, n_trees], as XGBoost numbers them within a tree."""
        model = self._fitted()
        tables = read_again(X, self._layout, "prediction", type(self).__name__)
        return predict_leaves(model.active_share, model.passive_shares, tables, threads=self.get_params()["n_jobs"])

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

    def audit(self, attacks: Sequence[str] | None = None) -> "AuditReport":
        """What a curious party could have learned from the fit, found by attacking its transcript (vfxgb.audit).

        `attacks`: names, None for all. Raises UnfittedError unless the model was fitted with record=True,
        UnknownNameError for an attack that does not exist.
        """
        from vfxgb.audit import audit

        self._fitted()
        if not hasattr(self, "transcript_"):
            raise UnfittedError(f"auditing {type(self).__name__}: the fit was not recorded; set record=True, fit again")
        return audit(self.transcript_, attacks)

    def _fitted(self) -> FittedModel:
        """The model. Raises UnfittedError, which is scikit-learn's NotFittedError too where that is loaded."""
        if not hasattr(self, "model_"):
            message = f"This {type(self).__name__} instance is not fitted yet; call fit before this method."
            raise _as_sklearn(UnfittedError, "NotFittedError")(message)
        return self.model_


# The catch-all for unknown names is there for its message and is no parameter: the signature does not show it.
_signature = inspect.signature(EstimatorBase.__init__)
setattr(  # noqa: B010 - mypy knows no such attribute of functions
    EstimatorBase.__init__,
    "__signature__",
    _signature.replace(parameters=[p for p in _signature.parameters.values() if p.kind is not p.VAR_KEYWORD]),
)


@dataclass(frozen=True)
class FitOptions:
    """The optional arguments of `fit`, as given."""

    sample_weight: Any = None
    eval_set: Sequence[tuple[Any, Any]] | None = None
    eval_weights: Sequence[Any] | None = None
    callbacks: Sequence[TrainingCallback] | None = None
    verbose: bool | int | None = None
    cuts: Any = None


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
