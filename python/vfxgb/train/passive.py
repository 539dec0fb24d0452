"""A passive party in training: it keeps its columns, its rows' places in the trees, and the records of its splits.

It does what the active party's messages ask, in the only order it accepts:

    Setup -> Ready; [Prepare]; per round BeginRound, (Level, [Choose -> SplitRows])*, EndRound -> RoundKept;
    Finish -> Commit, Sealed -> Stored

Type, round, depth and every size are checked before anything is used. What comes within a round is in passive_shown.py
and, where nodes are hidden, in passive_hidden.py; beyond that it is the protocol's.

Before a round is answered the party keeps that it has begun, and after it its state (checkpoint.py), before it says so.
When a run is resumed it goes back to the round that the active party names, provided that the digests of both sides are
those of that round.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import (
    Disclosed,
    HiddenPassiveRole,
    PassiveContext,
    PassiveRole,
    PreparingPassive,
    ProtocolSpec,
)
from vfxgb.contract.messages import Commit, EndRound, Finish, Prepare, Ready, RoundKept, Sealed, Setup, Stored
from vfxgb.data.categories import Encoding
from vfxgb.data.impute import StandIns
from vfxgb.data.source import Source, as_table
from vfxgb.data.table import Table
from vfxgb.dp.event import Event
from vfxgb.engine.base import Engine
from vfxgb.errors import MessageError, ProtocolParameterError
from vfxgb.model.seal import commit
from vfxgb.model.shares import CONDITIONAL, PassiveShare, Seal
from vfxgb.numeric.fixed_point import MAX_FRACTION_BITS
from vfxgb.params import MISSING_STRATEGIES
from vfxgb.protocols import protocol_by_name
from vfxgb.train.categories import CategoryRule, refuse_before, refuse_partitions
from vfxgb.train.checkpoint import DIGEST_BYTES, BegunRounds
from vfxgb.train.digests import table_digest
from vfxgb.train.leanings import with_leanings
from vfxgb.train.passive_checkpoints import PassiveCheckpoints
from vfxgb.train.passive_hidden import HiddenRounds
from vfxgb.train.passive_rounds import Handlers, PassiveRun
from vfxgb.train.passive_shown import ShownRounds
from vfxgb.train.placing import Placing, check_passive, place_rows
from vfxgb.train.plan import PassiveHooks, check_hidden_nodes, check_split_rule, resolve_protocol
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.settings import passive_settings
from vfxgb.train.transcript import note_bins
from vfxgb.transport.channel import Channel
from vfxgb.transport.line import UNKNOWN_LINE, KnownLine
from vfxgb.transport.rows import check_rows, rows_digest


@dataclass(frozen=True)
class PassiveInput:
    """What a passive party brings to a run; nothing of it comes from the active party.

    `cuts` maps columns to cut points that are imposed on them; None imposes nothing. `constraints` are the monotone
    directions, int8 per column. `local_params` are the parameters of the protocol that each party chooses for itself
    (ProtocolSpec.local_params).

    `accept(setup)` is called before anything else and raises ConsentError for what the party does not agree to.
    `begin(round, trees)` is called before anything of a round is answered, also of a round that is begun again. It
    raises ConsentError, and must have stored the count when it returns.

    `privacy` is where releases are kept over all runs; None keeps them for this run only. `ids` are uint8[n_rows, 16],
    different for different rows; None means that a row is known by its place. `engine` is where the rows lie and are
    worked on, None for this process; only with an engine may `table` be a description of where to read it. `line` is
    what is known of the line to the active party. `kept_in` is a folder for what the party counts over all runs.
    """

    table: Table | Source
    threads: int
    cuts: Mapping[str, Any] | None = None
    constraints: NDArray[np.int8] | None = None
    local_params: Mapping[str, Any] = field(default_factory=dict)
    accept: Callable[[Setup], None] | None = None
    begin: Callable[[int, int], None] | None = None
    privacy: PrivacyFolder | None = None
    ids: NDArray[np.uint8] | None = None
    engine: Engine | None = None
    line: KnownLine = UNKNOWN_LINE
    kept_in: Path | None = None


class PassiveParty:
    """One run of one passive party; `run()` returns when the model is sealed and the share saved.

    `run_id`: see plan.RunPlan. `hooks`: see plan.RunHooks.
    """

    def __init__(self, party: str, run_id: str, given: PassiveInput, channel: Channel, hooks: PassiveHooks) -> None:
        self.party = party
        self.timings = hooks.timings
        self.disclosed = Disclosed()
        self.events: list[Event] = []
        self._run_id = run_id
        self._given = given
        self._channel = channel
        self._note = hooks.note
        self._save = hooks.save
        # Rounds that were done when the run was resumed.
        self.resumed_at = 0
        # Whether the party is told which rows are in which node.
        self.shows_nodes = True
        self.ledger = hooks.ledger
        self._keeper = PassiveCheckpoints(
            party, run_id, channel.peer, hooks, self.events, self.disclosed, given.privacy, given.ids
        )
        self._fill: StandIns | None = None
        self._encodings: tuple[Encoding | None, ...] = ()
        self._seal = Seal()

    @property
    def n_train(self) -> int:
        """Training rows, as the active party said when the run was set up."""
        return self._setup.n_train

    def share(self) -> PassiveShare:
        """The party's share of the model as it stands."""
        records = self._keeper.splits.records(self._given.table.names, self._fill, self._encodings)
        paths = self._keeper.splits.paths(self._setup.missing_strategy)
        if self._setup.missing_strategy == CONDITIONAL:
            records = with_leanings(records, paths, as_table(self._given.table), self._setup.n_train)
        return PassiveShare(self._run_id, self.party, records, self._seal, paths)

    def run(self) -> None:
        """Take part until the end. Any error is the caller's to pass on to the active party (`Channel.abort`)."""
        self._prepare(self._channel.recv(Setup))
        try:
            self._take_part()
        except BaseException:
            # The error that ended the run is the one to report.
            with suppress(Exception):
                self._break_off()
            raise
        finally:
            self._role.close()

    @property
    def begun(self) -> BegunRounds:
        """The rounds it has begun to answer, in all sessions of the run."""
        return self._keeper.begun

    def _break_off(self) -> None:
        """Keep what an unfinished round has shown: it counts, whether the round is grown again or not."""
        if self._rounds.growing:
            # A role that failed may be unable to count the round; its messages count all the same.
            with suppress(Exception):
                self._role.end_tree()
            self._keeper.keep()

    def _take_part(self) -> None:
        names = self._given.table.names
        columns = self._binned.rows.columns
        partitioned = 0 if columns is None else int(columns.partitioned.sum())
        digest = self._keeper.last.state_digest
        self._channel.send(Ready(n_features=len(names), state_digest=digest, n_partitioned=partitioned))
        handlers: Handlers = {**self._rounds.handlers, EndRound: self._end_round, Prepare: self._prepare_role}
        while True:
            with self.timings.phase("wait"):
                message = self._channel.recv(*handlers, Finish)
            if isinstance(message, Finish):
                self._finish(message)
                return
            handlers[type(message)](message)

    def _check(self, setup: Setup) -> None:
        table = self._given.table
        own = (table.n_rows, rows_digest(table.ids))
        check_rows(self.party, self._channel.peer, own, (setup.n_rows, setup.rows_digest))
        if not (1 <= setup.n_train <= setup.n_rows and setup.n_outputs >= 1 and setup.max_depth >= 1):
            raise MessageError(
                f"{self.party} setting up: found {setup.n_train} training rows of {setup.n_rows}, {setup.n_outputs} "
                f"outputs and depth {setup.max_depth}, wanted at least 1 of each and no more training rows than rows"
            )
        if setup.missing_strategy not in MISSING_STRATEGIES:
            raise MessageError(
                f"{self.party} setting up: found missing_strategy {setup.missing_strategy[:40]!r}, wanted one of "
                f"{', '.join(MISSING_STRATEGIES)}; do both sides have the same version?"
            )
        if not 0 <= setup.hessian_shift <= MAX_FRACTION_BITS:
            raise MessageError(
                f"{self.party} setting up: found hessians {setup.hessian_shift} bits below gradients, wanted 0 to "
                f"{MAX_FRACTION_BITS}"
            )
        if setup.run != self._run_id:
            raise MessageError(
                f"{self.party} setting up: found run {setup.run[:16]!r}, wanted {self._run_id[:16]!r}; restart both"
            )
        rounds = (setup.first_round, setup.start_round, setup.n_rounds)
        if setup.first_round not in (0, 1) or not 0 <= setup.start_round <= setup.n_rounds:
            raise MessageError(
                f"{self.party} setting up: found first round {rounds[0]}, {rounds[1]} rounds done of {rounds[2]}, "
                "wanted first round 0 or 1 and no more rounds done than planned"
            )

    def _protocol(self, setup: Setup) -> tuple[ProtocolSpec, Any]:
        """The protocol and its parameters: those sent, and this party's own."""
        spec = protocol_by_name(setup.protocol)
        sent = sorted(set(setup.protocol_params) & set(spec.local_params))
        if sent:
            raise MessageError(
                f"{self.party} setting up: {self._channel.peer} sent {', '.join(sent)} of {spec.name!r}, which this "
                "party chooses for itself"
            )
        foreign = sorted(set(self._given.local_params) - set(spec.local_params))
        if foreign:
            raise ProtocolParameterError(
                f"{self.party} setting up: found own parameters {', '.join(foreign)} of {spec.name!r}, wanted only "
                f"{', '.join(spec.local_params) or 'none'}; the others are the active party's to choose"
            )
        return resolve_protocol(setup.protocol, {**setup.protocol_params, **self._given.local_params})

    def _prepare(self, setup: Setup) -> None:
        if self._given.accept is not None:
            self._given.accept(setup)
        self._check(setup)
        spec, own_params = self._protocol(setup)
        check_hidden_nodes(spec, setup.min_bucket_rows, setup.told_sample)
        self.shows_nodes, self._may_prepare = spec.shows_nodes, spec.prepares
        check_split_rule(spec, setup.split_rule, setup.score_bits)
        table = self._given.table
        self._setup = setup
        settings = passive_settings(setup, self._given.cuts, self._given.constraints)
        self._keeper.go_back(setup, settings, lambda: table_digest(table), len(table.names))
        self.resumed_at = setup.start_round
        with self.timings.phase("bin"):
            self._binned = self._bin(setup, spec, own_params)
            self._fill, self._encodings = self._binned.fill, self._binned.encodings
        if self._note is not None:
            note_bins(self._note, self._binned)
        constraints = self._given.constraints
        if constraints is None:
            constraints = np.zeros(len(table.names), dtype=np.int8)
        if self._binned.rows.columns is not None:
            constraints = constraints[self._binned.rows.columns.feature]
        self._role = spec.passive(
            PassiveContext(
                party=self.party,
                channel=self._channel,
                params=own_params,
                rows=self._binned.rows,
                has_missing=self._binned.has_missing,
                constraints=constraints if setup.constrained else None,
                n_train=setup.n_train,
                n_outputs=setup.n_outputs,
                min_bucket_rows=setup.min_bucket_rows,
                threads=self._given.threads,
                timings=self.timings,
                disclosed=self.disclosed,
                events=self.events,
                note=self._note,
                release_once=self._keeper.release_once,
                rounds_left=setup.n_rounds - setup.start_round,
                max_depth=setup.max_depth,
                hessian_shift=setup.hessian_shift,
                line=self._given.line,
                split_rule=setup.split_rule,
                score_bits=setup.score_bits,
                secret=self._keeper.salt.encode(),
                kept_in=self._given.kept_in,
            )
        )
        run = PassiveRun(
            self.party, self._channel, setup, self._binned, self._keeper.splits, self.timings, self._begin_round
        )
        self._rounds = (
            ShownRounds(run, cast("PassiveRole", self._role))
            if spec.shows_nodes
            else HiddenRounds(run, cast("HiddenPassiveRole", self._role))
        )

    def _bin(self, setup: Setup, spec: ProtocolSpec, own_params: Any) -> BinnedTable:
        given = self._given
        if given.engine is not None:
            check_passive(self.party, spec, setup.missing_strategy, self._note is not None)
        how = Placing(
            self.party,
            setup.n_train,
            setup.max_bin,
            setup.missing_strategy,
            given.threads,
            given.engine,
            row_bytes=spec.row_bytes(own_params, setup.n_outputs),
            hide_missing=spec.hides_missing,
            one_hot_below=setup.max_cat_to_onehot,
        )
        rule = CategoryRule(
            self.party, spec, setup.missing_strategy, setup.split_rule, setup.min_bucket_rows, given.engine is not None
        )
        refuse_before(rule, given.table, given.constraints if setup.constrained else None)
        binned = place_rows(given.table, how).bin(given.cuts)
        refuse_partitions(rule, binned)
        return binned

    def _prepare_role(self, message: Prepare) -> None:  # noqa: ARG002 - it says nothing else
        if not self._may_prepare:
            raise MessageError(
                f"{self.party} setting up: found a message {Prepare.TAG!r}, wanted it at most once, before the first "
                "round, and of a protocol that sets up"
            )
        self._may_prepare = False
        cast("PreparingPassive", self._role).prepare()

    def _begin_round(self, round_index: int) -> None:
        """See PassiveRun.begin."""
        self._may_prepare = False
        if self._given.begin is not None:
            self._given.begin(round_index, self._setup.n_outputs)
        with self.timings.phase("keep"):
            self._keeper.begin_round(round_index)

    def _finish(self, message: Finish) -> None:
        last = self._rounds.round
        if self._rounds.growing:
            raise MessageError(f"{self.party} finishing: round {last} has not ended")
        if last >= self._setup.first_round and message.n_rounds != last + 1:
            raise MessageError(
                f"{self.party} finishing: found {message.n_rounds} rounds in the model, wanted {last + 1}"
            )
        share = self.share()
        own = commit(self._run_id, self.party, share.records, self._keeper.salt, share.paths)
        self._channel.send(Commit(n_records=len(share.records), digest=own))
        sealed = self._channel.recv(Sealed)
        if dict(sealed.parties).get(self.party) != own:
            raise MessageError(
                f"{self.party} sealing the model: the active party's list does not hold this party's commitment"
            )
        self._seal = Seal(self._keeper.salt, own, tuple(sealed.parties), sealed.trees, sealed.model)
        if self._save is not None:
            self._save(self.share())
        self._channel.send(Stored())

    def _end_round(self, message: EndRound) -> None:
        rounds, digest = self._rounds, message.trees_digest
        if message.round != rounds.round or not rounds.growing or len(digest) != DIGEST_BYTES:
            raise MessageError(
                f"{self.party} ending a round: found {message.round} with a digest of {len(digest)} bytes, wanted "
                f"{rounds.round} and {DIGEST_BYTES} bytes"
            )
        # What the round has shown is counted before it is kept. Where nothing is kept, it is counted while the active
        # party goes on, since roles send nothing there.
        count_first = self._keeper.hooks.keep is not None
        if count_first:
            self._role.end_tree()
        rounds.end()
        with self.timings.phase("keep"):
            link = self._keeper.end_round(message.round, digest)
        self._channel.send(RoundKept(round=message.round, state_digest=link))
        if not count_first:
            self._role.end_tree()
