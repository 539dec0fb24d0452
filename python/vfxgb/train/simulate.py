"""One training run in this process: the active party in the calling thread, each passive party in a thread of its own.

The parties share nothing but the channels, which carry the bytes that a network would. A party that fails tells the
others; the caller of `fit` gets the error of the party that failed first, and no thread is left behind.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb._native.rand import random_bytes
from vfxgb.contract import TranscriptSink
from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.parties import check_parties
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.data.target import TargetSource
from vfxgb.engine.base import Engine
from vfxgb.engine.settings import EngineSettings, engines_for
from vfxgb.errors import CutsError, InsecureProtocolWarning, LengthMismatchError
from vfxgb.model.file import save_share
from vfxgb.model.seal import seal_all
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.params import TrainParams
from vfxgb.protocols import broken
from vfxgb.runtime.ledger import Ledger
from vfxgb.threads import resolve_threads
from vfxgb.train.active import ActiveInput
from vfxgb.train.callbacks import TrainingCallback, as_callbacks
from vfxgb.train.passive import PassiveInput, PassiveParty
from vfxgb.train.plan import ActiveHooks, PassiveHooks, RunPlan
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.settings import plain_params
from vfxgb.train.sides import LeadResult, enter, run_active, training_messages
from vfxgb.train.transcript import Recorder, Transcript
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.line import UNKNOWN_LINE, KnownLine
from vfxgb.transport.messages import Catalogue
from vfxgb.transport.threads import PartyThread, running
from vfxgb.transport.traffic import Traffic


@dataclass(frozen=True, kw_only=True)
class FitResult(LeadResult):
    """What a run leaves at all parties: beside what it leaves at the active one, the others' shares.

    `ledger`: what every message revealed, to whom. `traffic`: per passive party bytes, messages and round trips, as the
    active party counts them. `timings`: seconds per phase of the active party; `.parties` those of the others.
    `transcript`: what every party saw and knew, if the run was recorded.
    """

    passive_shares: dict[str, PassiveShare]
    ledger: Ledger
    traffic: dict[str, Traffic]
    transcript: Transcript | None = None

    @property
    def active_share(self) -> ActiveShare:
        """The active party's share."""
        return self.share


@dataclass(frozen=True)
class SimulatedInput:
    """What all parties bring to a training in this process, and how they work.

    `tables`: party -> its columns, in party order, all with the same n_rows rows: the `n_train` training rows followed
    by those of all eval sets. labels[n_rows] and weight[n_rows] (or None) cover all of these rows. `evals` names slices
    of the rows; training rows may be among them. `cuts`: column -> ascending cut points, imposed. Imputation
    (params.missing_strategy) is done in the run: tables come with their NaN. `record`: keep all messages and what an
    audit needs besides; this is private data of every party, and as large as all traffic together. `engine`: where each
    party's rows lie and are worked on; with one that has shards, tables and labels (with the weights) may be
    descriptions of where to read them. `privacy_dir`: a folder, made if it is not there, in which every party keeps
    what it releases under differential privacy, to be used again, and its account over all runs (releases.py); None:
    this run only. `line`: what is known of the line that the parties would have between them. `base_margin`: see
    ActiveInput.
    """

    tables: Mapping[str, Table | Source]
    labels: NDArray[Any] | TargetSource
    weight: NDArray[Any] | None
    n_train: int
    evals: Sequence[tuple[str, slice]] = ()
    cuts: Mapping[str, Any] | None = None
    record: bool = False
    engine: EngineSettings = field(default_factory=EngineSettings)
    privacy_dir: str | os.PathLike[str] | None = None
    line: KnownLine = UNKNOWN_LINE
    base_margin: NDArray[np.float32] | None = None


def plan_for(
    tables: Mapping[str, Table | Source],
    active: str,
    params: TrainParams,
    protocol: str = "plain",
    protocol_params: Mapping[str, Any] | None = None,
) -> RunPlan:
    """The plan of a new run of the parties that hold `tables`. Raises as RunPlan.resolve, TableError."""
    check_parties(tables, active)
    return RunPlan.resolve(active, tuple(tables), random_bytes(RUN_BYTES).hex(), params, protocol, protocol_params)


def fit(given: SimulatedInput, plan: RunPlan, callbacks: Sequence[TrainingCallback] | None = None) -> FitResult:
    """Train. `plan` comes from `plan_for`, for the same tables.

    Callbacks run in the calling thread; params.early_stopping_rounds adds one. Raises the errors of the parts it calls;
    every one names party and column or step. An error at a passive party is raised here as it was raised there.
    """
    tables, active = given.tables, plan.party
    n_rows = tables[active].n_rows
    if not 1 <= given.n_train <= n_rows:
        raise LengthMismatchError(
            f"training: found {given.n_train} training rows of {n_rows} rows, wanted 1 to {n_rows}"
        )
    given.engine.check()
    if plan.spec.security == "broken":
        warnings.warn(InsecureProtocolWarning(broken(plan.spec)), stacklevel=2)
    refuse_unknown_cuts(given.cuts, [name for table in tables.values() for name in table.names])
    directions = _directions(tables, plan.params)
    ledger = Ledger()
    recorder = Recorder(tables, active) if given.record else None
    channels: dict[str, Channel] = {}
    passive: dict[str, PassiveParty] = {}
    others: dict[str, PartyThread] = {}

    def save(share: ActiveShare, folder: Path) -> None:
        # The passive parties wait for the next round: their records do not change meanwhile.
        sealed, rest = seal_all(share, {name: follower.share() for name, follower in passive.items()})
        save_share(sealed, folder / f"{sealed.party}.json")
        for part in rest.values():
            save_share(part, folder / f"{part.party}.json")

    hooks = ActiveHooks(save=save, ledger=ledger, note=_note(recorder, active), callbacks=as_callbacks(callbacks))
    with engines_for(tables, given.engine, plan.params.n_jobs) as engines:
        own, theirs = _inputs(given, plan, directions, engines)
        for party, brought in theirs.items():
            channels[party], end = _connect(plan, party, ledger, recorder)
            passive[party] = PassiveParty(party, plan.run_id, brought, end, PassiveHooks(note=_note(recorder, party)))
            others[party] = PartyThread(party, passive[party].run, end)
        with running(channels, others):
            result = run_active(plan, own, channels, hooks)
    for party, follower in passive.items():
        result.timings.parties[party] = follower.timings
        enter(ledger, follower)
    transcript = None
    if recorder is not None:
        transcript = recorder.transcript(plan.spec.name, plan.protocol_params, plain_params(plan.params))
    shares = {party: follower.share() for party, follower in passive.items()}
    traffic = {party: channel.traffic for party, channel in channels.items()}
    return FitResult(**vars(result), passive_shares=shares, ledger=ledger, traffic=traffic, transcript=transcript)


def _inputs(
    given: SimulatedInput,
    plan: RunPlan,
    directions: Mapping[str, NDArray[np.int8]],
    engines: Mapping[str, Engine | None],
) -> tuple[ActiveInput, dict[str, PassiveInput]]:
    """What the active party brings, and what each passive party does."""
    tables, active = given.tables, plan.party
    n_rows = tables[active].n_rows
    threads = resolve_threads(plan.params.n_jobs)
    local = {name: getattr(plan.protocol_params, name) for name in plan.spec.local_params}
    theirs = {
        party: PassiveInput(
            table,
            threads,
            _cuts_of(given.cuts, table),
            directions.get(party),
            local,
            privacy=_privacy(given.privacy_dir, party),
            engine=engines[party],
            line=given.line,
        )
        for party, table in tables.items()
        if party != active
    }
    labels = given.labels
    own = ActiveInput(
        tables[active],
        labels if isinstance(labels, TargetSource) else read_labels(labels, n_rows, active),
        read_weights(given.weight, n_rows, active),
        given.n_train,
        given.evals,
        threads,
        _cuts_of(given.cuts, tables[active]),
        directions.get(active),
        engines[active],
        _privacy(given.privacy_dir, active),
        line=given.line,
        base_margin=given.base_margin,
    )
    return own, theirs


def _connect(plan: RunPlan, party: str, ledger: Ledger, recorder: Recorder | None) -> tuple[Channel, Channel]:
    """Both ends of the channel to a passive party, the active party's first."""
    taps = (None, None) if recorder is None else (recorder.tap(plan.party), recorder.tap(party))
    catalogue = Catalogue(training_messages(plan.spec.name))
    return memory_channels(plan.party, party, catalogue, bytes.fromhex(plan.run_id), ledger.record, taps=taps)


def _privacy(privacy_dir: str | os.PathLike[str] | None, party: str) -> PrivacyFolder | None:
    return None if privacy_dir is None else PrivacyFolder(Path(privacy_dir) / party, party)


def _note(recorder: Recorder | None, party: str) -> TranscriptSink | None:
    return None if recorder is None else recorder.note(party)


def _directions(tables: Mapping[str, Table | Source], params: TrainParams) -> dict[str, NDArray[np.int8]]:
    """Monotone directions int8 per column of each party; empty when nothing is constrained."""
    signs = params.constraints([name for table in tables.values() for name in table.names])
    if not signs:
        return {}
    directions: dict[str, NDArray[np.int8]] = {}
    begin = 0
    for party, table in tables.items():
        directions[party] = np.array(signs[begin : begin + len(table.names)], dtype=np.int8)
        begin += len(table.names)
    return directions


def _cuts_of(cuts: Mapping[str, Any] | None, table: Table | Source) -> dict[str, Any] | None:
    return None if cuts is None else {name: cuts[name] for name in table.names if name in cuts}


def refuse_unknown_cuts(cuts: Mapping[str, Any] | None, names: Sequence[str]) -> None:
    """Raise CutsError for cuts of a column that is none of `names`."""
    for name in cuts or {}:
        if name not in names:
            raise CutsError(f"imposing cuts: there is no column {name!r}; the columns are {list(names[:20])}")
