"""A3: in the first round g = a - y with one unknown a, so y is the only 0/1 point of a space of dimension r'.

    g (I - Z Z^T) = w, so a 1 - y = w + c Z, so y = -w + a 1 - c Z.

Nobody told the passive party a, the base score. But all h are a (1 - a) then, so that W_h, a multiple of 1 (I - Z Z^T),
gives it up to a or 1 - a. Where W_h is no such multiple (sample weights), a stays one more unknown.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.programs import MOST_NODES, MOST_ROWS, Matrix, by_promise, cube_point
from vfxgb.audit.smm import Exchange, answered
from vfxgb.audit.view import AttackerView

NEEDS = ("smm2-basis", "smm2-products")


def run(view: AttackerView) -> Outcome:
    """Solve for the labels in the nodes of the first round with the most masking that are small enough."""
    (active,) = view.peers
    fit = [
        exchange
        for exchange in answered(view, active, NEEDS, MOST_ROWS)
        if exchange.node.round == view.setup.first_round == 0
    ]
    if not fit:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows in the first round; more would take too long")
    fit.sort(key=lambda exchange: by_promise(exchange.hidden))
    remark = "" if len(fit) <= MOST_NODES else f"{len(fit) - MOST_NODES} small nodes left out for cost"
    return Outcome([_solve(exchange, active) for exchange in fit[:MOST_NODES]], remark)


def _solve(exchange: Exchange, active: str) -> Claim:
    mask = exchange.mask()
    random = np.random.default_rng(exchange.node.node)
    w, ones = exchange.products[0], np.ones(exchange.n)
    starts = _base_scores(exchange.products[1], ones - ones @ mask.T @ mask)
    if starts:
        points = [cube_point(start - w, mask, random) for start in starts]
    else:
        points = [cube_point(-w, np.concatenate([mask, ones[None, :]]), random)]
    # The right base score leads to a vertex of the cube, a wrong one hardly ever.
    best = min(
        (x for x in points if x is not None), key=lambda x: np.abs(x - np.rint(x)).sum(), default=np.zeros(exchange.n)
    )
    return Claim.of_node("labels", active, exchange.node, best > 0.5, detail=f"r'/n {exchange.hidden:.3f}")


def _base_scores(w_h: Matrix, projected: Matrix) -> list[float]:
    """Both a with a (1 - a) = s where w_h = s projected; none if there is no such s."""
    size = projected @ projected
    if size < 1e-9:
        return []
    s = float(w_h @ projected) / float(size)
    if np.abs(w_h - s * projected).max() > 1e-6 * np.abs(projected).max() or not 0.0 < s <= 0.25 + 1e-9:
        return []
    root = np.sqrt(max(0.0, 1.0 - 4.0 * s))
    return [(1.0 - root) / 2.0, (1.0 + root) / 2.0]


ATTACK = Attack("smm2-lp", "labels of the first round, by linear programs on W_g", "passive", NEEDS, run)
