"""Rows put together from the trees and the buckets of their nodes, as TimberStrike does it at a server of FedTree.

The deepest nodes whose buckets are known part the rows. For each of them the attack knows how many rows of each label
lie in each bin of every column, and deals these values out to as many rows as there are: those of label 1 first, every
column from its smallest bin on. A node with one row is right altogether; with few rows most of it is.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.users.attack import UsersAttack, first_tree, rows_and_ones
from vfxgb.audit.users.claims import Rows, UserClaim, UsersOutcome
from vfxgb.audit.users.view import NodeCells, ServerView

# More rows than this are claimed of no node: noise may say anything.
MOST_ROWS = 1 << 20


def run(view: ServerView) -> UsersOutcome:
    """The deepest nodes of the first tree."""
    if len(view.start) != 1:
        return UsersOutcome(why_not="several outputs: the first tree of one output is attacked")
    nodes = first_tree(view)
    inner = {node.path[:depth] for node in nodes for depth in range(len(node.path))}
    claims: list[UserClaim] = [_rows_of(view, node) for node in nodes if node.path not in inner]
    return UsersOutcome(claims) if claims else UsersOutcome(why_not="no sums of buckets in this run")


def _rows_of(view: ServerView, node: NodeCells) -> Rows:
    total, ones = rows_and_ones(view, node.total)
    n = int(np.clip(np.rint(total), 0, MOST_ROWS))
    positive = int(np.clip(np.rint(ones), 0, n))
    bins = np.empty((n, len(node.cells)), dtype=np.int64)
    for feature, cells in enumerate(node.cells):
        rows, with_one = rows_and_ones(view, cells)
        bins[:positive, feature] = dealt(with_one, positive)
        bins[positive:, feature] = dealt(rows - with_one, n - positive)
    return Rows(node.path, bins, np.arange(n) < positive)


def dealt(counts: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """n values, ascending, as near to these counts of bins as n allows; the last count is of missing values, -1."""
    weights = np.maximum(counts, 0.0)
    if n == 0 or not weights.sum():
        return np.zeros(n, dtype=np.int64)
    exact = weights * (n / weights.sum())
    whole = np.floor(exact + 1e-6).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: n - int(whole.sum())]] += 1
    places = np.append(np.arange(len(counts) - 1), -1)
    return np.repeat(places, whole)[:n].astype(np.int64)


ATTACK = UsersAttack("row-reconstruction", "the rows themselves: the bin of every column, and the label", run)
