"""What labels are and predictions mean: for classes, and for numbers. Whoever trains, and on whose data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import LabelError, LengthMismatchError, ParameterError
from vfxgb.estimator.base import EstimatorBase
from vfxgb.objective import CUSTOM, is_objective, spec_of

BINARY = "binary:logistic"
MULTI = "multi:softprob"
DEFAULT_REGRESSION = "reg:squarederror"


class ClassifierPart(EstimatorBase):
    """A classifier but for its training, which leaves classes_."""

    _estimator_type = "classifier"

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities float64[n, n_classes], columns in the order of classes_."""
        found = self._predictions(X)
        if self.model_.active_share.objective == CUSTOM:
            found = _from_log_odds(found)
        return found if found.ndim == 2 else np.column_stack([1.0 - found, found])

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        # Of equal probabilities the first class wins, as in XGBoost: p > 1/2 is class 1.
        best = self.predict_proba(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[best]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted, weighted if asked."""
        found = self.predict(X)
        hits = found == _truth(y, len(found))
        return float(np.average(hits, weights=sample_weight))

    def _objective(self, n_classes: int) -> tuple[str | Callable[..., Any], int]:
        """Objective and number of outputs."""
        objective = self.get_params()["objective"]
        if objective is None:
            objective = BINARY if n_classes == 2 else MULTI
        if callable(objective) or not is_objective(objective):
            # TrainParams says what is wrong with a name that is none.
            return objective, n_classes if callable(objective) and n_classes > 2 else 1
        spec = spec_of(objective)
        if spec.labels == "two classes" and n_classes > 2:
            raise ParameterError(
                f"reading parameters: objective={objective!r} with {n_classes} classes in y, wanted {MULTI!r}; leave "
                "objective out to have it chosen"
            )
        if not spec.classifies:
            raise ParameterError(
                f"reading parameters: objective={objective!r}, wanted {BINARY!r}, {MULTI!r} or a callable for a "
                f"classifier; use {type(self).__name__.replace('Classifier', 'Regressor')}"
            )
        return objective, n_classes if spec.output_per_class else 1

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(allow_nan=True),
        )


class RegressorPart(EstimatorBase):
    """A regressor but for its training."""

    _estimator_type = "regressor"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted number of each row, float64[n]: value, rate (count:poisson) or margin (callable objective)."""
        return self._predictions(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 = 1 - sum w (y - f)^2 / sum w (y - mean)^2; 1 is perfect, 0 is the constant mean."""
        found = self.predict(X)
        truth = _truth(y, len(found)).astype(np.float64)
        w = np.ones(len(found)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        residual = float(w @ (truth - found) ** 2)
        spread = float(w @ (truth - np.average(truth, weights=w)) ** 2)
        if spread == 0.0:
            return 1.0 if residual == 0.0 else 0.0
        return 1.0 - residual / spread

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(allow_nan=True),
        )

    def _regression(self) -> str | Callable[..., Any]:
        """The objective."""
        given: str | Callable[..., Any] | None = self.get_params()["objective"]
        return DEFAULT_REGRESSION if given is None else given


def find_classes(y: NDArray[Any], party: str) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """The classes in ascending order, and each row's position among them. Raises LabelError where y has no classes."""
    if y.dtype.kind == "f":
        read_numbers(y, party, "y")
        if (y != np.floor(y)).any():
            row = int(np.argmax(y != np.floor(y)))
            raise LabelError(
                f"reading labels of party {party!r}: Unknown label type: continuous; row {row} holds {y[row]}, wanted "
                "classes; use a regressor for numbers"
            )
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise LabelError(
            f"reading labels of party {party!r}: Unknown label type: classes cannot be ordered ({error}); use one type"
        ) from error
    if len(classes) < 2:
        raise LabelError(
            f"reading labels of party {party!r}: found 1 class, {classes[0]!r}, in {len(y)} rows, wanted at least two "
            "classes; train on rows that have both"
        )
    return classes, codes.astype(np.float32)


def encode_classes(y: NDArray[Any], classes: NDArray[Any], party: str, what: str) -> NDArray[np.float32]:
    """Positions in `classes`. Raises LabelError for a class that training did not have."""
    try:
        codes = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
        wrong = np.asarray(classes[codes] != y)
    except TypeError as error:
        raise LabelError(
            f"reading {what} of party {party!r}: labels do not compare with the classes of training ({error})"
        ) from error
    if wrong.any():
        row = int(np.argmax(wrong))
        raise LabelError(
            f"reading {what} of party {party!r}: row {row} has label {y[row]!r} ({int(wrong.sum())} such rows), wanted "
            f"one of the classes of training, {classes[:20].tolist()}; drop these rows"
        )
    return codes.astype(np.float32)


def read_numbers(y: NDArray[Any], party: str, what: str) -> NDArray[np.float64]:
    """Labels as float64. Raises LabelError where one is not a finite number."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LabelError(
            f"reading {what} of party {party!r}: labels are not numbers ({error}); a classifier takes classes"
        ) from error
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise LabelError(
            f"reading {what} of party {party!r}: Input y contains infinity or a value too large for dtype('float64'): "
            f"row {row} holds {values[row]}, wanted a finite number; drop the row"
        )
    return values


def _truth(y: Any, n_rows: int) -> NDArray[Any]:
    truth = np.asarray(y)
    truth = truth[:, 0] if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if truth.shape != (n_rows,):
        raise LengthMismatchError(f"scoring: y has shape {truth.shape}, wanted ({n_rows},), one label per row of X")
    return truth


def _from_log_odds(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of margins from a callable objective: logistic [n] or softmax [n, K]."""
    if margins.ndim == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(margins, -700.0, 700.0))))
    e = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
