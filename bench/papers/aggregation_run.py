"""Measured calls of an aggregator: time and bytes of the server and of a user, for the scripts of papers/003.

All sides run in one process, one after the other, so that every second belongs to one of them. The server has `threads`
threads, a user whose time is taken has one. These are the first TIMED users; the very first is kept apart, as it makes
the tables that all users of a process share. In `masks` and `bcp` the other users do the same, except that they check
signatures once for all of them. In `ibmhom` and `fpe` they would only wait for their own arithmetic: there the key
centre gives all users the same keys (of a constant polynomial; of one seed), so that the others can send a copy of what
user 0 sends. The server cannot tell, and has as much to do as with honest ones.
"""

import resource
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto.bresson import BressonGroup
from vfxgb.crypto.key_agreement import verify
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import MASK, SETUP, Dealt, UserContext, UserRole, threshold_of
from vfxgb.secagg.fpe.scheme import Scheme, Seeds
from vfxgb.secagg.guard import NOT_COMPARED, GuardRules, SetGuard
from vfxgb.secagg.ibmhom.threshold import deal_from_primes
from vfxgb.secagg.simulation import Handler, Parties, simulate
from vfxgb.transport.messages import Message

KEY_STAGES = ("join", "share")
TIMED = 4


@dataclass(frozen=True)
class Call:
    """`dropout`: the share of the users that leave before they send their vector."""

    entries: int
    dropout: float = 0.0


@dataclass(frozen=True)
class UserRows:
    """A table dealt to users, in bins, with a gradient pair per row in fixed point: vectors as they are in training.

    `bins`: rows x features, below `n_bins`. `user`: whose a row is.
    """

    bins: NDArray[np.int64]
    pairs: NDArray[np.int64]
    user: NDArray[np.int64]
    n_bins: int

    @property
    def entries(self) -> int:
        """g and h: the total, and the sum left of every cut of every feature."""
        return 2 * (1 + self.bins.shape[1] * (self.n_bins - 1))

    def vector(self, user: int) -> NDArray[np.int64]:
        """What a user adds to the sums of the root."""
        mine = self.user == user
        bins, pairs = self.bins[mine], self.pairs[mine]
        sums = np.zeros((2, self.bins.shape[1], self.n_bins), dtype=np.int64)
        for which in range(2):
            np.add.at(sums[which], (np.arange(self.bins.shape[1]), bins), pairs[:, which, None])
        left = np.cumsum(sums, axis=2)[:, :, :-1]
        return np.concatenate([pairs.sum(axis=0), left.ravel()])


@dataclass(frozen=True)
class Job:
    """Calls of one run. `primes`: of N. `warm_up`: make a call before, in which users agree on what lasts for a run.

    `trace`: measure what user 0 allocates, which slows it down. `rows`: whose sums to take, instead of random vectors.
    """

    aggregator: str
    users: int
    calls: tuple[Call, ...]
    params: dict[str, Any] = field(default_factory=dict)
    primes: tuple[int, int] | None = None
    threads: int = 2
    warm_up: bool = True
    trace: bool = False
    rows: UserRows | None = None

    def vector(self, user: int, entries: int) -> NDArray[np.int64]:
        """A user's input; the call that warms up has one entry, whatever there is to sum."""
        return vector(user, entries) if self.rows is None or entries == 1 else self.rows.vector(user)


def measure(job: Job) -> list[dict[str, Any]]:
    """The job in a process of its own, so that memory and tables are its own too."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(run, (job,))


def run(job: Job) -> list[dict[str, Any]]:
    """Of each call: seconds and bytes by stage, and the peak memory of this process so far."""
    plan = Plan(Call(1))
    parties, watch = make_parties(job, plan)
    start = time.perf_counter()
    parties.server.set_up()
    if job.warm_up:
        parties.server.aggregate(b"", 1, range(job.users))
    set_up = time.perf_counter() - start
    results = []
    for call in job.calls:
        plan.call = call
        left = job.users - round(call.dropout * job.users)
        expected = np.sum([job.vector(user, call.entries) for user in range(left)], axis=0)
        watch.reset()
        parties.exchange.costs.clear()
        parties.timings.seconds.clear()
        start = time.perf_counter()
        result = parties.server.aggregate(b"", call.entries, range(job.users))
        wall = time.perf_counter() - start
        if not np.array_equal(result.sums, expected) or result.users != tuple(range(left)):
            raise RuntimeError(f"{job.aggregator}, {call}: wrong sums")
        cost = costs(parties, watch, wall)
        results.append({"users": job.users, **asdict(call), **cost, "set-up seconds": set_up})
    return results


@dataclass
class Plan:
    """The call under way."""

    call: Call


def costs(parties: Parties, watch: "Watch", wall: float) -> dict[str, Any]:
    stages = parties.exchange.costs
    up, down = (sum(getattr(cost, way) for cost in stages.values()) for way in ("up", "down"))
    of_user = {
        stage: (cost.up / max(1, cost.asked), cost.down / max(1, cost.asked), watch.seconds(stage))
        for stage, cost in stages.items()
    }
    keys = [values for stage, values in of_user.items() if stage in KEY_STAGES]
    key_costs = {stage: cost for stage, cost in stages.items() if stage in KEY_STAGES}
    phases = parties.timings.seconds
    return {
        "wall seconds": wall,
        "server seconds": wall - sum(cost.user_seconds for cost in stages.values()),
        "server seconds of keys": sum(phases.get(at, 0.0) + cost.server_seconds for at, cost in key_costs.items()),
        "server bytes of keys": sum(cost.up + cost.down for cost in key_costs.values()),
        "server phases": dict(phases),
        "server received": up,
        "server sent": down,
        "user seconds": sum(seconds for _, _, seconds in of_user.values()),
        "first user seconds": watch.first_seconds(),
        "user seconds of keys": sum(seconds for _, _, seconds in keys),
        "user sent": sum(sent for sent, _, _ in of_user.values()),
        "user received": sum(received for _, received, _ in of_user.values()),
        "user bytes of keys": sum(sent + received for sent, received, _ in keys),
        "user stages": {stage: seconds for stage, (_, _, seconds) in of_user.items()},
        "user memory": watch.memory or None,
        "peak bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


@cache
def vector(user: int, entries: int) -> NDArray[np.int64]:
    """Users from TIMED on have the vector of user 0."""
    if user >= TIMED:
        return vector(0, entries)
    return np.random.default_rng(user).integers(-(2**40), 2**40, entries)


def make_parties(job: Job, plan: Plan) -> tuple[Parties, "Watch"]:
    spec = aggregator_by_name(job.aggregator)
    params = make_aggregator_params(spec, job.params)
    dealer = DEALERS.get(job.aggregator)

    def user_role(context: UserContext) -> UserRole:
        timed = context.user < TIMED
        return spec.user(replace(context, verify=verify) if timed else replace(context, threads=job.threads))

    measured = replace(
        spec,
        deal=dealer and (lambda params, users: dealer(params, users, *job.primes)),
        server=lambda context: spec.server(replace(context, threads=job.threads)),
        user=user_role,
    )
    parties = simulate(
        measured,
        params,
        range(job.users),
        lambda user, task: job.vector(user, plan.call.entries),
        lambda stage, user: stage == MASK and user >= job.users - round(plan.call.dropout * job.users),
        shared_checks=True,
        # Calls with and without drops follow each other, for their time and not for their sums.
        guard=lambda user: SetGuard(GuardRules(hide_among=NOT_COMPARED)),
    )
    return parties, Watch(job, parties)


class Watch:
    """Takes the time of the timed users, and lets the others of ibmhom and fpe copy user 0."""

    def __init__(self, job: Job, parties: Parties) -> None:
        self._stages: dict[str, list[float]] = {}
        self._exchange = parties.exchange
        self._trace = job.trace
        self._copied: Message | None = None
        self.memory = self._kept = 0
        copies = job.aggregator in COPIED
        handlers = parties.exchange.handlers
        parties.exchange.handlers = {
            user: self._timed(handler, user) if user < TIMED else self._copy if copies else handler
            for user, handler in handlers.items()
        }

    def reset(self) -> None:
        self._stages.clear()
        self.memory = self._kept = 0

    def seconds(self, stage: str) -> float:
        """The median of the timed users but the first."""
        known = self._stages.get(stage, [])[1:]
        return median(known) if known else 0.0

    def first_seconds(self) -> float:
        """Of the first user, all stages."""
        return sum(known[0] for known in self._stages.values())

    def _timed(self, handler: Handler, user: int) -> Handler:
        def handle(message: Message) -> Message:
            trace = self._trace and user == 0
            if trace:
                tracemalloc.start()
            start = time.perf_counter()
            reply = handler(message)
            # The stage being asked is the one that was begun last.
            stage = next(reversed(self._exchange.costs), SETUP)
            self._stages.setdefault(stage, []).append(time.perf_counter() - start)
            if trace:
                now, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                self.memory = max(self.memory, self._kept + peak)
                self._kept += now
            if user == 0:
                self._copied = reply
            return reply

        return handle

    def _copy(self, message: Message) -> Message:
        del message
        assert self._copied is not None
        return self._copied


def deal_bcp(params: Any, users: tuple[int, ...], p: int, q: int) -> Dealt:
    del users
    return Dealt(public=BressonGroup.from_primes(p, q, insecure=params.insecure).to_bytes())


def deal_fpe(params: Any, users: tuple[int, ...], p: int, q: int) -> Dealt:
    """Every user the same seeds."""
    group, seeds = BressonGroup.from_primes(p, q, insecure=params.insecure), Seeds.draw()
    pads = Scheme(group).pads([seeds.pads] * len(users), 0, params.prepared, threads=2)
    sums = [pad.to_bytes(group.number_bytes, "little") for pad in pads]
    return Dealt(group.to_bytes(), seeds.keys * len(users) + b"".join(sums), dict.fromkeys(users, seeds.to_bytes()))


def deal_ibmhom(params: Any, users: tuple[int, ...], p: int, q: int) -> Dealt:
    """Every user the share that a constant polynomial gives: the key itself, as long as any other share."""
    key, _ = deal_from_primes(p, q, len(users), 1, params.insecure)
    _, (share, *_) = deal_from_primes(p, q, 1, 1, params.insecure)
    key = replace(key, threshold=threshold_of(params.threshold, len(users)))
    return Dealt(key.to_bytes(), users={user: replace(share, point=user + 1).to_bytes() for user in users})


DEALERS: dict[str, Callable[[Any, tuple[int, ...], int, int], Dealt]] = {
    "bcp": deal_bcp,
    "fpe": deal_fpe,
    "ibmhom": deal_ibmhom,
}
COPIED = ("fpe", "ibmhom")
