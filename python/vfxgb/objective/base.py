"""What an objective is: `ObjectiveSpec`, all that others ask about it, and `Objective`, its formulas.

Notation: see the package.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import numeric_labels
from vfxgb.numeric.exact_sums import ExactSums
from vfxgb.numeric.fixed_point import power_of_two_above
from vfxgb.objective.arithmetic import AnyFloat, Float32Array, FloatArray, label_sums

__all__ = ["AnyFloat", "Float32Array", "FloatArray", "Objective", "ObjectiveSpec"]

if TYPE_CHECKING:
    from vfxgb.metric import Metric
    from vfxgb.params import TrainParams


class Objective(ABC):
    """The formulas of a loss. Implementations are frozen dataclasses and hold no data.

    What is not abstract is right for numbers that are predicted as they are.
    """

    spec: ClassVar["ObjectiveSpec"]
    """What others ask about it: the SPEC of its file, which sets it there."""

    @property
    def name(self) -> str:
        """XGBoost's name, or "custom"."""
        return self.spec.name

    @property
    def default_metric(self) -> str:
        """The metric watched when none is asked for."""
        return self.spec.default_metric

    @property
    def unit_gradients(self) -> bool:
        """Whether |g| <= 1 and h <= 1 for every row of weight 1."""
        bounds = self.spec.bounds
        return bounds is not None and max(bounds) <= 1.0

    @property
    def hessian_shift(self) -> int:
        """How many bits the bound of h is below that of |g|, whatever the weight of the row; 0 where neither has one.

        Sums of h then need so many bits fewer than sums of g.
        """
        bounds = self.spec.bounds
        return 0 if bounds is None else max(0, math.floor(math.log2(bounds[0] / bounds[1])))

    @property
    def metric_numbers(self) -> Mapping[str, float]:
        """Names of metrics to which the parameters of the loss give a number, and that number."""
        return {}

    @property
    def leaf_quantile(self) -> float | None:
        """The quantile of the residuals of its rows that becomes the weight of a leaf; None: growth's weight stays.

        Residuals are labels minus margins before the tree. One needs all rows in one place, and their true labels.
        """
        return None

    n_outputs: int
    """K: trees per round, margins per row."""

    def check_labels(self, labels: NDArray[Any], party: str = "") -> Float32Array:
        """Labels as float32[n]. Raises LabelError, naming party, row and value, where the loss is not defined.

        Any finite number will do, unless the loss says otherwise.
        """
        return numeric_labels(labels, party)

    def start_parts(self, labels: Float32Array, weights: Float32Array | None = None) -> ExactSums:
        """What the start margin is estimated from: exact sums over rows, of w y and w unless the loss says otherwise.

        Those of a table's parts add up to those of the table, however it is divided.
        """
        return label_sums(labels, weights)

    def start_sums(self, labels: Float32Array, weights: Float32Array | None = None) -> FloatArray:
        """`start_parts` as float64, each rounded once."""
        return self.start_parts(labels, weights).rounded()

    def start_of(self, labels: Float32Array, weights: Float32Array | None) -> FloatArray:
        """The start margin [K] estimated from the labels and weights of all rows."""
        return self.start_from(self.start_sums(labels, weights))

    def start_from(self, sums: FloatArray) -> FloatArray:
        """The start margin [K] estimated from `start_sums` of all rows. Raises LabelError where there is none.

        It is that of the mean label, unless the loss says otherwise.
        """
        return self.margin_of(float(sums[0] / sums[1]))

    def margin_of(self, base_score: float) -> FloatArray:
        """The start margin [K] for a `base_score` in the units of the label; without a link it is the score itself."""
        return np.full(self.n_outputs, np.float32(base_score), dtype=np.float64)

    @abstractmethod
    def gradients(
        self, margins: AnyFloat, labels: Float32Array, weights: Float32Array | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """(g, h), each float32[n, K], from margins [n, K] and check_labels' labels [n]."""

    def centres(self, margins: AnyFloat, weights: Float32Array | None = None) -> FloatArray | None:  # noqa: ARG002
        """float64[n, K]: half way between the least and the largest gradient that any label could give a row.

        No gradient is farther from it than half the weight of the row. It is made without labels; None where a label
        can move a gradient by more than the weight.
        """
        return None

    def transform(self, margins: AnyFloat) -> FloatArray:
        """Predictions from margins [n, K]: [n] when K is 1 (probability, value or rate), else [n, K].

        Without a link they are the margins.
        """
        values = np.asarray(margins, dtype=np.float64)
        return values.reshape(len(values)) if self.n_outputs == 1 else values

    def gradient_scale(self, gradients: AnyFloat, hessians: AnyFloat) -> float:
        """S of the fixed point: a power of two, at least every |g| and every h times 2**hessian_shift.

        It is also at least the bounds that the spec has, so that it depends on the data only where weights are large.
        """
        least = 0.0 if self.spec.bounds is None else power_of_two_above(max(self.spec.bounds))
        # np.max passes NaN on.
        extremes = [
            gradients.max(initial=0.0),
            -gradients.min(initial=0.0),
            hessians.max(initial=0.0) * 2**self.hessian_shift,
            -hessians.min(initial=0.0),
        ]
        return max(least, power_of_two_above(float(np.max(extremes))))

    def with_threads(self, threads: int) -> "Objective":  # noqa: ARG002
        """The same objective, computed by so many threads. One whose formulas are numpy's has none to change."""
        return self


@dataclass(frozen=True)
class ObjectiveSpec:
    """What an objective is to everybody else.

    - `name`: "<task>:<loss>", XGBoost's where it has one. `summary`: what it is for, in a line.
    - `make`: the objective for parameters of a training, which are checked already.
    - `labels`: "two classes" (one output), "classes" (an output per class, `num_class` of them) or "numbers".
    - `default_metric`: the metric that is watched when none is asked for. `metrics`: metrics of its own, which can then
      be asked for by name.
    - `xgboost`: the "objective" of XGBoost's JSON from the training's parameters and the number of outputs; it raises
      ExportError where there is none. None: XGBoost does not know this loss, and models are not exported.
    - `base_score`: two numbers between which the parameter of that name must lie, and what it is in words; None: it may
      be any number.
    - `scale_pos_weight`: whether the parameter of that name applies.
    - `max_delta_step`: the default of that parameter.
    - `bounds`: the largest |g| and the largest h of a row of weight 1, whatever its label and margin; None if there are
      none. Noise of differential privacy is made for them.
    - `residual`: whether g_k = p_k - [y = k] with probabilities p from margins alone, so that a label moves a gradient
      by the row's weight; for two classes also h = p (1 - p).
    - `hessians_hide_labels`: whether h depends on the margin alone, and on no label.
    - `adaptive`: whether leaves get a `leaf_quantile` of residuals, for which whoever trains must see all labels.
    """

    name: str
    summary: str
    make: "Callable[[TrainParams], Objective]"
    labels: Literal["two classes", "classes", "numbers"]
    default_metric: str
    metrics: "tuple[Metric, ...]" = ()
    xgboost: Callable[[Mapping[str, Any], int], dict[str, Any]] | None = None
    base_score: tuple[float, float, str] | None = None
    scale_pos_weight: bool = False
    max_delta_step: float = 0.0
    bounds: tuple[float, float] | None = None
    residual: bool = False
    hessians_hide_labels: bool = False
    adaptive: bool = False

    @property
    def classifies(self) -> bool:
        """Whether labels are classes."""
        return self.labels != "numbers"

    @property
    def output_per_class(self) -> bool:
        """Whether there are `num_class` outputs, and not one."""
        return self.labels == "classes"
