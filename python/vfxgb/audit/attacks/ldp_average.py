"""E51: noise drawn afresh averages out. The sign of the mean of all noisy gradients of a row is its label."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.ldp import NEEDS, NOTHING, budget, parameters, releases
from vfxgb.audit.view import AttackerView


def run(view: AttackerView) -> Outcome:
    """Average over rounds, and over nodes where each has noise of its own."""
    params = parameters(view)
    if params is None:
        return Outcome(why_not=NOTHING)
    (active,) = view.peers
    setup = view.setup
    total = np.zeros((setup.n_outputs, setup.n_train))
    count = np.zeros((setup.n_outputs, setup.n_train), dtype=np.int64)
    for release in releases(view):
        total[release.tree, release.rows] += release.g
        count[release.tree, release.rows] += 1
    claims = []
    for tree in range(setup.n_outputs):
        rows = np.flatnonzero(count[tree])
        detail = f"up to {count[tree].max(initial=0)} releases of a row"
        if len(rows):
            guess = total[tree, rows] < 0
            claims.append(Claim("labels", active, -1, tree, 0, rows, guess, detail=detail, budget=budget(view, params)))
    return Outcome(claims, why_not="" if claims else NOTHING)


ATTACK = Attack("ldp-average", "labels, from the mean of noisy gradients", "passive", NEEDS, run)
