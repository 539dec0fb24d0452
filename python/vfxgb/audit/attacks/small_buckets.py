"""E62: a sum over a handful of rows can be solved for the rows. The active party has the sums, however they came.

It sees left sums in a secret order. Neighbouring candidates of a feature differ by one bucket, the first one is a
bucket and so is what the last one leaves over; which are neighbours it does not know, so it looks at all pairs. Other
pairs mostly differ by rows on both sides, and then no few rows have their difference; in small nodes one left set may
happen to lie within another feature's, and the rows found are then no bucket, though rightly told apart. The search
meets in the middle: all sums of two rows in a table, up to four rows in all. Rows with equal (g, h) cannot be told
apart; only a solution with no other, down to the rows, counts.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.nodes import NodeSet
from vfxgb.audit.subsets import MOST_MEMBERS, SubsetSums
from vfxgb.audit.view import AttackerView

MOST_ROWS = 1000
MOST_NODES = 6
MOST_SUMS = 600
# Look-ups per node: a few seconds.
BUDGET = 20_000_000


def run(view: AttackerView) -> Outcome:
    """Search in some nodes of the last rounds, where gradients differ most."""
    claims = []
    left_out = 0
    seen = False
    for peer in view.peers:
        built = [node for node in view.nodes(peer) if node.built]
        sums = {id(node): left_sums for node in built if (left_sums := _left_sums(view, peer, node, built)) is not None}
        seen = seen or bool(sums)
        fit = [node for node in built if id(node) in sums and 2 <= len(node.rows) <= MOST_ROWS]
        fit.sort(key=lambda node: (-node.round, node.tree, node.depth))
        left_out += len(sums) - min(len(fit), MOST_NODES)
        claims += [_search(view, peer, node, sums[id(node)]) for node in fit[:MOST_NODES]]
    if not claims:
        why = f"no node of at most {MOST_ROWS} rows; more would take too long" if seen else "no sums were opened"
        return Outcome(why_not=why)
    return Outcome(claims, f"{left_out} nodes left out for cost" if left_out else "")


def _left_sums(view: AttackerView, peer: str, node: NodeSet, built: list[NodeSet]) -> NDArray[np.int64] | None:
    opened = view.note(f"left-sums:{node.depth}:{peer}", node.round, node.tree)
    level = [other for other in built if (other.round, other.tree, other.depth) == (node.round, node.tree, node.depth)]
    return None if opened is None else opened[level.index(node)]


def _search(view: AttackerView, peer: str, node: NodeSet, left: NDArray[np.int64]) -> Claim:
    pairs = view.note("pairs", node.round, node.tree)
    assert pairs is not None  # noqa: S101 - the active party has them whenever it opened sums
    own = pairs[node.rows]
    table = SubsetSums(own)
    targets = _targets(left, own)
    most = max(16, BUDGET // table.size)
    subsets = [members for target in targets[:most] if (members := table.only(target)) is not None]
    detail = f"{min(most, len(targets))} of {len(targets)} small differences searched"
    values = [node.rows[members] for members in subsets]
    return Claim.of_node("buckets", peer, node, values, detail=detail)


def _targets(left: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Differences of two sums (0 and the total among them) that few rows may have, the smallest first."""
    shown = np.unique(left[(left != 0).any(axis=1)], axis=0)[:MOST_SUMS]
    points = np.concatenate([np.zeros((1, 2), dtype=np.int64), shown, own.sum(axis=0)[None, :]])
    first, second = np.triu_indices(len(points), 1)
    apart = points[second] - points[first]
    apart = np.concatenate([apart, -apart])
    g_most, h_most = np.abs(own).max(axis=0)
    few = (apart[:, 1] > 0) & (apart[:, 1] <= MOST_MEMBERS * h_most) & (np.abs(apart[:, 0]) <= MOST_MEMBERS * g_most)
    differences = np.unique(apart[few], axis=0)
    return differences[np.argsort(differences[:, 1], kind="stable")]


ATTACK = Attack("small-buckets", "the rows of buckets of up to 4, by searching sums", "active", ("level",), run)
