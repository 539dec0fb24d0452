"""The server's part of a horizontal training, from the set-up to what it leaves; users are behind an Exchange.

A simulation (simulation.py) and real users (network.py) differ in that Exchange and in nothing here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import AggregationError
from vfxgb.horizontal.calls import PUBLISH, Calls, Clock, give_up
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.journal import Journal
from vfxgb.horizontal.private_sums import PrivateSums
from vfxgb.horizontal.server import Server
from vfxgb.horizontal.transcript import UsersTranscript
from vfxgb.model.file import save_share
from vfxgb.model.shares import ActiveShare
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.secagg.base import Exchange, ServerRole
from vfxgb.secagg.simulation import Absence, StageCost
from vfxgb.threads import resolve_threads
from vfxgb.train.callbacks import EarlyStopping, EvalsLog, TrainingCallback, TrainingState
from vfxgb.transport.traffic import Traffic

USERS = "users"


class TrainingExchange(Exchange, Protocol):
    """An Exchange that can be told who is not to be asked, and counts what stages cost."""

    costs: dict[str, StageCost]

    def leave_out(self, absent: Absence) -> None:
        """From now on do not ask these users either."""


@dataclass
class Watch:
    """What is kept while a run goes on, and can be looked at from outside.

    `costs` are those of the stages so far. `server` is there once training begins, and has rows and margins when its
    set-up is over. `transcript`: what is recorded of a simulation.
    """

    clock: Clock = field(default_factory=Clock)
    ledger: Ledger = field(default_factory=Ledger)
    timings: Timings = field(default_factory=Timings)
    costs: Mapping[str, StageCost] = field(default_factory=dict)
    server: Server | None = None
    transcript: UsersTranscript | None = None

    def traffic(self) -> Traffic:
        """Add up the traffic of all users, as the server counts it."""
        return _traffic(self.costs)


@dataclass(frozen=True)
class UsersResult:
    """What a run leaves; see vfxgb.train.simulate.FitResult. `failure`: what ended it early, if anything did.

    `traffic` is that of all users together, as the server counts it. `timings` are the server's own;
    `.parties["users"]` holds the seconds of all users per stage, where they are known. `margins`, float64, belong to
    the eval rows. `rows` counts those of all users together; `users` are those of the last sum.
    """

    share: ActiveShare
    ledger: Ledger
    traffic: dict[str, Traffic]
    timings: Timings
    evals_result: EvalsLog
    best_iteration: int | None
    best_score: float | None
    margins: NDArray[np.float64]
    rows: int
    users: tuple[int, ...] = ()
    failure: BaseException | None = None


def lead_users(
    job: Job,
    run: bytes,
    n_users: int,
    role: ServerRole,
    exchange: TrainingExchange,
    timings: Timings,
    watch: Watch,
    callbacks: Sequence[TrainingCallback],
    again: Callable[[float, bool], bool] = give_up,
    note: Callable[[int, str], None] = lambda user, what: None,  # noqa: ARG005 - nobody listens
    journal: Journal | None = None,
) -> UsersResult:
    """Train with the users behind `exchange`. `again`, `note`, `journal`: see Calls.

    A run that fails after its first round (too few users left, Ctrl-C, an error of a callback) returns what it has,
    with the failure; before, the failure is raised.
    """
    params, ledger = job.params, watch.ledger
    watch.timings, watch.costs = timings, exchange.costs
    plan = job.privacy_plan(n_users)
    private = None if plan is None else PrivateSums(plan, job.read_aggregator()[0], n_users)
    calls = Calls(
        role, exchange, watch.clock, ledger, n_users, timings, job, again, note, private, watch.transcript, journal
    )
    # Who has not read what was published cannot make a vector.
    exchange.leave_out(lambda stage, user: stage != PUBLISH and not (calls.knows_all(user) and calls.asks(user)))
    server = watch.server = Server(run.hex(), job, calls, resolve_threads(params.n_jobs))
    state = TrainingState(n_estimators=params.n_estimators, learning_rate=params.learning_rate)
    hooks = [*callbacks]
    if params.early_stopping_rounds is not None:
        hooks.append(EarlyStopping(params.early_stopping_rounds))
    failure: BaseException | None = None
    try:
        server.run(state, hooks, _save)
    except BaseException as error:
        if server.n_rounds == 0:
            raise
        failure = _explained(error, server.n_rounds)
    _say(ledger, calls, server.ended_early)
    users = timings.parties[USERS] = Timings()
    users.seconds.update({stage: cost.user_seconds for stage, cost in exchange.costs.items()})
    return UsersResult(
        share=server.share(state),
        ledger=ledger,
        traffic={USERS: watch.traffic()},
        timings=timings,
        evals_result=state.evals_log,
        best_iteration=state.best_iteration,
        best_score=state.best_score,
        margins=server.margins.astype(np.float64),
        rows=server.n_rows,
        users=calls.latest,
        failure=failure,
    )


def _save(share: ActiveShare, folder: Path) -> None:
    save_share(share, folder / f"{share.party}.json")


def _explained(error: BaseException, rounds: int) -> BaseException:
    """An aggregation that failed, with a word on what is left of the run."""
    if not isinstance(error, AggregationError):
        return error
    failure = AggregationError(f"{error}. The {rounds} finished rounds are in model_ and can be used")
    failure.__cause__ = error
    return failure


def _say(ledger: Ledger, calls: Calls, ended_early: int) -> None:
    """What the sums themselves do not say: over how many users they are, and when sets of users differ by a few."""
    ledger.notes.append(
        f"server: each of the {calls.calls:,} sums it opened was over at least {calls.smallest} of {len(calls.users)} "
        "users; it also saw who took part in which"
    )
    if calls.changes:
        ledger.notes.append(
            f"server: in {calls.changes:,} calls the users were others than in the call before, by as few as "
            f"{calls.nearest}; differences of such sums tell of these users together"
        )
    if calls.benched:
        ledger.notes.append(
            f"server: {calls.benched:,} times users left in the middle of a tree, and others were left out with them, "
            f"{calls.hide_among} or more together"
        )
    if ended_early:
        ledger.notes.append(
            f"server: the trees of {ended_early:,} rounds ended above their full depth because a user had left, whose "
            "sums the next level would have shown"
        )


def _traffic(costs: Mapping[str, StageCost]) -> Traffic:
    stages = tuple(costs.values())
    asked = sum(cost.asked for cost in stages)
    return Traffic(
        sent_bytes=sum(cost.down for cost in stages),
        received_bytes=sum(cost.up for cost in stages),
        sent_messages=asked,
        received_messages=asked,
        round_trips=sum(cost.times for cost in stages),
    )
