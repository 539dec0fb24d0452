"""Objectives: gradients, start values and links, in XGBoost's arithmetic.

Notation: n rows, K outputs (1, or the classes of multi:softprob), m the margin (the sum of leaf weights before the
link), y label, w sample weight, g and h first and second derivative of the loss in m, times w.

    binary:logistic    p = 1 / (1 + exp(-m))      g = p - y          h = max(p (1 - p), 1e-16)
    multi:softprob     p_k = softmax(m)_k         g_k = p_k - [y=k]  h_k = max(2 p_k (1 - p_k), 1e-16)
    reg:squarederror                              g = m - y          h = 1
    count:poisson      rate exp(m)                g = exp(m) - y     h = exp(m + max_delta_step)

XGBoost keeps margins and gradients in float32. The same operations in the same order and precision are used here,
so that a training on equal cut points meets the same gradients and grows the same trees. exp is taken in float64 and
rounded: the C library's expf, which XGBoost calls, returns the same but for one unit in the last place once in some
thousand values (numpy's own float32 exp differs in a third of them).

The start margin follows XGBoost 3: the mean label through the link, for multi:softprob the centred logarithms of the
class shares, and one Newton step from zero for binary:logistic with scale_pos_weight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.data.labels import numeric_labels, refuse_labels
from vfxgb.errors import GradientError, LabelError
from vfxgb.exact import ExactSum, ExactSums, exact_sum, grouped_sums
from vfxgb.params import TrainParams
from vfxgb.threads import resolve_threads
from vfxgb.tree.fixed_point import power_of_two_above

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
AnyFloat = NDArray[np.floating]

# The name of an objective that is a callable of the user.
CUSTOM = "custom"

_ONE = np.float32(1.0)
_LEAST_HESSIAN = np.float32(1e-16)
# XGBoost's: keeps expf(-m) finite, and logit finite when all labels are 0 or all are 1.
_LARGEST_EXPONENT = 88.7
_LEAST_PROBABILITY = np.float32(1e-6)


class Objective(Protocol):
    """What training needs of a loss. Implementations are frozen and hold no data."""

    @property
    def name(self) -> str:
        """XGBoost's name, or "custom"."""

    @property
    def n_outputs(self) -> int:
        """K: trees per round, margins per row."""

    @property
    def default_metric(self) -> str:
        """The metric watched when none is asked for."""

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """Labels as float32[n]. Raises LabelError, naming party, row and value, where the loss is not defined."""

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """What the start margin is estimated from: exact sums over rows.

        Those of a table's parts add up to those of the table, however it is divided.
        """

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """`start_parts` as float64, each rounded once."""

    def start_from(self, sums: FloatArray) -> FloatArray:
        """The start margin [K] estimated from `start_sums` of all rows. Raises LabelError where there is none."""

    def margin_of(self, base_score: float) -> FloatArray:
        """The start margin [K] for a `base_score` in the units of the label."""

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """(g, h), each float32[n, K], from margins [n, K] and check_labels' labels [n]."""

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """float64[n, K]: half way between the least and the largest gradient that any label could give a row.

        No gradient is farther from it than half the weight of the row. It is made without labels; None where a label
        can move a gradient by more than the weight.
        """

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Predictions from margins [n, K]: [n] when K is 1 (probability, value or rate), else probabilities [n, K]."""

    @property
    def unit_gradients(self) -> bool:
        """Whether |g| <= 1 and h <= 1 for every row of weight 1."""

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """S of the fixed point: a power of two, at least every |g| and h, at least 1 for a loss with |g|, h <= 1."""


def make_objective(params: TrainParams) -> Objective:
    """The objective that `params` asks for."""
    if not isinstance(params.objective, str):
        return CustomObjective(params.objective, params.num_class)
    if params.objective == "binary:logistic":
        return Logistic(float(params.scale_pos_weight), resolve_threads(params.n_jobs))
    if params.objective == "multi:softprob":
        return Softprob(params.num_class)
    if params.objective == "count:poisson":
        return Poisson(params.delta_step)
    return SquaredError()


def start_margin(
    objective: Objective, params: TrainParams, labels: Float32Array, weights: Float32Array | None
) -> FloatArray:
    """The margin [K] every row starts from: `params.base_score` if given, else estimated from the training rows."""
    if params.base_score is not None:
        return objective.margin_of(float(params.base_score))
    return objective.start_from(objective.start_sums(labels, weights))


@dataclass(frozen=True)
class Logistic:
    """binary:logistic. `scale_pos_weight` multiplies the weight of rows with label 1."""

    scale_pos_weight: float = 1.0
    threads: int = 1
    name: str = "binary:logistic"
    n_outputs: int = 1
    default_metric: str = "logloss"

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n] in [0, 1]: XGBoost takes probabilities as labels too."""
        values = numeric_labels(labels, party)
        refuse_labels(values, (values < 0) | (values > 1), party, "a label between 0 and 1 for binary:logistic")
        return values

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """Sums of labels and weights; with scale_pos_weight those of g and h at margin 0."""
        if self._scaled:
            g, h = self.gradients(np.zeros((len(labels), 1), dtype=np.float32), labels, weights)
            return ExactSums((exact_sum(g[:, 0]), exact_sum(h[:, 0])))
        return _label_sums(labels, weights)

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """See Objective.start_sums."""
        return self.start_parts(labels, weights).rounded()

    def start_from(self, sums: FloatArray) -> FloatArray:
        """logit of the mean label; with scale_pos_weight one Newton step from margin 0."""
        if self._scaled:
            step = -np.float32(sums[0]) / np.float32(sums[1])
            # XGBoost stores the start as a probability and goes back through the link.
            return self.margin_of(float(_sigmoid(np.array([step]))[0]))
        return self.margin_of(float(sums[0] / sums[1]))

    @property
    def _scaled(self) -> bool:
        return abs(self.scale_pos_weight - 1.0) > 1e-6

    @property
    def unit_gradients(self) -> bool:
        """Unless scale_pos_weight makes them larger."""
        return self.scale_pos_weight <= 1.0

    def margin_of(self, base_score: float) -> FloatArray:
        """logit(base_score), a probability; 0 and 1 are moved inside by 1e-6."""
        p = np.clip(np.float32(base_score), _LEAST_PROBABILITY, _ONE - _LEAST_PROBABILITY)
        return np.array([np.float32(-np.log(np.float64(_ONE / p - _ONE)))], dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        w = weights
        if self.scale_pos_weight != 1.0:
            factor = np.where(labels == _ONE, np.float32(self.scale_pos_weight), _ONE)
            w = factor if w is None else w * factor
        g, h = _native.gbdt.logistic(_column(margins), labels, w, self.threads)
        return g[:, None], h[:, None]

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """w (p - 1/2); None with scale_pos_weight, which lets a label move a gradient by more."""
        if self.scale_pos_weight != 1.0:
            return None
        g, _ = self.gradients(margins, np.zeros(len(margins), dtype=np.float32), weights)
        return g - _half_weights(weights)

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Probability of label 1, [n]."""
        m = np.asarray(margins, dtype=np.float64).reshape(len(margins))
        return np.asarray(1.0 / (1.0 + np.exp(np.minimum(-m, _LARGEST_EXPONENT))))

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """1 unless weights make gradients larger."""
        return max(1.0, _largest(gradients, hessians))


@dataclass(frozen=True)
class Softprob:
    """multi:softprob over `n_outputs` classes, labels 0 .. K-1."""

    n_outputs: int
    name: str = "multi:softprob"
    default_metric: str = "mlogloss"
    unit_gradients: ClassVar[bool] = True

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n] of whole numbers from 0 to K-1."""
        values = numeric_labels(labels, party)
        outside = (values < 0) | (values >= self.n_outputs) | (values != np.floor(values))
        refuse_labels(values, outside, party, f"a class number from 0 to {self.n_outputs - 1} for multi:softprob")
        return values

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """The weight of each class."""
        classes = labels.astype(np.int64)
        if weights is not None:
            return grouped_sums(weights, classes, self.n_outputs)
        counts = np.bincount(classes, minlength=self.n_outputs)
        return ExactSums(tuple(ExactSum.of(int(count)) for count in counts))

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """See Objective.start_sums."""
        return self.start_parts(labels, weights).rounded()

    def start_from(self, sums: FloatArray) -> FloatArray:
        """log(share of the class + 1e-6), minus the mean of these."""
        logs = np.log(sums / sums.sum() + 1e-6)
        return np.asarray((logs - logs.mean()).astype(np.float32), dtype=np.float64)

    def margin_of(self, base_score: float) -> FloatArray:
        """The same margin for every class: it cancels, as in XGBoost."""
        return np.full(self.n_outputs, np.float32(base_score), dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients."""
        m = np.asarray(margins, dtype=np.float32)
        e = _exp(m - m.max(axis=1, keepdims=True))
        p = e / e.astype(np.float64).sum(axis=1, keepdims=True).astype(np.float32)
        w = None if weights is None else weights[:, None]
        h = np.float32(2.0) * p * (_ONE - p)
        g = p
        g[np.arange(len(m)), labels.astype(np.int64)] -= _ONE
        g, h = (g, h) if w is None else (g * w, h * w)
        return g, np.maximum(h, _LEAST_HESSIAN)

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:
        """w (p_k - 1/2)."""
        g, _ = self.gradients(margins, np.zeros(len(margins), dtype=np.float32), weights)
        half = _half_weights(weights)
        centres = g - half
        # Class 0 stood for the label: its gradient is w (p_0 - 1).
        centres[:, :1] += 2.0 * half
        return centres

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Class probabilities [n, K]; rows sum to 1."""
        m = np.asarray(margins, dtype=np.float64)
        e = np.exp(m - m.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True), dtype=np.float64)

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """1 unless weights make gradients larger."""
        return max(1.0, _largest(gradients, hessians))


@dataclass(frozen=True)
class SquaredError:
    """reg:squarederror."""

    name: str = "reg:squarederror"
    n_outputs: int = 1
    default_metric: str = "rmse"
    unit_gradients: ClassVar[bool] = False

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], finite."""
        return numeric_labels(labels, party)

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """Sums of labels and weights."""
        return _label_sums(labels, weights)

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """See Objective.start_sums."""
        return self.start_parts(labels, weights).rounded()

    def start_from(self, sums: FloatArray) -> FloatArray:
        """The mean label."""
        return self.margin_of(float(sums[0] / sums[1]))

    def margin_of(self, base_score: float) -> FloatArray:
        """The score itself."""
        return np.array([np.float32(base_score)], dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1."""
        m = _column(margins)
        return _weighted(m - labels, np.ones_like(m), weights)

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:  # noqa: ARG002
        """None: labels have no bounds."""
        return None

    def transform(self, margins: AnyFloat) -> FloatArray:
        """The margins, [n]."""
        return np.asarray(margins, dtype=np.float64).reshape(len(margins))

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """See Objective.gradient_scale."""
        return _largest(gradients, hessians)


@dataclass(frozen=True)
class Poisson:
    """count:poisson. `max_delta_step` inflates the hessian so that steps stay short."""

    max_delta_step: float
    name: str = "count:poisson"
    n_outputs: int = 1
    default_metric: str = "poisson-nloglik"
    unit_gradients: ClassVar[bool] = False

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], not negative."""
        values = numeric_labels(labels, party)
        refuse_labels(values, values < 0, party, "a count of at least 0 for count:poisson")
        return values

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """Sums of labels and weights."""
        return _label_sums(labels, weights)

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """See Objective.start_sums."""
        return self.start_parts(labels, weights).rounded()

    def start_from(self, sums: FloatArray) -> FloatArray:
        """log of the mean label. Raises LabelError when all labels are 0, where XGBoost starts from -inf."""
        mean = float(sums[0] / sums[1])
        if mean <= 0.0:
            raise LabelError(
                "estimating base_score: every label is 0, so count:poisson has no finite start; pass base_score above 0"
            )
        return self.margin_of(mean)

    def margin_of(self, base_score: float) -> FloatArray:
        """log(base_score), a rate above 0."""
        return np.array([np.float32(np.log(np.float64(np.float32(base_score))))], dtype=np.float64)

    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """See Objective.gradients; K is 1. Raises GradientError when a rate overflows float32."""
        m = _column(margins)
        if len(m) and float(m.max()) + self.max_delta_step > _LARGEST_EXPONENT:
            raise GradientError(
                f"computing gradients: count:poisson reached margin {float(m.max()):g}, wanted at most "
                f"{_LARGEST_EXPONENT - self.max_delta_step:g}; lower learning_rate or max_delta_step"
            )
        return _weighted(_exp(m) - labels, _exp(m + np.float32(self.max_delta_step)), weights)

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:  # noqa: ARG002
        """None: labels have no bounds."""
        return None

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Rates, [n]."""
        return np.exp(np.asarray(margins, dtype=np.float64).reshape(len(margins)))

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """See Objective.gradient_scale."""
        return _largest(gradients, hessians)


@dataclass(frozen=True)
class CustomObjective:
    """A user's loss, with the signature of XGBoost's scikit-learn interface.

    function(labels, margins) -> (g, h); with sample weights function(labels, margins, sample_weight=weights), and it
    must apply them itself. `margins` and both results are [n] for one output, else [n, K]. No link: predictions are
    margins. The start margin is 0.5, as in XGBoost.
    """

    function: Callable[..., Any]
    n_outputs: int = 1
    name: str = CUSTOM
    default_metric: str = "rmse"
    unit_gradients: ClassVar[bool] = False

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """float32[n], finite."""
        return numeric_labels(labels, party)

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:  # noqa: ARG002
        """None are needed."""
        return ExactSums(())

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """See Objective.start_sums."""
        return self.start_parts(labels, weights).rounded()

    def start_from(self, sums: FloatArray) -> FloatArray:  # noqa: ARG002
        """0.5, whatever the labels."""
        return self.margin_of(0.5)

    def margin_of(self, base_score: float) -> FloatArray:
        """The score itself, for every output."""
        return np.full(self.n_outputs, np.float32(base_score), dtype=np.float64)

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

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:  # noqa: ARG002
        """None: labels have no bounds."""
        return None

    def transform(self, margins: AnyFloat) -> FloatArray:
        """The margins: [n] for one output, else [n, K]."""
        m = np.asarray(margins, dtype=np.float64)
        return m.reshape(len(m)) if self.n_outputs == 1 else m

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """See Objective.gradient_scale."""
        return _largest(gradients, hessians)


def _column(margins: AnyFloat) -> Float32Array:
    return np.asarray(margins, dtype=np.float32).reshape(len(margins))


def _exp(values: Float32Array) -> Float32Array:
    return np.exp(values.astype(np.float64)).astype(np.float32)


def _sigmoid(margins: Float32Array) -> Float32Array:
    return np.asarray(_ONE / (_ONE + _exp(np.minimum(-margins, np.float32(_LARGEST_EXPONENT)))), dtype=np.float32)


def _weighted(g: Float32Array, h: Float32Array, weights: Float32Array | None) -> tuple[Float32Array, Float32Array]:
    """(g w, h w) as float32[n, 1]."""
    if weights is not None:
        g, h = g * weights, h * weights
    return g[:, None], h[:, None]


def _half_weights(weights: Float32Array | None) -> FloatArray:
    """w / 2 as float64[n, 1], or [1, 1] without weights."""
    return np.full((1, 1), 0.5) if weights is None else 0.5 * weights.astype(np.float64)[:, None]


def _label_sums(labels: Float32Array, weights: Float32Array | None) -> ExactSums:
    """Sums of w y and w."""
    if weights is None:
        return ExactSums((exact_sum(labels), ExactSum.of(len(labels))))
    # A product of two float32 numbers is exact in float64.
    products = labels.astype(np.float64) * weights
    return ExactSums((exact_sum(products), exact_sum(weights)))


def _largest(gradients: AnyFloat, hessians: AnyFloat) -> float:
    # np.max passes NaN on.
    extremes = [value for part in (gradients, hessians) for value in (part.max(initial=0.0), -part.min(initial=0.0))]
    return power_of_two_above(float(np.max(extremes)))


def _checked_gradient(values: Any, what: str, shape: tuple[int, ...]) -> Float32Array:
    array = np.asarray(values, dtype=np.float32)
    if array.shape != shape:
        raise GradientError(
            f"computing gradients: the objective returned {what} of shape {array.shape}, wanted {shape}"
        )
    if not np.isfinite(array).all():
        raise GradientError(f"computing gradients: the objective returned {what} that are NaN or infinite in float32")
    return array
