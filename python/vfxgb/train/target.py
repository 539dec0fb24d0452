"""What the active party has per row beside its features: labels, weights and margins; and gradients made of them.

Margins are kept in float32, as XGBoost keeps them, for training and eval rows alike; a tree adds its leaf weights to
all of them from the row partition, without a prediction.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import EngineOptions
from vfxgb.numeric.fixed_point import FixedPoint, power_of_two_above
from vfxgb.objective import Objective, start_margin
from vfxgb.params import TrainParams
from vfxgb.rows.gradients import Gradients, LeafGradients
from vfxgb.rows.parts import OwnPartition, Partition
from vfxgb.rows.sampling import RowSample, StochasticRounding, sample_rows, told_rows

Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class Learning:
    """What labels are learned by: the loss, the parameters of the training, and what the protocol asks for."""

    objective: Objective
    params: TrainParams
    options: EngineOptions


class Target(Protocol):
    """The rows of one run, `n_train` training rows and then those of eval sets."""

    def start(self, params: TrainParams) -> NDArray[np.float64]:
        """The margin [K] every row starts from, by params.base_score or from the training rows; sets all margins."""

    @property
    def train_labels(self) -> Float32Array:
        """The labels of the training rows, as far as training knows them; all of them are here."""

    @property
    def train_weights(self) -> Float32Array | None:
        """The weights of the training rows, which are all here; None if there are none."""

    def train_on(self, labels: Float32Array) -> None:
        """Train on these labels from now on; metrics go on with the true ones."""

    @property
    def margins(self) -> Float32Array:
        """float32[n_rows, K], all of them here."""

    def set_margins(self, margins: Float32Array) -> None:
        """Go on from these margins."""

    def gradients(self, round_index: int) -> Gradients:
        """Those of a round, sampled and in fixed point."""

    def add(self, partition: OwnPartition, values: Float32Array, output: int) -> None:
        """Add to the margins of one output values[node of the row]."""

    def end_round(self) -> None:
        """The margins of a round are complete."""

    def rows(self, rows: slice) -> tuple[Float32Array, Float32Array, Float32Array | None]:
        """Labels [m], margins [m, K] and weights [m] of some rows, here."""


@dataclass(repr=False, eq=False)
class MemoryTarget:
    """A Target in this process. `labels`: float32[n_rows], checked; `weights`: float32[n_rows] or None."""

    learning: Learning
    labels: Float32Array
    weights: Float32Array | None
    n_train: int
    threads: int

    def __post_init__(self) -> None:
        self.train_labels = self.labels[: self.n_train]
        self.train_weights = None if self.weights is None else self.weights[: self.n_train]
        self.margins = np.zeros((0, 0), dtype=np.float32)

    def train_on(self, labels: Float32Array) -> None:
        """See Target."""
        self.train_labels = labels

    def start(self, params: TrainParams) -> NDArray[np.float64]:
        """See Target."""
        base = start_margin(self.learning.objective, params, self.train_labels, self.train_weights)
        self.margins = np.tile(base.astype(np.float32), (len(self.labels), 1))
        return base

    def set_margins(self, margins: Float32Array) -> None:
        """See Target."""
        self.margins = margins

    def gradients(self, round_index: int) -> Gradients:
        """See Target."""
        n, objective, params, options = (
            self.n_train,
            self.learning.objective,
            self.learning.params,
            self.learning.options,
        )
        g, h = objective.gradients(self.margins[:n], self.train_labels, self.train_weights)
        bound = options.gradient_bound
        if bound is not None:
            g, h = np.clip(g, -bound, bound), np.minimum(h, max(1.0, bound))
        sample = sample_rows(params, round_index, g, h)
        if bound is None and options.weight_bound is not None:
            bound = options.weight_bound * max(1.0, float(params.scale_pos_weight))
        scale = (
            objective.gradient_scale(sample.gradients, sample.hessians)
            if bound is None
            else power_of_two_above(max(1.0, bound))
        )
        fixed = FixedPoint.for_rows(n, scale, options.precision_bits)
        rounding = StochasticRounding.of(params, round_index)
        leaves = None
        if rounding is not None:
            exact = FixedPoint.for_rows(n, scale)
            leaves = LeafGradients(self._encoded(exact, sample, None), exact.step)
        pairs = self._encoded(fixed, sample, rounding)
        return Gradients(round_index, pairs, told_rows(params, sample.rows), fixed.step, self._centres, leaves)

    def _encoded(
        self, fixed: FixedPoint, sample: RowSample, rounding: StochasticRounding | None
    ) -> list[NDArray[np.int64]]:
        """Gradients in fixed point, per output."""
        g, h = sample.gradients, sample.hessians
        return [
            fixed.encode_pairs(
                g[:, k],
                h[:, k],
                sample.rows,
                self.threads,
                None if rounding is None else rounding.words(k, 0, self.n_train),
            )
            for k in range(self.learning.objective.n_outputs)
        ]

    def _centres(self) -> NDArray[np.float64] | None:
        return self.learning.objective.centres(self.margins[: self.n_train], self.train_weights)

    def add(self, partition: Partition, values: Float32Array, output: int) -> None:
        """See Target."""
        partition.here.add_values(values, self.margins, output, self.threads)

    def end_round(self) -> None:
        """See Target."""

    def rows(self, rows: slice) -> tuple[Float32Array, Float32Array, Float32Array | None]:
        """See Target."""
        return self.labels[rows], self.margins[rows], None if self.weights is None else self.weights[rows]
