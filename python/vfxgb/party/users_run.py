"""The record of a run with users, at the server: while it goes on, and when it has ended."""

import time

import msgspec

from vfxgb.curves import Curves, eval_curves
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.training import USERS, UsersResult, Watch
from vfxgb.model.file import save_share
from vfxgb.objective import make_objective
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import RunFolder
from vfxgb.party.record import RunRecord, TrafficRecord, now
from vfxgb.party.round_times import Pace
from vfxgb.party.run_snapshot import Look
from vfxgb.train.callbacks import TrainingCallback, TrainingState
from vfxgb.train.settings import plain_params


class UsersRun(TrainingCallback):
    """A run whose users are there, as one of its callbacks. The server began to wait at Unix time `started`."""

    def __init__(
        self,
        config: PartyConfig,
        job: Job,
        n_users: int,
        folder: RunFolder,
        watch: Watch,
        started: float,
    ) -> None:
        self.folder = folder
        self._config = config
        self._job = job
        self._watch = watch
        self._pace = Pace()
        self._start = time.perf_counter() - (now() - started)
        self._state: TrainingState | None = None
        earlier = folder.read().sessions if folder.run_file.exists() else 0
        self._first = msgspec.structs.replace(self._record(n_users, started), sessions=earlier + 1)
        self._look = Look(folder, self._seen, watch.ledger)
        folder.write(self._first)

    def total_bytes(self) -> int:
        """Count the bytes to and from users so far."""
        return sum(entry.bytes for entry in self._watch.ledger.entries)

    def before_training(self, state: TrainingState) -> None:
        """Note that there are rounds to see from now on."""
        self._state = state

    def after_iteration(self, state: TrainingState) -> bool:
        """Write down a round that is over, if it is time."""
        self._pace.note(state.iteration + 1, self.total_bytes())
        self._look.take(save=self._save_draft)
        return False

    def end(self, failure: BaseException | None, result: UsersResult | None) -> RunRecord:
        """Write what there is of a run that ended; without a `result` no tree was grown. Raises OSError."""
        record = self._seen()
        if result is not None:
            save_share(result.share, self.folder.share_file)
            record = msgspec.structs.replace(record, rounds=result.share.n_rounds, model=self.folder.share_file.name)
        record = self.folder.end(record, self._watch.ledger, failure, None if failure is None else "failed")
        if failure is None:
            self.folder.forget()
        return record

    def _save_draft(self) -> None:
        if self._watch.server is not None and self._state is not None:
            save_share(self._watch.server.share(self._state), self.folder.draft_file)

    def _seen(self) -> RunRecord:
        """Return the record as the run stands."""
        watch, state, server = self._watch, self._state, self._watch.server
        record = msgspec.structs.replace(
            self._first,
            seconds=time.perf_counter() - self._start,
            rows={"train": server.n_rows if server else 0, "valid": len(self._job.evals.labels)},
            rounds=server.n_rounds if server else 0,
            timings={self._config.party: dict(watch.timings.seconds)},
            operations=dict(watch.timings.operations),
            traffic={USERS: TrafficRecord.of(watch.traffic())},
            pace=self._pace.totals(),
        )
        if state is None:
            return record
        return msgspec.structs.replace(
            record,
            evals=state.evals_log,
            best_iteration=state.best_iteration,
            best_score=state.best_score,
            curves=self._curves(),
        )

    def _curves(self) -> Curves:
        """Draw the curves of the server's own rows, if it has any."""
        server, evals = self._watch.server, self._job.evals
        if server is None or server.n_rounds == 0 or not evals.sets:
            return {}
        return eval_curves(make_objective(self._job.params), evals.sets, server.margins, evals.labels, evals.weights)

    def _record(self, n_users: int, started: float) -> RunRecord:
        config, job = self._config, self._job
        spec, params = job.read_aggregator()
        return RunRecord.begun(
            self.folder.run,
            config.party,
            config.role,
            spec,
            msgspec.to_builtins(params),
            started=started,
            purpose=config.purpose,
            parties=(config.party,),
            train=plain_params(job.params),
            features=tuple(job.names),
            planned_rounds=job.params.n_estimators,
            facts={"users": n_users, "users_per_round": job.users_per_round},
        )
