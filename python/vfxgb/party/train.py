"""`vfxgb train`: the active party dials the passive ones, aligns rows, trains, and comes back when a party was lost.

A run is known by its id. What it needs to go on lies in its folder after alignment and after every round: the rows, the
checkpoint. So a run that ended early, whatever ended it, is taken up again by naming it; and while this process lives
it comes back by itself, for as long as [resume] says.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vfxgb._native.rand import random_bytes
from vfxgb.align import AlignParams, align_active
from vfxgb.curves import Curves, eval_curves
from vfxgb.engine.base import Engine
from vfxgb.engine.settings import engines_for
from vfxgb.errors import CheckpointError, PeerError
from vfxgb.model.file import save_share
from vfxgb.model.seal import new_salt, seal_active
from vfxgb.model.shares import ActiveShare
from vfxgb.objective import make_objective
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.dialling import Patience, open_sessions
from vfxgb.party.folder import PartyFolder, RunFolder, alone
from vfxgb.party.logs import Log, Tell, say_nothing
from vfxgb.party.messages import RowsKept, TrainRequest
from vfxgb.party.mistakes import check_labels, check_metrics
from vfxgb.party.partners import PartnerWatch
from vfxgb.party.record import RunRecord, now
from vfxgb.party.round_times import Pace
from vfxgb.party.rows import AgreedRows, load_rows, save_rows
from vfxgb.party.run_snapshot import Draft, Look
from vfxgb.party.session import Network, Session, channels_of, hello, need_role, total_bytes, training_talk
from vfxgb.party.tables import agreed, read_table
from vfxgb.party.training_input import (
    check_classes,
    directions,
    read_params,
    secret_box,
    targets_of,
    training_request,
)
from vfxgb.runtime.ledger import Ledger, counted
from vfxgb.runtime.timings import Timings
from vfxgb.threads import resolve_threads
from vfxgb.train.active import ActiveInput
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.checkpoint import ActiveState, load_state, save_state
from vfxgb.train.plan import ActiveHooks, RunPlan
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.settings import changed_settings, lasting_params, plain_params, shared_params
from vfxgb.train.sides import LeadResult, run_active
from vfxgb.train.wire_estimate import announce
from vfxgb.transport.frame import RUN_BYTES

Progress = Callable[[str, int, int], None]


class Trainer:
    """One run of the active party. Construction reads and checks everything that needs no peer.

    `resume` is the id of a run to go on with (its beginning, or "latest"); None begins a new one. Parties that are not
    there yet are dialled for `wait` seconds. `tell` gets lines for people. `callbacks` may be set before `run`.
    """

    def __init__(
        self, config: PartyConfig, log: Log, resume: str | None = None, wait: float = 0.0, tell: Tell = say_nothing
    ) -> None:
        need_role(config, "train", "active")
        self.config = config
        self.callbacks: Sequence[TrainingCallback] = ()
        self.progress: Progress | None = None
        self._log = log
        self._wait = wait
        self._tell = tell
        self._network = Network.of(config)
        self._align = section(AlignParams, config.align, "align", config.path)
        params = read_params(config)
        # As the configuration says it, for the record; the plan has the defaults too.
        self._protocol_params = {**config.protocol.params, **config.protocol.local}
        runs = PartyFolder(config.folder)
        self.folder = runs.run(random_bytes(RUN_BYTES).hex()) if resume is None else runs.find(resume)
        parties = (config.party, *config.peers)
        self.plan = RunPlan.resolve(
            config.party, parties, self.folder.run, params, config.protocol.name, self._protocol_params
        )
        if resume is not None and self.folder.read().state == "finished":
            raise CheckpointError(f"resuming run {self.folder.run[:8]}: it has finished; its model is in its folder")
        check_metrics(self.plan.params)
        self._tables = {
            what: read_table(config, path, what, labelled=True, in_files=config.engine.in_shards)
            for what, path in (("train", config.data.train), ("valid", config.data.valid))
            if what == "train" or path is not None
        }
        self.train = self._tables["train"]
        self._sessions: Mapping[str, Session] = {}
        self._met = False
        self._sizes: dict[str, int] = {}
        self._kept: ActiveState | None = None
        self._given: ActiveInput | None = None
        self._pace = Pace()
        self._count = self.folder.read().sessions if resume is not None else 0
        if resume is not None:
            self._check_settings()
        for what, held in self._tables.items():
            check_labels(self.plan.params, held, config.party, what)

    def _check_settings(self) -> None:
        """Raise CheckpointError, before anybody is dialled, if the run began with other settings than those of now."""
        kept = load_state(ActiveState, self.folder.checkpoint_file)
        if kept is None or not kept.chosen:
            return
        before = {
            "parties": kept.chosen["parties"],
            "protocol": kept.protocol,
            "protocol_params": kept.chosen["setup"]["protocol_params"],
            "train": kept.chosen["params"],
            "data": kept.source,
        }
        # Some defaults follow from the number of rows, which the run knows already.
        plan = self.plan.for_rows(kept.chosen["setup"]["n_train"])
        after = {
            "parties": list(plan.parties),
            "protocol": plan.spec.name,
            "protocol_params": shared_params(plan.spec, plan.protocol_params),
            "train": lasting_params(plan.params),
            "data": self._source(),
        }
        changes = changed_settings(before, after)
        if changes:
            raise CheckpointError(
                f"{self.config.party} resuming run {self.run_id[:8]}: {'; '.join(changes)}; set it in "
                f"{str(self.config.path)!r} as it was, or start a new run without --resume"
            )

    def _source(self) -> dict[str, Any]:
        """Say how [data] has rows read, as far as the model depends on it and the digests of files do not show it."""
        data = self.config.data
        return {
            "id": data.id,
            "label": data.label,
            "weight": data.weight,
            "features": list(self.train.table.names),
            "normalise": list(data.normalise),
            "missing": None if math.isnan(data.missing) else data.missing,
        }

    @property
    def run_id(self) -> str:
        """The run has this id."""
        return self.folder.run

    @property
    def can_resume(self) -> bool:
        """Tell whether a run that ended early can be taken up again: its rows are agreed on and fit to train on."""
        return self.folder.rows_file.exists() and self.folder.read().state != "failed"

    @property
    def request(self) -> TrainRequest:
        """The passive parties are asked for this."""
        n_ids = sum(len(held.ids) for held in self._tables.values())
        return training_request(self.config, self.plan.params, self.folder.rows_file.exists(), n_ids)

    def describe(self) -> str:
        """Say what would be done, for --dry-run."""
        config, request, table = self.config, self.request, self.train.table
        return (
            f"{config.party} would ask {', '.join(config.peers)} for {request.n_trees} trees of depth "
            f"{request.max_depth} by {request.protocol} for {config.purpose!r}, with {table.n_rows:,} rows and "
            f"{len(table.names)} features of its own" + (f"; resuming run {self.run_id[:8]}" if request.resume else "")
        )

    def total_bytes(self) -> int:
        """Count the bytes sent and received in the sessions that are open."""
        return total_bytes(self._sessions)

    def run(self) -> RunRecord:
        """Train to the end. Raises ConsentError, PeerError (after [resume] resume_seconds) and what else goes wrong."""
        PartyFolder(self.config.folder).make()
        with alone(self.folder.make().lock_file, f"{self.config.party} trains run {self.run_id[:8]}"):
            try:
                return self._persist()
            finally:
                if not self.folder.run_file.exists():
                    # Nobody was met: there is nothing to keep and nothing to resume.
                    self.folder.remove_empty()

    def _persist(self) -> RunRecord:
        patience = Patience(self._wait)
        met = False
        while True:
            place = self._place()
            try:
                return self._attempt()
            except PeerError as error:
                if self._met and (not met or self._place() != place):
                    met, patience = True, Patience(self.config.resume.resume_seconds)
                wait = patience.next(error)
                if wait is None:
                    raise
                self._log.warning("lost", text=str(error), run=self.run_id, wait=round(wait, 2))
                self._tell(f"{error}\ntrying again in {wait:.1f} s")
                time.sleep(wait)

    def _when_lost(self) -> str:
        """Say in words what follows if a partner stays away."""
        patience = self.config.resume.resume_seconds
        anew = f"then dialling it anew for up to {patience:.0f} s; " if patience else ""
        rounds = 0 if self._kept is None else self._kept.rounds
        if not self.folder.rows_file.exists():
            return f"{anew}ctrl-C loses nothing: no tree is grown yet"
        return f"{anew}ctrl-C and --resume {self.run_id[:8]} keep the {counted(rounds, 'rounds')} of trees so far"

    def _place(self) -> tuple[bool, int]:
        """Return what changes whenever the run gets further: are rows agreed on, when was the checkpoint written."""
        file = self.folder.checkpoint_file
        return self.folder.rows_file.exists(), file.stat().st_mtime_ns if file.exists() else 0

    def _attempt(self) -> RunRecord:
        ledger, timings = Ledger(), Timings()
        start = time.perf_counter()
        self._pace = Pace()
        record = self._record()
        watch = PartnerWatch(self._log, self._when_lost, lambda: self.run_id, self._tell)
        with open_sessions(self._network, ledger, watch) as sessions:
            self._sessions = sessions
            self._met = True
            self._count += 1
            record = msgspec.structs.replace(record, sessions=self._count)
            self.folder.write(record)
            self._log.info(
                "training",
                run=self.run_id,
                protocol=self.plan.spec.name,
                session=self._count,
                key_exchange=[session.link.key_exchange for session in sessions.values()],
            )
            view = partial(self._seen, record, start, timings)
            try:
                result = self._train(sessions, ledger, timings, view)
            except BaseException as error:
                self.folder.end(view(), ledger, error)
                raise
        save_share(result.share, self.folder.share_file)
        record = self.folder.end(msgspec.structs.replace(view(), model=self.folder.share_file.name), ledger, None)
        self.folder.forget()
        self._log.info("trained", run=self.run_id, rounds=record.rounds, seconds=round(record.seconds, 2))
        return record

    def _train(
        self, sessions: Mapping[str, Session], ledger: Ledger, timings: Timings, view: Callable[[], RunRecord]
    ) -> LeadResult:
        config = self.config
        request = self.request
        words = hello("train", self.run_id, config.purpose, train=request)
        talk = training_talk(self.plan.spec.name)
        answers = {name: session.begin(words, config.data.normalise, talk) for name, session in sessions.items()}
        with timings.phase("align"):
            rows = (
                load_rows(self.folder.rows_file, self.run_id, self._files())
                if request.resume
                else self._agree(sessions)
            )
        self._sizes = dict(zip(("train", "valid"), (len(group) for group in rows.groups()), strict=False))
        features = {name: answer.n_features for name, answer in answers.items()}
        features[config.party] = len(self.train.table.names)
        for text in announce(self.plan, self._sizes["train"], features, self._network.limits.line):
            self._tell(text)
        self._kept = load_state(ActiveState, self.folder.checkpoint_file) if request.resume else None
        if self._kept is not None:
            self._pace.go_on(self._kept.pace, self._kept.rounds)
        look, draft = Look(self.folder, view, ledger), Draft(self.folder)
        with engines_for([config.party], config.engine, config.threads) as engines:
            self._given = self._input(rows, engines[config.party])
            hooks = ActiveHooks(
                keep=partial(self._keep, look, draft),
                resumed=self._kept,
                save=_save_draft,
                ledger=ledger,
                timings=timings,
                callbacks=[*self.callbacks, draft],
                secrets=secret_box(config, self.folder),
            )
            return run_active(self.plan, self._given, channels_of(sessions), hooks)

    def _keep(self, look: Look, draft: Draft, state: ActiveState) -> None:
        self._pace.note(state.rounds, self.total_bytes())
        best = self._best_margins(state)
        state = msgspec.structs.replace(state, pace=self._pace.totals(), source=self._source(), best_margins=best)
        save_state(state, self.folder.checkpoint_file)
        self._kept = state
        look.take(state.events, draft.save)

    def _best_margins(self, state: ActiveState) -> bytes:
        """Return the margins after the best round, b"" where they are those of the state or not known."""
        before = self._kept
        if before is None or state.best_iteration is None or state.best_iteration == state.rounds - 1:
            return b""
        if before.best_iteration == state.best_iteration and before.best_iteration == before.rounds - 1:
            return before.margins
        return before.best_margins if before.best_iteration == state.best_iteration else b""

    def _agree(self, sessions: Mapping[str, Session]) -> AgreedRows:
        config = self.config
        groups = [held.ids for held in self._tables.values()]
        channels = channels_of(sessions)
        aligned = align_active(config.party, groups, channels, self._align, config.threads, self.progress)
        rows = AgreedRows.of(self.run_id, aligned.positions, aligned.digest, self._files())
        for channel in channels.values():
            channel.recv(RowsKept)
        self.folder.checkpoint_file.unlink(missing_ok=True)
        save_rows(self.folder.rows_file, rows)
        self._log.info("aligned", run=self.run_id, rows=aligned.sizes[0], of=len(self.train.ids))
        self._tell(f"{aligned.sizes[0]:,} of {len(self.train.ids):,} training rows are at all parties")
        if aligned.hint:
            self._log.warning("overlap", run=self.run_id, text=aligned.hint)
            self._tell(aligned.hint)
        return rows

    def _files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.config.data.train, self.config.data.valid) if path is not None)

    def _input(self, rows: AgreedRows, engine: Engine | None) -> ActiveInput:
        held, groups = list(self._tables.values()), rows.groups()
        tables = [(part.table, group) for part, group in zip(held, groups, strict=True)]
        n_train, n_rows = len(groups[0]), sum(len(group) for group in groups)
        labels, weights = targets_of(held, groups)
        where = f"the {n_train:,} rows that all parties have"
        check_classes(labels[:n_train], self.plan.params, self.config.party, where)
        evals = [("train", slice(0, n_train))]
        if n_rows > n_train:
            evals.append(("valid", slice(n_train, n_rows)))
        return ActiveInput(
            agreed(tables, rows.digest, engine),
            labels,
            weights,
            n_train,
            evals,
            resolve_threads(self.config.threads or self.plan.params.n_jobs),
            constraints=directions(self.plan.params, self.train.table.names),
            engine=engine,
            privacy=PrivacyFolder(self.config.folder, self.config.party),
            ids=self.train.ids.digests[groups[0]],
            line=self._network.limits.line,
        )

    def _record(self) -> RunRecord:
        config = self.config
        before = self.folder.read() if self.folder.run_file.exists() else None
        return RunRecord.begun(
            self.run_id,
            config.party,
            config.role,
            self.plan.spec,
            self._protocol_params,
            started=now() if before is None else before.started,
            purpose=config.purpose,
            parties=self.plan.parties,
            train=plain_params(self.plan.params),
            features=self.train.table.names,
            planned_rounds=self.plan.params.n_estimators,
        )

    def _seen(self, record: RunRecord, start: float, timings: Timings) -> RunRecord:
        """Return the record as the run stands after the last round that was kept."""
        kept = self._kept
        record = msgspec.structs.replace(
            record,
            seconds=time.perf_counter() - start,
            rows={"own": self.train.table.n_rows, **self._sizes},
            timings={self.config.party: dict(timings.seconds)},
            operations=dict(timings.operations),
            traffic={name: session.traffic() for name, session in self._sessions.items()},
            pace=self._pace.totals(),
        )
        if kept is None:
            return record
        return msgspec.structs.replace(
            record,
            rounds=kept.rounds,
            evals=kept.evals_log,
            best_iteration=kept.best_iteration,
            best_score=kept.best_score,
            curves=self._curves(kept),
            curves_round=kept.best_iteration if kept.best_margins else max(0, kept.rounds - 1),
        )

    def _curves(self, kept: ActiveState) -> Curves:
        """Draw the curves after the round that predictions end with: the best one, or the last."""
        given = self._given
        if given is None or kept.rounds == 0:
            return {}
        assert isinstance(given.labels, np.ndarray)  # noqa: S101 - see _input
        margins = np.frombuffer(kept.best_margins or kept.margins, dtype="<f4").reshape(given.table.n_rows, -1)
        return eval_curves(make_objective(self.plan.params), given.evals, margins, given.labels, given.weights)


def _save_draft(share: ActiveShare, folder: Path) -> None:
    """Save a share to look at: nobody has committed to it, so no passive party takes it for a model."""
    others = dict.fromkeys(share.parties, "")
    save_share(seal_active(share, new_salt(), others), RunFolder(folder).draft_file)
