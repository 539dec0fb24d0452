"""The server in training: what it learns of the users' rows are sums over many users, and what follows from them.

Before the first round: how many rows there are and which columns miss values, where margins start, where to cut. Then
round by round trees, which every user gets. The server may hold eval rows of its own; they follow the trees as the
users' rows do.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.cuts import check_cuts, cuts_with_missing
from vfxgb.errors import AggregationError, ParameterError, SpoiledSumError
from vfxgb.horizontal.calls import Calls
from vfxgb.horizontal.grower import Columns, Grower
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.losses import LIMBS, from_limbs, summable
from vfxgb.horizontal.messages import (
    LEAST_EXPONENT,
    CellTask,
    CountTask,
    MetricTask,
    Plan,
    PublishedTree,
    ScaleTask,
    StartTask,
    Trees,
)
from vfxgb.horizontal.privacy import GRID_BITS
from vfxgb.horizontal.private_grower import PrivateGrower
from vfxgb.horizontal.quantiles import ColumnSearch, cuts_of_counts, fine_starts, pack_cells
from vfxgb.horizontal.rows import BinnedRows, Float32Array
from vfxgb.metric import make_metrics, maximised
from vfxgb.model.seal import new_salt, seal_active
from vfxgb.model.shares import ActiveShare, SplitRecords, TreeShape
from vfxgb.numeric.fixed_point import FixedPoint, fraction_bits
from vfxgb.objective import make_objective
from vfxgb.train.callbacks import TrainingCallback, TrainingState
from vfxgb.train.rounds import evaluate, run_rounds
from vfxgb.train.settings import plain_params
from vfxgb.transport.messages import pack_array
from vfxgb.tree.columns import pack_bits

SERVER = "server"
# The name under which the metrics of users' rows are found.
TRAIN, HELD_OUT = "train", "holdout"


class Server:
    """One run of the server."""

    def __init__(self, run: str, job: Job, calls: Calls, threads: int) -> None:
        self._run = run
        self._job = job
        self._names = tuple(job.names)
        self._params = params = job.params
        self._calls = calls
        self._threads = threads
        self._objective = make_objective(params)
        if self._objective.spec.adaptive:
            raise ParameterError(
                f"reading parameters: objective={self._objective.name!r}, wanted another: its leaves are quantiles "
                "of all users' residuals, of which only sums are known; use reg:pseudohubererror"
            )
        self._metrics = make_metrics(params.eval_metric, self._objective.default_metric, self._objective.metric_numbers)
        self._summed_metrics = summable(self._metrics) if job.eval_users or job.holdout else ()
        self._eval_labels = self._objective.check_labels(job.evals.labels, SERVER)
        # Else every |g| and h is at most 1, which needs no asking.
        self._asks_scale = job.weighted or not self._objective.unit_gradients
        self._trees: list[TreeShape] = []
        self._grower: Grower | None = None
        self.n_rows = 0

    @property
    def n_rounds(self) -> int:
        """Rounds finished so far."""
        return len(self._trees) // self._objective.n_outputs

    @property
    def ended_early(self) -> int:
        """Rounds whose trees ended above their full depth because a user had left."""
        return 0 if self._grower is None else self._grower.ended_early

    @property
    def margins(self) -> Float32Array:
        """The server keeps the margins of the eval rows, float32[n, K]."""
        return self._rows.margins

    def run(
        self, state: TrainingState, callbacks: Sequence[TrainingCallback], save: Callable[[ActiveShare, Path], None]
    ) -> None:
        """Train to the end; `share` gives what there is, after an error too. Callbacks may ask for `save`."""
        self._calls.set_up()
        self._set_up()
        state.save = lambda folder: save(self.share(state), folder)
        state.maximised = maximised(self._metrics)
        run_rounds(self._params.n_estimators, state, callbacks, self._boost, self._evaluate)
        self._calls.finish()

    def _set_up(self) -> None:
        params = self._params
        n_features = len(self._names)
        answer = self._calls.sum(CountTask(n_features=n_features, votes=self._asks_scale))
        private = self._calls.private
        counts = answer.sums if private is None else private.clear("count", answer.sums)
        self.n_rows = int(counts[0]) if private is None else private.rows(answer.sums)
        if self.n_rows < 1:
            raise AggregationError("setting up horizontal training: the users have no rows; wanted at least one")
        # Users that are away now may come back: their rows are taken to be as many as the others'.
        expected = -(-self.n_rows * len(self._calls.users) // len(answer.users))
        self._bits = fraction_bits(expected) if private is None else GRID_BITS
        has_missing = counts[1 : 1 + n_features] > 0
        self._start = self._find_start(_exponent(counts[1 + n_features :]))
        cuts = self._find_cuts(has_missing)
        try:
            self._rows = BinnedRows(self._job.evals.X, cuts, self._start, SERVER, self._threads)
        except ValueError as error:
            if self._job.rules.given is not None:
                raise
            raise SpoiledSumError(
                f"looking for cut points: {error}; some user sent counts that cannot be right"
            ) from None
        signs = params.constraints(self._names)
        columns = Columns(cuts, has_missing, np.array(signs, dtype=np.int8) if signs else None, self._rows.bins)
        kind = Grower if private is None else PrivateGrower
        self._grower = kind(params, columns, self._calls, self._threads, self._calls.timings)
        self._calls.publish(
            Plan(
                n_cuts=pack_array(np.array([len(column_cuts) for column_cuts in cuts], dtype=np.int32)),
                cuts=pack_array(np.concatenate(cuts).astype(np.float32)),
                has_missing=pack_bits(np.flatnonzero(has_missing).astype(np.int32), n_features),
                start=pack_array(self._start),
            )
        )

    def _find_start(self, exponent: int) -> NDArray[np.float64]:
        """The start margin [K]."""
        params, objective = self._params, self._objective
        if params.base_score is not None:
            return objective.margin_of(float(params.base_score))
        n_sums = len(objective.start_sums(np.zeros(1, dtype=np.float32), None))
        if n_sums == 0:
            return objective.start_from(np.zeros(0))
        fixed = FixedPoint(self._bits, 2.0**exponent)
        answer = self._calls.sum(StartTask(n_sums=n_sums, exponent=exponent, bits=self._bits))
        sums = answer.sums.astype(np.float64) * fixed.step
        return objective.start_from(sums if self._calls.private is None else self._calls.private.start(sums))

    def _find_cuts(self, has_missing: NDArray[np.bool_]) -> list[Float32Array]:
        """The cuts of every column; the users look for them together unless they are given."""
        rules, max_bin = self._job.rules, self._params.bins
        if rules.given is not None:
            given = check_cuts(rules.given, self._names)
            return [given[name] for name in self._names]
        ranges = rules.range_cells(self._names)
        known = {cell_range.column for cell_range in ranges}
        searches = [
            ColumnSearch(column, max_bin, rules.bits) for column in range(len(self._names)) if column not in known
        ]
        cuts_of: dict[int, Float32Array] = {}
        while True:
            asked = [(search, cells) for search in searches if (cells := search.ask()) is not None]
            if not asked and not ranges:
                break
            task = CellTask(cells=pack_cells([cells for _, cells in asked], ranges))
            sizes = [*(cells.n_counts for _, cells in asked), *(cell_range.cells for cell_range in ranges)]
            sums = self._calls.sum(task).sums
            if self._calls.private is not None:
                sums = self._calls.private.clear("cells", sums)
            if (sums < 0).any():
                raise SpoiledSumError(
                    f"looking for cut points: found a cell with {int(sums.min())} rows, wanted 0 or more; some user "
                    "sent numbers that cannot be right"
                )
            counts = np.split(sums, np.cumsum(sizes)[:-1])
            for (search, _), part in zip(asked, counts[: len(asked)], strict=True):
                search.tell(part)
            for cell_range, part in zip(ranges, counts[len(asked) :], strict=True):
                cuts_of[cell_range.column] = cuts_of_counts(
                    fine_starts(cell_range.low, cell_range.high, cell_range.cells), part, max_bin
                )
            ranges = []
        cuts_of.update({search.column: search.cuts() for search in searches})
        cuts = [cuts_of[column] for column in range(len(self._names))]
        return [
            cuts_with_missing(column_cuts) if some else column_cuts
            for column_cuts, some in zip(cuts, has_missing, strict=True)
        ]

    def _boost(self, round_index: int, learning_rate: float) -> None:
        assert self._grower is not None  # noqa: S101 - _set_up made it
        objective = self._objective
        self._calls.begin_round(round_index)
        exponent = 0
        if self._asks_scale:
            exponent = _exponent(self._calls.sum(ScaleTask(round=round_index)).sums)
        fixed = FixedPoint(self._bits, 2.0**exponent)
        grown = self._grower.grow(round_index, objective.n_outputs, fixed)
        shapes = [tree.skeleton.shape(learning_rate) for tree in grown]
        message = Trees(
            round=round_index,
            trees=[
                PublishedTree(levels=tree.levels, values=pack_array(shape.value.astype(np.float32)))
                for tree, shape in zip(grown, shapes, strict=True)
            ],
        )
        self._rows.begin(None)
        self._rows.finish([(tree.levels, tree.values) for tree in message.trees])
        self._calls.publish(message)
        self._trees += shapes

    def _evaluate(self, state: TrainingState) -> None:
        if self._job.eval_users:
            self._evaluate_users(state, TRAIN)
        if self._job.holdout:
            self._evaluate_users(state, HELD_OUT)
        with self._calls.timings.phase("evaluate"):
            evaluate(state.evals_log, self._job.evals.sets, self._objective, self._metrics, self._eval_rows)

    def _evaluate_users(self, state: TrainingState, which: str) -> None:
        """The metrics of users' rows, as far as they are sums; NaN for a round in which too few users were left."""
        of_users = state.evals_log.setdefault(which, {})
        names = [metric.name for metric in self._summed_metrics]
        self._calls.clock.depth = self._params.max_depth
        try:
            task = MetricTask(round=self.n_rounds, metrics=names, held_out=which == HELD_OUT)
            sums = self._calls.sum(task, needed=False).sums
        except AggregationError:
            for name in names:
                of_users.setdefault(name, []).append(math.nan)
            return
        *losses, weight = (from_limbs(limbs) for limbs in sums.reshape(-1, LIMBS))
        for metric, loss in zip(self._summed_metrics, losses, strict=True):
            of_users.setdefault(metric.name, []).append(metric.of_sums(loss, weight))

    def _eval_rows(self, rows: slice) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32] | None]:
        weights = self._job.evals.weights
        return self._eval_labels[rows], self._rows.margins[rows], None if weights is None else weights[rows]

    def share(self, state: TrainingState) -> ActiveShare:
        """The model as it stands, sealed."""
        assert self._grower is not None  # noqa: S101 - there is no model before the set-up
        records = self._grower.records
        feature, cut, default_left = zip(*records, strict=True) if records else ((), (), ())
        start = self._start
        # Of several outputs XGBoost, too, keeps the start in margins.
        score = start if len(start) > 1 else self._objective.transform(start[None, :])
        share = ActiveShare(
            run=self._run,
            party=SERVER,
            parties=(SERVER,),
            n_outputs=self._objective.n_outputs,
            objective=self._objective.name,
            base_margin=start,
            base_score=score,
            missing_strategy=self._params.missing_strategy,
            params=plain_params(self._params),
            trees=tuple(self._trees),
            records=SplitRecords(
                self._names,
                np.array(feature, dtype=np.int32),
                np.array(cut, dtype=np.float64),
                np.array(default_left, dtype=np.bool_),
            ),
            best_iteration=state.best_iteration,
        )
        return seal_active(share, new_salt(), {})


def _exponent(votes: NDArray[np.int64]) -> int:
    """The largest exponent anybody voted for; 0 where nobody did, or nobody was asked."""
    places = np.flatnonzero(votes)
    return int(places[-1]) + LEAST_EXPONENT if len(places) else 0
