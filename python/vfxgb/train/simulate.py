"""One training run in this process: the active party in the calling thread, each passive party in a thread of its own.

The parties share nothing but the channels, which carry the bytes that a network would. A party that fails tells the
others; the caller of `fit` gets the error of the party that failed first, and no thread is left behind.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from vfxgb.engine.settings import EngineSettings, engines_for
from vfxgb.errors import CutsError, InsecureProtocolWarning, LengthMismatchError
from vfxgb.model.file import save_share
from vfxgb.model.seal import seal_all
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.params import TrainParams
from vfxgb.protocols import broken, make_protocol_params, protocol_by_name, require_consent
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.threads import resolve_threads
from vfxgb.train.active import ActiveInput
from vfxgb.train.callbacks import EvalsLog, TrainingCallback, as_callbacks
from vfxgb.train.passive import PassiveInput, PassiveParty
from vfxgb.train.plan import ActiveHooks, PassiveHooks, RunPlan
from vfxgb.train.releases import PrivacyFolder
from vfxgb.train.settings import plain_params
from vfxgb.train.sides import enter, run_active, training_messages
from vfxgb.train.transcript import Recorder, Transcript
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.messages import Catalogue
from vfxgb.transport.threads import PartyThread, run_together
from vfxgb.transport.traffic import Traffic


@dataclass(frozen=True)
class FitResult:
    """What a run leaves.

    `ledger`: what every message revealed, to whom. `traffic`: per passive party bytes, messages and round trips, as the
    active party counts them. `timings`: seconds per phase of the active party; `.parties` those of the others.
    `evals_result`: eval set -> metric -> value per round. `best_iteration`, `best_score`: None without early stopping.
    `margins`: float64[n_rows, n_outputs], training rows then eval rows, after all rounds; None of rows in shards.
    `transcript`: what every party saw and knew, if the run was recorded.
    """

    active_share: ActiveShare
    passive_shares: dict[str, PassiveShare]
    ledger: Ledger
    traffic: dict[str, Traffic]
    timings: Timings
    evals_result: EvalsLog
    best_iteration: int | None
    best_score: float | None
    margins: NDArray[np.float64] | None
    transcript: Transcript | None = None


def fit(
    tables: Mapping[str, Table | Source],
    active: str,
    y: NDArray[Any] | TargetSource,
    weight: NDArray[Any] | None,
    n_train: int,
    params: TrainParams,
    protocol: str = "plain",
    protocol_params: Mapping[str, Any] | None = None,
    evals: Sequence[tuple[str, slice]] = (),
    callbacks: Sequence[TrainingCallback] | None = None,
    cuts: Mapping[str, Any] | None = None,
    record: bool = False,
    engine: EngineSettings | None = None,
    privacy_dir: str | os.PathLike[str] | None = None,
) -> FitResult:
    """Train.

    `tables`: party -> its columns, in party order, all with the same n_rows rows: the `n_train` training rows followed
    by those of all eval sets. y[n_rows] and weight[n_rows] (or None) cover all of these rows. `evals` names slices of
    the rows; training rows may be among them. `cuts`: column -> ascending cut points, imposed. Imputation
    (params.missing_strategy) and params.early_stopping_rounds are done here: tables come with their NaN. Callbacks run
    in the calling thread. `record`: keep all messages and what an audit needs besides; this is private data of every
    party, and as large as all traffic together. `engine`: where each party's rows lie and are worked on, None for this
    process; with one that has shards, tables and y (with the weights) may be descriptions of where to read them.
    `privacy_dir`: a folder, made if it is not there, in which every party keeps what it releases under differential
    privacy, to be used again, and its account over all runs (releases.py); None: this run only. Raises the errors of
    the parts it calls; every one names party and column or step. An error at a passive party is raised here as it was
    raised there.
    """
    check_parties(tables, active)
    n_rows = tables[active].n_rows
    if not 1 <= n_train <= n_rows:
        raise LengthMismatchError(f"training: found {n_train} training rows of {n_rows} rows, wanted 1 to {n_rows}")
    spec = protocol_by_name(protocol)
    own_params = make_protocol_params(spec, protocol_params)
    require_consent(spec, own_params)
    settings = EngineSettings() if engine is None else engine
    settings.check()
    if spec.security == "broken":
        warnings.warn(InsecureProtocolWarning(broken(spec)), stacklevel=2)
    threads = resolve_threads(params.n_jobs)
    names = [name for table in tables.values() for name in table.names]
    refuse_unknown_cuts(cuts, names)
    directions = _directions(tables, params, names)
    local = {name: getattr(own_params, name) for name in spec.local_params}
    run = random_bytes(RUN_BYTES)
    ledger = Ledger()
    recorder = Recorder(tables, active) if record else None
    catalogue = Catalogue(training_messages(protocol))
    channels: dict[str, Channel] = {}
    passive: dict[str, PassiveParty] = {}
    others: dict[str, PartyThread] = {}

    def save(share: ActiveShare, folder: Path) -> None:
        # The passive parties wait for the next round: their records do not change meanwhile.
        sealed, rest = seal_all(share, {name: one.share() for name, one in passive.items()})
        save_share(sealed, folder / f"{sealed.party}.json")
        for part in rest.values():
            save_share(part, folder / f"{part.party}.json")

    with engines_for(tables, settings, params.n_jobs) as engines:
        for party, table in tables.items():
            if party != active:
                taps = (None, None) if recorder is None else (recorder.tap(active), recorder.tap(party))
                channels[party], theirs = memory_channels(active, party, catalogue, run, ledger.record, taps=taps)
                given = PassiveInput(
                    table,
                    threads,
                    _cuts_of(cuts, table),
                    directions.get(party),
                    local,
                    privacy=_privacy(privacy_dir, party),
                    engine=engines[party],
                )
                hooks = PassiveHooks(note=_note(recorder, party))
                passive[party] = PassiveParty(party, run.hex(), given, theirs, hooks)
                others[party] = PartyThread(party, passive[party].run, theirs)
        own = ActiveInput(
            tables[active],
            y if isinstance(y, TargetSource) else read_labels(y, n_rows, active),
            read_weights(weight, n_rows, active),
            n_train,
            evals,
            threads,
            _cuts_of(cuts, tables[active]),
            directions.get(active),
            engines[active],
            _privacy(privacy_dir, active),
        )
        result = run_together(
            lambda: run_active(
                RunPlan(active, tuple(tables), run.hex(), params, spec, own_params),
                own,
                channels,
                ActiveHooks(save=save, ledger=ledger, note=_note(recorder, active), callbacks=as_callbacks(callbacks)),
            ),
            channels,
            others,
        )
    for name, one in passive.items():
        result.timings.parties[name] = one.timings
        enter(ledger, one)
    return FitResult(
        active_share=result.share,
        passive_shares={name: one.share() for name, one in passive.items()},
        ledger=ledger,
        traffic={name: channel.traffic for name, channel in channels.items()},
        timings=result.timings,
        evals_result=result.evals_result,
        best_iteration=result.best_iteration,
        best_score=result.best_score,
        margins=result.margins,
        transcript=None if recorder is None else recorder.transcript(spec.name, own_params, plain_params(params)),
    )


def _privacy(privacy_dir: str | os.PathLike[str] | None, party: str) -> PrivacyFolder | None:
    return None if privacy_dir is None else PrivacyFolder(Path(privacy_dir) / party, party)


def _note(recorder: Recorder | None, party: str) -> TranscriptSink | None:
    return None if recorder is None else recorder.note(party)


def _directions(
    tables: Mapping[str, Table | Source], params: TrainParams, names: list[str]
) -> dict[str, NDArray[np.int8]]:
    """Monotone directions int8 per column of each party; empty when nothing is constrained."""
    signs = params.constraints(names)
    if not signs:
        return {}
    found: dict[str, NDArray[np.int8]] = {}
    begin = 0
    for party, table in tables.items():
        found[party] = np.array(signs[begin : begin + len(table.names)], dtype=np.int8)
        begin += len(table.names)
    return found


def _cuts_of(cuts: Mapping[str, Any] | None, table: Table | Source) -> dict[str, Any] | None:
    return None if cuts is None else {name: cuts[name] for name in table.names if name in cuts}


def refuse_unknown_cuts(cuts: Mapping[str, Any] | None, names: Sequence[str]) -> None:
    """Raise CutsError for cuts of a column that is none of `names`."""
    for name in cuts or {}:
        if name not in names:
            raise CutsError(f"imposing cuts: there is no column {name!r}; the columns are {list(names[:20])}")
