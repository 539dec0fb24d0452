"""Leaves of losses whose gradients choose splits only: the weight becomes a quantile of what its rows still lack.

Only rows that the round uses count, as in XGBoost; with GOSS these are all training rows.
"""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.model.shares import LEAF, TreeShape
from vfxgb.objective.quantiles import quantile
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import chosen_rows
from vfxgb.train.target import Target

Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class Residuals:
    """Labels minus margins before a round, float32[r, n_outputs], and weights of `rows` of the training rows."""

    rows: NDArray[np.int32] | slice
    values: Float32Array
    weights: Float32Array | None

    @classmethod
    def of(cls, target: Target, params: TrainParams, round_index: int, n_train: int) -> "Residuals":
        """Those of the rows that the round uses."""
        rows: NDArray[np.int32] | slice = slice(0, n_train)
        if params.sampling_method == "uniform" and params.subsample < 1.0:
            chosen = chosen_rows(params, round_index, 0, n_train)
            rows = chosen if len(chosen) else rows
        weights = target.train_weights
        values = target.train_labels[rows][:, None] - target.margins[:n_train][rows]
        return cls(rows, values, None if weights is None else weights[rows])

    def adapt(
        self, shape: TreeShape, leaves: NDArray[np.int32], output: int, alpha: float, learning_rate: float
    ) -> TreeShape:
        """The tree of an output with the quantile `alpha` in each leaf that rows of the round reach.

        `leaves`: int32, the node of every row, training rows first.
        """
        reached = leaves[self.rows]
        order = np.argsort(reached, kind="stable")
        nodes, first = np.unique(reached[order], return_index=True)
        value = shape.value.copy()
        for node, rows in zip(nodes.tolist(), np.split(order, first[1:]), strict=True):
            if shape.party[node] == LEAF:
                weights = None if self.weights is None else self.weights[rows]
                step = np.float32(quantile(self.values[rows, output], weights, alpha))
                value[node] = step * np.float32(learning_rate)
        return msgspec.structs.replace(shape, value=value)
