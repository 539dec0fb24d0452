"""What all estimators share: parameters in scikit-learn's manner, and everything after training.

scikit-learn is no dependency. Its protocol is spoken without it: get_params and set_params from the constructor's
signature, attributes with a trailing underscore after fit, `__sklearn_tags__` where scikit-learn asks for it, and its
own classes of warnings and errors wherever it is loaded already.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from msgspec import Meta, to_builtins
from numpy.typing import NDArray

from vfxgb.described import parameters
from vfxgb.errors import FormatError, MissingPackageError, ParameterError, UnfittedError, UnknownNameError
from vfxgb.estimator.data import Layout, read_again
from vfxgb.estimator.labels import as_sklearn
from vfxgb.estimator.prediction import Asked
from vfxgb.estimator.saved import (
    About,
    classes_from,
    classes_to_save,
    from_plain,
    layout_from,
    layout_to_save,
    plain_params,
    read_about,
    to_plain,
)
from vfxgb.estimator.xgboost_names import translated, twice
from vfxgb.files import write_atomically
from vfxgb.model.fitted import FittedModel
from vfxgb.model.importance import KINDS, importance
from vfxgb.model.whole_file import load_model, save_model
from vfxgb.model.xgboost_json import xgboost_json
from vfxgb.params import ALIASES, TrainParams, check_values, parameter_names, suggestion
from vfxgb.predict.joint import predict_leaves, predict_margin
from vfxgb.predict.sides import values_of
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.train.callbacks import EvalsLog, TrainingCallback, as_callbacks
from vfxgb.train.progress import make_monitor
from vfxgb.transport.traffic import Traffic

if TYPE_CHECKING:
    import xgboost

    from vfxgb.audit import AuditReport

Self = TypeVar("Self", bound="EstimatorBase")

# Parameters that all estimators have besides those of training.
ObjectiveOfLabels = Annotated[
    str | Callable[..., Any] | None,
    Meta(
        description="The loss, by name or as a callable (labels, margins[, sample_weight]) -> (gradients, hessians). "
        "None takes binary:logistic for two classes, multi:softprob for more, reg:squarederror for numbers."
    ),
]
ImportanceType = Annotated[
    str, Meta(description="What feature_importances_ shows.", extra={"wanted": f"one of {', '.join(map(repr, KINDS))}"})
]
Verbosity = Annotated[
    Annotated[int, Meta(ge=0, le=3)] | None,
    Meta(
        description="What fit shows where its `verbose` says nothing: 0 shows nothing, 1 and None a bar on a terminal "
        "if it takes longer than two seconds, 2 and 3 the metrics too."
    ),
]
Callbacks = Annotated[
    Sequence[TrainingCallback] | None,
    Meta(
        description="What watches or steers every fit, before the callbacks that fit is given (vfxgb.callbacks).",
        extra={"wanted": "a list of callbacks of vfxgb.callbacks, or None"},
    ),
]


class EstimatorBase:
    """Parameters and prediction. A constructor with keywords only is for those who derive from it.

    `_estimator_type`: scikit-learn's. `_refused`: training parameters that the constructor does not take, and why not.
    Training leaves the attributes declared without a value; `_ran`: role of the party with the trees, name of the
    protocol or aggregator, its parameters as given. `classes_`: of a classifier.
    """

    _estimator_type: str
    _refused: ClassVar[Mapping[str, str]] = {}
    # Further attributes of a fit that predictions need, or that say what was trained on.
    _saved: ClassVar[tuple[str, ...]] = ()
    _layout: Layout
    _ran: tuple[str, str, Mapping[str, Any]]
    model_: FittedModel
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    ledger_: Ledger
    traffic_: dict[str, Traffic]
    timings_: Timings
    evals_result_: EvalsLog
    best_iteration_: int | None
    best_score_: float | None

    def _store(self, given: Mapping[str, Any]) -> None:
        """Keep the constructor's arguments, which `given` holds under their names, and others in "unknown".

        scikit-learn's rule: store what was given, unchanged and unchecked; fit checks it. Of the others xgboost's
        spellings and what changes nothing are taken (xgboost_names.py). Raises UnknownNameError, ParameterError.
        """
        estimator, signature = type(self).__name__, inspect.signature(type(self).__init__).parameters
        others = self._translated(given["unknown"], f"{estimator}: there is no parameter {{}}; {{}}")
        for name, value in others.items():
            if given[name] != signature[name].default and given[name] != value:
                spelling = next(other for other in given["unknown"] if ALIASES.get(other) == name)
                raise twice(spelling, value, name, given[name], estimator)
        for name in self._names():
            setattr(self, name, others.get(name, given[name]))

    def _translated(self, unknown: Mapping[str, Any], refusal: str) -> dict[str, Any]:
        """Parameters by their names here. Raises UnknownNameError, with the name and a hint put into `refusal`."""
        known = self._names()
        found = translated(unknown, known, type(self).__name__)
        for name in found:
            if name not in known:
                raise UnknownNameError(refusal.format(repr(name), self._suggest(name)))
        return found

    @classmethod
    def _names(cls) -> list[str]:
        """The constructor's parameters, in its order."""
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(cls.__init__).parameters
        return [name for name, p in parameters.items() if p.kind in kinds and name != "self"]

    @classmethod
    def _suggest(cls, name: str) -> str:
        return str(cls._refused[name]) if name in cls._refused else suggestion(name, cls._names())

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - nothing is nested
        """All parameters by name, as given. `deep` is scikit-learn's and changes nothing here."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Replace parameters by name, xgboost's other spellings included.

        Raises UnknownNameError for a name that is none, ParameterError for what has no counterpart here; then nothing
        is changed.
        """
        found = self._translated(params, f"Invalid parameter {{}} for estimator {type(self).__name__}: {{}}")
        for name, value in found.items():
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

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if self._classifies else None,
            regressor_tags=None if self._classifies else RegressorTags(),
            input_tags=InputTags(allow_nan=True),
        )

    @property
    def _classifies(self) -> bool:
        """Whether labels are classes, and not numbers."""
        return self._estimator_type == "classifier"

    def _objective(self, classes: NDArray[Any] | None) -> tuple[str | Callable[..., Any], int]:
        """Objective and number of outputs. Raises ParameterError."""
        raise NotImplementedError

    def _train_params(self, classes: NDArray[Any] | None) -> TrainParams:
        """All training parameters. Raises ParameterError, also for those of the estimator's own."""
        # None is how xgboost's own estimators write "the default".
        given = {name: value for name, value in self.get_params().items() if value is not None}
        names = parameter_names()
        own = [entry for entry in parameters(type(self)) if entry.meaning and entry.name in given]
        check_values((entry for entry in own if entry.name not in names), given)
        objective, outputs = self._objective(classes)
        values = {name: value for name, value in given.items() if name in names}
        return TrainParams.from_dict({**values, "objective": objective, "num_class": outputs})

    def _keep(self, model: FittedModel, result: Any, layout: Layout, classes: NDArray[Any] | None) -> None:
        """Keep what a training left; `result` has a field for each attribute."""
        for name in ("ledger", "traffic", "timings", "evals_result", "best_iteration", "best_score"):
            setattr(self, f"{name}_", getattr(result, name))
        self._keep_layout(model, layout, classes)

    def _keep_layout(self, model: FittedModel, layout: Layout, classes: NDArray[Any] | None) -> None:
        """Keep the model and what predictions need besides."""
        self._layout = layout
        self.model_ = model
        if classes is not None:
            self.classes_ = classes
        self.n_features_in_ = len(layout.order)
        self.__dict__.pop("feature_names_in_", None)
        if layout.named:
            self.feature_names_in_ = np.array(layout.order, dtype=object)

    def _predictions(self, X: Any, asked: Asked) -> NDArray[np.float64]:
        """Joint prediction: [n], or class probabilities [n, n_outputs]."""
        margins = self._jointly(X, predict_margin, asked)
        return values_of(self.model_.active_share, margins)

    def _margins(self, X: Any, asked: Asked) -> NDArray[np.float64]:
        """Joint prediction without the link: [n], or [n, n_outputs]."""
        margins: NDArray[np.float64] = self._jointly(X, predict_margin, asked)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def _raw(self, X: Any, asked: Asked, output_margin: bool, pred_leaf: bool) -> NDArray[Any]:
        """Margins or leaves, where predict is asked for either. Raises ParameterError for both at once."""
        if output_margin and pred_leaf:
            raise ParameterError("predicting: output_margin and pred_leaf are both true, wanted one of them")
        if pred_leaf:
            return self.apply(X, asked.iteration_range, hidden=asked.hidden)
        return self._margins(X, asked)

    def apply(self, X: Any, iteration_range: Sequence[int] | None = None, *, hidden: bool = False) -> NDArray[np.int32]:
        """The leaf each row reaches in each tree, int32[n, n_trees], as XGBoost numbers them within a tree.

        `iteration_range`, `hidden`: see predict.
        """
        leaves: NDArray[np.int32] = self._jointly(X, predict_leaves, Asked(hidden, iteration_range))
        return leaves

    def _jointly(self, X: Any, predict: Callable[..., Any], asked: Asked) -> Any:
        """What one of the functions of predict/joint.py makes of X."""
        model = self._fitted()
        tables = read_again(X, self._layout, "prediction", type(self).__name__)
        how = asked.arguments(model.active_share, tables[self._layout.active].n_rows)
        return predict(model.active_share, model.passive_shares, tables, threads=self.get_params()["n_jobs"], **how)

    def get_booster(self) -> "xgboost.Booster":
        """The pooled model as an xgboost.Booster: it REVEALS EVERY PARTY'S SPLITS, as export_xgboost does.

        Raises ExportError where XGBoost cannot express the model, MissingPackageError without xgboost.
        """
        text = xgboost_json(self._fitted().pooled)
        try:
            import xgboost
        except ImportError as error:
            raise MissingPackageError(
                "making a booster: xgboost is not installed; install it, or write the model with export_xgboost"
            ) from error
        booster = xgboost.Booster()
        booster.load_model(bytearray(text, "utf-8"))
        return booster

    def save_model(self, path: str | Path) -> None:
        """Write the model with all its shares and what predictions need to one file, which has a checksum.

        It REVEALS EVERY PARTY'S SPLITS: whoever has the file can predict alone. Between real parties each has a file of
        its own instead. Callables and callbacks among the parameters, ledger, traffic and timings are not in the file;
        pickle keeps them. Raises UnfittedError, ExportError, OSError.
        """
        model, others = self._fitted(), {name: to_plain(vars(self)[name]) for name in self._saved if name in vars(self)}
        role, name, own_params = self._ran
        about = About(
            estimator=type(self).__name__,
            params=plain_params(self.get_params()),
            layout=layout_to_save(self._layout),
            ran=(role, name, plain_params(own_params)),
            classes=classes_to_save(vars(self).get("classes_")),
            evals_result=to_plain(self.evals_result_),
            best_iteration=self.best_iteration_,
            best_score=to_plain(self.best_score_),
            others=others,
        )
        save_model(model, to_builtins(about), path)

    def load_model(self, path: str | Path) -> None:
        """Take over the model and the parameters in a file that save_model wrote.

        Parameters that the file does not hold stay as they are; there is no ledger of the fit. Raises FormatError,
        ShareMismatchError for a file that was altered, OSError; then nothing is changed.
        """
        model, found = load_model(path)
        about = read_about(found, path)
        if about.estimator != type(self).__name__:
            raise FormatError(
                f"reading the model {str(path)!r}: it is of a {about.estimator}, wanted {type(self).__name__}; load it "
                f"with {about.estimator}().load_model"
            )
        params = {name: from_plain(value) for name, value in dict(about.params).items() if name in self._names()}
        classes = None if about.classes is None else classes_from(about.classes)
        layout, others = layout_from(about.layout), {name: from_plain(value) for name, value in about.others.items()}
        log, score = from_plain(about.evals_result), from_plain(about.best_score)
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        vars(self).update(params)
        vars(self).update({name: value for name, value in others.items() if name in self._saved})
        role, ran, own_params = about.ran
        self._ran = (role, ran, {name: from_plain(value) for name, value in dict(own_params).items()})
        self.evals_result_, self.best_iteration_, self.best_score_ = log, about.best_iteration, score
        self._keep_layout(model, layout, classes)

    def evals_result(self) -> EvalsLog:
        """Eval set -> metric -> its value after each round: evals_result_ under xgboost's name."""
        self._fitted()
        return self.evals_result_

    def get_num_boosting_rounds(self) -> int:
        """The number of rounds that were asked for."""
        asked = self.get_params()["n_estimators"]
        return TrainParams().n_estimators if asked is None else int(asked)

    def get_xgb_params(self) -> dict[str, Any]:
        """The parameters, as xgboost's estimators give theirs; those of vfxgb alone are among them."""
        return self.get_params()

    @property
    def best_iteration(self) -> int:
        """The best round, counted from 0. Raises AttributeError without early stopping, as xgboost does."""
        return int(self._of_early_stopping("best_iteration"))

    @property
    def best_score(self) -> float:
        """The watched metric after the best round. Raises AttributeError without early stopping, as xgboost does."""
        return float(self._of_early_stopping("best_score"))

    def _of_early_stopping(self, name: str) -> Any:
        self._fitted()
        value = getattr(self, f"{name}_")
        if value is None:
            raise AttributeError(f"`{name}` is only defined when early stopping is used; set early_stopping_rounds")
        return value

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The prediction before the first tree, float32[n_outputs], in the units of the label."""
        return self._fitted().active_share.base_score.astype(np.float32)

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
        predicts the same. Raises ExportError where XGBoost cannot express the model (missing_strategy="probabilistic",
        "conditional" or "regression").
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
        if not hasattr(self, "ledger_"):
            raise UnfittedError("writing a report: the model was read from a file, which has no ledger; report the fit")
        best = (self.best_iteration_, self.best_score_)
        findings = None if audit is None else audit.to_dict()
        document = simulated_document(
            *self._ran,
            model,
            self.ledger_,
            self.traffic_,
            self.timings_,
            self.evals_result_,
            best,
            findings,
            self.__dict__.get("alone_"),
        )
        write_atomically(Path(path), render(document).encode())

    def _fitted(self) -> FittedModel:
        """The model. Raises UnfittedError, which is scikit-learn's NotFittedError too where that is loaded."""
        if not hasattr(self, "model_"):
            message = f"This {type(self).__name__} instance is not fitted yet; call fit before this method."
            raise as_sklearn(UnfittedError, "NotFittedError")(message)
        return self.model_


def all_callbacks(
    params: Mapping[str, Any], given: Sequence[TrainingCallback] | None, verbose: bool | int | None
) -> list[TrainingCallback]:
    """Those of the estimator's parameters, those given, and the one that shows progress if `verbose` asks for it."""
    return [*as_callbacks(params["callbacks"]), *as_callbacks(given), *make_monitor(verbose)]


def shown(verbose: bool | int | None, verbosity: int | None) -> bool | int | None:
    """`verbose` of fit, or what the parameter `verbosity` says in its place."""
    if verbose is not None or verbosity is None:
        return verbose
    return {0: False, 1: None}.get(verbosity, True)


def _same(value: object, default: object) -> bool:
    """Whether a parameter has its default value, NaN included."""
    if value is default:
        return True
    if isinstance(value, float) and isinstance(default, float) and value != value:
        return default != default
    return type(value) is type(default) and bool(value == default)
