"""Equal ciphertexts have equal gradients: what a passive party would see if encryption were deterministic.

In the first round there are two gradients only, so that any repetition tells which rows share a label. Honest
randomness never repeats; this attack is a check that it was there.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.he.messages import HeGradients


def run(view: AttackerView) -> Outcome:
    """Group the rows of each round by the bytes of their first ciphertext."""
    (active,) = view.peers
    roots = {node.round: node.rows for node in view.nodes(active) if node.node == 0 and node.tree == 0}
    seen: dict[int, list[bytes]] = {}
    for message in view.messages(active, HeGradients.TAG, HeGradients):
        if message.lane == 0 and message.count:
            width = len(message.ciphertexts) // message.count
            data = bytes(message.ciphertexts)
            seen.setdefault(message.round, []).extend(
                data[place : place + width] for place in range(0, len(data), width)
            )
    claims = []
    for round_index, ciphertexts in seen.items():
        rows = roots[round_index]
        _, group, counts = np.unique(np.array(ciphertexts, dtype=object), return_inverse=True, return_counts=True)
        again = counts[group] > 1
        if again.any():
            detail = f"{int(again.sum())} of {len(rows)} ciphertexts appear more than once"
            claims.append(Claim("leaf labels", active, round_index, 0, 0, rows[again], group[again], detail=detail))
        else:
            nothing = np.zeros(len(rows), dtype=np.bool_)
            detail = "all ciphertexts differ"
            claims.append(Claim("labels", active, round_index, 0, 0, rows, nothing, unnamed=True, detail=detail))
    return Outcome(claims)


ATTACK = Attack(
    "equal-ciphertexts", "which rows share a label, by equal ciphertexts", "passive", (HeGradients.TAG,), run
)
