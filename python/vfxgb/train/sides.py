"""The two sides of a training, each over channels that are there already: threads of one process, or a network.

    active party: run_active(...)            passive party: run_passive(...)

Both tell their peers when they fail and raise; neither closes a channel that ended well. A run is known by its run id.
One that broke off is resumed by calling both again with new channels, the same arguments, and the state that `keep` got
last (plan.RunHooks): the model is then the one that the undisturbed run would have made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract.messages import TRAINING_MESSAGES
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.runtime.ledger import Ledger, Opened
from vfxgb.runtime.timings import Timings
from vfxgb.train.active import ActiveInput, ActiveParty
from vfxgb.train.callbacks import EarlyStopping, EvalsLog, TrainingCallback, as_callbacks
from vfxgb.train.passive import PassiveInput, PassiveParty
from vfxgb.train.plan import ActiveHooks, PassiveHooks, RunPlan
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
NOT_COUNTED = (
    "{party} is not told which rows are in a node: nobody can count which of the sums it showed are over few rows"
)
SPLITS_WITHHELD = (
    "{party} did not tell the rows of {count:,} of its winning splits, which were beyond {limit} of its consent; a "
    "larger {limit} gives these splits to the model, and their rows' bits to the active party"
)
SLOTS_GUESSED = (
    "colsample_bynode draws the features of a node from random_state: a passive party that knows it can tell the open "
    "nodes of a level apart, though not their rows"
)


@dataclass(frozen=True, kw_only=True)
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


def run_active(plan: RunPlan, given: ActiveInput, channels: Mapping[str, Channel], hooks: ActiveHooks) -> LeadResult:
    """Train, as the active party. `plan`, `hooks`: see plan.py.

    `channels` lead to every passive party; their catalogue holds `training_messages` of the plan's protocol.

    Raises PeerError (a peer failed, left, or kept silent: resume), CheckpointError (`hooks.resumed` is of other data,
    settings or another state than a peer's), and the errors of the parts it calls; every peer has been told.
    """
    plan = plan.for_rows(given.n_train)
    hooks = replace(hooks, callbacks=_all_callbacks(hooks.callbacks, plan.params))
    private_trees = plan.options.private_trees
    if private_trees:
        check_private_stage(given, make_objective(plan.params).n_outputs, channels, hooks.callbacks)
    with failure_told(channels.values()):
        leader = ActiveParty(plan, given, channels, hooks)
        share = leader.run()
    if private_trees:
        margins = leader.margins
        assert margins is not None  # noqa: S101 - protocols with a private stage have no rows in shards
        stage = train_private_stage(plan, share, given, margins, leader.timings)
        share = replace(share, private_stage=stage)
        hooks.ledger.notes.append(PRIVATE_STAGE.format(party=plan.party, rounds=stage.n_rounds))
    _enter_active(hooks.ledger, plan, leader, given.n_train, bool(channels))
    state = leader.state
    return LeadResult(
        share=share,
        timings=leader.timings,
        evals_result=state.evals_log,
        best_iteration=state.best_iteration,
        best_score=state.best_score,
        margins=None if leader.margins is None else leader.margins.astype(np.float64),
        resumed_at=state.start,
    )


def _enter_active(ledger: Ledger, plan: RunPlan, leader: ActiveParty, n_train: int, joint: bool) -> None:
    """Enter what the active party knows beyond single messages. `joint`: there is a passive party."""
    ledger.privacy.add(*leader.events)
    ledger.opened = {name: Opened(count, n_train) for name, count in leader.opened_equations.items() if count}
    ledger.purity = leader.leaf_purity()
    ledger.notes.extend(leader.remarks)
    params, shows_sums = plan.params, joint and plan.spec.shows_sums
    if shows_sums and min(params.colsample_bylevel, params.colsample_bynode) < 1.0:
        ledger.notes.append(f"{plan.party} can tell which sums belong to one feature: {COLUMNS_WITHHELD}")
    if shows_sums and plan.spec.shows_nodes and params.sampling_method == "goss" and not params.told_sample:
        ledger.notes.append(SAMPLE_HIDDEN)
    if joint and not plan.spec.shows_nodes and params.colsample_bynode < 1.0:
        ledger.notes.append(SLOTS_GUESSED)


def run_passive(party: str, run_id: str, given: PassiveInput, channel: Channel, hooks: PassiveHooks) -> FollowResult:
    """Take part in a training, as a passive party, until the model is sealed. `hooks`: see plan.RunHooks.

    `given.accept(setup)`: called before anything is done; raises ConsentError for what this party does not agree to.

    Raises as `run_active`.
    """
    with failure_told([channel]):
        follower = PassiveParty(party, run_id, given, channel, hooks)
        try:
            follower.run()
        finally:
            # Of a run that breaks off, too: what it showed is known.
            enter(hooks.ledger, follower)
    return FollowResult(share=follower.share(), timings=follower.timings, resumed_at=follower.resumed_at)


def enter(ledger: Ledger, follower: PassiveParty) -> None:
    """Enter what a passive party knows beyond single messages: what its sums add up to, and what it released."""
    if follower.shows_nodes:
        ledger.small_sums[follower.party] = follower.disclosed.small_sums
    elif follower.disclosed.opened_equations:
        ledger.notes.append(NOT_COUNTED.format(party=follower.party))
    withheld = {"max_wins": follower.disclosed.withheld_wins, "max_won_columns": follower.disclosed.withheld_columns}
    for limit, count in withheld.items():
        if count:
            ledger.notes.append(SPLITS_WITHHELD.format(party=follower.party, count=count, limit=limit))
    if follower.disclosed.opened_equations:
        ledger.opened[follower.party] = Opened(follower.disclosed.opened_equations, follower.n_train)
    ledger.begun[follower.party] = (follower.begun.total, follower.begun.again)
    ledger.privacy.add(*follower.events)
    if follower.ledger is not ledger:
        ledger.across_runs.update(follower.ledger.across_runs)
        ledger.notes += follower.ledger.notes


def _all_callbacks(callbacks: Sequence[TrainingCallback], params: TrainParams) -> list[TrainingCallback]:
    """The callbacks given, and the one that early stopping needs."""
    every = as_callbacks(callbacks)
    if params.early_stopping_rounds is not None:
        every.append(EarlyStopping(params.early_stopping_rounds))
    return every
