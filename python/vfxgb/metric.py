"""Metrics on predictions: XGBoost's names and formulas, and KS.

A metric compares labels [n] with predictions as `Objective.transform` gives them: [n] for one output, [n, K] class
probabilities. Weighted means throughout; weights None is weight 1.

auc: area under the ROC curve, ties counted half; for K classes one against the rest, averaged by class weight.
ks: the largest distance between true and false positive rate over all thresholds (Kolmogorov-Smirnov), the number
credit scoring reports. aucpr: area under precision over recall, between thresholds by the curve that both rates
follow there; for K classes the plain mean of one against the rest. All three are NaN when the rows hold one class
only. Some names take a number after an @, as XGBoost writes it: error@0.3, tweedie-nloglik@1.2.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.checks import closest_name
from vfxgb.errors import LengthMismatchError, ParameterError, UnknownNameError
from vfxgb.objective import objective_names, spec_of

FloatArray = NDArray[np.float64]
MetricFunction = Callable[[FloatArray, FloatArray, FloatArray], float]

# XGBoost's: keeps log finite.
_LEAST_PROBABILITY = 1e-16
# XGBoost's: keeps quotients of gamma's metrics finite.
_LEAST_MEAN = 1e-6
_NO_NUMBERS: Mapping[str, float] = {}


@dataclass(frozen=True)
class Metric:
    """A named metric. `maximize`: larger is better. `outputs`: the shape of prediction it takes.

    `outputs`: "one" for [n], "many" for [n, K], "any" for both. `loss`: labels, predictions -> a number per row, where
    the metric is the weighted mean of these, or with `root` its square root; None where it is no mean.
    """

    name: str
    maximize: bool
    function: MetricFunction
    outputs: str = "one"
    loss: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    root: bool = False

    def of_sums(self, losses: float, weight: float) -> float:
        """The metric of a weighted sum of losses over rows of that weight together."""
        if not weight > 0:
            return math.nan
        return math.sqrt(losses / weight) if self.root else losses / weight

    def __call__(self, labels: NDArray[Any], predictions: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
        """The metric of predictions [n] or [n, K] against labels [n].

        Raises LengthMismatchError when lengths differ, ParameterError when the metric is not made for such predictions.
        """
        y = np.asarray(labels, dtype=np.float64)
        p = np.asarray(predictions, dtype=np.float64)
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not len(y) == len(p) == len(w):
            raise LengthMismatchError(
                f"computing {self.name}: {len(y)} labels, {len(p)} predictions and {len(w)} weights, wanted the same"
            )
        if (self.outputs == "one" and p.ndim != 1) or (self.outputs == "many" and p.ndim != 2):
            raise ParameterError(
                f"computing {self.name}: predictions have shape {p.shape}, wanted "
                f"{'[rows]' if self.outputs == 'one' else '[rows, classes]'}; "
                "choose an eval_metric that fits the objective"
            )
        return float(self.function(y, p, w))


def make_metric(metric: str | Callable[..., float] | Metric) -> Metric:
    """The metric of that name, or one around a callable.

    A callable is called as metric(labels, predictions), with sample_weight=weights where rows are weighted. It is
    named after itself and taken to be a loss (smaller is better) unless it has an attribute `maximize` that is true.
    Raises UnknownNameError for a name that is none, ParameterError for something else.
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric in METRICS:
            return METRICS[metric]
        known = METRICS | {own.name: own for name in objective_names() for own in spec_of(name).metrics}
        if metric in known:
            return known[metric]
        if (parametrised := _with_number(metric)) is not None:
            return parametrised
        meant = closest_name(metric, tuple(known))
        hint = f"did you mean {meant!r}? " if meant else ""
        raise UnknownNameError(f"choosing metrics: there is no metric {metric!r}; {hint}Known: {', '.join(known)}")
    if not callable(metric):
        raise ParameterError(f"choosing metrics: found {metric!r}, wanted a name or a callable (labels, predictions)")
    return _from_callable(metric)


def make_metrics(asked: object, default: str, numbers: Mapping[str, float] = _NO_NUMBERS) -> tuple[Metric, ...]:
    """The metrics of an `eval_metric` parameter: None (the objective's `default`), one, or a sequence of them.

    `numbers`: `Objective.metric_numbers`, which metrics of these names have in place of any other.
    Raises ParameterError when two have the same name.
    """
    made = {name: replace(OF_LOSS[name](number), name=name) for name, number in numbers.items()}
    wanted: Sequence[Any] = asked if isinstance(asked, (list, tuple)) else [default if asked is None else asked]
    metrics = tuple(made[each] if isinstance(each, str) and each in made else make_metric(each) for each in wanted)
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"choosing metrics: eval_metric names {names}, wanted at least one and each of them once")
    return metrics


def maximised(metrics: Sequence[Metric]) -> frozenset[str]:
    """The names of those of which more is better."""
    return frozenset(metric.name for metric in metrics if metric.maximize)


def _with_number(name: str) -> Metric | None:
    """The metric of a name with a number after an @; None for a name that is none. Raises ParameterError."""
    stem, at, number = name.partition("@")
    if not at or stem not in WITH_NUMBER:
        return None
    make, low, high = WITH_NUMBER[stem]
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not low < value < high:
        raise ParameterError(f"choosing metrics: found {name!r}, wanted a number between {low:g} and {high:g} after @")
    return replace(make(value), name=name)


def _from_callable(function: Callable[..., float]) -> Metric:
    def call(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
        if (w == 1.0).all():
            return float(function(y, p))
        return float(function(y, p, sample_weight=w))

    name = getattr(function, "__name__", type(function).__name__)
    return Metric(name, bool(getattr(function, "maximize", False)), call, "any")


def _mean(values: FloatArray, w: FloatArray) -> float:
    total = float(w.sum())
    return float(values @ w) / total if total > 0 else math.nan


def _log(p: FloatArray) -> FloatArray:
    return np.log(np.maximum(p, _LEAST_PROBABILITY))


def _logloss(y: FloatArray, p: FloatArray) -> FloatArray:
    return -(y * _log(p) + (1.0 - y) * _log(1.0 - p))


def _error(y: FloatArray, p: FloatArray) -> FloatArray:
    return np.where(p > 0.5, 1.0 - y, y)


def _mlogloss(y: FloatArray, p: FloatArray) -> FloatArray:
    return -_log(p[np.arange(len(y)), y.astype(np.int64)])


def _merror(y: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray(p.argmax(axis=1) != y, dtype=np.float64)


def _squared(y: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray((y - p) ** 2)


def _absolute(y: FloatArray, p: FloatArray) -> FloatArray:
    return np.abs(y - p)


def _poisson_nloglik(y: FloatArray, p: FloatArray) -> FloatArray:
    counts, place = np.unique(y, return_inverse=True)
    log_factorials = np.array([math.lgamma(count + 1.0) for count in counts])
    return np.asarray(log_factorials[place] + p - y * _log(p))


def _mean_loss(
    name: str, loss: Callable[[FloatArray, FloatArray], FloatArray], outputs: str = "one", root: bool = False
) -> Metric:
    def function(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
        mean = _mean(loss(y, p), w)
        return math.sqrt(mean) if root else mean

    return Metric(name, False, function, outputs, loss, root)


def threshold_weights(y: FloatArray, p: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weight of true and false positives at every distinct threshold, from the highest down; both start with 0."""
    order = np.argsort(-p, kind="stable")
    ranked = p[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(p) - 1)
    positives = np.cumsum((y * w)[order])[last]
    negatives = np.cumsum(((1.0 - y) * w)[order])[last]
    return np.append(0.0, positives), np.append(0.0, negatives)


def _binary_auc(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
    if len(y) == 0:
        return math.nan
    true, false = threshold_weights(y, p, w)
    whole = true[-1] * false[-1]
    if whole <= 0.0:
        return math.nan
    return float(((true[1:] + true[:-1]) * np.diff(false)).sum() / 2.0 / whole)


def _auc(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
    if p.ndim == 1:
        return _binary_auc(y, p, w)
    members = [(y == k).astype(np.float64) for k in range(p.shape[1])]
    areas = [_binary_auc(member, p[:, k], w) for k, member in enumerate(members)]
    return _mean(np.array(areas), np.array([float(member @ w) for member in members]))


def _binary_aucpr(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
    if len(y) == 0:
        return math.nan
    true, false = threshold_weights(y, p, w)
    positives = true[-1]
    if positives <= 0.0 or false[-1] <= 0.0:
        return math.nan
    steps, recall = np.diff(true), true / positives
    # Between thresholds false positives grow evenly with true ones: precision is r / (a r + b) at recall r.
    slope = np.divide(np.diff(false), steps, out=np.zeros_like(steps), where=steps > 0)
    a, b = 1.0 + slope, (false[:-1] - slope * true[:-1]) / positives
    area = np.diff(recall) / a
    curved = (b != 0.0) & (steps > 0)
    low, high = (a * recall[:-1] + b)[curved], (a * recall[1:] + b)[curved]
    area[curved] -= (b / a**2)[curved] * np.log(high / low)
    return float(area.sum())


def _aucpr(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
    if p.ndim == 1:
        return _binary_aucpr(y, p, w)
    # Unlike auc, XGBoost weights classes alike here.
    return float(np.mean([_binary_aucpr((y == k).astype(np.float64), p[:, k], w) for k in range(p.shape[1])]))


def _squared_log(y: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray((np.log1p(y) - np.log1p(p)) ** 2)


def _relative(y: FloatArray, p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs((y - p) / y)


def _gamma_deviance(y: FloatArray, p: FloatArray) -> FloatArray:
    y, p = y + _LEAST_MEAN, p + _LEAST_MEAN
    return np.asarray(2.0 * (np.log(p / y) + y / p - 1.0))


def _gamma_nloglik(y: FloatArray, p: FloatArray) -> FloatArray:
    p = np.maximum(p, _LEAST_MEAN)
    return np.asarray(y / p + np.log(p))


def pinball(alpha: float) -> Metric:
    """The loss whose least is at the quantile `alpha`."""

    def loss(y: FloatArray, p: FloatArray) -> FloatArray:
        return np.maximum(alpha * (y - p), (alpha - 1.0) * (y - p))

    return _mean_loss("quantile", loss)


def pseudo_huber(slope: float) -> Metric:
    """Differences that count squared when small and plainly when large."""

    def loss(y: FloatArray, p: FloatArray) -> FloatArray:
        return np.asarray(slope**2 * (np.sqrt(1.0 + ((y - p) / slope) ** 2) - 1.0))

    return _mean_loss("mphe", loss)


def tweedie_nloglik(power: float) -> Metric:
    """The negative log-likelihood of a Tweedie distribution, without what does not depend on predictions."""

    def loss(y: FloatArray, p: FloatArray) -> FloatArray:
        return np.asarray(p ** (2.0 - power) / (2.0 - power) - y * p ** (1.0 - power) / (1.0 - power))

    return _mean_loss(f"tweedie-nloglik@{power:g}", loss)


def error_at(threshold: float) -> Metric:
    """The share of rows on the wrong side of a threshold."""

    def loss(y: FloatArray, p: FloatArray) -> FloatArray:
        return np.where(p > threshold, 1.0 - y, y)

    return _mean_loss(f"error@{threshold:g}", loss)


# Metrics whose number is a parameter of the loss, and what makes them.
OF_LOSS: Mapping[str, Callable[[float], Metric]] = {"quantile": pinball, "mphe": pseudo_huber}

# Metrics with a number in their names: what makes them, and between which numbers it must lie.
WITH_NUMBER: Mapping[str, tuple[Callable[[float], Metric], float, float]] = {
    "error": (error_at, -math.inf, math.inf),
    "quantile": (pinball, 0.0, 1.0),
    "tweedie-nloglik": (tweedie_nloglik, 1.0, 2.0),
}


def _ks(y: FloatArray, p: FloatArray, w: FloatArray) -> float:
    if len(y) == 0:
        return math.nan
    true, false = threshold_weights(y, p, w)
    if true[-1] <= 0.0 or false[-1] <= 0.0:
        return math.nan
    return float(np.abs(true / true[-1] - false / false[-1]).max())


# Metrics that any objective may use; an objective's own ones stand in its SPEC.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("auc", True, _auc, "any"),
        _mean_loss("logloss", _logloss),
        _mean_loss("error", _error),
        _mean_loss("mlogloss", _mlogloss, "many"),
        _mean_loss("merror", _merror, "many"),
        _mean_loss("rmse", _squared, root=True),
        _mean_loss("mae", _absolute),
        Metric("ks", True, _ks),
        Metric("aucpr", True, _aucpr, "any"),
        _mean_loss("rmsle", _squared_log, root=True),
        _mean_loss("mape", _relative),
        pseudo_huber(1.0),
        _mean_loss("gamma-deviance", _gamma_deviance),
        _mean_loss("gamma-nloglik", _gamma_nloglik),
        _mean_loss("poisson-nloglik", _poisson_nloglik),
    )
}
