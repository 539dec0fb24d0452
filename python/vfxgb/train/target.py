"""What the active party has per row beside its features: labels, weights and margins; and gradients made of them.

Margins are kept in float32, as XGBoost keeps them, for training and eval rows alike; a tree adds its leaf weights to
all of them from the row partition, without a prediction.
"""

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


class MemoryTarget:
    """A Target in this process. `labels`: float32[n_rows], checked; `weights`: float32[n_rows] or None.

    `options`: what the protocol asks for.
    """

    def __init__(
        self,
        objective: Objective,
        params: TrainParams,
        options: EngineOptions,
        labels: Float32Array,
        weights: Float32Array | None,
        n_train: int,
        threads: int,
    ) -> None:
        self._objective = objective
        self._params = params
        self._options = options
        self._labels = labels
        self._weights = weights
        self._n_train = n_train
        self._threads = threads
        self._train_labels = labels[:n_train]
        self._margins = np.zeros((0, 0), dtype=np.float32)

    @property
    def train_labels(self) -> Float32Array:
        """See Target."""
        return self._train_labels

    def train_on(self, labels: Float32Array) -> None:
        """See Target."""
        self._train_labels = labels

    @property
    def train_weights(self) -> Float32Array | None:
        """See Target."""
        return None if self._weights is None else self._weights[: self._n_train]

    def start(self, params: TrainParams) -> NDArray[np.float64]:
        """See Target."""
        base = start_margin(self._objective, params, self.train_labels, self.train_weights)
        self._margins = np.tile(base.astype(np.float32), (len(self._labels), 1))
        return base

    @property
    def margins(self) -> Float32Array:
        """See Target."""
        return self._margins

    def set_margins(self, margins: Float32Array) -> None:
        """See Target."""
        self._margins = margins

    def gradients(self, round_index: int) -> Gradients:
        """See Target."""
        n, objective, options = self._n_train, self._objective, self._options
        g, h = objective.gradients(self._margins[:n], self.train_labels, self.train_weights)
        bound = options.gradient_bound
        if bound is not None:
            g, h = np.clip(g, -bound, bound), np.minimum(h, max(1.0, bound))
        sample = sample_rows(self._params, round_index, g, h)
        if bound is None and options.weight_bound is not None:
            bound = options.weight_bound * max(1.0, float(self._params.scale_pos_weight))
        scale = (
            objective.gradient_scale(sample.gradients, sample.hessians)
            if bound is None
            else power_of_two_above(max(1.0, bound))
        )
        fixed = FixedPoint.for_rows(n, scale, options.precision_bits)
        rounding = StochasticRounding.of(self._params, round_index)
        leaves = None
        if rounding is not None:
            exact = FixedPoint.for_rows(n, scale)
            leaves = LeafGradients(self._encoded(exact, sample, None), exact.step)
        pairs = self._encoded(fixed, sample, rounding)
        return Gradients(round_index, pairs, told_rows(self._params, sample.rows), fixed.step, self._centres, leaves)

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
                self._threads,
                None if rounding is None else rounding.words(k, 0, self._n_train),
            )
            for k in range(self._objective.n_outputs)
        ]

    def _centres(self) -> NDArray[np.float64] | None:
        return self._objective.centres(self._margins[: self._n_train], self.train_weights)

    def add(self, partition: Partition, values: Float32Array, output: int) -> None:
        """See Target."""
        partition.here.add_values(values, self._margins, output, self._threads)

    def end_round(self) -> None:
        """See Target."""

    def rows(self, rows: slice) -> tuple[Float32Array, Float32Array, Float32Array | None]:
        """See Target."""
        return self._labels[rows], self._margins[rows], None if self._weights is None else self._weights[rows]
