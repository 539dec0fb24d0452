"""Equal ciphertexts have equal gradients: what a passive party would see if encryption were deterministic.

In the first round there are two gradients only, so that any repetition tells which rows share a label. Honest
randomness never repeats; this attack is a check that it was there.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Outcome
from vfxgb.audit.repeats import repeat_claims
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.he.messages import HeGradients


def run(view: AttackerView) -> Outcome:
    """Group the rows of each round by the bytes of their first ciphertext."""
    (active,) = view.peers
    seen: dict[int, list[bytes]] = {}
    for message in view.messages(active, HeGradients.TAG, HeGradients):
        if message.lane == 0 and message.count:
            width, data = len(message.ciphertexts) // message.count, bytes(message.ciphertexts)
            parts = [data[place : place + width] for place in range(0, len(data), width)]
            seen.setdefault(message.round, []).extend(parts)
    groups = {
        round_index: np.unique(np.array(ciphertexts, dtype=object), return_inverse=True)[1]
        for round_index, ciphertexts in seen.items()
    }
    return Outcome(repeat_claims(view, active, groups, "ciphertexts"))


ATTACK = Attack(
    "equal-ciphertexts", "which rows share a label, by equal ciphertexts", "passive", (HeGradients.TAG,), run
)
