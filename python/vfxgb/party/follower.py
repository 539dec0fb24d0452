"""A passive party in a training: from the words that ask for it to the share on disk."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from vfxgb.align import ALIGN_MESSAGES, AlignParams, align_passive
from vfxgb.contract.messages import Setup
from vfxgb.engine.settings import engines_for
from vfxgb.errors import ConsentError
from vfxgb.model.file import save_share
from vfxgb.party.budget import Budget
from vfxgb.party.config import PartyConfig
from vfxgb.party.consent import Consent, passive_epsilon
from vfxgb.party.folder import RunFolder, RunRecord, State, now, plain, state_after, versions
from vfxgb.party.logs import Log
from vfxgb.party.messages import Hello, RowsKept, TrainRequest, Welcome
from vfxgb.party.round_times import Pace
from vfxgb.party.rows import AgreedRows, load_rows, save_rows
from vfxgb.party.run_snapshot import Look
from vfxgb.party.session import Session, training_talk, welcome
from vfxgb.party.tables import PartyTable, agreed
from vfxgb.protocols import protocol_by_name
from vfxgb.threads import resolve_threads
from vfxgb.train.checkpoint import PassiveState, load_state, save_state
from vfxgb.train.passive import PassiveInput
from vfxgb.train.plan import PassiveHooks
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.sides import FollowResult, run_passive
from vfxgb.transport.messages import Abort

# Messages that are exchanged before anything of a run is done.
FIRST_WORDS = frozenset((Hello.TAG, Welcome.TAG, Abort.TAG))


class Follower:
    """One session of one run at a passive party.

    `begin` makes the run's folder when something of the run is to be kept, and raises ConsentError where the peer has
    too many unfinished runs. A request that goes no further than its first words leaves a line in the log only.
    """

    def __init__(
        self,
        config: PartyConfig,
        align: AlignParams,
        consent: Consent,
        budget: Budget,
        folder: RunFolder,
        log: Log,
        begin: Callable[[], None],
    ) -> None:
        self._config = config
        self._align = align
        self._consent = consent
        self._budget = budget
        self._folder = folder
        self._log = log
        self._begin = begin
        self._setup: Setup | None = None
        self._n_features = 0
        # How many ids the active party has brought to the alignment, if it was in this session.
        self._claimed: dict[str, int] = {}
        self._rounds = 0
        self._pace = Pace()

    def take_part(self, session: Session, words: Hello, request: TrainRequest, held: PartyTable) -> None:
        """Align or take up again, train, store the share. Raises what goes wrong; run.json says so too."""
        config, folder = self._config, self._folder
        start = time.perf_counter()
        record = self._record(words, request, held)
        if folder.share_file.exists() and not request.resume:
            raise ConsentError(f"{config.party} has finished run {words.run[:8]} already; begin a new one")
        begun = self._budget.begun(words.run).total
        if begun and not request.resume:
            # From its beginning it would lose the count of what was shown; an honest active party resumes.
            raise ConsentError(
                f"{config.party} has begun {begun} rounds of run {words.run[:8]} and does not agree to align its rows "
                "anew; resume it, or begin a new run"
            )
        try:
            state = load_state(PassiveState, folder.checkpoint_file) if request.resume else None
            if state is not None:
                self._rounds = len(state.marks)
                self._pace.go_on(state.pace, self._rounds)
            known = load_rows(folder.rows_file, words.run, self._files()) if request.resume else None
            if known is None:
                folder.checkpoint_file.unlink(missing_ok=True)
            offered = held.table.select(self._consent.features(held.table.names))
            self._n_features = len(offered.names)
            # Before the welcome, after which the peer may begin: what comes before it is expected is refused.
            session.speak(ALIGN_MESSAGES if known is None else training_talk(request.protocol))
            rounds = -1 if known is None else self._rounds
            session.channel.send(welcome(rounds, offered.n_rows, len(offered.names), held.ids.steps_digest))
            session.channel.before_send = self._budget.send
            self._log.info("resuming" if request.resume else "training", run=words.run, peer=session.channel.peer)
            if known is None:
                known = self._agree(session, words.run, held)
                folder.write(record)
                session.speak(training_talk(request.protocol))
                session.channel.send(RowsKept())
            else:
                folder.write(record)
            (positions,) = known.groups()
            record = msgspec.structs.replace(
                record,
                rows={"common": len(positions), "own": held.table.n_rows, **self._claimed},
                features=offered.names,
            )
            look = Look(folder, partial(self._seen, session, record, start), session.ledger)
            with engines_for([config.party], config.engine, config.threads) as engines:
                given = PassiveInput(
                    agreed([(offered, positions)], known.digest, engines[config.party]),
                    resolve_threads(config.threads),
                    accept=self._accept,
                    begin=partial(self._budget.begin_round, words.run),
                    privacy=PrivacyFolder(folder.path.parents[1], config.party, self._budget.release),
                    ids=held.ids.digests[positions],
                    local_params=config.protocol.local,
                    engine=engines[config.party],
                )
                result = run_passive(
                    config.party,
                    words.run,
                    given,
                    session.channel,
                    PassiveHooks(
                        keep=partial(self._keep, session, look),
                        resumed=state,
                        save=lambda share: save_share(share, folder.share_file),
                        ledger=session.ledger,
                    ),
                )
        except BaseException as error:
            seen = self._seen(session, record, start)
            self._end(session, seen, state_after(error), f"{type(error).__name__}: {error}", None)
            raise
        self._end(session, self._seen(session, record, start), "finished", "", result)
        self._log.info(
            "trained", run=words.run, peer=session.channel.peer, seconds=round(time.perf_counter() - start, 2)
        )

    def _keep(self, session: Session, look: Look, state: PassiveState) -> None:
        rounds = len(state.marks)
        self._pace.note(rounds, session.channel.traffic.total_bytes)
        save_state(msgspec.structs.replace(state, pace=self._pace.totals()), self._folder.checkpoint_file)
        self._rounds = rounds
        look.take(state.events)

    def _agree(self, session: Session, run: str, held: PartyTable) -> AgreedRows:
        def accept(claimed: int) -> None:
            self._consent.alignment(claimed, len(held.ids), training=True)
            self._budget.align()
            self._claimed = {"peer": claimed}
            self._log.info("aligning", run=run, peer=session.channel.peer, claimed=claimed, own=len(held.ids))

        found = align_passive(
            self._config.party,
            held.ids,
            session.channel,
            self._align,
            self._config.threads,
            accept,
            self._consent.enough_common,
        )
        self._consent.common_rows(found.sizes[0])
        if found.hint:
            self._log.warning("overlap", run=run, peer=session.channel.peer, text=found.hint)
        rows = AgreedRows.of(run, found.positions, found.digest, self._files())
        self._begin()
        save_rows(self._folder.rows_file, rows)
        return rows

    def _accept(self, setup: Setup) -> None:
        self._consent.setup(setup)
        self._budget.epsilon(passive_epsilon(setup.protocol, setup.protocol_params, self._n_features))
        self._setup = setup
        # The active party may not have kept the last round: it is grown again.
        self._pace.go_on(self._pace.totals(), max(0, setup.start_round - setup.first_round))

    def _files(self) -> tuple[Path, ...]:
        return () if self._config.data.train is None else (self._config.data.train,)

    def _record(self, words: Hello, request: TrainRequest, held: PartyTable) -> RunRecord:
        before = self._folder.read() if request.resume and self._folder.run_file.exists() else None
        spec = protocol_by_name(request.protocol)
        return RunRecord(
            run=words.run,
            party=self._config.party,
            role="passive",
            state="running",
            started=now() if before is None else before.started,
            purpose=words.purpose,
            parties=request.parties,
            protocol=request.protocol,
            protocol_params=plain(request.protocol_params),
            security=spec.security,
            attacks=spec.attacks,
            rows={"own": held.table.n_rows},
            planned_rounds=request.n_trees,
            sessions=1 if before is None else before.sessions + 1,
            versions=versions(),
        )

    def _seen(self, session: Session, record: RunRecord, start: float) -> RunRecord:
        """The record as the run stands."""
        known = msgspec.to_builtins(self._setup) if self._setup is not None else {}
        shown = ("n_rounds", "n_outputs", "max_depth", "max_bin", "missing_strategy", "min_bucket_rows")
        return msgspec.structs.replace(
            record,
            seconds=time.perf_counter() - start,
            train={name: known[name] for name in shown} if known else {},
            rounds=self._rounds,
            planned_rounds=known.get("n_rounds", record.planned_rounds),
            traffic={session.channel.peer: session.traffic()},
            pace=self._pace.totals(),
        )

    def _end(self, session: Session, record: RunRecord, state: State, error: str, result: FollowResult | None) -> None:
        if not self._folder.path.is_dir():
            if all(entry.message in FIRST_WORDS for entry in session.ledger.entries):
                return
            # Alignment has begun: what it told is written down, unless the peer has used up its folders.
            try:
                self._begin()
            except ConsentError:
                return
        record = msgspec.structs.replace(record, state=state, error=error, ended=now())
        if result is not None:
            record = msgspec.structs.replace(
                record,
                timings={self._config.party: dict(result.timings.seconds)},
                operations=dict(result.timings.operations),
                model=self._folder.share_file.name,
            )
        self._folder.write(record)
        with suppress(ConsentError):
            session.ledger.account = f"over all runs: {self._budget.describe()}"
        self._folder.write_ledger(session.ledger)
