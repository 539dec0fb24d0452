"""The private last stage: trees that the active party grows alone, after the last message of a run.

They are grown on the party's own columns and the margin of the joint model, with the true labels. Nobody else learns
that there are any: no message depends on them, and the seal of the joint model does not cover them. Under `ldp` the
joint margin comes from noisy labels, so it brings the other parties' columns in at the epsilon that was paid already,
and the stage makes up for what the noise cost where the active party's own columns can. Whoever sees its predictions
sees a function of true labels, which no epsilon covers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.source import as_table
from vfxgb.errors import ProtocolParameterError
from vfxgb.model.private_stage import score_names, with_scores
from vfxgb.model.shares import ActiveShare
from vfxgb.params import TrainParams
from vfxgb.runtime.timings import Timings
from vfxgb.train.active import ActiveInput, ActiveParty
from vfxgb.train.callbacks import EarlyStopping, TrainingCallback
from vfxgb.train.plan import ActiveHooks, RunPlan
from vfxgb.transport.channel import Channel

# Nothing leaves the party, so nothing needs protection.
ALONE = "plain"


def check_private_stage(
    given: ActiveInput, n_outputs: int, channels: Mapping[str, Channel], callbacks: Sequence[TrainingCallback]
) -> None:
    """Raise ProtocolParameterError or ColumnNameError, before anything is sent, where no stage can be trained."""
    what = "private_stage_trees"
    if not channels:
        raise ProtocolParameterError(f"{what}: there is no other party, so the model is private already; leave it out")
    if any(isinstance(callback, EarlyStopping) for callback in callbacks):
        raise ProtocolParameterError(
            f"{what}: the stage is trained on the score of all rounds, found early stopping, which would predict with "
            "fewer; leave early_stopping_rounds out and choose n_estimators"
        )
    score_names(tuple(given.table.names), n_outputs)


def train_private_stage(
    plan: RunPlan, share: ActiveShare, given: ActiveInput, margins: NDArray[np.float32], timings: Timings
) -> ActiveShare:
    """The stage of a joint model `share` of the run `plan`, whose rows have these margins [n_rows, n_outputs].

    It has the settings of the run, but for those that protect sums from others, and starts from the true labels.
    """
    constraints = given.constraints
    if constraints is not None:
        constraints = np.concatenate([constraints, np.zeros(share.n_outputs, dtype=np.int8)])
    own = replace(given, table=with_scores(as_table(given.table), margins), constraints=constraints)
    settings = replace(
        plan.params,
        n_estimators=plan.options.private_trees,
        base_score=None,
        early_stopping_rounds=None,
        monotone_constraints=None,
        min_bucket_rows=TrainParams.min_bucket_rows,
        reduced_leakage=False,
    )
    alone = RunPlan.resolve(plan.party, (plan.party,), plan.run_id, settings, ALONE)
    with timings.phase("private stage"):
        return ActiveParty(alone, own, {}, ActiveHooks()).run()
