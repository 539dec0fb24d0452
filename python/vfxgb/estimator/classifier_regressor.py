"""What labels are and predictions mean: for classes, and for numbers. Whoever trains, and on whose data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import LengthMismatchError, ParameterError
from vfxgb.estimator.base import EstimatorBase
from vfxgb.estimator.prediction import Asked
from vfxgb.objective import CUSTOM, is_objective, make_objective, spec_of
from vfxgb.params import TrainParams

BINARY = "binary:logistic"
MULTI = "multi:softprob"
DEFAULT_REGRESSION = "reg:squarederror"


class ClassifierPart(EstimatorBase):
    """A classifier but for its training, which leaves classes_."""

    _estimator_type = "classifier"

    def predict_proba(
        self,
        X: Any,
        *,
        base_margin: Any = None,
        iteration_range: Sequence[int] | None = None,
        hidden: bool = False,
    ) -> NDArray[np.float64]:
        """Probabilities float64[n, n_classes], columns in the order of classes_. For the rest see predict."""
        values = self._predictions(X, Asked(hidden, iteration_range, base_margin))
        if self.model_.active_share.objective == CUSTOM:
            # A callable's margins are taken for log-odds.
            link = BINARY if values.ndim == 1 else MULTI
            params = TrainParams(objective=link, num_class=1 if values.ndim == 1 else values.shape[1])
            values = make_objective(params).transform(values)
        return values if values.ndim == 2 else np.column_stack([1.0 - values, values])

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: Sequence[int] | None = None,
        pred_leaf: bool = False,
        hidden: bool = False,
    ) -> NDArray[Any]:
        """The most probable class of each row.

        `output_margin`: the margins instead, before the link, [n] or [n, n_classes]; `pred_leaf`: the leaves instead,
        as apply gives them. `base_margin`: [n] or [n, n_classes], margins from which rows start in place of the
        model's. `iteration_range`: (first round, round after the last one) to predict with; None takes all, or those up
        to the best one after early stopping. `hidden`: passive parties do not learn which of their splits a row
        reaches; the result is the same.
        """
        asked = Asked(hidden, iteration_range, base_margin)
        if output_margin or pred_leaf:
            return self._raw(X, asked, output_margin, pred_leaf)
        # Of equal probabilities the first class wins, as in XGBoost: p > 1/2 is class 1.
        best = self.predict_proba(X, **vars(asked)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        self._fitted()
        return len(self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted, weighted if asked."""
        predicted = self.predict(X)
        hits = predicted == _truth(y, len(predicted))
        return float(np.average(hits, weights=sample_weight))

    def _objective(self, classes: NDArray[Any] | None) -> tuple[str | Callable[..., Any], int]:
        n_classes = 0 if classes is None else len(classes)
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


class RegressorPart(EstimatorBase):
    """A regressor but for its training."""

    _estimator_type = "regressor"

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: Sequence[int] | None = None,
        pred_leaf: bool = False,
        hidden: bool = False,
    ) -> NDArray[Any]:
        """The predicted number of each row, float64[n]: value, rate (count:poisson) or margin (callable objective).

        `output_margin`: the margins instead, before the link; `pred_leaf`: the leaves instead, as apply gives them.
        `base_margin`: [n], margins from which rows start in place of the model's. `iteration_range`: (first round,
        round after the last one) to predict with; None takes all, or those up to the best one after early stopping.
        `hidden`: passive parties do not learn which of their splits a row reaches; the result is the same.
        """
        asked = Asked(hidden, iteration_range, base_margin)
        if output_margin or pred_leaf:
            return self._raw(X, asked, output_margin, pred_leaf)
        return self._predictions(X, asked)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 = 1 - sum w (y - f)^2 / sum w (y - mean)^2; 1 is perfect, 0 is the constant mean."""
        predicted = self.predict(X)
        truth = _truth(y, len(predicted)).astype(np.float64)
        w = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        residual = float(w @ (truth - predicted) ** 2)
        spread = float(w @ (truth - np.average(truth, weights=w)) ** 2)
        if spread == 0.0:
            return 1.0 if residual == 0.0 else 0.0
        return 1.0 - residual / spread

    def _objective(self, classes: NDArray[Any] | None) -> tuple[str | Callable[..., Any], int]:  # noqa: ARG002
        given = self.get_params()["objective"]
        return DEFAULT_REGRESSION if given is None else given, 1


def _truth(y: Any, n_rows: int) -> NDArray[Any]:
    truth = np.asarray(y)
    truth = truth[:, 0] if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if truth.shape != (n_rows,):
        raise LengthMismatchError(f"scoring: y has shape {truth.shape}, wanted ({n_rows},), one label per row of X")
    return truth
