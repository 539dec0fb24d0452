"""A5': every node of a tree tells the same columns of M up to the span of its own mask, and so do later trees.

Within a tree columns keep their order, so the equations of its levels add up as they are (unless nodes withhold some).
Between trees the secret order changes; a column of one tree is found again in another by consistency: the difference of
the two solutions must lie in the sum of what they leave open. That tells columns apart only while the sum is not the
whole space; otherwise the order does keep the trees apart, and they are left unjoined.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.smm import ZERO, Accumulated, Exchange, Matrix, answered, best_top, by_tree, in_subtree
from vfxgb.audit.view import AttackerView

NEEDS = ("smm1-basis", "smm1-products")
MOST_ROWS = 800
MOST_TREES = 4


def run(view: AttackerView) -> Outcome:
    """Add up the equations of the largest node that is small enough and all below it, then of several trees."""
    claims = []
    cut = False
    for peer in view.peers:
        trees = by_tree(answered(view, peer, NEEDS, MOST_ROWS))
        cut = cut or len(trees) > MOST_TREES
        # A withheld column is zero in one node and not in another: then only a node by itself can be used.
        whole = view.setup.min_bucket_rows == 1 and all(node.allowed is None for node in view.nodes(peer))
        claims += _attack(peer, trees[:MOST_TREES], whole)
    if not claims:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows; more would take too long")
    return Outcome(claims, f"the first {MOST_TREES} trees" if cut else "")


def _attack(peer: str, trees: list[list[Exchange]], whole: bool) -> list[Claim]:
    claims = []
    before: tuple[NDArray[np.int32], Accumulated] | None = None
    for number, tree in enumerate(trees):
        top = best_top(tree)
        sums = Accumulated.over(top.node.rows, len(top.products))
        for exchange in in_subtree(top, tree) if whole else [top]:
            sums.add(exchange.node.rows, exchange.mask(), exchange.products)
        joined = 0
        if before is not None and np.array_equal(before[0], top.node.rows):
            joined = _join(sums, before[1])
        before = (top.node.rows, sums)
        solution, known, _ = sums.solve()
        detail = (
            f"r'/n {top.hidden:.3f} at the top; {known.mean():.0%} of M determined by tree {number + 1}, "
            f"{joined} columns joined with trees before"
        )
        claims.append(Claim.of_node("split matrix", peer, top.node, solution > 0.5, detail=detail))
    return claims


def _join(sums: Accumulated, before: Accumulated) -> int:
    """Add to `sums` what an earlier tree told about the same columns; returns how many were told apart."""
    if before.right.shape != sums.right.shape:
        return 0
    now, _, open_now = sums.solve()
    then, _, open_then = before.solve()
    span = np.concatenate([open_now, open_then])
    left = _complement(span, now.shape[1])
    if len(left) < 2:
        return 0
    # Both see the same column through what is left of the space.
    seen_now, seen_then = now @ left.T, then @ left.T
    partner = np.full(len(now), -1)
    for place, row in enumerate(seen_now):
        distance = np.abs(seen_then - row).max(axis=1)
        near = np.flatnonzero(distance < np.sqrt(ZERO))
        # Equal columns are each other's partners as well.
        if len(near) and np.ptp(before.right[near], axis=0).max() < np.sqrt(ZERO):
            partner[place] = near[0]
    if (partner < 0).all():
        return 0
    # The projectors are the same for all columns, so that only columns found again may be added: all, or none.
    if (partner >= 0).all():
        sums.matrix += before.matrix
        sums.right += before.right[partner]
    return int((partner >= 0).sum())


def _complement(span: Matrix, n: int) -> Matrix:
    """Orthonormal rows orthogonal to the rows of `span`."""
    if len(span) == 0:
        return np.eye(n)
    _, values, vectors = np.linalg.svd(span, full_matrices=True)
    rank = int((values > np.sqrt(ZERO)).sum())
    rest: Matrix = vectors[rank:]
    return rest


ATTACK = Attack("smm1-linear", "the split matrix, by equations of several levels and trees", "active", NEEDS, run)
