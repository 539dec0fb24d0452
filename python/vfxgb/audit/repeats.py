"""Rows that were sent the same: in the first round there are two gradients only, so equal bytes mean equal labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.claims import Claim
from vfxgb.audit.view import AttackerView


def repeat_claims(view: AttackerView, peer: str, sent: Mapping[int, NDArray[Any]], things: str) -> list[Claim]:
    """For each round one claim: rows with equal entries of `sent[round]` share a label; where none are, a mere guess.

    `sent`: round -> one number for what each sampled row of the first tree was sent, the same for the same.
    """
    roots = {node.round: node.rows for node in view.nodes(peer) if node.node == 0 and node.tree == 0}
    claims = []
    for round_index, group in sent.items():
        rows = roots[round_index]
        again = np.bincount(group)[group] > 1
        if again.any():
            detail = f"{int(again.sum())} of {len(rows)} {things} appear more than once"
            claims.append(Claim("leaf labels", peer, round_index, 0, 0, rows[again], group[again], detail=detail))
        else:
            nothing, detail = np.zeros(len(rows), dtype=np.bool_), f"all {things} differ"
            claims.append(Claim("labels", peer, round_index, 0, 0, rows, nothing, unnamed=True, detail=detail))
    return claims
