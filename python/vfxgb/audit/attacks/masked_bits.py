"""The binned table from all masked bits of hidden routing: a check that those not chosen tell nothing.

For every row a passive party sends a bit for each of its winning splits of a level. The active party can open the one
of the row's own node. Read without regard to the masks, the others would be comparisons of every row at every split,
and order the rows better than `row-bits` does.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.routed_lines import routed_lines
from vfxgb.audit.row_comparisons import MOST_SPLITS, by_feature, positions, refined_bins
from vfxgb.audit.view import AttackerView
from vfxgb.contract.messages import Ready
from vfxgb.routing.messages import HiddenRouted


def run(view: AttackerView) -> Outcome:
    """Order rows by all bits of each passive party."""
    claims = []
    for peer in view.peers:
        lines = [bits[:, : view.setup.n_train] for _, _, _, bits in routed_lines(view, peer)]
        if not lines:
            continue
        sides = np.where(np.concatenate(lines)[:MOST_SPLITS], 1, -1).astype(np.int8)
        (ready,) = view.messages(peer, Ready.TAG, Ready)
        steps = view.setup.max_bin
        groups = by_feature(sides, ready.n_features)
        columns = [refined_bins(sides[splits], positions(sides[splits], steps), steps) for splits in groups]
        detail = f"{len(sides):,} splits, of which every row has a masked bit"
        rows = np.arange(view.setup.n_train)
        claims.append(Claim("binned table", peer, -1, -1, -1, rows, np.stack(columns, axis=1), detail=detail))
    return Outcome(claims, why_not="" if claims else "no passive party has won a split")


ATTACK = Attack("masked-bits", "the binned table, by masked bits of rows", "active", (HiddenRouted.TAG,), run)
