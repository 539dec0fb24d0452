"""A horizontal training in this process: the server, and its users one after the other (secagg/simulation.py).

They share nothing but the bytes that a network would carry. There is no thread per user: a thousand of them cost the
memory of their rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from vfxgb.errors import ParameterError
from vfxgb.horizontal.dropout import Dropout
from vfxgb.horizontal.guard import topic_of
from vfxgb.horizontal.job import Job
from vfxgb.horizontal.messages import PUBLISHED, Plan, Trees
from vfxgb.horizontal.rows import Float32Array
from vfxgb.horizontal.training import UsersResult, Watch, lead_users
from vfxgb.horizontal.user import User, UserSettings
from vfxgb.objective import make_objective
from vfxgb.secagg.guard import SetGuard
from vfxgb.secagg.simulation import Handler, simulate
from vfxgb.threads import resolve_threads
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.transport.messages import Message


@dataclass(frozen=True)
class UserRows:
    """What a user brings: X float32[n, F] (NaN is missing), labels [n], weights float32[n] or None."""

    X: Float32Array
    labels: NDArray[Any]
    weights: Float32Array | None


def fit_users(
    users: Sequence[UserRows],
    job: Job,
    dropout: Dropout | None,
    callbacks: Sequence[TrainingCallback],
    watch: Watch | None = None,
) -> UsersResult:
    """Train on the rows of all users, numbered in their order; see lead_users. `watch`: where to see it from."""
    params = job.params
    spec, own_params = job.read_aggregator()
    job.least(len(users))
    if not spec.survives_drops and dropout is not None:
        raise ParameterError(
            f"reading parameters: dropout with aggregator={spec.name!r}, which needs every user in every call; choose "
            "another aggregator, or dropout=None"
        )
    objective = make_objective(params)
    settings = UserSettings(
        objective,
        params.subsample,
        params.random_state,
        limits=job.limits(),
        privacy=job.privacy_plan(len(users)),
        holdout=job.holdout,
    )
    people = [
        User(number, user.X, objective.check_labels(user.labels, f"user {number}"), user.weights, settings)
        for number, user in enumerate(users)
    ]
    watch = watch or Watch()
    guards = [SetGuard(job.guard_rules(len(people), objective.n_outputs), topic_of) for _ in people]

    def handle(user: int, message: Message, aggregate: Handler) -> Message:
        if isinstance(message, Plan | Trees):
            return people[user].read_with(guards[user], message)
        return aggregate(message)

    def absent(stage: str, user: int) -> bool:
        return dropout is not None and dropout(watch.clock.round, watch.clock.depth, stage, user)

    parties = simulate(
        spec,
        own_params,
        range(len(people)),
        lambda user, task: people[user].vector(task),
        absent=absent,
        threads=resolve_threads(params.n_jobs),
        shared_checks=True,
        messages=PUBLISHED,
        handle=handle,
        observer=watch.ledger.record,
        guard=guards.__getitem__,
    )
    return lead_users(
        job, parties.exchange.run, len(people), parties.server, parties.exchange, parties.timings, watch, callbacks
    )
