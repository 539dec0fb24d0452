"""The active party in training: gradients, growth, margins, evaluation, and the sealing of the model.

After each round the passive parties keep their state, then the active party its own (checkpoint.py). A resumed party
takes over what its state holds and goes on with the next round.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import (
    ActiveContext,
    ActiveRole,
    Gradients,
    HiddenActiveRole,
    PreparingActive,
    Release,
    ReleaseContext,
    RunFacts,
)
from vfxgb.contract.messages import Commit, Finish, Prepare, Ready, Sealed, Setup, Stored
from vfxgb.data.categories import Encoding
from vfxgb.data.impute import StandIns
from vfxgb.data.source import Source, as_table
from vfxgb.data.table import Table
from vfxgb.data.target import TargetSource
from vfxgb.dp.event import Event
from vfxgb.engine.base import Engine
from vfxgb.errors import MessageError, ProtocolParameterError
from vfxgb.metric import Metric, make_metrics, maximised
from vfxgb.model.paths import paths_in_trees
from vfxgb.model.seal import seal_active
from vfxgb.model.shares import CONDITIONAL, ActiveShare, SplitRecords, TreeShape
from vfxgb.numeric.fixed_point import fraction_bits
from vfxgb.objective import Objective, make_objective
from vfxgb.runtime.ledger import LeafPurity
from vfxgb.train.active_checkpoints import ActiveCheckpoints, Grown
from vfxgb.train.adaptive_leaves import Residuals
from vfxgb.train.callbacks import TRAINING_ROWS, EvalsLog, TrainingState
from vfxgb.train.categories import CategoryRule, refuse_before, refuse_partitions
from vfxgb.train.digests import table_digest
from vfxgb.train.leanings import with_leanings
from vfxgb.train.placing import Placed, Placing, check_fits, place_rows
from vfxgb.train.plan import ActiveHooks, RunPlan
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.rounds import evaluate, run_rounds
from vfxgb.train.settings import active_settings, plain_params
from vfxgb.train.target import Learning, Target
from vfxgb.train.transcript import note_bins
from vfxgb.transport.channel import Channel, broadcast
from vfxgb.transport.line import UNKNOWN_LINE, KnownLine
from vfxgb.transport.rows import rows_digest
from vfxgb.tree.columns import Layout, RoundColumns
from vfxgb.tree.grower import Grower, Growth
from vfxgb.tree.growing import GrowingTree
from vfxgb.tree.hidden_nodes import HiddenNodes
from vfxgb.tree.local_features import OwnFeatures
from vfxgb.tree.passives import PassiveLinks, PassiveParties
from vfxgb.tree.purity import known_leaves, known_purity
from vfxgb.tree.shown_nodes import ShownNodes

Float32Array = NDArray[np.float32]


@dataclass(frozen=True)
class ActiveInput:
    """What the active party brings.

    `table`, `labels` and `weights` cover all rows: `n_train` training rows, then those of the eval sets, which `evals`
    names as slices. `cuts` maps columns of this party to cut points that are imposed on them; None imposes nothing.
    `constraints` holds an int8 per column of this party, or is None when no party has any.

    `engine` is where the rows lie and are worked on. It is None for this process, which then reads `table` and `labels`
    (with the weights) whole if they describe where to read them. `privacy` is where releases are kept over all runs;
    None keeps them for this run only. `ids` are uint8[n, 16] of the training rows at least, different for different
    rows; None means that a row is known by its place. `line` is what is known of the line to the others. `base_margin`
    are float32[n_rows, n_outputs], margins that rows start from in place of the model's start; NaN leaves a row there.
    """

    table: Table | Source
    labels: NDArray[Any] | TargetSource
    weights: Float32Array | None
    n_train: int
    evals: Sequence[tuple[str, slice]]
    threads: int
    cuts: Mapping[str, Any] | None = None
    constraints: NDArray[np.int8] | None = None
    engine: Engine | None = None
    privacy: PrivacyFolder | None = None
    ids: NDArray[np.uint8] | None = None
    line: KnownLine = UNKNOWN_LINE
    base_margin: Float32Array | None = None


class ActiveParty:
    """One run of the active party; `run()` returns its sealed share. `state` is what its callbacks see.

    plan.py says what `plan` and `hooks` are. `channels` lead to every passive party.
    """

    def __init__(self, plan: RunPlan, given: ActiveInput, channels: Mapping[str, Channel], hooks: ActiveHooks) -> None:
        params = plan.params
        self.party = plan.party
        self.timings = hooks.timings
        self.state = TrainingState(n_estimators=params.n_estimators, learning_rate=params.learning_rate)
        self._plan = plan
        self._hooks = hooks
        self._given = given
        self._parties = plan.parties
        self._params = params
        self._options = plan.options
        self._channels = channels
        self._note = hooks.note
        self.remarks: list[str] = []
        self._objective: Objective = make_objective(params)
        self._metrics: tuple[Metric, ...] = make_metrics(
            params.eval_metric, self._objective.default_metric, self._objective.metric_numbers
        )
        self.events: list[Event] = []
        # Passive party -> equations about its rows that were opened (contract.equations_of).
        self.opened_equations: dict[str, int] = {}
        setup = self._make_setup()
        self._keeper = ActiveCheckpoints(
            plan.party, setup, hooks, self.events, self.opened_equations, tuple(channels), given.privacy, given.ids
        )
        self._keeper.check(
            active_settings(setup, plan, given.evals, given.cuts, given.constraints),
            lambda: table_digest(given.table, self._checked(given.labels), given.weights, given.base_margin),
        )
        self._released_labels: Float32Array | None = None
        self._placed = self._place()
        target, self._release = self._make_target()
        start = params
        if params.base_score is None and self._release is not None:
            start = replace(params, base_score=self._options.default_start)
        self._base_margin = target.start(start)
        self._start_from(target)
        self._grown = Grown(target, params.learning_rate, [])
        self._keeper.restore(self._grown, len(self._parties))
        self._fill: StandIns | None = None
        self._encodings: tuple[Encoding | None, ...] = ()
        self._partitioned: set[str] = set()
        self._role: ActiveRole | HiddenActiveRole | None = None

    @property
    def margins(self) -> Float32Array | None:
        """Margins float32[n_rows, n_outputs] after the rounds so far; None where rows are in shards."""
        return self._grown.target.margins if self._given.engine is None else None

    def _checked(self, labels: NDArray[Any] | TargetSource) -> Float32Array | TargetSource:
        return self._objective.check_labels(labels, self.party) if isinstance(labels, np.ndarray) else labels

    def _place(self) -> Placed:
        given, params = self._given, self._params
        if self._objective.spec.adaptive and self._plan.spec.release is not None:
            raise ProtocolParameterError(
                f"{self.party} training: objective={self._objective.name!r} with protocol {self._plan.spec.name!r}, "
                "wanted another: its leaves are quantiles of true residuals, which no epsilon would cover; take "
                "reg:pseudohubererror, or a protocol without noise"
            )
        if given.engine is not None:
            check_fits(self._plan.spec, params, self._note is not None, given.engine.holds_key)
        how = Placing(
            self.party,
            given.n_train,
            params.bins,
            params.missing_strategy,
            given.threads,
            given.engine,
            n_outputs=self._objective.n_outputs,
            one_hot_below=params.max_cat_to_onehot,
        )
        refuse_before(self._category_rule, given.table, given.constraints)
        return place_rows(given.table, how)

    def _start_from(self, target: Target) -> None:
        """Let rows start from the margins that were given for them. Raises ProtocolParameterError."""
        margins = self._given.base_margin
        if margins is None:
            return
        if self._plan.spec.release is not None:
            raise ProtocolParameterError(
                f"{self.party} training: base_margin with protocol {self._plan.spec.name!r}, wanted none: margins may "
                "have been made of the labels that the protocol protects, and no epsilon would cover them; leave "
                "base_margin and xgb_model out, or take a protocol without noise"
            )
        target.set_margins(np.where(np.isnan(margins), self._base_margin.astype(np.float32), margins))

    @property
    def _category_rule(self) -> CategoryRule:
        given, params, spec = self._given, self._params, self._plan.spec
        # Its own features the active party opens to nobody.
        return CategoryRule(
            self.party,
            spec if self._channels else None,
            params.missing_strategy,
            params.rule,
            params.min_bucket_rows,
            given.engine is not None,
        )

    def _make_target(self) -> tuple[Target, Release | None]:
        given, learning = self._given, Learning(self._objective, self._params, self._options)
        target = self._placed.target(given.labels, given.weights, learning)
        release = self._make_release(target)
        if release is not None:
            labels = target.train_labels
            released = self._keeper.labels(release, labels)
            if released is not labels:
                self._released_labels = released
                target.train_on(released)
        return target, release

    def _make_setup(self) -> Setup:
        """What every passive party is told first, for a run from its beginning."""
        given, params, spec = self._given, self._params, self._plan.spec
        shared = msgspec.to_builtins(self._plan.protocol_params)
        return Setup(
            protocol=spec.name,
            protocol_params={name: value for name, value in shared.items() if name not in spec.local_params},
            n_rows=given.table.n_rows,
            n_train=given.n_train,
            rows_digest=rows_digest(given.table.ids),
            n_outputs=self._objective.n_outputs,
            max_depth=params.max_depth,
            max_bin=params.bins,
            missing_strategy=params.missing_strategy,
            min_bucket_rows=params.min_bucket_rows,
            told_sample=params.told_sample,
            hessian_shift=self._hessian_shift,
            split_rule=params.rule,
            score_bits=params.score_bits,
            max_cat_to_onehot=params.max_cat_to_onehot,
            constrained=given.constraints is not None,
            first_round=1 if params.reduced_leakage else 0,
            run=self._plan.run_id,
            n_rounds=params.n_estimators,
            start_round=0,
            trees_digest=b"",
            state_digest=b"",
        )

    def _make_release(self, target: Target) -> Release | None:
        spec = self._plan.spec
        if spec.release is None or not self._channels:
            return None
        receivers, weights, once = tuple(self._channels), target.train_weights, self._keeper.release_once
        return spec.release(ReleaseContext(**self._facts(), receivers=receivers, weights=weights, release_once=once))

    def _facts(self) -> dict[str, Any]:
        """What roles and releases are told of the run: the fields of RunFacts."""
        plan, given = self._plan, self._given
        bits = fraction_bits(given.n_train, self._options.precision_bits)
        facts = (plan.protocol_params, plan.params, given.n_train, self._objective.n_outputs, bits, given.threads)
        return vars(RunFacts(*facts, self.timings, self.events, hessian_shift=self._hessian_shift))

    @property
    def _hessian_shift(self) -> int:
        """See RunFacts; 0 where the fixed point follows from bounds of the protocol's own."""
        options = self._options
        bounded = options.gradient_bound is not None or options.weight_bound is not None
        return 0 if bounded else self._objective.hessian_shift

    def run(self) -> ActiveShare:
        """Train to the end."""
        state, callbacks = self.state, self._hooks.callbacks
        try:
            n_rounds = self._begin()
            run_rounds(n_rounds, state, callbacks, self._boost, self._evaluate, self._finish_round)
            return self._seal(state)
        except BaseException:
            # The error that ended the run is the one to report.
            with suppress(Exception):
                self._keeper.break_off()
            raise
        finally:
            if self._role is not None:
                self._role.close()

    def _begin(self) -> int:
        """Set everything up, here and at the others, or take it over; returns how many rounds the run may have."""
        state, save = self.state, self._hooks.save
        n_rounds = self._keeper.take_over(state, self._params.n_estimators)
        self._set_up()
        if not self._keeper.resumes:
            self._keep(state, stopped=False)
        if save is not None:
            state.save = lambda folder: save(self._share(state), folder)
        state.maximised = maximised(self._metrics)
        state.training_metrics = self._training_metrics
        return n_rounds

    def _progress(self, step: str, done: int, total: int) -> None:
        """Tell the callbacks of a long step within a round."""
        for callback in self._hooks.callbacks:
            callback.progress(self.state, step, done, total)

    def _set_up(self) -> None:
        given, params = self._given, self._params
        self._keeper.set_up(self._channels)
        with self.timings.phase("bin"):
            binned = self._placed.bin(given.cuts)
            self._fill, self._encodings = binned.fill, binned.encodings
            refuse_partitions(self._category_rule, binned)
        if self._note is not None:
            note_bins(self._note, binned)
            labels, _, _ = self._grown.target.rows(slice(0, given.n_train))
            self._note("labels", -1, -1, np.asarray(labels, dtype=np.float64))
            self._note("base-margin", -1, -1, self._base_margin)
        layout = self._layout(binned.n_features)
        directions, held = given.constraints, binned.rows.columns
        if directions is not None and held is not None:
            directions = directions[held.feature]
        self._own = OwnFeatures(binned, directions, params, given.threads)
        self._own.records += self._keeper.records(binned.n_features)
        if self._channels:
            self._role = self._plan.spec.active(
                ActiveContext(
                    **self._facts(),
                    channels=self._channels,
                    rows=binned.rows,
                    first_order=self._options.first_order,
                    opened_equations=self.opened_equations,
                    note=self._note,
                    progress=self._progress,
                    secrets=self._hooks.secrets,
                    remarks=self.remarks,
                    line=given.line,
                    secret=self._keeper.salt.encode(),
                    partitioned=frozenset(self._partitioned),
                )
            )
        columns = RoundColumns(layout, params)
        passives = self._passives(PassiveLinks(self._channels, columns, given.n_train, self.timings))
        how = Growth(params, self._options, given.constraints is not None, self.timings, self._integer_seed())
        self._grower = Grower(how, columns, self._own, passives)

    def _integer_seed(self) -> int:
        """The seed of the integers of nodes: random_state, or one that nobody else can guess and that the run keeps."""
        if not self._plan.spec.secret_coins:
            return self._params.random_state
        return int.from_bytes(hashlib.sha256(b"vfxgb integer seed " + self._keeper.salt.encode()).digest(), "little")

    def _passives(self, links: PassiveLinks) -> PassiveParties | None:
        """The passive parties as growth sees them, in the way that the protocol's roles need."""
        if self._role is None:
            return None
        if self._plan.spec.shows_nodes:
            return ShownNodes(links, cast("ActiveRole", self._role))
        filed = {party: self._splits_of(party) for party in self._channels}
        return HiddenNodes(links, cast("HiddenActiveRole", self._role), self._keeper.salt.encode(), filed)

    def _splits_of(self, party: str) -> int:
        """Count the splits of a party in the trees so far."""
        place = self._parties.index(party)
        return sum(int((tree.party == place).sum()) for tree in self._grown.trees)

    def _layout(self, n_own: int) -> Layout:
        first = [0]
        for party in self._parties:
            if party == self.party:
                held = n_own
            else:
                ready = self._channels[party].recv(Ready)
                self._keeper.check_ready(party, ready)
                held = ready.n_features
                if ready.n_partitioned:
                    self._partitioned.add(party)
                if held < 1:
                    raise MessageError(f"setting up: {party} brings {held} features, wanted at least 1")
            first.append(first[-1] + held)
        return Layout(self._parties, tuple(first), self._parties.index(self.party))

    def _gradients(self, round_index: int) -> Gradients:
        with self.timings.phase("gradients"):
            gradients = self._grown.target.gradients(round_index)
            if self._note is not None:
                self._note("step", round_index, -1, np.array([gradients.step]))
                for k, pair in enumerate(gradients.arrays):
                    self._note("pairs", round_index, k, pair)
        if self._release is None:
            return gradients
        with self.timings.phase("release"):
            return self._keeper.gradients(self._release, gradients)

    def _boost(self, round_index: int, learning_rate: float) -> None:
        self._keeper.begin_round()
        with self._preparing(round_index):
            growing = self._grower.grow(self._gradients(round_index), self._alone(round_index))
        shapes = [tree.shape(learning_rate) for tree in growing]
        if self._objective.leaf_quantile is not None:
            shapes = self._adapted(growing, shapes, round_index, learning_rate)
        self._keeper.end_round(round_index, shapes, {} if self._alone(round_index) else self._channels)
        grown = self._grown
        with self.timings.phase("margins"):
            for k, (tree, shape) in enumerate(zip(growing, shapes, strict=True)):
                if not grown.trees:
                    leaves = tree.partition.nodes()
                    grown.first_rows = np.zeros(len(shape.value), dtype=np.int64)
                    grown.first_rows[leaves] = tree.partition.counts(leaves)[:, 0]
                    grown.first_rate = learning_rate
                grown.trees.append(shape)
                grown.target.add(tree.partition, shape.value.astype(np.float32), k)
            grown.target.end_round()

    def _adapted(
        self, growing: Sequence[GrowingTree], shapes: Sequence[TreeShape], round_index: int, rate: float
    ) -> list[TreeShape]:
        """The trees with the quantile that the objective wants of the residuals in each leaf."""
        alpha = self._objective.leaf_quantile
        assert alpha is not None  # noqa: S101 - asked before
        residuals = Residuals.of(self._grown.target, self._params, round_index, self._given.n_train)
        with self.timings.phase("leaves"):
            return [
                residuals.adapt(shape, tree.partition.leaves(), k, alpha, rate)
                for k, (tree, shape) in enumerate(zip(growing, shapes, strict=True))
            ]

    def _preparing(self, round_index: int) -> AbstractContextManager[None]:
        """A block in which the role sets up, if the others hear nothing of this round and the protocol can.

        Rows in shards are worked on by one thread: with them the set-up comes first.
        """
        another = self._params.n_estimators > 1
        if not (self._alone(round_index) and another and self._plan.spec.prepares and self._channels):
            return nullcontext()
        broadcast(list(self._channels.values()), Prepare())
        preparing = cast("PreparingActive", self._role).preparing()
        if self._given.engine is None:
            return preparing
        with preparing:
            return nullcontext()

    def _alone(self, round_index: int) -> bool:
        """Whether the others hear nothing of a round."""
        return round_index == 0 and self._params.reduced_leakage

    def _finish_round(self, state: TrainingState, stopped: bool) -> None:
        """Hear from every passive party that it has kept the round, then keep it here."""
        if not self._alone(state.iteration):
            with self.timings.phase("wait"):
                self._keeper.read_kept(state.iteration, self._channels)
        self._keep(state, stopped)

    def _keep(self, state: TrainingState, stopped: bool) -> None:
        with self.timings.phase("keep"):
            self._keeper.keep(state, stopped, self._grown, self._own.records, self._released_labels)

    def leaf_purity(self) -> dict[str, LeafPurity]:
        """Per passive party what the leaves of the first tree say about labels.

        It is empty unless gradients are residuals of two classes and passive parties are told of nodes, and where rows
        start from margins of their own: weights of leaves then do not tell shares of classes.
        """
        grown = self._grown
        spec = self._objective.spec
        known_classes = spec.labels == "two classes" and spec.residual
        own_start = self._given.base_margin is not None
        if not known_classes or own_start or grown.first_rows is None or not self._plan.spec.shows_nodes:
            return {}
        params, tree = self._params, grown.trees[0]
        # A residual p - y at label 0; predictions need not be probabilities.
        residual, _ = self._objective.gradients(self._base_margin[None, :], np.zeros(1, dtype=np.float32))
        rate = float(residual[0, 0])
        purities = {}
        for party in self._channels:
            known = known_leaves(tree, self._parties.index(party), params.max_depth)
            if params.reduced_leakage:
                known[:] = False
            purities[party] = known_purity(
                tree, grown.first_rows, known, rate, grown.first_rate, params.reg_lambda, params.reg_alpha
            )
        return purities

    def _evaluate(self, state: TrainingState) -> None:
        with self.timings.phase("evaluate"):
            evaluate(state.evals_log, self._given.evals, self._objective, self._metrics, self._grown.target.rows)

    def _training_metrics(self) -> dict[str, float]:
        log: EvalsLog = {}
        rows = [(TRAINING_ROWS, slice(0, self._given.n_train))]
        evaluate(log, rows, self._objective, self._metrics, self._grown.target.rows)
        return {name: values[-1] for name, values in log[TRAINING_ROWS].items()}

    def _share(self, state: TrainingState) -> ActiveShare:
        # Of several outputs XGBoost, too, keeps the start in margins.
        score = (
            self._base_margin if len(self._base_margin) > 1 else self._objective.transform(self._base_margin[None, :])
        )
        return ActiveShare(
            run=self._plan.run_id,
            party=self.party,
            parties=self._parties,
            n_outputs=self._objective.n_outputs,
            objective=self._objective.name,
            base_margin=self._base_margin,
            base_score=score,
            missing_strategy=self._params.missing_strategy,
            params=plain_params(self._params),
            trees=tuple(self._grown.trees),
            records=self._records(),
            best_iteration=state.best_iteration,
        )

    def _records(self) -> SplitRecords:
        given, strategy = self._given, self._params.missing_strategy
        records = SplitRecords.of(given.table.names, self._own.records, self._fill, self._encodings)
        if strategy != CONDITIONAL:
            return records
        paths = paths_in_trees(self._grown.trees, self._parties.index(self.party), strategy)
        return with_leanings(records, paths, as_table(given.table), given.n_train)

    def _seal(self, state: TrainingState) -> ActiveShare:
        share = self._share(state)
        for channel in self._channels.values():
            channel.send(Finish(n_rounds=share.n_rounds))
        commitments: dict[str, str] = {}
        for party, channel in self._channels.items():
            commit = channel.recv(Commit)
            count, used = commit.n_records, self._splits_of(party)
            if count != used:
                raise MessageError(
                    f"sealing the model: {party} commits to {count} records, wanted the {used} in the trees"
                )
            commitments[party] = commit.digest
        share = seal_active(share, self._keeper.salt, commitments)
        sealed = Sealed(parties=list(share.seal.parties), trees=share.seal.trees, model=share.seal.model)
        for channel in self._channels.values():
            channel.send(sealed)
        for channel in self._channels.values():
            channel.recv(Stored)
        return share
