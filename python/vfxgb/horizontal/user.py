"""A user: its rows and labels, which never leave it, and the vectors it makes of them.

A vector is made of one task, whatever was asked before; between tasks the user keeps its margins, which follow the
published trees, and for the round under way its gradients and the node of every row. A user that was away reads what
was published meanwhile before it takes part again.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import MessageError, ParameterError
from vfxgb.horizontal.guard import TaskGuard, TaskLimits
from vfxgb.horizontal.losses import to_limbs
from vfxgb.horizontal.messages import (
    EXPONENTS,
    LEAST_EXPONENT,
    CellTask,
    CountTask,
    HessianTask,
    LevelTask,
    MetricTask,
    Plan,
    Received,
    ScaleTask,
    StartTask,
    Task,
    Trees,
    TreeTask,
    read_task,
)
from vfxgb.horizontal.noise import UserNoise
from vfxgb.horizontal.privacy import GRID_BITS, PrivacyPlan
from vfxgb.horizontal.quantiles import column_keys, count_cells
from vfxgb.horizontal.rows import BinnedRows, Float32Array
from vfxgb.horizontal.sums import NodeSums
from vfxgb.metric import METRICS
from vfxgb.numeric.fixed_point import MAX_FRACTION_BITS, FixedPoint, power_of_two_above
from vfxgb.objective import Objective
from vfxgb.rows.sampling import random_words
from vfxgb.secagg.guard import SetGuard
from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, unpack_array

# More than any message could carry.
MAX_ENTRIES = BULK_BYTES // 8


@dataclass(frozen=True)
class UserSettings:
    """What the users of a run agree on before it: the loss, how rows are sampled, how much the server may ask.

    `privacy`: how much noise every sum has; None where sums have none. `holdout`: the share of its rows that each user
    keeps out of training, to measure metrics on them.
    """

    objective: Objective
    subsample: float
    random_state: int
    threads: int = 1
    limits: TaskLimits = field(default_factory=TaskLimits)
    privacy: PrivacyPlan | None = None
    holdout: float = 0.0


class User:
    """User `number` with rows X float32[n, F] (NaN is missing), labels float32[n] and weights float32[n] or None.

    `asked_file`, `noise_file`: of its TaskGuard and of its noise, for a user that may be started again; None: this
    process remembers.
    """

    def __init__(
        self,
        number: int,
        X: Float32Array,
        labels: Float32Array,
        weights: Float32Array | None,
        settings: UserSettings,
        asked_file: Path | None = None,
        noise_file: Path | None = None,
    ) -> None:
        self._number, self._name = number, f"user {number}"
        held = _held_out(len(X), number, settings)
        # Rows that are measured and not trained on: as they came, then in bins.
        self._held_X: Float32Array | None = X[held]
        self._held_rows: BinnedRows | None = None
        self._held_labels, self._held_weights = labels[held], None if weights is None else weights[held]
        if held.any():
            X, labels, weights = X[~held], labels[~held], None if weights is None else weights[~held]
        # Raw values are for the search of cut points only.
        self._X: Float32Array | None = X
        self._keys: NDArray[np.uint64] | None = None
        self._n, self._n_features = X.shape
        self._labels = labels
        self._weights = weights
        self._settings = settings
        self._objective, self._threads = settings.objective, settings.threads
        self._guard = TaskGuard(self._name, settings.limits, asked_file)
        plan = settings.privacy
        self._noise = None if plan is None else UserNoise(self._name, plan, file=noise_file)
        self._rounds = -1
        self._rows: BinnedRows | None = None
        self._has_missing: NDArray[np.bool_] = np.zeros(self._n_features, dtype=np.bool_)
        # The layout of vectors for the features last asked for: mostly all of them.
        self._layout: tuple[bytes, NDArray[np.int32] | None, NodeSums] | None = None
        # Of the round under way: float gradients, their fixed point, and the encoded pairs by output.
        self._gradients: tuple[Float32Array, Float32Array] | None = None
        self._fixed: FixedPoint | None = None
        self._pairs: dict[int, NDArray[np.int64]] = {}
        self._sampled: NDArray[np.int32] | None = None

    def read(self, message: Message) -> Received:
        """Take in what the server published. Raises MessageError for what is out of turn or cannot be.

        What this user has read before, it passes over: its answer got lost then, and the server asks again.
        """
        if isinstance(message, Plan):
            if self._rounds < 0:
                self._read_plan(message)
        elif isinstance(message, Trees):
            if not 0 <= message.round < self._rounds:
                self._read_trees(message)
        else:
            raise MessageError(f"{self._name}: found message {message.TAG!r}, wanted the plan or trees")
        return Received(rounds=self._rounds)

    def read_with(self, guard: SetGuard, message: Message) -> Received:
        """The same; `guard` is told when sums that follow cannot be compared with earlier ones any more."""
        before = self._rounds
        received = self.read(message)
        if isinstance(message, Trees) and self._rounds > before and message.changes_gradients():
            guard.next_phase(self._rounds)
        return received

    def vector(self, data: memoryview) -> NDArray[np.int64]:
        """The vector of the task in `data`. Raises MessageError for one that the training does not need now."""
        task = read_task(data)
        if self._noise is None:
            return self._exact(task, data)
        kind = self._noise.admit(data, task)
        return self._noise.add(data, kind, self._exact(task, data))

    def _exact(self, task: Task, data: memoryview) -> NDArray[np.int64]:
        if isinstance(task, LevelTask):
            return self._level(task, data)
        self._guard.check(data, task)
        if isinstance(task, CountTask):
            return self._count(task)
        if isinstance(task, StartTask):
            return self._start(task)
        if isinstance(task, CellTask):
            return self._cells(task)
        if isinstance(task, MetricTask):
            return self._losses(task)
        if isinstance(task, HessianTask):
            return self._hessians(task)
        return self._scale(task)

    def _raw(self, what: str) -> Float32Array:
        if self._X is None:
            raise MessageError(f"{self._name}, {what}: asked for after the plan, wanted it before")
        return self._X

    def _count(self, task: CountTask) -> NDArray[np.int64]:
        X = self._raw("counting rows")
        if task.n_features != self._n_features:
            raise MessageError(
                f"{self._name}, counting rows: the server asks for {task.n_features} columns, found {self._n_features}"
            )
        counts = np.concatenate([[self._n], np.isnan(X).sum(axis=0)]).astype(np.int64)
        if not task.votes:
            return counts
        sums = self._objective.start_sums(self._labels, self._weights)
        return np.concatenate([counts, _vote(float(np.abs(sums).max(initial=0.0)) / self._n)])

    def _start(self, task: StartTask) -> NDArray[np.int64]:
        self._raw("summing labels")
        sums = self._objective.start_sums(self._labels, self._weights)
        if task.n_sums != len(sums):
            raise MessageError(f"{self._name}, summing labels: asked for {task.n_sums} sums, wanted {len(sums)}")
        fixed = self._fixed_point(task.exponent, task.bits)
        # A user that was away when magnitudes were compared may have larger ones.
        limit = self._n * fixed.scale
        return np.rint(np.clip(sums, -limit, limit) / fixed.step).astype(np.int64)

    def _cells(self, task: CellTask) -> NDArray[np.int64]:
        what = f"{self._name}, counting rows in cells"
        X = self._raw("counting rows in cells")
        if self._keys is None:
            self._keys = column_keys(X)
        return count_cells(self._keys, task.cells, self._n_features, what)

    def _read_plan(self, plan: Plan) -> None:
        what = f"{self._name}, reading the plan"
        self._guard.check_published(0, plan)
        X = self._raw("reading the plan")
        n_cuts = unpack_array(plan.n_cuts, np.int32, (self._n_features,), what)
        if (n_cuts < 0).any():
            raise MessageError(f"{what}: found a column with {int(n_cuts.min())} cuts")
        cuts = unpack_array(plan.cuts, np.float32, (int(n_cuts.sum(dtype=np.int64)),), what)
        start = unpack_array(plan.start, np.float64, (self._objective.n_outputs,), what)
        self._has_missing = unpack_bits(plan.has_missing, self._n_features, what)
        assert self._held_X is not None  # noqa: S101 - it goes when the plan was read
        by_column = np.split(cuts, np.cumsum(n_cuts)[:-1])
        try:
            self._rows = BinnedRows(X, by_column, start, self._name, self._threads)
            self._held_rows = BinnedRows(self._held_X, by_column, start, self._name, self._threads)
        except ValueError as error:
            raise MessageError(f"{what}: {error}") from None
        self._X = self._keys = self._held_X = None
        self._rounds = 0
        self._guard.published(0, plan)

    def _read_trees(self, message: Trees) -> None:
        rows = self._binned(message.round, "reading trees")
        self._guard.check_published(self._rounds + 1, message)
        if not rows.begun:
            rows.begin(None)
        trees = [(tree.levels, tree.values) for tree in message.trees]
        rows.finish(trees)
        if len(self._held_labels):
            assert self._held_rows is not None  # noqa: S101 - they came with the others
            self._held_rows.begin(None)
            self._held_rows.finish(trees)
        self._gradients = self._fixed = None
        self._pairs = {}
        self._rounds += 1
        self._guard.published(self._rounds, message)

    def _binned(self, round_index: int, what: str) -> BinnedRows:
        if self._rows is None or round_index != self._rounds:
            raise MessageError(
                f"{self._name}, {what}: the server is in round {round_index}, this user knows {self._rounds} rounds"
            )
        return self._rows

    def _begin(self, round_index: int, what: str) -> BinnedRows:
        """The rows with the gradients of a round."""
        rows = self._binned(round_index, what)
        if self._gradients is None:
            self._gradients = self._objective.gradients(rows.margins, self._labels, self._weights)
            self._sampled = self._sample(round_index)
            rows.begin(self._sampled)
        return rows

    def _sample(self, round_index: int) -> NDArray[np.int32] | None:
        """Each row with probability `subsample`, drawn by the user itself; None for all."""
        settings = self._settings
        if settings.subsample >= 1.0:
            return None
        words = random_words(settings.random_state, self._n, "user rows", round_index, self._number)
        chosen = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 < settings.subsample
        return np.flatnonzero(chosen).astype(np.int32)

    def _scale(self, task: ScaleTask) -> NDArray[np.int64]:
        self._begin(task.round, "comparing magnitudes")
        assert self._gradients is not None  # noqa: S101 - _begin made them
        g, h = self._gradients
        return _vote(self._objective.gradient_scale(g, h) if g.any() or h.any() else 0.0)

    def _losses(self, task: MetricTask) -> NDArray[np.int64]:
        """Weighted sums of the losses of rows, and the sum of weights."""
        what = f"{self._name}, summing losses"
        rows, own_labels, own_weights = self._binned(task.round, "summing losses"), self._labels, self._weights
        if task.held_out:
            assert self._held_rows is not None  # noqa: S101 - _binned has found the others
            rows, own_labels, own_weights = self._held_rows, self._held_labels, self._held_weights
        losses = {name: metric.loss for name in task.metrics if (metric := METRICS.get(name)) is not None}
        labels, predictions = own_labels.astype(np.float64), self._objective.transform(rows.margins)
        weights = np.ones(len(labels)) if own_weights is None else own_weights.astype(np.float64)
        sums = []
        for name in task.metrics:
            loss = losses.get(name)
            if loss is None:
                raise MessageError(f"{what}: asked for {name!r}, which is no sum of losses of rows")
            try:
                METRICS[name](labels[:0], predictions[:0])
            except ParameterError as error:
                raise MessageError(f"{what}: {error}") from None
            sums.append(float(loss(labels, np.asarray(predictions, dtype=np.float64)) @ weights))
        return np.concatenate([to_limbs(value) for value in (*sums, float(weights.sum()))])

    def _hessians(self, task: HessianTask) -> NDArray[np.int64]:
        """Sums of hessians of all outputs, per feature and bin."""
        rows = self._begin(task.round, "summing hessians")
        if task.n_entries != int(rows.bins.n_bins.sum()):
            raise MessageError(
                f"{self._name}, summing hessians: asked for {task.n_entries} entries, wanted one for every bin"
            )
        root = np.zeros(1, dtype=np.int32)
        sums = np.zeros(task.n_entries, dtype=np.int64)
        for output in range(self._objective.n_outputs):
            pairs = self._encoded(output, FixedPoint(GRID_BITS, 1.0))
            partition = rows.grow(output, [])
            if not partition.has(root):
                raise MessageError(f"{self._name}, summing hessians: asked for them after splits, wanted it before")
            sums += _native.gbdt.histogram(rows.bins, partition, root, pairs, None, self._threads)[0, :, 1]
        return sums

    def _level(self, task: LevelTask, data: memoryview) -> NDArray[np.int64]:
        rows = self._begin(task.round, "summing gradients")
        fixed = self._fixed_point(task.exponent, task.bits)
        if self._fixed is not None and fixed != self._fixed:
            raise MessageError(f"{self._name}, summing gradients: found another fixed point than before in the round")
        self._guard.check(data, task)
        self._fixed = fixed
        if not 0 <= task.n_entries <= MAX_ENTRIES:
            raise MessageError(f"{self._name}, summing gradients: asked for {task.n_entries} entries")
        vector = np.empty(task.n_entries, dtype=np.int64)
        end = 0
        for tree in task.trees:
            end += self._tree(rows, tree, fixed, vector[end:])
        if end != len(vector):
            raise MessageError(
                f"{self._name}, summing gradients: asked for {len(vector)} entries, the task gives {end}"
            )
        return vector

    def _tree(self, rows: BinnedRows, task: TreeTask, fixed: FixedPoint, out: NDArray[np.int64]) -> int:
        """Write the sums of one tree to the front of `out`; returns how many."""
        what = f"{self._name}, summing gradients of tree {task.tree}"
        partition = rows.grow(task.tree, task.levels)
        nodes = unpack_array(task.nodes, np.int32, (len(task.nodes) // 4,), what)
        if not partition.has(nodes):
            raise MessageError(f"{what}: found a node that is not open")
        features, layout = self._features(rows, task.features, what)
        allowed = None
        if len(task.allowed):
            m, width = len(nodes), layout.n_features
            allowed = unpack_bits(task.allowed, m * width, what).reshape(m, width)
        pairs = self._encoded(task.tree, fixed)
        sums = _native.gbdt.histogram(rows.bins, partition, nodes, pairs, features, self._threads)
        totals = _native.gbdt.node_sums(partition, nodes, pairs, self._threads)
        count = layout.entries(len(nodes), allowed)
        if count > len(out):
            raise MessageError(f"{what}: asked for {len(out)} entries more, the task gives {count}")
        layout.pack(sums, totals, allowed, out[:count])
        return count

    def _features(self, rows: BinnedRows, packed: Bulk, what: str) -> tuple[NDArray[np.int32] | None, NodeSums]:
        """The features of a tree, None for all, and how their sums stand in a vector."""
        if self._layout is None or self._layout[0] != packed:
            features = None
            n_bins, has_missing = rows.bins.n_bins, self._has_missing
            if len(packed):
                features = np.flatnonzero(unpack_bits(packed, self._n_features, what)).astype(np.int32)
                n_bins, has_missing = np.ascontiguousarray(n_bins[features]), has_missing[features]
            self._layout = bytes(packed), features, NodeSums(n_bins, has_missing)
        return self._layout[1:]

    def _encoded(self, tree: int, fixed: FixedPoint) -> NDArray[np.int64]:
        """Gradients of an output in fixed point, int64[n, 2]: the same in all calls of a round."""
        pairs = self._pairs.get(tree)
        if pairs is None:
            assert self._gradients is not None  # noqa: S101 - _begin made them
            g, h = (part[:, tree] for part in self._gradients)
            # A user that was away when the round's scale was found may have larger gradients.
            g, h = np.clip(g, -fixed.scale, fixed.scale), np.minimum(h, fixed.scale)
            pairs = self._pairs[tree] = fixed.encode_pairs(g, h, self._sampled, self._threads)
        return pairs

    def _fixed_point(self, exponent: int, bits: int) -> FixedPoint:
        if not (0 <= exponent - LEAST_EXPONENT < EXPONENTS and 0 <= bits <= MAX_FRACTION_BITS):
            raise MessageError(
                f"{self._name}, choosing fixed point: found 2**{exponent} with {bits} bits, wanted a power of two of "
                f"float32 and 0 to {MAX_FRACTION_BITS} bits"
            )
        return FixedPoint(bits, 2.0**exponent)


def _held_out(n_rows: int, number: int, settings: UserSettings) -> NDArray[np.bool_]:
    """Which rows a user keeps out of training, drawn by itself: bool[n_rows]."""
    words = random_words(settings.random_state, n_rows, "held out", number)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 < settings.holdout


def _vote(magnitude: float) -> NDArray[np.int64]:
    """A one at the power of two that is at least `magnitude`; only zeros for 0. int64[EXPONENTS]."""
    ballot = np.zeros(EXPONENTS, dtype=np.int64)
    if magnitude != 0.0:
        exponent = int(np.frexp(power_of_two_above(magnitude))[1]) - 1
        ballot[min(max(exponent - LEAST_EXPONENT, 0), EXPONENTS - 1)] = 1
    return ballot


def unpack_bits(data: Bulk, count: int, what: str) -> NDArray[np.bool_]:
    """`count` flags, one bit each, lowest bit of a byte first. Raises MessageError for another number of bytes."""
    packed = unpack_array(data, np.uint8, ((count + 7) // 8,), what)
    return np.unpackbits(packed, bitorder="little")[:count].astype(np.bool_)
