"""The passive party's binned table from rows' bits at the splits that it has won: an active party that knows no cut.

The active party follows the protocol. It learns no sum, but at each winning split, also at one that it then refuses, it
learns which rows of the node go left. Splits are sorted by feature, since those of one feature are nested, and rows are
put in order along each feature (row_comparisons.py). A position between 0 and 1 is a bin, if bins are equally full.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.row_comparisons import MOST_SPLITS, by_feature, positions, refined_bins, told_by
from vfxgb.audit.view import AttackerView
from vfxgb.contract.messages import Ready
from vfxgb.routing.messages import HiddenRouted


def run(view: AttackerView) -> Outcome:
    """Order the rows along each feature of every passive party."""
    claims, remarks = [], []
    for peer in view.peers:
        told = told_by(view, peer)
        used = told.largest(MOST_SPLITS)
        if not len(used.sides):
            continue
        if len(used.sides) < len(told.sides):
            remarks.append(f"only the {len(used.sides)} largest of {len(told.sides)} nodes of {peer} were used")
        (ready,) = view.messages(peer, Ready.TAG, Ready)
        steps = view.setup.max_bin
        groups = by_feature(used.sides, ready.n_features)
        columns = [refined_bins(used.sides[splits], positions(used.sides[splits], steps), steps) for splits in groups]
        compared = np.count_nonzero(told.sides) / max(1, view.setup.n_train * ready.n_features)
        detail = (
            f"{len(told.sides):,} splits, {compared:.1f} comparisons per row and feature; "
            f"{sum(len(splits) for splits in groups):,} splits sorted into {len(groups)} features"
        )
        rows = np.arange(view.setup.n_train)
        claims.append(Claim("binned table", peer, -1, -1, -1, rows, np.stack(columns, axis=1), detail=detail))
    return Outcome(claims, "; ".join(remarks), "" if claims else "no passive party has won a split")


ATTACK = Attack("row-bits", "the binned table, by rows' bits at winning splits", "active", (HiddenRouted.TAG,), run)
