"""A3: in the first round g = a - y with one unknown a, so y is the only 0/1 point of a space of dimension r' + 1.

g (I - Z Z^T) = w, so a 1 - y = w + c Z, so y = -w + a 1 - c Z.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.programs import MOST_NODES, MOST_ROWS, by_promise, cube_point
from vfxgb.audit.smm import Exchange, exchanges
from vfxgb.audit.view import AttackerView

NEEDS = ("smm2-basis", "smm2-products")


def run(view: AttackerView) -> Outcome:
    """Solve for the labels in the nodes of the first round with the most masking that are small enough."""
    (active,) = view.peers
    first = view.setup.first_round
    fit = [
        one
        for one in exchanges(view, active, *NEEDS)
        if one.products is not None and one.n <= MOST_ROWS and one.node.round == first == 0
    ]
    if not fit:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows in the first round; more would take too long")
    fit.sort(key=lambda one: by_promise(len(one.mask()) / one.n))
    remark = "" if len(fit) <= MOST_NODES else f"{len(fit) - MOST_NODES} small nodes left out for cost"
    return Outcome([_solve(one, active) for one in fit[:MOST_NODES]], remark)


def _solve(one: Exchange, active: str) -> Claim:
    assert one.products is not None  # noqa: S101 - filtered above
    mask = one.mask()
    directions = np.concatenate([mask, np.ones((1, one.n))])
    found = cube_point(-one.products[0], directions, np.random.default_rng(one.node.node))
    values = np.zeros(one.n, dtype=np.bool_) if found is None else found > 0.5
    node = one.node
    detail = f"r'/n {len(mask) / one.n:.3f}"
    return Claim("labels", active, node.round, node.tree, node.node, node.rows, values, detail=detail)


ATTACK = Attack("smm2-lp", "labels of the first round, by linear programs on W_g", "passive", NEEDS, run)
