"""The active party in training: gradients, sampling, growth, margins, evaluation, and the sealing of the model.

Margins are kept in float32, as XGBoost keeps them, for training and eval rows alike; a tree adds its leaf weights to
all of them from the row partition, without a prediction.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.data.impute import STRATEGIES, fit_imputer
from vfxgb.data.table import Table
from vfxgb.dp.event import Event
from vfxgb.errors import MessageError
from vfxgb.metric import Metric, make_metrics
from vfxgb.model.seal import new_salt, seal_active
from vfxgb.model.shares import ActiveShare, SplitRecords, TreeShape
from vfxgb.objective import Objective, make_objective, start_margin
from vfxgb.params import TrainParams
from vfxgb.protocols.base import (
    ActiveContext,
    ActiveRole,
    Gradients,
    Note,
    ProtocolSpec,
    Release,
    ReleaseContext,
)
from vfxgb.train.callbacks import TrainingCallback, TrainingState
from vfxgb.train.messages import Commit, Finish, Ready, Sealed, Setup
from vfxgb.train.rounds import evaluate, run_rounds
from vfxgb.train.timings import Timings
from vfxgb.train.transcript import note_bins
from vfxgb.transport.channel import Channel
from vfxgb.transport.rows import rows_digest
from vfxgb.tree.fixed_point import FixedPoint, fraction_bits, power_of_two_above
from vfxgb.tree.grower import Grower, Layout
from vfxgb.tree.own import OwnFeatures
from vfxgb.tree.purity import LeafPurity, known_leaves, known_purity
from vfxgb.tree.sampling import sample_rows

Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class ActiveInput:
    """What the active party brings.

    `table`, `labels` and `weights` cover all rows: `n_train` training rows, then those of the eval sets; `evals` names
    slices. `cuts`: column -> cut points to impose on this party's columns, or None. `constraints`: int8 per column of
    this party, or None when no party has any.
    """

    table: Table
    labels: NDArray[Any]
    weights: Float32Array | None
    n_train: int
    evals: Sequence[tuple[str, slice]]
    threads: int
    cuts: Mapping[str, Any] | None = None
    constraints: NDArray[np.int8] | None = None


class ActiveParty:
    """One run of the active party; `run()` returns its sealed share. `note`: for a run that is recorded."""

    def __init__(
        self,
        party: str,
        run_id: str,
        parties: Sequence[str],
        given: ActiveInput,
        params: TrainParams,
        spec: ProtocolSpec,
        protocol_params: Any,
        channels: Mapping[str, Channel],
        note: Note | None = None,
    ) -> None:
        self.party = party
        self.timings = Timings()
        self._run_id = run_id
        self._parties = tuple(parties)
        self._given = given
        self._params = params
        self._spec = spec
        self._protocol_params = protocol_params
        self._options = spec.options(protocol_params)
        self._channels = channels
        self._note = note
        self._objective: Objective = make_objective(params)
        self._metrics: tuple[Metric, ...] = make_metrics(params.eval_metric, self._objective.default_metric)
        self._labels = self._objective.check_labels(given.labels, party)
        n = given.n_train
        weights = None if given.weights is None else given.weights[:n]
        self._train_weights = weights
        self.events: list[Event] = []
        self._release = self._make_release()
        self._train_labels = self._labels[:n]
        if self._release is not None:
            self._train_labels = self._release.labels(self._train_labels)
        start = params
        if params.base_score is None and self._release is not None:
            start = replace(params, base_score=self._options.default_start)
        self._base_margin = start_margin(self._objective, start, self._train_labels, weights)
        self.margins: Float32Array = np.tile(self._base_margin.astype(np.float32), (given.table.n_rows, 1))
        self._trees: list[TreeShape] = []
        self._fill: tuple[float, ...] | None = None
        self._role: ActiveRole | None = None
        # Told of long steps within a round.
        self._progress: Callable[[str, int, int], None] = lambda step, done, total: None  # noqa: ARG005
        # Sampled rows per leaf of the very first tree, and the learning rate it had.
        self._first_rows: NDArray[np.int64] | None = None
        self._first_rate = params.learning_rate

    def _make_release(self) -> Release | None:
        if self._spec.release is None or not self._channels:
            return None
        return self._spec.release(
            ReleaseContext(
                params=self._protocol_params,
                train=self._params,
                n_train=self._given.n_train,
                n_outputs=self._objective.n_outputs,
                fraction_bits=fraction_bits(self._given.n_train, self._options.precision_bits),
                threads=self._given.threads,
                timings=self.timings,
                events=self.events,
                receivers=tuple(self._channels),
                weights=self._train_weights,
            )
        )

    def run(
        self, state: TrainingState, callbacks: Sequence[TrainingCallback], save: Callable[[ActiveShare, Path], None]
    ) -> ActiveShare:
        """Train to the end. `save` gets the share as it stands and a folder, when a callback asks for it."""
        try:
            return self._run(state, callbacks, save)
        finally:
            if self._role is not None:
                self._role.close()

    def _run(
        self, state: TrainingState, callbacks: Sequence[TrainingCallback], save: Callable[[ActiveShare, Path], None]
    ) -> ActiveShare:
        def progress(step: str, done: int, total: int) -> None:
            for callback in callbacks:
                callback.progress(state, step, done, total)

        self._progress = progress
        self._set_up()
        state.save = lambda folder: save(self._share(state), folder)
        run_rounds(self._params.n_estimators, state, callbacks, self._boost, self._evaluate)
        return self._seal(state)

    def _set_up(self) -> None:
        given, params = self._given, self._params
        table = given.table
        setup = Setup(
            protocol=self._spec.name,
            protocol_params=msgspec.to_builtins(self._protocol_params),
            n_rows=table.n_rows,
            n_train=given.n_train,
            rows_digest=rows_digest(table.ids),
            n_outputs=self._objective.n_outputs,
            max_depth=params.max_depth,
            max_bin=params.max_bin,
            missing_strategy=params.missing_strategy,
            min_bucket_rows=params.min_bucket_rows,
            constrained=given.constraints is not None,
            first_round=1 if params.reduced_leakage else 0,
        )
        for channel in self._channels.values():
            channel.send(setup)
        with self.timings.phase("bin"):
            if params.missing_strategy in STRATEGIES:
                imputer = fit_imputer(table, params.missing_strategy, given.n_train)
                table = imputer.apply(table)
                self._fill = tuple(imputer.values[name] for name in table.names)
            binned = BinnedTable.build(table, given.n_train, params.max_bin, given.cuts, given.threads)
        if self._note is not None:
            note_bins(self._note, binned)
            self._note("labels", -1, -1, np.asarray(self._labels[: given.n_train], dtype=np.float64))
            self._note("base-margin", -1, -1, self._base_margin)
        layout = self._layout(table.n_features)
        self._own = OwnFeatures(binned, given.constraints, params.min_bucket_rows, given.threads)
        if self._channels:
            self._role = self._spec.active(
                ActiveContext(
                    channels=self._channels,
                    params=self._protocol_params,
                    train=params,
                    n_train=given.n_train,
                    n_outputs=self._objective.n_outputs,
                    fraction_bits=fraction_bits(given.n_train, self._options.precision_bits),
                    threads=given.threads,
                    timings=self.timings,
                    first_order=self._options.first_order,
                    events=self.events,
                    note=self._note,
                    progress=self._progress,
                )
            )
        self._grower = Grower(
            params,
            layout,
            self._own,
            self._role,
            self._channels,
            table.n_rows,
            given.n_train,
            given.constraints is not None,
            self._options,
            given.threads,
            self.timings,
        )

    def _layout(self, n_own: int) -> Layout:
        first = [0]
        for party in self._parties:
            if party == self.party:
                held = n_own
            else:
                held = self._channels[party].recv(Ready).n_features
                if held < 1:
                    raise MessageError(f"setting up: {party} brings {held} features, wanted at least 1")
            first.append(first[-1] + held)
        return Layout(self._parties, tuple(first), self._parties.index(self.party))

    def _boost(self, round_index: int, learning_rate: float) -> None:
        n = self._given.n_train
        with self.timings.phase("gradients"):
            g, h = self._objective.gradients(self.margins[:n], self._train_labels, self._train_weights)
            bound = self._options.gradient_bound
            if bound is not None:
                g, h = np.clip(g, -bound, bound), np.minimum(h, max(1.0, bound))
            sample = sample_rows(self._params, round_index, g, h)
            scale = (
                self._objective.gradient_scale(sample.gradients, sample.hessians)
                if bound is None
                else power_of_two_above(max(1.0, bound))
            )
            fixed = FixedPoint.for_rows(n, scale, self._options.precision_bits)
            pairs = [
                fixed.encode_pairs(sample.gradients[:, k], sample.hessians[:, k], sample.rows, self._given.threads)
                for k in range(self._objective.n_outputs)
            ]
            gradients = Gradients(round_index, pairs, sample.rows, fixed.step)
            if self._note is not None:
                self._note("step", round_index, -1, np.array([fixed.step]))
                for k, pair in enumerate(pairs):
                    self._note("pairs", round_index, k, pair)
            # 8 bytes a row and output that growth has no use for.
            del g, h, sample
        if self._release is not None:
            with self.timings.phase("release"):
                gradients = self._release.gradients(gradients)
        grown = self._grower.grow(gradients, alone=round_index == 0 and self._params.reduced_leakage)
        with self.timings.phase("margins"):
            for k, tree in enumerate(grown):
                shape = tree.shape(learning_rate)
                if not self._trees:
                    leaves = tree.partition.nodes()
                    self._first_rows = np.zeros(len(shape.value), dtype=np.int64)
                    self._first_rows[leaves] = tree.partition.counts(leaves)[:, 0]
                    self._first_rate = learning_rate
                self._trees.append(shape)
                tree.partition.add_values(shape.value.astype(np.float32), self.margins, k, self._given.threads)

    def leaf_purity(self) -> dict[str, LeafPurity]:
        """Per passive party what the leaves of the first tree say about labels; empty but for binary:logistic."""
        if self._objective.name != "binary:logistic" or self._first_rows is None:
            return {}
        params, tree = self._params, self._trees[0]
        (rate,) = self._objective.transform(self._base_margin[None, :]).ravel().tolist()
        found = {}
        for party in self._channels:
            known = known_leaves(tree, self._parties.index(party), params.max_depth)
            if params.reduced_leakage:
                known[:] = False
            found[party] = known_purity(
                tree, self._first_rows, known, rate, self._first_rate, params.reg_lambda, params.reg_alpha
            )
        return found

    def _evaluate(self, state: TrainingState) -> None:
        with self.timings.phase("evaluate"):
            evaluate(
                state.evals_log,
                self._given.evals,
                self._objective,
                self._metrics,
                self.margins,
                self._labels,
                self._given.weights,
            )

    def _share(self, state: TrainingState) -> ActiveShare:
        feature, cut, default_left = zip(*self._own.records, strict=True) if self._own.records else ((), (), ())
        records = SplitRecords(
            self._given.table.names,
            np.array(feature, dtype=np.int32),
            np.array(cut, dtype=np.float64),
            np.array(default_left, dtype=np.bool_),
            self._fill,
        )
        # Of several outputs XGBoost, too, keeps the start in margins.
        score = (
            self._base_margin if len(self._base_margin) > 1 else self._objective.transform(self._base_margin[None, :])
        )
        return ActiveShare(
            run=self._run_id,
            party=self.party,
            parties=self._parties,
            n_outputs=self._objective.n_outputs,
            objective=self._objective.name,
            base_margin=self._base_margin,
            base_score=score,
            missing_strategy=self._params.missing_strategy,
            params=plain_params(self._params),
            trees=tuple(self._trees),
            records=records,
            best_iteration=state.best_iteration,
        )

    def _seal(self, state: TrainingState) -> ActiveShare:
        share = self._share(state)
        for channel in self._channels.values():
            channel.send(Finish(n_rounds=share.n_rounds))
        commitments: dict[str, str] = {}
        for party, channel in self._channels.items():
            commit = channel.recv(Commit)
            place = self._parties.index(party)
            used = sum(int((tree.party == place).sum()) for tree in share.trees)
            if commit.n_records != used:
                raise MessageError(
                    f"sealing the model: {party} commits to {commit.n_records} records, wanted the {used} in the trees"
                )
            commitments[party] = commit.digest
        share = seal_active(share, new_salt(), commitments)
        sealed = Sealed(parties=list(share.seal.parties), trees=share.seal.trees, model=share.seal.model)
        for channel in self._channels.values():
            channel.send(sealed)
        return share


def plain_params(params: TrainParams) -> dict[str, Any]:
    """The parameters as JSON can hold them: a callable becomes its name, NaN becomes None."""
    return {entry.name: _plain(getattr(params, entry.name)) for entry in fields(params)}


def _plain(value: Any) -> Any:
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
