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
    for one in exchanges(view, active, *NEEDS):
        if one.products is not None and one.n <= MOST_ROWS:
            by_tree.setdefault((one.node.round, one.node.tree), []).append(one)
    trees = list(by_tree.values())[:MOST_TREES]
    claims = [_solve(best_top(tree), tree, active) for tree in trees]
    if not claims:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows; more would take too long")
    remark = "" if len(by_tree) <= MOST_TREES else f"the first {MOST_TREES} of {len(by_tree)} trees"
    return Outcome(claims, remark)


def _solve(top: Exchange, tree: list[Exchange], active: str) -> Claim:
    below = {one.node for one in in_subtree(top.node, [one.node for one in tree])}
    sums = Accumulated.over(top.node.rows, 1)
    used = [one for one in tree if one.node.node in below]
    for one in used:
        assert one.products is not None  # noqa: S101 - filtered above
        sums.add(one.node.rows, one.mask(), one.products[:1])
    solution, known, _ = sums.solve()
    values = np.where(known, solution[0], np.nan)
    node = top.node
    levels = len({one.node.depth for one in used})
    detail = f"r'/n {len(top.mask()) / top.n:.3f} at the top, {len(used)} nodes in {levels} levels"
    return Claim("gradients", active, node.round, node.tree, node.node, node.rows, values, detail=detail)


ATTACK = Attack("smm2-linear", "gradients exactly, by equations of several levels", "passive", NEEDS, run)
