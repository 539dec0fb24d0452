"""The two sides of a training, each over channels that are there already: threads of one process, or a network.

    active party: run_active(...)            passive party: run_passive(...)

Both tell their peers when they fail and raise; neither closes a channel that ended well. A run is known by its run id.
One that broke off is resumed by calling both again with new channels, the same arguments, and the state that `keep` got
last (checkpoint.py): the model is then the one that the undisturbed run would have made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import TranscriptSink
from vfxgb.contract.messages import TRAINING_MESSAGES
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent
from vfxgb.runtime.ledger import Ledger, Opened
from vfxgb.runtime.secrets import SecretBox
from vfxgb.runtime.timings import Timings
from vfxgb.train.active import ActiveInput, ActiveParty
from vfxgb.train.callbacks import EarlyStopping, EvalsLog, TrainingCallback, TrainingState, as_callbacks
from vfxgb.train.checkpoint import ActiveState, PassiveState
from vfxgb.train.passive import PassiveInput, PassiveParty
from vfxgb.train.private_stage import check_private_stage, train_private_stage
from vfxgb.transport.channel import Channel
from vfxgb.transport.failure import failure_told
from vfxgb.transport.messages import Message

SAMPLE_HIDDEN = (
    "sums over few rows are counted by all training rows, as passive parties are not told which of them GOSS uses; "
    "rows that it leaves out add nothing to a sum, so more sums than counted are over few rows"
)
PRIVATE_STAGE = (
    "{party} trained {rounds} rounds of its own after the last message, with true labels: nothing of them was sent; "
    "predictions made with them are outside of every epsilon stated"
)
COLUMNS_WITHHELD = "column sampling by level or node withholds those of a feature together"


@dataclass(frozen=True)
class LeadResult:
    """What a run leaves at the active party.

    `share`: its sealed share; every passive party has stored its own. `evals_result`: eval set -> metric -> value per
    round. `best_iteration`, `best_score`: None without early stopping. `margins`: float64[n_rows, n_outputs], training
    rows then eval rows, after all rounds; None where rows are in shards. `resumed_at`: rounds that were done before, 0
    for a run in one piece.
    """

    share: ActiveShare
    timings: Timings
    evals_result: EvalsLog
    best_iteration: int | None
    best_score: float | None
    margins: NDArray[np.float64] | None
    resumed_at: int = 0


@dataclass(frozen=True)
class FollowResult:
    """What a run leaves at a passive party: its sealed share, and the rounds it went on from."""

    share: PassiveShare
    timings: Timings
    resumed_at: int = 0


def training_messages(protocol: str) -> tuple[type[Message], ...]:
    """Every message class of a training by `protocol`: what the catalogue of its channels must hold.

    Raises UnknownNameError.
    """
    return (*TRAINING_MESSAGES, *protocol_by_name(protocol).messages)


def run_active(
    party: str,
    parties: Sequence[str],
    run_id: str,
    given: ActiveInput,
    params: TrainParams,
    protocol: str,
    protocol_params: Mapping[str, Any] | None,
    channels: Mapping[str, Channel],
    *,
    callbacks: Sequence[TrainingCallback] | None = None,
    ledger: Ledger | None = None,
    save: Callable[[ActiveShare, Path], None] | None = None,
    keep: Callable[[ActiveState], None] | None = None,
    resumed: ActiveState | None = None,
    secrets: SecretBox | None = None,
    note: TranscriptSink | None = None,
    timings: Timings | None = None,
) -> LeadResult:
    """Train, as the active party.

    `parties`: all, in the order that global feature ids follow. `run_id`: hexadecimal, the same at every party.
    `channels`: to every passive party; their catalogue holds `training_messages(protocol)`. `callbacks`:
    params.early_stopping_rounds adds one. `ledger`: also the observer of the channels; gets what the party knows
    beyond single messages, and, for a resumed run, the totals until then. `save(share, folder)`: writes the share as it
    stands when the callback Checkpoint asks for it; None: that callback is refused. `keep(state)`: called before the
    first round and after every one, and under differential privacy also before a release is sent; must have stored
    the state when it returns (checkpoint.save_state). `resumed`: what `keep` got last. `secrets`: where private keys
    are kept; None: a resumed run makes new ones. `note`: for a run that is recorded. `timings`: to be filled, for who
    wants to look at them meanwhile.

    Raises PeerError (a peer failed, left, or kept silent: resume), CheckpointError (`resumed` is of other data,
    settings or another state than a peer's), and the errors of the parts it calls; every peer has been told.
    """
    spec = protocol_by_name(protocol)
    own_params = make_protocol_params(spec, protocol_params)
    require_consent(spec, own_params)
    hooks = _hooks(callbacks, params)
    private_trees = spec.options(own_params).private_trees
    if private_trees:
        check_private_stage(given, make_objective(params).n_outputs, channels, hooks)
    entered = Ledger() if ledger is None else ledger
    state = TrainingState(n_estimators=params.n_estimators, learning_rate=params.learning_rate)
    with failure_told(channels.values()):
        leader = ActiveParty(
            party,
            run_id,
            parties,
            given,
            params,
            spec,
            own_params,
            channels,
            note,
            keep=keep,
            resumed=resumed,
            secrets=secrets,
            ledger=entered,
            timings=timings,
        )
        share = leader.run(state, hooks, save)
    if private_trees:
        margins = leader.margins
        assert margins is not None  # noqa: S101 - protocols with a private stage have no rows in shards
        stage = train_private_stage(share, given, params, margins, private_trees, leader.timings)
        share = replace(share, private_stage=stage)
        entered.notes.append(PRIVATE_STAGE.format(party=party, rounds=stage.n_rounds))
    entered.privacy.add(*leader.events)
    entered.opened = {name: Opened(count, given.n_train) for name, count in leader.opened_equations.items() if count}
    entered.purity = leader.leaf_purity()
    entered.notes.extend(leader.remarks)
    if channels and spec.shows_sums and min(params.colsample_bylevel, params.colsample_bynode) < 1.0:
        entered.notes.append(f"{party} can tell which sums belong to one feature: {COLUMNS_WITHHELD}")
    if channels and spec.shows_sums and params.sampling_method == "goss" and not params.told_sample:
        entered.notes.append(SAMPLE_HIDDEN)
    return LeadResult(
        share=share,
        timings=leader.timings,
        evals_result=state.evals_log,
        best_iteration=state.best_iteration,
        best_score=state.best_score,
        margins=None if leader.margins is None else leader.margins.astype(np.float64),
        resumed_at=state.start,
    )


def run_passive(
    party: str,
    run_id: str,
    given: PassiveInput,
    channel: Channel,
    *,
    ledger: Ledger | None = None,
    save: Callable[[PassiveShare], None] | None = None,
    keep: Callable[[PassiveState], None] | None = None,
    resumed: PassiveState | None = None,
    note: TranscriptSink | None = None,
) -> FollowResult:
    """Take part in a training, as a passive party, until the model is sealed.

    `given.accept(setup)`: called before anything is done; raises ConsentError for what this party does not agree to.
    `save(share)`: stores the sealed share; called before the active party is told that it is stored. `keep(state)`:
    called before anything of a round is answered, after every round, when a round breaks off, and before a release
    under differential privacy is sent; must have stored the state when it returns. `resumed`: what `keep` got last,
    None for a new run; keep the state until the active party needs it no more, that is, as long as it might resume and
    seal again. `ledger`, `note`: as for `run_active`.

    Raises as `run_active`.
    """
    entered = Ledger() if ledger is None else ledger
    with failure_told([channel]):
        follower = PassiveParty(
            party, run_id, given, channel, note, save=save, keep=keep, resumed=resumed, ledger=entered
        )
        try:
            follower.run()
        finally:
            # Of a run that breaks off, too: what it showed is known.
            enter(entered, follower)
    return FollowResult(share=follower.share(), timings=follower.timings, resumed_at=follower.resumed_at)


def enter(ledger: Ledger, follower: PassiveParty) -> None:
    """Enter what a passive party knows beyond single messages: what its sums add up to, and what it released."""
    ledger.small_sums[follower.party] = follower.disclosed.small_sums
    if follower.disclosed.opened_equations:
        ledger.opened[follower.party] = Opened(follower.disclosed.opened_equations, follower.n_train)
    ledger.begun[follower.party] = (follower.begun.total, follower.begun.again)
    ledger.privacy.add(*follower.events)
    if follower.ledger is not ledger:
        ledger.across_runs.update(follower.ledger.across_runs)
        ledger.notes += follower.ledger.notes


def _hooks(callbacks: Sequence[TrainingCallback] | None, params: TrainParams) -> list[TrainingCallback]:
    hooks = as_callbacks(callbacks)
    if params.early_stopping_rounds is not None:
        hooks.append(EarlyStopping(params.early_stopping_rounds))
    return hooks
