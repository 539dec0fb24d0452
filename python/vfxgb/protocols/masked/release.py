"""What the active party releases under `masked`, and the two guarantees that its events tell apart.

The paper's (theorem 2) is about somebody who does not know the noise vectors. The passive party made them, so it is
entered as one that does not hold (ERRATA E41). With noise adapted to nodes it is also conditional: the number of rows
of a node scales the noise, and which rows are in a node was chosen by labels. The other guarantee exists with
active_noise="gaussian" only: before anything is grown, the gradients of a round get noise that the active party draws
itself. Masks, sums, scores, leaves and the next round's margins are made of those noisy gradients alone, however often
they are masked anew.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import Gradients, Release, ReleaseContext
from vfxgb.dp import Event
from vfxgb.errors import DpError, ProtocolParameterError
from vfxgb.protocols.ldp.params import LdpParams
from vfxgb.protocols.ldp.release import NoRelease
from vfxgb.protocols.ldp.release import make_release as make_ldp_release
from vfxgb.protocols.masked.calibration import LOGISTIC_RANGE, theorem2_epsilon
from vfxgb.protocols.masked.params import MaskedParams

# What one message is claimed to protect, by noise_scale.
CLAIMS = {
    "node": "the gradients of a node's rows in one message, as theorem 2 of MaskedXGBoost has it",
    "root": "the gradients of all rows in one message, as theorem 2 of MaskedXGBoost has it",
}
REASON = (
    "not valid against the passive party, which made the noise and takes it off again: two messages give it every "
    "gradient, and in the first round every label (ERRATA E41)"
)
NODE_REASON = (
    f"{REASON}; besides, it takes a node's rows as given, whose number scales the noise, but they follow from labels"
)
CLAIM_DELTA = 1e-3  # the paper's


class MaskedRelease:
    """A Release that enters the paper's claim, and leaves the rest to another one."""

    def __init__(self, context: ReleaseContext, inner: Release) -> None:
        self._context = context
        self._inner = inner

    def labels(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """See Release."""
        return self._inner.labels(labels)

    def gradients(self, gradients: Gradients) -> Gradients:
        """See Release."""
        context = self._context
        context.events.extend(self._claim(receiver, gradients.round) for receiver in context.receivers)
        return self._inner.gradients(gradients)

    def _claim(self, receiver: str, round_index: int) -> Event:
        """Theorem 2 for one message, with all rows on the left, which is its worst case.

        With noise_scale="node" each message has this epsilon; with "root" only one about all rows has, others less.
        """
        params: MaskedParams = self._context.params
        claim, reason = CLAIMS[params.noise_scale], NODE_REASON if params.noise_scale == "node" else REASON
        energy = params.C * params.sigma2**2
        epsilon = math.inf
        if energy > 0:
            epsilon = theorem2_epsilon(self._context.n_train * LOGISTIC_RANGE**2 / energy, CLAIM_DELTA)
        return Event("masked", epsilon, receiver, claim, round_index, delta=CLAIM_DELTA, holds=False, reason=reason)


def noise_params(params: MaskedParams) -> LdpParams:
    """The noise of active_noise="gaussian". Raises ValueError for a bad epsilon or delta."""
    return LdpParams(
        mechanism="gaussian",
        total_epsilon=params.active_epsilon,
        delta=params.active_delta,
        order=params.order,
        clip=params.clip,
        public_weights=params.public_weights,
        max_weight=params.max_weight,
    )


def make_release(context: ReleaseContext) -> MaskedRelease:
    """The release that the parameters ask for. Raises ProtocolParameterError for what the training cannot have."""
    params: MaskedParams = context.params
    if params.order == 1 and context.train.reg_lambda == 0.0:
        raise ProtocolParameterError(
            "masked, order=1: scores are divided by reg_lambda, found 0, wanted a positive number, or order=2"
        )
    if params.active_noise == "none":
        return MaskedRelease(context, NoRelease())
    try:
        return MaskedRelease(context, make_ldp_release(replace(context, params=noise_params(params))))
    except (ValueError, DpError) as error:
        raise ProtocolParameterError(f"masked, active_noise='gaussian': {error}") from None
