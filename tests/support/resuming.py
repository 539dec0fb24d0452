"""Trainings whose parties are killed at chosen points and resumed from what they kept.

A party dies when its clock has counted so many operations: frames it sends or receives, and states it keeps. It then
says nothing more, to anybody. What is left of it is what its `keep` had stored, as files.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from protocol_variants import params_of, protocol_of
from vfxgb.data.table import Table
from vfxgb.engine.settings import EngineSettings, engines_for
from vfxgb.errors import PeerError
from vfxgb.model.pooled import PooledModel
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.model.xgboost_json import export_xgboost
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.secrets import SecretBox
from vfxgb.train.active import ActiveInput
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.checkpoint import ActiveState, PassiveState, load_state, save_state
from vfxgb.train.passive import PassiveInput
from vfxgb.train.plan import ActiveHooks, PassiveHooks, RunPlan
from vfxgb.train.sides import FollowResult, LeadResult, run_active, run_passive, training_messages
from vfxgb.transport.channel import Channel, Tap
from vfxgb.transport.link import Frame, Link, LinkClosed, Screen, memory_links
from vfxgb.transport.messages import Catalogue

DEADLINE = 180.0
N_TRAIN, N_ROWS = 70, 100
# Points of a run at which each party of an encrypted protocol is killed.
POINTS = int(os.environ.get("VFXGB_KILL_POINTS", "4"))


class KilledError(BaseException):
    """The end of a party."""


class Clock:
    """Counts the operations of one party; the one numbered `last` kills it."""

    def __init__(self, last: int | None = None) -> None:
        self.count = 0
        self.last = last
        self.dead = False
        self.links: list[Link] = []

    def tick(self) -> None:
        if self.dead:
            raise LinkClosed
        if self.count == self.last:
            self.dead = True
            for link in self.links:
                link.close()
            raise KilledError
        self.count += 1


class MortalLink:
    """A link of a party that may die."""

    def __init__(self, link: Link, clock: Clock) -> None:
        self._link, self._clock = link, clock
        clock.links.append(link)

    def put(self, frame: Frame) -> None:
        self._clock.tick()
        self._link.put(frame)

    def get(self, timeout: float | None) -> Frame:
        self._clock.tick()
        return self._link.get(timeout)

    def screen(self, screen: Screen) -> None:
        self._link.screen(screen)

    def close(self) -> None:
        self._link.close()


MEMORY = EngineSettings()


@dataclass(frozen=True)
class Training:
    """What is to be trained; the first of `tables` is the active party's."""

    tables: Mapping[str, Table]
    y: np.ndarray
    params: TrainParams
    protocol: str = "plain"
    protocol_params: Mapping[str, Any] | None = None
    callbacks: Callable[[], Sequence[TrainingCallback]] = tuple
    run_id: str = "ab" * 16
    engine: EngineSettings = MEMORY

    @property
    def active(self) -> str:
        return next(iter(self.tables))

    @property
    def passive(self) -> list[str]:
        return [party for party in self.tables if party != self.active]


@dataclass
class Attempt:
    """How one attempt went: the results of those who came to the end, the errors of the others."""

    lead: LeadResult | None = None
    follow: dict[str, FollowResult] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    # Those of the passive parties; messages are entered in `ledger` alone.
    ledgers: dict[str, Ledger] = field(default_factory=dict)


def problem(protocol: str = "plain", n_parties: int = 2, **changes: Any) -> Training:
    """A small one: 70 rows to train on, 30 to watch, three columns a party with some values missing.

    `protocol` may be a variant (protocol_variants.py).
    """
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(N_ROWS, 3 * n_parties)), 1).astype(np.float32)
    y = (X[:, 0] + X[:, 3] - 0.5 * X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=N_ROWS) > 0).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    names = ["bank", "shop", "mart"][:n_parties]
    tables = {
        party: Table.read(X[:, 3 * i : 3 * i + 3], names=[f"c{3 * i + j}" for j in range(3)], party=party)
        for i, party in enumerate(names)
    }
    usual = {"objective": "binary:logistic", "n_estimators": 3, "max_depth": 2, "max_bin": 8, "n_jobs": 1}
    params = changes.pop("protocol_params", params_of(protocol))
    callbacks = changes.pop("callbacks", tuple)
    return Training(tables, y, TrainParams(**(usual | changes)), protocol_of(protocol), params, callbacks)


def attempt(
    training: Training,
    folder: Path,
    kills: Mapping[str, int] | None = None,
    secrets: SecretBox | None = None,
    tap: Tap | None = None,
) -> Attempt:
    """Begin or go on, from what `folder` holds; `kills`: party -> the operation that it dies at."""
    found = Attempt()
    clocks = {party: Clock((kills or {}).get(party)) for party in training.tables}
    catalogue = Catalogue(training_messages(training.protocol))
    session = bytes(16)
    channels: dict[str, Channel] = {}
    threads: list[threading.Thread] = []
    for party in training.passive:
        ours, theirs = memory_links()
        own = MortalLink(ours, clocks[training.active])
        other = MortalLink(theirs, clocks[party])
        observer = found.ledger.record
        channels[party] = Channel(training.active, party, own, catalogue, session, observer, DEADLINE, tap=tap)
        channel = Channel(party, training.active, other, catalogue, session, None, DEADLINE)
        threads.append(
            threading.Thread(target=_follow, args=(training, folder, party, channel, clocks[party], found), daemon=True)
        )
    for thread in threads:
        thread.start()
    try:
        found.lead = _lead(training, folder, channels, clocks[training.active], secrets, found.ledger)
    except BaseException as error:
        found.errors[training.active] = error
    finally:
        for channel in channels.values():
            channel.close()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive(), "a passive party hangs"
    found.operations = {party: clock.count for party, clock in clocks.items()}
    return found


def _keeping(path: Path, clock: Clock) -> Callable[[Any], None]:
    def keep(state: Any) -> None:
        clock.tick()
        save_state(state, path)

    return keep


def _lead(
    training: Training,
    folder: Path,
    channels: Mapping[str, Channel],
    clock: Clock,
    secrets: SecretBox | None,
    ledger: Ledger,
) -> LeadResult:
    path = folder / f"{training.active}.run"
    with engines_for([training.active], training.engine, 1) as engines:
        own = ActiveInput(
            training.tables[training.active],
            training.y,
            None,
            N_TRAIN,
            [("valid", slice(N_TRAIN, N_ROWS))],
            1,
            engine=engines[training.active],
        )
        plan = RunPlan.resolve(
            training.active,
            tuple(training.tables),
            training.run_id,
            training.params,
            training.protocol,
            training.protocol_params,
        )
        hooks = ActiveHooks(
            keep=_keeping(path, clock),
            resumed=load_state(ActiveState, path),
            ledger=ledger,
            callbacks=training.callbacks(),
            secrets=secrets,
        )
        return run_active(plan, own, channels, hooks)


def _follow(training: Training, folder: Path, party: str, channel: Channel, clock: Clock, found: Attempt) -> None:
    path = folder / f"{party}.run"
    spec = protocol_by_name(training.protocol)
    chosen = make_protocol_params(spec, training.protocol_params)
    local = {name: getattr(chosen, name) for name in spec.local_params}
    try:
        with engines_for([party], training.engine, 1) as engines:
            found.follow[party] = run_passive(
                party,
                training.run_id,
                PassiveInput(training.tables[party], 1, local_params=local, engine=engines[party]),
                channel,
                PassiveHooks(
                    keep=_keeping(path, clock),
                    resumed=load_state(PassiveState, path),
                    ledger=found.ledgers.setdefault(party, Ledger()),
                ),
            )
    except BaseException as error:
        found.errors[party] = error
    finally:
        channel.close()


def exported(found: Attempt, folder: Path) -> bytes:
    """The model of an attempt that came to its end, as XGBoost JSON."""
    assert not found.errors, found.errors
    assert found.lead is not None
    shares = {party: result.share for party, result in found.follow.items()}
    path = folder / "model.json"
    export_xgboost(PooledModel(found.lead.share, shares), path)
    return path.read_bytes()


def contents(share: ActiveShare | PassiveShare, ordered: bool = True) -> dict[str, Any]:
    """Everything in a share but its salt and digests, as plain values.

    `ordered`: with the order of passive parties' records. Where nodes are hidden it follows the secret order of slots,
    and is another one in each run.
    """
    found: dict[str, Any] = {"run": share.run, "party": share.party, "features": share.records.features}
    found |= {name: getattr(share.records, name).tolist() for name in ("feature", "cut", "default_left")}
    if not ordered and isinstance(share, PassiveShare):
        names = ("feature", "cut", "default_left")
        found["splits"] = sorted(zip(*(found.pop(name) for name in names), strict=True))
    found["fill"] = share.records.fill
    if isinstance(share, ActiveShare):
        names = ("party", *(["record"] if ordered else []), "left", "right", "parent", "value", "gain", "cover")
        found["trees"] = [[getattr(tree, name).tolist() for name in names] for tree in share.trees]
        found |= {"base": share.base_margin.tolist(), "best": share.best_iteration, "params": dict(share.params)}
    return found


def undisturbed(training: Training, folder: Path) -> Attempt:
    """An attempt in which nobody dies, in a folder of its own."""
    calm = folder / "calm"
    calm.mkdir()
    found = attempt(training, calm)
    assert not found.errors, found.errors
    return found


def same_run(found: Attempt, calm: Attempt, folder: Path, ordered: bool = True) -> None:
    """Whether two attempts ended with one model and one history; `ordered`: see contents."""
    assert exported(found, folder) == exported(calm, folder)
    assert found.lead is not None
    assert calm.lead is not None
    assert contents(found.lead.share, ordered) == contents(calm.lead.share, ordered)
    for party, result in found.follow.items():
        assert contents(result.share, ordered) == contents(calm.follow[party].share, ordered)
    assert found.lead.evals_result == calm.lead.evals_result
    # Margins of rows in shards stay there.
    if found.lead.margins is not None and calm.lead.margins is not None:
        assert (found.lead.margins == calm.lead.margins).all()
    assert found.lead.best_iteration == calm.lead.best_iteration
    assert found.lead.best_score == calm.lead.best_score


def killed(training: Training, folder: Path, victim: str, operation: int, **more: Any) -> Attempt:
    """An attempt whose victim dies; everybody else must come to know, and what is kept must be whole."""
    found = attempt(training, folder, {victim: operation}, **more)
    # A protocol that draws at random how much it sends may be done before.
    assert isinstance(found.errors.get(victim, KilledError()), KilledError), found.errors
    for party in (training.active, *training.passive):
        error = found.errors.get(party)
        assert party == victim or error is None or isinstance(error, PeerError), error
    return found


def points(total: int, count: int) -> list[int]:
    """`count` operations of `total`, the first and the last among them."""
    return sorted({round(i * (total - 1) / (count - 1)) for i in range(count)})
