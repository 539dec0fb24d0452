"""E64: with a few labels known from elsewhere, leaves pass them on to the rows that share them.

Two rows are as near as the share of trees in which they are in one leaf; known rows vote with the square of that. The
same party without the run would vote by its own features: the five known rows nearest in bins.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView

KNOWN = 50
NEIGHBOURS = 5


def run(view: AttackerView) -> Outcome:
    """Vote, with the run and without."""
    known = view.known_labels
    if known is None or view.setup.n_outputs > 1:
        return Outcome(why_not="written for labels of two classes")
    (active,) = view.peers
    n = view.setup.n_train
    near = np.zeros((n, len(known.rows)))
    trees = {(node.round, node.tree) for node in view.nodes(active)}
    for node in view.nodes(active):
        if node.leaf:
            inside = np.flatnonzero(np.isin(known.rows, node.rows))
            near[np.ix_(node.rows, inside)] += 1.0 / len(trees)
    majority = bool(known.labels.mean() > 0.5)
    rest = np.setdiff1d(np.arange(n), known.rows)
    values = vote(near[rest] ** 2, known.labels, majority)
    without = vote(own_nearness(view, known.rows)[rest], known.labels, majority)
    detail = f"{len(known.rows)} labels known, {len(trees)} trees"
    return Outcome([Claim("labels", active, -1, -1, -1, rest, values, without=without, detail=detail)])


def vote(weights: NDArray[np.float64], labels: NDArray[np.float64], majority: bool) -> NDArray[np.bool_]:
    """The label that the known rows have, each with its weight; the commoner one where they are undecided."""
    score = weights @ np.where(labels == 1, 1.0, -1.0)
    return np.where(score == 0, majority, score > 0)


def own_nearness(view: AttackerView, known: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 for the nearest known rows of each row by the attacker's own bins, else 0."""
    bins, n_bins = view.note("bins"), view.note("n-bins")
    assert bins is not None and n_bins is not None  # noqa: S101, PT018 - every party has them
    own = bins[: view.setup.n_train] / np.maximum(n_bins, 1)
    distance = np.abs(own[:, None, :] - own[known][None, :, :]).sum(axis=2)
    place = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
    near = np.zeros(distance.shape)
    np.put_along_axis(near, place, 1.0, axis=1)
    return near


ATTACK = Attack(
    "node-votes", "labels, from a few known ones and the leaves", "passive", ("level",), run, known_labels=KNOWN
)
