"""A2: in the first round U is orthogonal to y and to the vector of ones: short vectors that LLL finds from U alone.

All h are equal then, and g = a - y. Needs no answer, only what the passive party was sent; which class is which stays
open, as y and 1 - y are equally short.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.lattice import orthogonal_sets, vectors_wanted
from vfxgb.audit.smm import Exchange, exchanges
from vfxgb.audit.view import AttackerView

NEEDS = ("smm1-basis",)
MOST_ROWS = 80
MOST_NODES = 1


def run(view: AttackerView) -> Outcome:
    """Reduce the lattices of the largest nodes of the first round that are small enough."""
    (active,) = view.peers
    fit = [
        exchange
        for exchange in exchanges(view, active, "smm1-basis", "smm1-products")
        if exchange.n <= MOST_ROWS and exchange.node.round == 0
    ]
    if not fit:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows in the first round; more would take too long")
    fit.sort(key=lambda exchange: -exchange.n)
    remark = f"{len(fit) - MOST_NODES} smaller nodes left out for cost" if len(fit) > MOST_NODES else ""
    return Outcome([_solve(exchange, active) for exchange in fit[:MOST_NODES]], remark)


def _solve(exchange: Exchange, active: str) -> Claim:
    sets = orthogonal_sets(exchange.basis[: vectors_wanted(exchange.n)])
    # The vector of ones is orthogonal, too.
    parts = [members for members in sets if len(members) < exchange.n]
    values = np.zeros(exchange.n, dtype=np.bool_)
    if parts:
        values[parts[0]] = True
    result = "found" if parts else "not found"
    detail = f"n {exchange.n}, r {len(exchange.basis)}: {result}; up to which class is which"
    return Claim.of_node("labels", active, exchange.node, values, unnamed=True, detail=detail)


ATTACK = Attack("smm1-lattice", "labels of the first round, by LLL on U alone", "passive", NEEDS, run)
