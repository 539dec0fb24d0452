"""The server's part of a horizontal training, from the set-up to what it leaves; users are behind an Exchange.

A simulation (simulation.py) and real users (network.py) differ in that Exchange and in nothing here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import AggregationError, ParameterError
from vfxgb.horizontal.calls import PUBLISH, Calls, Clock, CohortRules, give_up
from vfxgb.horizontal.guard import TaskLimits, most_calls
from vfxgb.horizontal.losses import summable
from vfxgb.horizontal.server import CutRules, EvalRows, Server
from vfxgb.metric import make_metrics
from vfxgb.model.file import save_share
from vfxgb.model.shares import ActiveShare
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import AggregatorSpec, Exchange, ServerRole, threshold_of
from vfxgb.secagg.guard import Compare, GuardRules, default_hidden
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


@dataclass(frozen=True)
class Job:
    """What is to be trained. `names`: the columns; `weighted`: users weigh their rows. See FedXGBClassifier.

    `hide_among`, `compare`: see vfxgb.secagg.guard.GuardRules; None: default_hidden of all users.
    """

    names: Sequence[str]
    params: TrainParams
    aggregator: str
    aggregator_params: Mapping[str, Any]
    rules: CutRules
    evals: EvalRows
    weighted: bool
    users_per_round: int | None = None
    hide_among: int | None = None
    compare: Compare = "tree"
    eval_users: bool = False

    def read_aggregator(self) -> tuple[AggregatorSpec, Any]:
        """The aggregator and its parameters. Raises UnknownNameError, ProtocolParameterError."""
        spec = aggregator_by_name(self.aggregator)
        return spec, make_aggregator_params(spec, self.aggregator_params)

    def least(self, n_users: int) -> int:
        """How many of `n_users` users must be there. Raises ParameterError if they are too few."""
        _, params = self.read_aggregator()
        team = n_users if self.users_per_round is None else self.users_per_round
        if self.compare == "run" and self.users_per_round is not None:
            raise ParameterError(
                f"reading parameters: users_per_round={self.users_per_round} with compare='run', which wants the same "
                "users in all sums of a run; leave one of them out"
            )
        least = self.wanted(team)
        if params.min_users > team:
            raise ParameterError(
                f"reading parameters: min_users={params.min_users} with {team} users in a round, wanted at most as many"
            )
        return least

    def wanted(self, team: int) -> int:
        """Fewest users in a sum for which `team` users are asked."""
        _, params = self.read_aggregator()
        return int(max(threshold_of(params.threshold, team), params.min_users))

    def metric_names(self) -> list[str]:
        """The metrics that are measured on users' rows. Raises ParameterError if none of those asked for is a sum."""
        if not self.eval_users:
            return []
        metrics = make_metrics(self.params.eval_metric, make_objective(self.params).default_metric)
        return [metric.name for metric in summable(metrics)]

    def hidden(self, n_users: int) -> int:
        """k of a run with so many users."""
        return default_hidden(n_users) if self.hide_among is None else self.hide_among

    def limits(self) -> TaskLimits:
        """How much users are asked at most."""
        ranges = self.rules.range_cells(self.names)
        return TaskLimits.of(self.params, self.rules.bits, ranges)

    def guard_rules(self, n_users: int, n_outputs: int) -> GuardRules:
        """What users of this run see to."""
        k = self.hidden(n_users)
        return GuardRules(k, min(k, self.least(n_users)), most_calls(self.limits(), n_outputs), self.compare)


@dataclass
class Watch:
    """What is kept while a run goes on, and can be looked at from outside.

    `costs` are those of the stages so far. `server` is there once training begins, and has rows and margins when its
    set-up is over.
    """

    clock: Clock = field(default_factory=Clock)
    ledger: Ledger = field(default_factory=Ledger)
    timings: Timings = field(default_factory=Timings)
    costs: Mapping[str, StageCost] = field(default_factory=dict)
    server: Server | None = None

    def traffic(self) -> Traffic:
        """Add up the traffic of all users, as the server counts it."""
        return _traffic(self.costs)


@dataclass(frozen=True)
class UsersResult:
    """What a run leaves; see vfxgb.train.simulate.FitResult. `failure`: what ended it early, if anything did.

    `traffic` is that of all users together, as the server counts it. `timings` are the server's own;
    `.parties["users"]` holds the seconds of all users per stage, where they are known. `margins`, float64, belong to
    the eval rows. `rows` counts those of all users together.
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
) -> UsersResult:
    """Train with the users behind `exchange`. `again`, `note`: see Calls.

    A run that fails after its first round (too few users left, Ctrl-C, an error of a callback) returns what it has,
    with the failure; before, the failure is raised.
    """
    params = job.params
    clock, ledger = watch.clock, watch.ledger
    watch.timings, watch.costs = timings, exchange.costs
    calls = Calls(
        role,
        exchange,
        clock,
        ledger,
        n_users,
        timings,
        job.least(n_users),
        CohortRules(job.hidden(n_users), job.compare, job.wanted),
        job.users_per_round,
        params.random_state,
        again,
        note,
    )
    # Who has not read what was published cannot make a vector.
    exchange.leave_out(lambda stage, user: stage != PUBLISH and not (calls.knows_all(user) and calls.asks(user)))
    threads = resolve_threads(params.n_jobs)
    server = Server(run.hex(), job.names, params, job.rules, job.evals, job.weighted, calls, threads, job.eval_users)
    watch.server = server
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
            f"{calls.rules.hide_among} or more together"
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
