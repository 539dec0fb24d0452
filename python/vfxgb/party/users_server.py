"""The server of many users: `vfxgb train server.toml`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from vfxgb.errors import ConfigError
from vfxgb.horizontal.directory import read_users
from vfxgb.horizontal.job import CutRules, EvalRows, Job
from vfxgb.horizontal.journal import Journal
from vfxgb.horizontal.network import Deadlines, serve_users
from vfxgb.horizontal.settings import REFUSED, check_missing, check_users_per_round, read_ranges
from vfxgb.horizontal.training import UsersResult, Watch
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.logs import Log, Tell, say_nothing
from vfxgb.party.record import RunRecord, now
from vfxgb.party.session import Network, need_role
from vfxgb.party.training_input import read_params
from vfxgb.party.users import ServerSection, read_rows, read_section
from vfxgb.party.users_run import UsersRun
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.transport.network import Peer

SESSIONS_OF_A_USER = 3


@dataclass(frozen=True)
class RunJournals:
    """The journals of runs in the server's folder. `resumed`: the run that goes on, None for a new one."""

    folder: PartyFolder
    resumed: RunFolder | None

    def earlier(self, settings: bytes) -> Journal | None:
        """See vfxgb.horizontal.network.Journals."""
        return None if self.resumed is None else Journal.read(self.resumed.checkpoint_file, settings)

    def begin(self, run: bytes, settings: bytes) -> Journal:
        """See vfxgb.horizontal.network.Journals."""
        return Journal.begin(self.folder.run(run.hex()).make().checkpoint_file, run, settings)


class UsersServer:
    """The server of one run. Construction reads and checks everything that needs no user.

    `resume` says which run goes on, "latest" or the beginning of its id; None: a new one.

    `callbacks` and `begun`, which is told the run's folder when users are there, may be set before `run`. `tell` gets
    lines for people.
    """

    def __init__(self, config: PartyConfig, log: Log, tell: Tell = say_nothing, resume: str | None = None) -> None:
        need_role(config, "train", "server")
        self.config = config
        self.callbacks: Sequence[TrainingCallback] = ()
        self.begun: Callable[[RunFolder], None] = lambda folder: None  # noqa: ARG005 - nobody listens
        self._log = log
        self._tell = tell
        self._network = Network.of(config)
        self._users = read_section(config, ServerSection)
        self.directory = read_users(self._users.directory)
        self.job = self._read_job()
        self.job.least(len(self.directory.parties))
        self._running: UsersRun | None = None
        self._resumed = None if resume is None else self._find(resume)

    def _find(self, text: str) -> RunFolder:
        """Find the run that goes on. Raises ConfigError, FormatError."""
        folder = PartyFolder(self.config.folder).make().find(text)
        if not folder.checkpoint_file.exists():
            raise ConfigError(
                f"resuming run {folder.run[:8]}: found no journal {str(folder.checkpoint_file)!r}, wanted a run that "
                "has not finished; begin a new one"
            )
        return folder

    @property
    def run_id(self) -> str:
        """The id of the run under way, empty before its users are there."""
        return "" if self._running is None else self._running.folder.run

    @property
    def can_resume(self) -> bool:
        """Whether the run that ended can go on."""
        return self._running is not None and self._running.folder.checkpoint_file.exists()

    def describe(self) -> str:
        """Say what would be done, for --dry-run."""
        job = self.job
        return (
            f"{self.config.party} would train {job.params.n_estimators} rounds of depth {job.params.max_depth} on "
            f"{len(job.names)} columns of {len(self.directory.parties)} users, of whom at least "
            f"{job.least(len(self.directory.parties))} must stay, with sums protected by {job.aggregator}; it would "
            f"listen at {self.config.listen}"
        )

    def total_bytes(self) -> int:
        """Count the bytes to and from users so far."""
        return 0 if self._running is None else self._running.total_bytes()

    def run(self, listening: Tell = say_nothing) -> RunRecord:
        """Train to the end, and keep what there is when it ends early.

        `listening` is told the address when users can dial. Raises what serve_users raises, and what ended a run early.
        """
        folder = PartyFolder(self.config.folder).make()
        try:
            result = self._train(folder, listening)
        except BaseException as error:
            self._log.error("failed", text=f"{type(error).__name__}: {error}")
            if self._running is not None:
                self._running.end(error, None)
            raise
        assert self._running is not None  # noqa: S101 - there is no result of a run that has not begun
        record = self._running.end(result.failure, result)
        self._log.info("trained", run=record.run, rounds=record.rounds, seconds=round(record.seconds, 2))
        if result.failure is not None:
            self._log.error("failed", text=record.error, run=record.run)
            self._tell(f"the {record.rounds} finished rounds are in {self._running.folder.share_file}")
            raise result.failure
        return record

    def _train(self, folder: PartyFolder, listening: Callable[[str], None]) -> UsersResult:
        config, users = self.config, self._users
        peers = {
            party: Peer(party, path)
            for party, path in zip(self.directory.parties, self.directory.certificates, strict=True)
        }
        started = now()
        callbacks: list[TrainingCallback] = [*self.callbacks]

        def begin(run: bytes, watch: Watch) -> None:
            self._log.info("training", run=run.hex(), protocol=self.job.aggregator, users=len(peers))
            self._running = UsersRun(config, self.job, len(peers), folder.run(run.hex()).make(), watch, started)
            callbacks.append(self._running)
            self.begun(self._running.folder)

        # A user that lost its connection may be there with a new one before the old one is given up.
        network = replace(self._network, peers=peers)
        journals = RunJournals(folder, self._resumed)
        with network.listen(config.listen, SESSIONS_OF_A_USER * len(peers), self._log, SESSIONS_OF_A_USER) as listener:
            self._log.info("listening", address=listener.address, party=config.party)
            listening(listener.address)
            return serve_users(
                self.job,
                self.directory,
                listener,
                Deadlines(**{item.name: getattr(users, f"{item.name}_seconds") for item in fields(Deadlines)}),
                config.purpose,
                self._note,
                callbacks,
                begin,
                lambda came: self._tell(f"{came} of {len(peers)} users are there"),
                journals,
            )

    def _note(self, user: int, what: str) -> None:
        party = self.directory.parties[user]
        self._log.warning("user", text=what, peer=party)
        self._tell(f"{party}: {what}")

    def _read_job(self) -> Job:
        config, users = self.config, self._users
        for name in config.train:
            if name in REFUSED:
                raise config.mistake(f"[train] {name}: {REFUSED[name]}")
        params = read_params(config)
        check_missing(params)
        check_users_per_round(users.users_per_round, len(self.directory.parties))
        names, evals = self._read_evals()
        ranges: Mapping[str | int, tuple[float, float]] = dict((users.ranges or {}).items())
        rules = CutRules(None, read_ranges(ranges, names) if ranges else None, users.fine_cells, users.quantile_bits)
        if config.threads is not None:
            params = replace(params, n_jobs=config.threads)
        job = Job(
            names,
            params,
            users.aggregator,
            users.params,
            rules,
            evals,
            users.weighted,
            users.users_per_round,
            users.hide_among,
            users.compare,
            users.eval_users,
            users.privacy(),
            users.holdout,
        )
        job.privacy_plan(len(self.directory.parties))
        job.metric_names()
        return job

    def _read_evals(self) -> tuple[tuple[str, ...], EvalRows]:
        """Read the columns of the run, and the server's own rows if it has a table."""
        config, data = self.config, self.config.data
        if data.valid is None:
            if data.features is None:
                raise config.mistake(
                    "a server without valid in [data] needs features: the columns of the users' tables"
                )
            names = data.features
            empty = np.zeros((0, len(names)), dtype=np.float32)
            return names, EvalRows(empty, np.zeros(0, dtype=np.float32), None, [])
        rows, names = read_rows(config, data.valid, "valid")
        return names, EvalRows(rows.X, rows.labels, rows.weights, [("valid", slice(0, len(rows.X)))])
