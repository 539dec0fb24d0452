"""A5: every node of a tree tells the same g up to the span of its own mask; several spans have little in common.

No assumption on g: works in any round, for any objective.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.smm import Accumulated, Exchange, best_top, exchanges, in_subtree
from vfxgb.audit.view import AttackerView

NEEDS = ("smm2-basis", "smm2-products")
# n x n matrices up to this size take about a second.
MOST_ROWS = 800
MOST_TREES = 4


def run(view: AttackerView) -> Outcome:
    """Add up the equations of the largest node that is small enough, and of all nodes below it, in some trees."""
    (active,) = view.peers
    by_tree: dict[tuple[int, int], list[Exchange]] = {}
    for exchange in exchanges(view, active, *NEEDS):
        if exchange.products is not None and exchange.n <= MOST_ROWS:
            by_tree.setdefault((exchange.node.round, exchange.node.tree), []).append(exchange)
    trees = list(by_tree.values())[:MOST_TREES]
    claims = [_solve(best_top(tree), tree, active) for tree in trees]
    if not claims:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows; more would take too long")
    remark = "" if len(by_tree) <= MOST_TREES else f"the first {MOST_TREES} of {len(by_tree)} trees"
    return Outcome(claims, remark)


def _solve(top: Exchange, tree: list[Exchange], active: str) -> Claim:
    below = {node.node for node in in_subtree(top.node, [exchange.node for exchange in tree])}
    sums = Accumulated.over(top.node.rows, 1)
    used = [exchange for exchange in tree if exchange.node.node in below]
    for exchange in used:
        assert exchange.products is not None  # noqa: S101 - filtered above
        sums.add(exchange.node.rows, exchange.mask(), exchange.products[:1])
    solution, known, _ = sums.solve()
    values = np.where(known, solution[0], np.nan)
    node = top.node
    levels = len({exchange.node.depth for exchange in used})
    detail = f"r'/n {len(top.mask()) / top.n:.3f} at the top, {len(used)} nodes in {levels} levels"
    return Claim("gradients", active, node.round, node.tree, node.node, node.rows, values, detail=detail)


ATTACK = Attack("smm2-linear", "gradients exactly, by equations of several levels", "passive", NEEDS, run)
