"""A passive party in a training: from the words that ask for it to the share on disk."""

import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from vfxgb.align import ALIGN_MESSAGES, align_passive
from vfxgb.contract.messages import Setup
from vfxgb.engine.settings import engines_for
from vfxgb.errors import ConsentError
from vfxgb.model.file import save_share
from vfxgb.party.consent import passive_epsilon
from vfxgb.party.messages import Hello, RowsKept, TrainRequest, Welcome
from vfxgb.party.record import RunRecord, now
from vfxgb.party.round_times import Pace
from vfxgb.party.rows import AgreedRows, load_rows, save_rows
from vfxgb.party.run_snapshot import Look
from vfxgb.party.serving_party import ServingParty
from vfxgb.party.session import Session, training_talk, welcome
from vfxgb.party.tables import agreed
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
# What a passive party is told of the training parameters: fields of Setup.
SHOWN = ("n_rounds", "n_outputs", "max_depth", "max_bin", "missing_strategy", "min_bucket_rows", "split_rule")


class Follower:
    """One session of one run at a passive party, by the settings that it has when the session begins.

    The run's folder is made when something of the run is to be kept, which raises ConsentError where the peer has too
    many unfinished runs. A request that goes no further than its first words leaves a line in the log only.
    """

    def __init__(self, party: ServingParty, session: Session, words: Hello, request: TrainRequest) -> None:
        self._party = party
        self._settings = party.settings
        self._session = session
        self._channel = session.channel
        self._words = words
        self._request = request
        self._folder = party.folder.run(words.run)
        self._budget = party.budget(session.channel.peer)
        self._held = party.table("train")
        # What every line of the log about this session names.
        self._who = {"run": words.run, "peer": session.channel.peer}
        self._start = time.perf_counter()
        self._setup: Setup | None = None
        self._n_features = 0
        # How many ids the active party has brought to the alignment, if it was in this session.
        self._claimed: dict[str, int] = {}
        # Seconds of the alignment, if it was in this session, as timings have them.
        self._aligned: dict[str, float] = {}
        self._rounds = 0
        self._pace = Pace()
        self._record = self._first_record()

    def take_part(self) -> None:
        """Align or take up again, train, store the share. Raises what goes wrong; run.json says so too."""
        self._check_beginning()
        try:
            result = self._train()
        except BaseException as error:
            self._end(self._seen(), error)
            raise
        timings = result.timings
        record = msgspec.structs.replace(
            self._seen(),
            timings={self._party.name: {**self._aligned, **timings.seconds}},
            operations=dict(timings.operations),
            model=self._folder.share_file.name,
        )
        self._end(record, None)
        self._party.log.info("trained", **self._who, seconds=round(time.perf_counter() - self._start, 2))

    def _check_beginning(self) -> None:
        """Raise ConsentError for a run that is to begin although it has begun or finished."""
        name, run, resume = self._party.name, self._words.run[:8], self._request.resume
        if self._folder.share_file.exists() and not resume:
            raise ConsentError(f"{name} has finished run {run} already; begin a new one")
        begun = self._budget.begun(self._words.run).total
        if begun and not resume:
            # From its beginning it would lose the count of what was shown; an honest active party resumes.
            raise ConsentError(
                f"{name} has begun {begun} rounds of run {run} and does not agree to align its rows anew; resume it, "
                "or begin a new run"
            )

    def _train(self) -> FollowResult:
        config, folder, request, held = self._settings.config, self._folder, self._request, self._held
        state = load_state(PassiveState, folder.checkpoint_file) if request.resume else None
        if state is not None:
            self._rounds = len(state.marks)
            self._pace.go_on(state.pace, self._rounds)
        known = load_rows(folder.rows_file, self._words.run, self._files()) if request.resume else None
        if known is None:
            folder.checkpoint_file.unlink(missing_ok=True)
        offered = held.table.select(self._settings.consent.features(held.table.names))
        self._n_features = len(offered.names)
        # Before the welcome, after which the peer may begin: what comes before it is expected is refused.
        self._session.speak(ALIGN_MESSAGES if known is None else training_talk(request.protocol))
        rounds = -1 if known is None else self._rounds
        self._channel.send(welcome(rounds, offered.n_rows, len(offered.names), held.ids.steps_digest))
        self._channel.before_send = self._budget.send
        self._party.log.info("resuming" if request.resume else "training", **self._who)
        rows = self._agree() if known is None else known
        folder.write(self._record)
        if known is None:
            self._session.speak(training_talk(request.protocol))
            self._channel.send(RowsKept())
        (positions,) = rows.groups()
        sizes = {"common": len(positions), "own": held.table.n_rows, **self._claimed}
        self._record = msgspec.structs.replace(self._record, rows=sizes, features=offered.names)
        look = Look(folder, self._seen, self._session.ledger)
        with engines_for([config.party], config.engine, config.threads) as engines:
            given = PassiveInput(
                agreed([(offered, positions)], rows.digest, engines[config.party]),
                resolve_threads(config.threads),
                accept=self._accept,
                begin=partial(self._budget.begin_round, self._words.run),
                privacy=PrivacyFolder(folder.path.parents[1], config.party, self._budget.release),
                ids=held.ids.digests[positions],
                local_params=self._settings.consent.local_params(request.protocol, config.protocol.local),
                engine=engines[config.party],
                line=self._settings.network.limits.line,
                kept_in=self._party.folder.accounts,
            )
            hooks = PassiveHooks(
                keep=partial(self._keep, look),
                resumed=state,
                save=lambda share: save_share(share, folder.share_file),
                ledger=self._session.ledger,
            )
            return run_passive(config.party, self._words.run, given, self._channel, hooks)

    def _keep(self, look: Look, state: PassiveState) -> None:
        rounds = len(state.marks)
        self._pace.note(rounds, self._channel.traffic.total_bytes)
        save_state(msgspec.structs.replace(state, pace=self._pace.totals()), self._folder.checkpoint_file)
        self._rounds = rounds
        look.take(state.events)

    def _agree(self) -> AgreedRows:
        """Find the common rows with the active party, and keep them."""
        settings, consent = self._settings, self._settings.consent
        start = time.perf_counter()
        aligned = align_passive(
            self._party.name,
            self._held.ids,
            self._channel,
            settings.align,
            settings.config.threads,
            self._accept_alignment,
            consent.enough_common,
        )
        self._aligned = {"align": time.perf_counter() - start}
        consent.common_rows(aligned.sizes[0])
        if aligned.hint:
            self._party.log.warning("overlap", **self._who, text=aligned.hint)
        rows = AgreedRows.of(self._words.run, aligned.positions, aligned.digest, self._files())
        self._begin()
        save_rows(self._folder.rows_file, rows)
        return rows

    def _accept_alignment(self, claimed: int) -> None:
        own = len(self._held.ids)
        self._settings.consent.alignment(claimed, own, training=True)
        self._budget.charge(alignments=1)
        self._claimed = {"peer": claimed}
        self._party.log.info("aligning", **self._who, claimed=claimed, own=own)

    def _begin(self) -> None:
        self._party.begin(self._channel.peer, self._folder)

    def _accept(self, setup: Setup) -> None:
        self._settings.consent.setup(setup)
        self._budget.epsilon(passive_epsilon(setup.protocol, setup.protocol_params, self._n_features))
        self._setup = setup
        # The active party may not have kept the last round: it is grown again.
        self._pace.go_on(self._pace.totals(), max(0, setup.start_round - setup.first_round))

    def _files(self) -> tuple[Path, ...]:
        path = self._settings.config.data.train
        return () if path is None else (path,)

    def _first_record(self) -> RunRecord:
        request = self._request
        before = self._folder.read() if request.resume and self._folder.run_file.exists() else None
        return RunRecord.begun(
            self._words.run,
            self._party.name,
            "passive",
            protocol_by_name(request.protocol),
            request.protocol_params,
            started=now() if before is None else before.started,
            purpose=self._words.purpose,
            parties=request.parties,
            rows={"own": self._held.table.n_rows},
            planned_rounds=request.n_trees,
            sessions=1 if before is None else before.sessions + 1,
        )

    def _seen(self) -> RunRecord:
        """Return the record as the run stands."""
        known = msgspec.to_builtins(self._setup) if self._setup is not None else {}
        return msgspec.structs.replace(
            self._record,
            seconds=time.perf_counter() - self._start,
            train={name: known[name] for name in SHOWN} if known else {},
            rounds=self._rounds,
            planned_rounds=known.get("n_rounds", self._record.planned_rounds),
            traffic={self._channel.peer: self._session.traffic()},
            pace=self._pace.totals(),
        )

    def _end(self, record: RunRecord, failure: BaseException | None) -> None:
        """Write down how the session ended, if anything of the run was done."""
        ledger = self._session.ledger
        if not self._folder.path.is_dir():
            if all(entry.message in FIRST_WORDS for entry in ledger.entries):
                return
            # Alignment has begun: what it told is written down, unless the peer has used up its folders.
            try:
                self._begin()
            except ConsentError:
                return
        with suppress(ConsentError, OSError):
            ledger.account = f"over all runs: {self._budget.describe()}"
        self._folder.end(record, ledger, failure)
