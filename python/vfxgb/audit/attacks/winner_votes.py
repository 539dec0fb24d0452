"""With a few labels known from elsewhere, labels by the sides of one's own winning splits (protocol `sealed`).

A passive party knows no node, but which of its splits divided gradients best somewhere. Two rows are as near as the
share of these splits at which they are on one side; known rows vote as in `node-votes`, and the guess is the same.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.attacks.node_votes import KNOWN, own_nearness, vote
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView
from vfxgb.routing.messages import HiddenRoute


def run(view: AttackerView) -> Outcome:
    """Vote by winning splits, and by own features."""
    known, bins, n_bins = view.known_labels, view.note("bins"), view.note("n-bins")
    if known is None or view.setup.n_outputs > 1:
        return Outcome(why_not="written for labels of two classes")
    assert bins is not None and n_bins is not None  # noqa: S101, PT018 - every party has them
    splits = np.concatenate([note.array for note in view.notes("won:")])
    (active,) = view.peers
    n = view.setup.n_train
    held = bins[:n, splits[:, 0]]
    left = np.where(held == n_bins[splits[:, 0]], splits[:, 2] != 0, held <= splits[:, 1])
    sides = np.where(left, 1.0, -1.0)
    near = (sides @ sides[known.rows].T / len(splits) + 1.0) / 2.0
    majority = bool(known.labels.mean() > 0.5)
    rest = np.setdiff1d(np.arange(n), known.rows)
    values = vote(near[rest] ** 2, known.labels, majority)
    without = vote(own_nearness(view, known.rows)[rest], known.labels, majority)
    detail = f"{len(known.rows)} labels known, {len(splits):,} own splits won"
    return Outcome([Claim("labels", active, -1, -1, -1, rest, values, without=without, detail=detail)])


ATTACK = Attack(
    "winner-votes",
    "labels, from a few known ones and own winning splits",
    "passive",
    (HiddenRoute.TAG,),
    run,
    known_labels=KNOWN,
)
