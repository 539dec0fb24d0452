"""A passive party in training: it keeps its columns, its rows' places in the trees, and the records of its splits.

It does what the active party's messages ask, in the only order it accepts:

    Setup -> Ready; per round BeginRound, (Level, [Choose -> SplitRows])*, EndRound -> RoundKept;
    Finish -> Commit, Sealed -> Stored

Type, round, depth and every size are checked before anything is used. What happens inside BeginRound and Level beyond
the row partition is the protocol's.

Before a round is answered the party keeps that it has begun, and after it its state (checkpoint.py), before it says so.
When a run is resumed it goes back to the round that the active party names, provided that the digests of both sides are
those of that round.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import (
    Disclosed,
    PassiveContext,
    PassiveLevel,
    PassiveNodes,
    PassiveRole,
    PassiveTree,
    ProtocolSpec,
)
from vfxgb.contract.messages import (
    BeginRound,
    Choose,
    Commit,
    EndRound,
    Finish,
    Level,
    Ready,
    RoundKept,
    Sealed,
    Setup,
    SplitRows,
    Stored,
    TreeChoice,
    TreeLevel,
    TreeRows,
)
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.dp.event import Event
from vfxgb.engine.base import Engine
from vfxgb.errors import MessageError, ProtocolParameterError
from vfxgb.model.seal import commit
from vfxgb.model.shares import PassiveShare, Seal
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent
from vfxgb.rows.parts import Partition
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.train.arrays import parents_of, unpack_bits, unpack_list, valid_positions
from vfxgb.train.checkpoint import DIGEST_BYTES, BegunRounds
from vfxgb.train.digests import table_digest
from vfxgb.train.passive_checkpoints import PassiveCheckpoints
from vfxgb.train.placing import Placing, check_passive, place_rows
from vfxgb.train.plan import PassiveHooks
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.settings import passive_settings
from vfxgb.train.split_log import SplitLog
from vfxgb.train.transcript import note_bins
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, unpack_array
from vfxgb.transport.rows import check_rows, rows_digest

_NONE_PENDING = (np.zeros(0, np.int32), b"", np.zeros(0, np.int32))


@dataclass(frozen=True)
class PassiveInput:
    """What a passive party brings to a run; nothing of it comes from the active party.

    `cuts`: column -> cut points to impose, or None. `constraints`: int8 per column, monotone directions.
    `local_params`: parameters of the protocol that are each party's own (ProtocolSpec.local_params). `accept`: called
    with Setup before anything else; raises ConsentError for what the party does not agree to. `begin(round, trees)`:
    called before anything of a round is answered, also of one that is begun again; raises ConsentError, and must have
    stored the count when it returns. `privacy`: where releases are kept over all runs, None for this run only; `ids`:
    uint8[n_rows, 16], different for different rows, None where a row is known by its place. `engine`: where the rows
    lie and are worked on, None for this process; only with one may `table` be a description of where to read it.
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


class PassiveParty:
    """One run of one passive party; `run()` returns when the model is sealed and the share saved.

    `run_id`: see plan.RunPlan. `hooks`: see plan.RunHooks.
    """

    def __init__(
        self,
        party: str,
        run_id: str,
        given: PassiveInput,
        channel: Channel,
        hooks: PassiveHooks,
    ) -> None:
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
        self.ledger = hooks.ledger
        self._keeper = PassiveCheckpoints(
            party,
            run_id,
            hooks,
            self.events,
            self.disclosed,
            channel.peer,
            given.privacy,
            given.ids,
        )
        self._splits = SplitLog()
        self._fill: tuple[float, ...] | None = None
        self._seal = Seal()
        self._trees: list[PassiveTree] = []
        # Splits of this party that the active party has not yet confirmed: per tree their nodes, who goes left, and the
        # numbers of their records.
        self._pending: dict[int, tuple[NDArray[np.int32], bytes, NDArray[np.int32]]] = {}
        # Per tree the nodes that were opened last.
        self._open: dict[int, NDArray[np.int32]] = {}
        self._round = -1
        self._depth = -1

    @property
    def n_train(self) -> int:
        """Training rows, as the active party said when the run was set up."""
        return self._setup.n_train

    def share(self) -> PassiveShare:
        """The party's share of the model as it stands."""
        records = self._splits.records(self._given.table.names, self._fill)
        paths = self._splits.paths(self._setup.missing_strategy)
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
        if self._trees:
            # A role that failed may be unable to count the round; its messages count all the same.
            with suppress(Exception):
                self._role.end_tree()
            self._keeper.keep(self._splits)

    def _take_part(self) -> None:
        while True:
            with self.timings.phase("wait"):
                message = self._channel.recv(BeginRound, Level, Choose, EndRound, Finish)
            if isinstance(message, BeginRound):
                self._begin_round(message)
            elif isinstance(message, Level):
                self._level(message)
            elif isinstance(message, Choose):
                self._choose(message)
            elif isinstance(message, EndRound):
                self._end_round(message)
            elif isinstance(message, Finish):
                self._finish(message)
                return

    def _check(self, setup: Setup) -> None:
        table = self._given.table
        own = (table.n_rows, rows_digest(table.ids))
        check_rows(self.party, self._channel.peer, own, (setup.n_rows, setup.rows_digest))
        if not (1 <= setup.n_train <= setup.n_rows and setup.n_outputs >= 1 and setup.max_depth >= 1):
            raise MessageError(
                f"{self.party} setting up: found {setup.n_train} training rows of {setup.n_rows}, {setup.n_outputs} "
                f"outputs and depth {setup.max_depth}, wanted at least 1 of each and no more training rows than rows"
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
        own_params = make_protocol_params(spec, {**setup.protocol_params, **self._given.local_params})
        require_consent(spec, own_params)
        return spec, own_params

    def _prepare(self, setup: Setup) -> None:
        if self._given.accept is not None:
            self._given.accept(setup)
        self._check(setup)
        spec, own_params = self._protocol(setup)
        table = self._given.table
        self._setup = setup
        settings = passive_settings(setup, self._given.cuts, self._given.constraints)
        self._splits = self._keeper.go_back(
            setup, self._channel.peer, settings, lambda: table_digest(self._given.table), len(table.names)
        )
        self._round = max(setup.start_round, setup.first_round) - 1
        self.resumed_at = setup.start_round
        with self.timings.phase("bin"):
            self._binned = self._bin(setup, spec, own_params)
            self._fill = self._binned.fill
        if self._note is not None:
            note_bins(self._note, self._binned)
        constraints = self._given.constraints
        if constraints is None:
            constraints = np.zeros(len(table.names), dtype=np.int8)
        self._role: PassiveRole = spec.passive(
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
                release_once=lambda settings, values, draw: self._keeper.release_once(
                    settings, values, draw, self._splits
                ),
                rounds_left=setup.n_rounds - setup.start_round,
                max_depth=setup.max_depth,
            )
        )
        self._channel.send(Ready(n_features=len(table.names), state_digest=self._keeper.last.state_digest))

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
        )
        return place_rows(given.table, how).bin(given.cuts)

    def _begin_round(self, message: BeginRound) -> None:
        if message.round != self._round + 1 or len(message.features) != self._setup.n_outputs or self._trees:
            raise MessageError(
                f"{self.party} beginning a round: found round {message.round} with {len(message.features)} trees, "
                f"wanted round {self._round + 1} with {self._setup.n_outputs}"
            )
        if message.round >= self._setup.n_rounds:
            raise MessageError(
                f"{self.party} beginning a round: found round {message.round}, wanted none beyond the "
                f"{self._setup.n_rounds} rounds agreed on"
            )
        sampled = self._sampled(message)
        if self._given.begin is not None:
            self._given.begin(message.round, self._setup.n_outputs)
        with self.timings.phase("keep"):
            self._keeper.begin_round(message.round, self._splits)
        self._splits.begin_round()
        self._round, self._depth = message.round, -1
        n_features = self._binned.n_features
        self._trees = []
        for tree, bits in enumerate(message.features):
            chosen = unpack_bits(bits, n_features, f"{self.party} beginning round {message.round}")
            features = (
                np.arange(n_features, dtype=np.int32) if chosen is None else np.flatnonzero(chosen).astype(np.int32)
            )
            partition = self._binned.rows.partition(sampled)
            cuts = ShownCuts(self._binned.rows, features, self._setup.min_bucket_rows)
            self._trees.append(PassiveTree(tree, features, partition, message.round, cuts))
        self._open = {}
        self._role.begin_tree(message.round, sampled, self._trees)

    def _sampled(self, message: BeginRound) -> NDArray[np.int32] | None:
        chosen = unpack_bits(message.sampled, self._setup.n_train, f"{self.party} beginning round {message.round}")
        rows = None if chosen is None else np.flatnonzero(chosen).astype(np.int32)
        found = self._setup.n_train if rows is None else len(rows)
        if found != message.n_sampled or found == 0:
            raise MessageError(
                f"{self.party} beginning round {message.round}: found {found} sampled rows, wanted the "
                f"{message.n_sampled} announced, and at least 1"
            )
        return rows

    def _level(self, message: Level) -> None:
        self._check_place(message.round, message.depth, self._depth + 1, "opening a level")
        self._depth = message.depth
        numbers = [tree.tree for tree in message.trees]
        if sorted(set(numbers)) != numbers:
            raise MessageError(
                f"{self.party} opening level {self._depth}: found trees {numbers}, wanted them ascending"
            )
        trees = [self._tree_level(tree) for tree in message.trees]
        self._pending = {}
        self._role.open_level(PassiveLevel(message.round, message.depth, trees))

    def _tree_level(self, message: TreeLevel) -> PassiveNodes:
        tree = self._tree(message.tree)
        what = f"{self.party} opening level {self._depth} of tree {message.tree}"
        children = [np.zeros(0, dtype=np.int32)]
        split = [np.zeros(0, dtype=np.int32)]
        with self.timings.phase("partition"):
            for group in message.splits:
                nodes, left, right = (
                    unpack_list(part, np.int32, what) for part in (group.nodes, group.left, group.right)
                )
                bits: bytes | Bulk = group.bits
                records: NDArray[np.int32] | None = None
                if len(group.bits) == 0:
                    own, bits, records = self._pending.get(message.tree, _NONE_PENDING)
                    if not np.array_equal(own, nodes):
                        raise MessageError(f"{what}: found splits without rows that this party was not asked for")
                # The native call checks nodes, children and the number of bits, and changes nothing when it refuses.
                self._native_checked(what, tree.partition, nodes, left, right, bits)
                own_records = None if records is None else records.tolist()
                self._splits.grow(message.tree, nodes.tolist(), left.tolist(), right.tolist(), own_records)
                children += [left, right]
                split += [nodes, nodes]
        nodes = unpack_list(message.nodes, np.int32, what)
        build = unpack_list(message.build, np.int64, what)
        open_nodes = tree.partition.has(nodes) and (nodes[1:] > nodes[:-1]).all()
        if not open_nodes or not valid_positions(build, len(nodes)):
            raise MessageError(f"{what}: found nodes that are not open in the tree, or positions that are none")
        allowed = unpack_bits(message.allowed, len(nodes) * len(tree.features), what)
        shaped = None if allowed is None else allowed.reshape(len(nodes), len(tree.features))
        parents = parents_of(nodes, np.concatenate(children), np.concatenate(split))
        places = self._parent_places(message.tree, nodes, parents, np.concatenate(children), what)
        with self.timings.phase("cuts"):
            if tree.cuts is not None:
                tree.cuts.open(tree.partition, nodes, places)
        self._open[message.tree] = nodes
        return PassiveNodes(message.tree, nodes, parents, build, shaped)

    def _parent_places(
        self,
        tree: int,
        nodes: NDArray[np.int32],
        parents: NDArray[np.int32],
        children: NDArray[np.int32],
        what: str,
    ) -> NDArray[np.int64]:
        """Where the nodes' parents stand among the nodes opened before, -1 for the root. Raises MessageError.

        A tree begins with its root; after that a level is all children of nodes of the level before. Which sums may be
        shown (rows/shown_cuts.py) depends on a node's ancestors and sibling, so there is no other way to open one.
        """
        before = self._open.get(tree)
        if before is None:
            if nodes.tolist() != [0] or len(children):
                raise MessageError(f"{what}: found nodes {nodes[:8].tolist()}, wanted the root alone, before any split")
            return np.full(1, -1, dtype=np.int64)
        if not np.array_equal(np.sort(children), nodes) or not np.isin(parents, before).all():
            raise MessageError(
                f"{what}: found nodes {nodes[:8].tolist()}, wanted all children of the splits of the level before and "
                "no others"
            )
        return np.searchsorted(before, parents).astype(np.int64)

    def _native_checked(
        self,
        what: str,
        partition: Partition,
        nodes: NDArray[np.int32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        bits: bytes | Bulk,
    ) -> None:
        try:
            partition.split(nodes, left, right, bits)
        except (ValueError, IndexError) as error:
            raise MessageError(f"{what}: the splits do not fit the tree: {error}") from None

    def _choose(self, message: Choose) -> None:
        self._check_place(message.round, message.depth, self._depth, "choosing splits")
        if self._pending:
            raise MessageError(
                f"{self.party} choosing splits: asked twice for round {message.round}, depth {message.depth}"
            )
        answers = [self._tree_choice(choice) for choice in message.trees]
        self._channel.send(SplitRows(round=message.round, depth=message.depth, trees=answers))

    def _tree_choice(self, choice: TreeChoice) -> TreeRows:
        tree = self._tree(choice.tree)
        what = f"{self.party} choosing splits of tree {choice.tree}"
        nodes = unpack_list(choice.nodes, np.int32, what)
        start = unpack_array(choice.start, np.int64, (len(nodes) + 1,), what)
        tokens = unpack_list(choice.tokens, np.int64, what)
        if len(nodes) == 0 or not tree.partition.has(nodes) or choice.tree in self._pending:
            raise MessageError(f"{what}: found no nodes, nodes that are not open, or a tree that was already answered")
        resolved = self._role.resolve(choice.tree, nodes, start, tokens)
        with self.timings.phase("partition"):
            rows = self._binned.rows if resolved.rows is None else resolved.rows
            bits = rows.left_bits(
                tree.partition,
                nodes,
                resolved.feature,
                resolved.bin,
                resolved.default_left,
            )
        splits = [
            (feature, float(self._binned.cuts[feature][cut]), default_left)
            for feature, cut, default_left in zip(
                resolved.feature.tolist(), resolved.bin.tolist(), resolved.default_left.tolist(), strict=True
            )
        ]
        number = self._round * self._setup.n_outputs + choice.tree
        records = self._splits.choose(choice.tree, number, self._depth, nodes.tolist(), splits)
        self._pending[choice.tree] = (nodes, bits, records)
        return TreeRows(
            tree=choice.tree, tokens=pack_array(resolved.tokens), records=pack_array(records), bits=pack_bytes(bits)
        )

    def _finish(self, message: Finish) -> None:
        if self._trees:
            raise MessageError(f"{self.party} finishing: round {self._round} has not ended")
        if self._round >= self._setup.first_round and message.n_rounds != self._round + 1:
            raise MessageError(
                f"{self.party} finishing: found {message.n_rounds} rounds in the model, wanted {self._round + 1}"
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
        if message.round != self._round or not self._trees or len(message.trees_digest) != DIGEST_BYTES:
            raise MessageError(
                f"{self.party} ending a round: found {message.round} with a digest of {len(message.trees_digest)} "
                f"bytes, wanted {self._round} and {DIGEST_BYTES} bytes"
            )
        self._role.end_tree()
        self._trees, self._pending = [], {}
        with self.timings.phase("keep"):
            link = self._keeper.end_round(self._round, message.trees_digest, self._splits)
        self._channel.send(RoundKept(round=self._round, state_digest=link))

    def _check_place(self, round_index: int, depth: int, wanted: int, step: str) -> None:
        if (round_index, depth) != (self._round, wanted) or not self._trees or depth >= self._setup.max_depth:
            raise MessageError(
                f"{self.party} {step}: found round {round_index}, depth {depth}, wanted round {self._round}, depth "
                f"{wanted}, below {self._setup.max_depth}"
            )

    def _tree(self, tree: int) -> PassiveTree:
        if not 0 <= tree < len(self._trees):
            raise MessageError(f"{self.party}: found tree {tree}, wanted 0 to {len(self._trees) - 1}")
        return self._trees[tree]
