"""A5: every node of a tree tells the same g up to the span of its own mask; several spans have little in common.

No assumption on g: works in any round, for any objective.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.smm import Accumulated, Exchange, answered, best_top, by_tree, in_subtree
from vfxgb.audit.view import AttackerView

NEEDS = ("smm2-basis", "smm2-products")
# n x n matrices up to this size take about a second.
MOST_ROWS = 800
MOST_TREES = 4


def run(view: AttackerView) -> Outcome:
    """Add up the equations of the largest node that is small enough, and of all nodes below it, in some trees."""
    (active,) = view.peers
    trees = by_tree(answered(view, active, NEEDS, MOST_ROWS))
    claims = [_solve(tree, active) for tree in trees[:MOST_TREES]]
    if not claims:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows; more would take too long")
    return Outcome(claims, "" if len(trees) <= MOST_TREES else f"the first {MOST_TREES} of {len(trees)} trees")


def _solve(tree: list[Exchange], active: str) -> Claim:
    top = best_top(tree)
    used = in_subtree(top, tree)
    sums = Accumulated.over(top.node.rows, 1)
    for exchange in used:
        sums.add(exchange.node.rows, exchange.mask(), exchange.products[:1])
    solution, known, _ = sums.solve()
    values = np.where(known, solution[0], np.nan)
    levels = len({exchange.node.depth for exchange in used})
    detail = f"r'/n {top.hidden:.3f} at the top, {len(used)} nodes in {levels} levels"
    return Claim.of_node("gradients", active, top.node, values, detail=detail)


ATTACK = Attack("smm2-linear", "gradients exactly, by equations of several levels", "passive", NEEDS, run)
