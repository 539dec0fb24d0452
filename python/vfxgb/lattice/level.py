"""The nodes of a level as the active party sums them: rows, integer weights, and the check that sums have room."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vfxgb import _native
from vfxgb.errors import CapacityError, LatticeError
from vfxgb.lattice.params import COLUMN_NORM_SQUARED, MAX_WEIGHT, LatticeParams

MOST_ROWS = (1 << 31) - 1


@dataclass(frozen=True)
class LevelNorms:
    """What the check of sums needs to know of a level, float64[nodes] each; those of shards add up.

    `squares`: sums of squared weights. `plus`, `minus`: sums of positive weights, and of negative ones without sign.
    """

    squares: NDArray[np.float64]
    plus: NDArray[np.float64]
    minus: NDArray[np.float64]

    def __add__(self, other: "LevelNorms") -> "LevelNorms":
        return LevelNorms(self.squares + other.squares, self.plus + other.plus, self.minus + other.minus)

    def check(self, params: LatticeParams, peer: str) -> None:
        """Raise CapacityError for weights whose sums or noise could be too large, with the factor that would do.

        A column has weight omega <= 32 and omega^2 k <= 32 n, k its rows on the smaller side of all n. So |V| is at
        most 32 times the larger of the sums of positive and of negative weights, and at most sqrt(32 n) |u| plus 32
        times the sum of all weights.
        """
        norms, plus, minus = np.sqrt(self.squares), self.plus, self.minus
        sums = np.minimum(
            MAX_WEIGHT * np.maximum(plus, minus),
            np.sqrt(float(COLUMN_NORM_SQUARED * params.rows)) * norms + MAX_WEIGHT * np.abs(plus - minus),
        )
        for found, limit, what in (
            (norms, 2.0**params.norm_bits, "a norm of weights"),
            (np.floor(sums), 2.0**params.value_bits - 1, "a bound of sums"),
        ):
            if np.any(found > limit):
                node = int(np.argmax(found / limit))
                raise CapacityError(
                    f"summing nodes over the columns of {peer}: node {node} has {what} of {found[node]:,.0f}, wanted "
                    f"at most {limit:,.0f} ({params.describe()}); multiply its weights by at most "
                    f"{_down(limit / found[node])}, or set up again with more precision_bits"
                )


@dataclass(frozen=True)
class Level:
    """Node k has the entries offsets[k] to offsets[k + 1] of `rows` and `weights`; its rows ascend.

    A row may be in several nodes, as with a tree for each class. A node without rows looks like any other to the
    passive party, so levels can be padded with them.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.int32]

    @classmethod
    def of(cls, nodes: Sequence[tuple[ArrayLike, ArrayLike]]) -> "Level":
        """From (rows, weights) of each node, integers. Raises LatticeError where they do not go together."""
        rows = [np.asarray(each[0]) for each in nodes]
        weights = [np.asarray(each[1]) for each in nodes]
        for k, (own, factors) in enumerate(zip(rows, weights, strict=True)):
            if own.ndim != 1 or own.shape != factors.shape:
                raise LatticeError(
                    f"summing nodes: node {k} has rows of shape {own.shape} and weights of shape {factors.shape}, "
                    "wanted a weight for each row"
                )
            if len(own) and not (own.dtype.kind in "iu" and factors.dtype.kind in "iu"):
                raise LatticeError(f"summing nodes: node {k} has weights of type {factors.dtype}, wanted integers")
            if len(own) and (int(factors.max()) >= 1 << 31 or int(factors.min()) <= -(1 << 31)):
                raise CapacityError(f"summing nodes: node {k} has weights beyond 31 bits; scale them down")
            if len(own) and (int(own.max()) >= 1 << 31 or int(own.min()) < 0):
                raise LatticeError(f"summing nodes: node {k} has rows {own.min()} to {own.max()}, wanted row numbers")
        offsets = np.concatenate([[0], np.cumsum([len(own) for own in rows], dtype=np.int64)])
        return cls(offsets.astype(np.int64), _joined(rows), _joined(weights))

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.offsets) - 1

    def part(self, first: int, stop: int) -> "Level":
        """The same nodes with only their rows from `first` to `stop` - 1: those of a shard."""
        edges = self.offsets.tolist()
        cuts = [
            begin + np.searchsorted(self.rows[begin:end], (first, stop)) for begin, end in itertools.pairwise(edges)
        ]
        counts = np.array([end - begin for begin, end in cuts], dtype=np.int64)
        return Level(
            np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]),
            _joined([self.rows[begin:end] for begin, end in cuts]),
            _joined([self.weights[begin:end] for begin, end in cuts]),
        )

    def norms(self, stop: int = MOST_ROWS) -> LevelNorms:
        """What the check of sums needs to know. Raises ValueError for a row of `stop` or above, or one out of order."""
        squares, plus, minus = _native.lattice.node_norms(self.offsets, self.rows, self.weights, stop)
        return LevelNorms(squares, plus.astype(np.float64), minus.astype(np.float64))

    def check(self, params: LatticeParams, peer: str) -> None:
        """Raise what LevelNorms.check raises, and LatticeError for rows that are not there or do not ascend."""
        self.check_rows(params, peer).check(params, peer)

    def check_rows(self, params: LatticeParams, peer: str) -> LevelNorms:
        """Raise LatticeError for rows that are not there, or do not ascend within a node. Returns the norms."""
        step = f"summing nodes over the columns of {peer}"
        try:
            return self.norms(params.rows)
        except ValueError as error:
            self._refuse_rows(params, step)
            raise LatticeError(f"{step}: {error}") from None

    def _refuse_rows(self, params: LatticeParams, step: str) -> None:
        """Say what is wrong with rows that are not there, or do not ascend within a node."""
        low, high = int(self.rows.min(initial=params.rows)), int(self.rows.max(initial=-1))
        if low < 0 or high >= params.rows:
            raise LatticeError(f"{step}: found rows {low} to {high}, wanted rows from 0 to {params.rows - 1}")
        first = np.zeros(len(self.rows), dtype=bool)
        first[self.offsets[:-1][self.offsets[:-1] < len(self.rows)]] = True
        if np.any((np.diff(self.rows) <= 0) & ~first[1:]):
            raise LatticeError(f"{step}: the rows of a node do not ascend, wanted each row once and in order")


def weight_scale(values: NDArray[np.float64], params: LatticeParams) -> float:
    """The factor by which a node's weights can be multiplied before they are rounded to integers at random.

    Rounding goes up or down with the probabilities that leave the mean. Then the sum of the weights of k rows changes
    by more than 8 sqrt(k) with a probability below 2^-180, and `Level.check` passes. Rounding to the nearest may add up
    to more. The factor is 0 for weights that are all 0, and where rounding alone could take up all room.
    """
    count = len(values)
    norm = float(np.linalg.norm(values))
    if norm == 0:
        return 0.0
    plus, minus = float(np.maximum(values, 0).sum()), float(np.maximum(-values, 0).sum())
    root = math.sqrt(count)
    room: float = 2.0**params.value_bits - 1
    column_norm = math.sqrt(COLUMN_NORM_SQUARED * params.rows)
    by_sums = (room / MAX_WEIGHT - count) / max(plus, minus)
    by_norm = (room - column_norm * root - MAX_WEIGHT * 8 * root) / (
        column_norm * norm + MAX_WEIGHT * abs(plus - minus)
    )
    most: float = (2.0**params.norm_bits - root) / norm
    return max(0.0, min(most, max(by_sums, by_norm)))


def _down(factor: float) -> float:
    """A factor below 1 to three digits, not rounded up."""
    scale = 10.0 ** (3 - math.ceil(math.log10(factor)))
    return math.floor(factor * scale) / scale


def _joined(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.int32]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *(part.astype(np.int32) for part in parts)])
