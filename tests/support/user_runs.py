"""Horizontal trainings over the network: a server and its users, each in a thread, over loopback with real TLS."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vfxgb.horizontal.directory import UserDirectory, read_identity, read_users, user_names, write_users
from vfxgb.horizontal.job import CutRules, EvalRows, Job
from vfxgb.horizontal.network import Deadlines, serve_users
from vfxgb.horizontal.remote import UserAllows, UserOutcome, UserSide, take_part
from vfxgb.horizontal.simulation import UserRows, fit_users
from vfxgb.horizontal.training import UsersResult
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name
from vfxgb.transport.network import Identity, Limits, Listener, NetworkLink, Peer, dial
from vfxgb.transport.network.certificates import issue, make_authority

NAMES = ("f0", "f1", "f2")
SERVER = "server"
LIMITS = Limits(connect_seconds=5.0, reconnect_seconds=0.5, step_seconds=20.0, heartbeat_seconds=0.5, close_seconds=1.0)
DEADLINES = Deadlines(gather=15.0, stage=5.0, greet=5.0, patience=0.0)
JOIN_SECONDS = 30.0


def make_consortium(folder: Path, n_users: int, aggregator: str = "masks", params: Any = None) -> UserDirectory:
    """Certificates, identities and the directory of so many users, and of the server."""
    authority = make_authority(folder)
    names = user_names(n_users)
    for party in (SERVER, *names):
        issue(authority, party, (), 10, folder)
    return read_users(write_users(folder, names, aggregator, params))


def make_rows(n_users: int, seed: int = 0) -> list[UserRows]:
    """Some rows each, three columns, one of them with holes; labels 0 and 1."""
    rng = np.random.default_rng(seed)
    found = []
    for user in range(n_users):
        X = rng.normal(size=(30 + user, 3)).astype(np.float32)
        y = (X.sum(axis=1) + 0.3 * rng.normal(size=len(X)) > 0).astype(np.float32)
        X[rng.random(len(X)) < 0.2, 2] = np.nan
        found.append(UserRows(X, y, None))
    return found


def make_job(aggregator: str, own: dict[str, Any] | None = None, **settings: Any) -> Job:
    """A small training; `own`: parameters of the aggregator beside those for quick tests."""
    usual = {"objective": "binary:logistic", "n_estimators": 2, "max_depth": 2, "max_bin": 8, "n_jobs": 1}
    X = np.random.default_rng(9).normal(size=(20, 3)).astype(np.float32)
    evals = EvalRows(X, (X.sum(axis=1) > 0).astype(np.float32), None, [("valid", slice(0, 20))])
    quick = dict(aggregator_by_name(aggregator).quick_params)
    # With ranges cut points take one call.
    rules = CutRules(None, dict.fromkeys(NAMES, (-4.0, 4.0)))
    return Job(NAMES, TrainParams(**(usual | settings)), aggregator, quick | (own or {}), rules, evals, False)


def simulated(job: Job, rows: Sequence[UserRows]) -> UsersResult:
    """The same in one process."""
    return fit_users(rows, job, None, ())


@dataclass
class Crowd:
    """A server and users. `change`: (number, UserSide) -> another. `notes`: what the server said of whom.

    `restarted`: users that, when they have failed, begin once more, knowing nothing.
    """

    folder: Path
    directory: UserDirectory
    job: Job
    rows: Sequence[UserRows]
    deadlines: Deadlines = DEADLINES
    limits: Limits = LIMITS
    change: Callable[[int, UserSide], UserSide | None] = lambda number, side: side
    restarted: frozenset[int] = frozenset()
    notes: list[tuple[int, str]] = field(default_factory=list)
    outcomes: dict[int, UserOutcome | BaseException] = field(default_factory=dict)
    links: dict[int, list[NetworkLink]] = field(default_factory=dict)
    address: str = ""
    allows: UserAllows = field(default_factory=UserAllows)

    def run(self, callbacks: Sequence[Any] = ()) -> UsersResult:
        """Train; afterwards every user has ended, with an outcome."""
        peers = {
            party: Peer(party, path)
            for party, path in zip(self.directory.parties, self.directory.certificates, strict=True)
        }
        with ExitStack() as stack:
            own = Identity(SERVER, self.folder / "server.pem", self.folder / "server.key")
            listener = stack.enter_context(Listener(own, peers, "127.0.0.1:0", self.limits, 1000))
            self.address = listener.address
            threads = [threading.Thread(target=self._user, args=(n,), daemon=True) for n in range(len(self.rows))]
            for thread in threads:
                thread.start()
            try:
                return serve_users(
                    self.job,
                    self.directory,
                    listener,
                    self.deadlines,
                    note=lambda user, what: self.notes.append((user, what)),
                    callbacks=callbacks,
                )
            finally:
                listener.close()
                for thread in threads:
                    thread.join(JOIN_SECONDS)
                assert not any(thread.is_alive() for thread in threads)

    def side(self, number: int) -> UserSide:
        """What a user brings, unless changed."""
        party = self.directory.parties[number]
        own = Identity(party, self.folder / f"{party}.pem", self.folder / f"{party}.key")
        server = Peer(SERVER, self.folder / "server.pem", self.address)

        def call() -> NetworkLink:
            link = dial(own, server, self.limits)
            self.links.setdefault(number, []).append(link)
            return link

        return UserSide(
            party=party,
            directory=self.directory,
            identity=read_identity(self.folder / f"{party}.identity", self.directory, party),
            columns=NAMES,
            rows=self.rows[number],
            aggregator=self.job.aggregator,
            aggregator_params=dict(self.job.aggregator_params),
            accept=lambda invitation: None,
            dial=call,
            reach_seconds=1.0,
            allows=self.allows,
        )

    def _user(self, number: int) -> None:
        side = self.change(number, self.side(number))
        if side is None:
            return
        try:
            self.outcomes[number] = take_part(side)
        except BaseException as error:
            self.outcomes[number] = error
        if number in self.restarted:
            self.restarted -= {number}
            self.change = lambda number, side: side
            self._user(number)

    def said(self, user: int) -> str:
        """All that the server said of a user."""
        return "\n".join(what for who, what in self.notes if who == user)


def with_rows(side: UserSide, **changes: Any) -> UserSide:
    """A side with other rows."""
    return replace(side, rows=replace(side.rows, **changes))
