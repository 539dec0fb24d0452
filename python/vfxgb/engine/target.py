"""Labels, weights and margins of the active party in shards: a Target (train/target.py) of which nothing is here.

After each round the margins of a shard are written to the run's folder, and read from there for the next: what a lost
worker held is then made again from one file, and not from all trees so far.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.data.target import TargetSource
from vfxgb.engine.base import Engine, ShardHandle, run_each
from vfxgb.engine.goss import goss_rows
from vfxgb.engine.parts import Division, ShardedPairs, ShardedPartition, not_here
from vfxgb.engine.shard import write_file
from vfxgb.errors import LabelError
from vfxgb.numeric.exact_sums import ExactSums
from vfxgb.numeric.fixed_point import FixedPoint
from vfxgb.objective import Objective
from vfxgb.params import TrainParams
from vfxgb.rows.gradients import Gradients, LeafGradients
from vfxgb.rows.sampling import StochasticRounding, chosen_rows, lowest_word, told_rows

Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class ShardLabels:
    """Labels and weights of a shard's rows, of which the first `n_train` are training rows."""

    labels: Float32Array
    weights: Float32Array | None
    n_train: int

    @property
    def training(self) -> tuple[Float32Array, Float32Array | None]:
        """Those of the training rows."""
        return self.labels[: self.n_train], None if self.weights is None else self.weights[: self.n_train]


class ShardedTarget:
    """See Target. `precision_bits`: see EngineOptions.

    An objective that is a callable of the user sees all rows and does not fit.
    """

    def __init__(
        self,
        engine: Engine,
        division: Division,
        source: TargetSource,
        objective: Objective,
        params: TrainParams,
        precision_bits: int | None,
    ) -> None:
        self._engine = engine
        self._division = division
        # Each call has the threads of its shard.
        self._objective = objective.with_threads(engine.threads)
        self._params = params
        self._precision_bits = precision_bits
        self._round = 0
        train = division.train_sizes.tolist()
        self._labels = [
            engine.run(s, read_labels, source, first, stop, train[s], self._objective)
            for s, (first, stop) in enumerate(division.ranges())
        ]
        self._margins: list[ShardHandle] = []
        # Files that the margins are in and have not been read from since.
        self._files: list[str] = []

    def start(self, params: TrainParams) -> NDArray[np.float64]:
        """See Target."""
        engine, objective = self._engine, self._objective
        if params.base_score is not None:
            base = objective.margin_of(float(params.base_score))
        else:
            parts = [engine.run(s, start_parts, held, objective) for s, held in enumerate(self._labels)]
            base = objective.start_from(ExactSums.join(engine.get(parts)).rounded())
        first = base.astype(np.float32)
        sizes = self._division.sizes.tolist()
        self._margins = [engine.run(s, equal_margins, size, first) for s, size in enumerate(sizes)]
        return base

    @property
    def train_labels(self) -> Float32Array:
        """See Target. Raises EngineError."""
        raise not_here("labels")

    @property
    def train_weights(self) -> Float32Array | None:
        """See Target. Raises EngineError."""
        raise not_here("weights")

    def train_on(self, labels: Float32Array) -> None:  # noqa: ARG002 - see Target
        """See Target. Raises EngineError."""
        raise not_here("labels")

    @property
    def margins(self) -> Float32Array:
        """See Target."""
        return np.concatenate(self._engine.get(self._held_margins()))

    def set_margins(self, margins: Float32Array) -> None:
        """See Target."""
        self._files = [
            write_file(self._file(s), np.ascontiguousarray(margins[first:stop]).tobytes())
            for s, (first, stop) in enumerate(self._division.ranges())
        ]
        self._round += 1

    def _held_margins(self) -> list[ShardHandle]:
        """The margins where they are worked on. Files are read when somebody asks: after the last round nobody does."""
        if self._files:
            outputs = self._objective.n_outputs
            self._margins = [self._engine.run(s, load_margins, path, outputs) for s, path in enumerate(self._files)]
            self._files = []
        return self._margins

    def gradients(self, round_index: int) -> Gradients:
        """See Target."""
        engine, division, objective = self._engine, self._division, self._objective
        made = run_each(engine, make_gradients, (self._labels, self._held_margins()), objective)
        if self._params.sampling_method == "goss":
            sampled, made = goss_rows(engine, division, self._params, round_index, made)
        else:
            sampled = self._sample(round_index)
        scales = [engine.run(s, scale_of, pair, objective) for s, pair in enumerate(made)]
        scale = max(engine.get(scales))
        fixed = FixedPoint.for_rows(division.n_train, scale, self._precision_bits)
        within = division.hold(engine, sampled)
        rounding = StochasticRounding.of(self._params, round_index)
        leaves = None
        if rounding is not None:
            exact = FixedPoint.for_rows(division.n_train, scale)
            leaves = LeafGradients(self._encoded(made, exact, within, None), exact.step)
        pairs = self._encoded(made, fixed, within, rounding)
        return Gradients(round_index, pairs, told_rows(self._params, sampled), fixed.step, leaves=leaves)

    def _encoded(
        self,
        made: list[ShardHandle],
        fixed: FixedPoint,
        within: list[ShardHandle],
        rounding: StochasticRounding | None,
    ) -> list[ShardedPairs]:
        """Gradients in fixed point, per output."""
        engine, first = self._engine, self._division.edges.tolist()
        encoded = [
            engine.run(s, encode_pairs, pair, fixed, within[s], engine.threads, rounding, first[s])
            for s, pair in enumerate(made)
        ]
        return [
            ShardedPairs(engine, tuple(engine.run(s, pick, part, output) for s, part in enumerate(encoded)))
            for output in range(self._objective.n_outputs)
        ]

    def _sample(self, round_index: int) -> NDArray[np.int32] | None:
        params, engine = self._params, self._engine
        if params.subsample >= 1.0:
            return None
        ranges = zip(self._division.edges.tolist(), self._division.train_sizes.tolist(), strict=False)
        places = [(s, first, count) for s, (first, count) in enumerate(ranges) if count]
        parts = engine.get(
            [engine.run(s, chosen_rows, params, round_index, first, count) for s, first, count in places]
        )
        sampled = np.concatenate(parts)
        if len(sampled) == 0:
            lowest = [engine.run(s, lowest_word, params, round_index, first, count) for s, first, count in places]
            sampled = np.array([min(engine.get(lowest))[1]], dtype=np.int32)
        return sampled

    def add(self, partition: ShardedPartition, values: Float32Array, output: int) -> None:
        """See Target."""
        own, engine = (self._held_margins(), partition.parts), self._engine
        self._margins = run_each(engine, add_values, own, values, output, engine.threads)

    def end_round(self) -> None:
        """See Target."""
        engine = self._engine
        self._round += 1
        saved = [engine.run(s, save_margins, held, self._file(s)) for s, held in enumerate(self._held_margins())]
        self._files = engine.get(saved)

    def _file(self, shard: int) -> str:
        # The round before stays readable while this one is written.
        return str(self._engine.folder / f"margins-{shard}-{self._round % 2}")

    def rows(self, rows: slice) -> tuple[Float32Array, Float32Array, Float32Array | None]:
        """See Target."""
        first, stop, _ = rows.indices(self._division.n_rows)
        asked, held_margins = [], self._held_margins()
        for s, (begin, end) in enumerate(self._division.ranges()):
            if begin < stop and end > first:
                part = slice(max(first, begin) - begin, min(stop, end) - begin)
                asked.append(self._engine.run(s, some_rows, self._labels[s], held_margins[s], part))
        labels, margins, weights = zip(*self._engine.get(asked), strict=True)
        held = [part for part in weights if part is not None]
        return np.concatenate(labels), np.concatenate(margins), np.concatenate(held) if held else None


def read_labels(source: TargetSource, first: int, stop: int, n_train: int, objective: Objective) -> ShardLabels:
    """The labels and weights of a shard, checked."""
    labels, weights = source.read(first, stop)
    try:
        return ShardLabels(objective.check_labels(labels, source.party), weights, n_train)
    except LabelError as error:
        raise LabelError(f"{error} (rows are counted from row {first})") from None


def start_parts(held: ShardLabels, objective: Objective) -> ExactSums:
    """What the start margin is estimated from."""
    return objective.start_parts(*held.training)


def equal_margins(size: int, margin: Float32Array) -> Float32Array:
    """float32[size, K]."""
    return np.tile(margin, (size, 1))


def make_gradients(held: ShardLabels, margins: Float32Array, objective: Objective) -> tuple[Float32Array, Float32Array]:
    """(g, h) of the training rows."""
    labels, weights = held.training
    return objective.gradients(margins[: held.n_train], labels, weights)


def scale_of(made: tuple[Float32Array, Float32Array], objective: Objective) -> float:
    """A power of two that is at least every |g| and h: the largest of all shards' is that of all rows."""
    return objective.gradient_scale(*made)


def encode_pairs(
    made: tuple[Float32Array, Float32Array],
    fixed: FixedPoint,
    rows: NDArray[np.int32] | None,
    threads: int,
    rounding: StochasticRounding | None = None,
    first: int = 0,
) -> list[NDArray[np.int64]]:
    """Fixed point, per output, of a shard whose first row is row `first` of all."""
    g, h = made
    words = [None if rounding is None else rounding.words(k, first, len(g)) for k in range(g.shape[1])]
    return [fixed.encode_pairs(g[:, k], h[:, k], rows, threads, words[k]) for k in range(g.shape[1])]


def pick(parts: list[NDArray[np.int64]], output: int) -> NDArray[np.int64]:
    """Return the part of one output."""
    return parts[output]


def add_values(
    margins: Float32Array, partition: _native.gbdt.RowPartition, values: Float32Array, output: int, threads: int
) -> Float32Array:
    """The margins with a tree added."""
    after = margins.copy()
    partition.add_values(values, after, output, threads)
    return after


def save_margins(margins: Float32Array, path: str) -> str:
    """Write a shard's margins; returns the path."""
    return write_file(path, np.ascontiguousarray(margins).tobytes())


def load_margins(path: str, outputs: int) -> Float32Array:
    """A shard's margins."""
    return np.fromfile(path, dtype=np.float32).reshape(-1, outputs)


def some_rows(
    held: ShardLabels, margins: Float32Array, rows: slice
) -> tuple[Float32Array, Float32Array, Float32Array | None]:
    """Labels, margins and weights of some rows of a shard."""
    return held.labels[rows], margins[rows], None if held.weights is None else held.weights[rows]
