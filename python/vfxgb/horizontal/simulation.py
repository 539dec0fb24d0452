"""A horizontal training in this process: the server, and its users one after the other (secagg/simulation.py).

They share nothing but the bytes that a network would carry. There is no thread per user: a thousand of them cost the
memory of their rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import AggregationError, ParameterError
from vfxgb.horizontal.calls import PUBLISH, Calls, Clock
from vfxgb.horizontal.dropout import Dropout, Nobody
from vfxgb.horizontal.messages import PUBLISHED, Plan, Trees
from vfxgb.horizontal.rows import Float32Array
from vfxgb.horizontal.server import CutRules, EvalRows, Server
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.model.file import save_share
from vfxgb.model.shares import ActiveShare
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import AggregatorParams, AggregatorSpec, threshold_of
from vfxgb.secagg.simulation import Handler, Loopback, simulate
from vfxgb.threads import resolve_threads
from vfxgb.train.callbacks import EarlyStopping, EvalsLog, TrainingCallback, TrainingState
from vfxgb.train.ledger import Ledger
from vfxgb.train.timings import Timings
from vfxgb.transport.messages import Message
from vfxgb.transport.traffic import Traffic

USERS = "users"


@dataclass(frozen=True)
class UserRows:
    """What a user brings: X float32[n, F] (NaN is missing), labels [n], weights float32[n] or None."""

    X: Float32Array
    labels: NDArray[Any]
    weights: Float32Array | None


@dataclass(frozen=True)
class UsersResult:
    """What a run leaves; see vfxgb.train.session.FitResult. `failure`: what ended it early, if anything did.

    `traffic`: of all users together, as the server counts it. `timings`: of the server; `.parties["users"]` the seconds
    of all users per stage. `margins`: float64, of the eval rows.
    """

    share: ActiveShare
    ledger: Ledger
    traffic: dict[str, Traffic]
    timings: Timings
    evals_result: EvalsLog
    best_iteration: int | None
    best_score: float | None
    margins: NDArray[np.float64]
    failure: BaseException | None = None


def fit_users(
    users: Sequence[UserRows],
    names: Sequence[str],
    params: TrainParams,
    aggregator: str,
    aggregator_params: Mapping[str, Any],
    dropout: Dropout,
    rules: CutRules,
    evals: EvalRows,
    callbacks: Sequence[TrainingCallback],
    users_per_round: int | None = None,
) -> UsersResult:
    """Train on the rows of all users, numbered in their order.

    A run that fails after its first round (too few users left, Ctrl-C, an error of a callback) returns what it has,
    with the failure; before, the failure is raised.
    """
    spec = aggregator_by_name(aggregator)
    own_params = make_aggregator_params(spec, aggregator_params)
    team = len(users) if users_per_round is None else users_per_round
    least = _fewest_users(spec, own_params, team, dropout)
    threads = resolve_threads(params.n_jobs)
    objective = make_objective(params)
    settings = UserSettings(objective, params.subsample, params.random_state)
    people = [
        User(number, one.X, objective.check_labels(one.labels, f"user {number}"), one.weights, settings)
        for number, one in enumerate(users)
    ]
    clock = Clock()
    ledger = Ledger()

    def handle(user: int, message: Message, aggregate: Handler) -> Message:
        return people[user].read(message) if isinstance(message, Plan | Trees) else aggregate(message)

    def absent(stage: str, user: int) -> bool:
        behind = stage != PUBLISH and not calls.knows_all(user)
        return behind or dropout.absent(clock.round, clock.depth, stage, user)

    parties = simulate(
        spec,
        own_params,
        range(len(people)),
        lambda user, task: people[user].vector(task),
        absent=absent,
        threads=threads,
        shared_checks=True,
        messages=PUBLISHED,
        handle=handle,
        observer=ledger.record,
    )
    calls = Calls(
        parties.server,
        parties.exchange,
        clock,
        ledger,
        len(people),
        parties.timings,
        least,
        users_per_round,
        params.random_state,
    )
    weighted = any(one.weights is not None for one in users)
    server = Server(parties.exchange.run.hex(), names, params, rules, evals, weighted, calls, threads)
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
    _say(ledger, calls)
    _count_users(parties.exchange, parties.timings)
    return UsersResult(
        share=server.share(state),
        ledger=ledger,
        traffic={USERS: _traffic(parties.exchange)},
        timings=parties.timings,
        evals_result=state.evals_log,
        best_iteration=state.best_iteration,
        best_score=state.best_score,
        margins=server.margins.astype(np.float64),
        failure=failure,
    )


def _fewest_users(spec: AggregatorSpec, params: AggregatorParams, n_users: int, dropout: Dropout) -> int:
    """How many of `n_users` users must be there. Raises ParameterError if they are too few, or may not drop out."""
    least = max(threshold_of(params.threshold, n_users), params.min_users)
    if params.min_users > n_users:
        raise ParameterError(
            f"reading parameters: min_users={params.min_users} with {n_users} users in a round, wanted at most as many"
        )
    if not spec.survives_drops and not isinstance(dropout, Nobody):
        raise ParameterError(
            f"reading parameters: dropout with aggregator={spec.name!r}, which needs every user in every call; choose "
            "another aggregator, or dropout=None"
        )
    return least


def _save(share: ActiveShare, folder: Path) -> None:
    save_share(share, folder / f"{share.party}.json")


def _explained(error: BaseException, rounds: int) -> BaseException:
    """An aggregation that failed, with a word on what is left of the run."""
    if not isinstance(error, AggregationError):
        return error
    failure = AggregationError(f"{error}. The {rounds} finished rounds are in model_ and can be used")
    failure.__cause__ = error
    return failure


def _say(ledger: Ledger, calls: Calls) -> None:
    """What the sums themselves do not say: over how many users they are, and when sets of users differ by a few."""
    ledger.notes.append(
        f"server: each of the {calls.calls:,} sums it opened was over at least {calls.smallest} of {len(calls.users)} "
        "users; it also saw who took part in which"
    )
    if calls.changes:
        ledger.notes.append(
            f"server: in {calls.changes:,} calls the users were others than in the call before, by as few as "
            f"{calls.nearest}; differences of such sums tell of these users alone"
        )


def _count_users(exchange: Loopback, timings: Timings) -> None:
    users = timings.parties[USERS] = Timings()
    for stage, cost in exchange.costs.items():
        users.seconds[stage] = cost.user_seconds


def _traffic(exchange: Loopback) -> Traffic:
    costs = exchange.costs.values()
    asked = sum(cost.asked for cost in costs)
    return Traffic(
        sent_bytes=sum(cost.down for cost in costs),
        received_bytes=sum(cost.up for cost in costs),
        sent_messages=asked,
        received_messages=asked,
        round_trips=sum(cost.times for cost in costs),
    )
