"""Equal masked pairs have equal masks and gradients: what a passive party would see if masks came again.

In the first round there are two gradients only, so that any repetition tells which rows share a label. Masks of
different rows, features, trees and runs are different outputs of a pseudorandom function; this attack is a check that
they were.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Outcome
from vfxgb.audit.repeats import repeat_claims
from vfxgb.audit.view import AttackerView
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.ot_shares.messages import OtGradients
from vfxgb.protocols.ot_shares.shares import pair_codec


def run(view: AttackerView) -> Outcome:
    """Group the rows of each round by their masked pairs in one feature of the first tree."""
    (active,) = view.peers
    groups = {
        round_index: np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        for round_index, pairs in _pairs(view, active).items()
    }
    return Outcome(repeat_claims(view, active, groups, "masked pairs"))


def _pairs(view: AttackerView, active: str) -> dict[int, NDArray[np.uint64]]:
    """Round -> uint64[rows, 2], of the first slot of the first tree."""
    params = make_protocol_params(protocol_by_name(view.protocol), view.setup.protocol_params)
    codec = pair_codec(params, view.setup.n_train, view.setup.hessian_shift, 1)
    seen: dict[int, list[NDArray[np.uint64]]] = {}
    for message in view.messages(active, OtGradients.TAG, OtGradients):
        if message.tree == 0:
            pairs = codec.unpack(message.pairs, (message.n_slots, message.count), "reading masked pairs")
            seen.setdefault(message.round, []).append(pairs[0])
    return {round_index: np.concatenate(parts) for round_index, parts in seen.items()}


ATTACK = Attack("equal-masks", "which rows share a label, by equal masked pairs", "passive", (OtGradients.TAG,), run)
