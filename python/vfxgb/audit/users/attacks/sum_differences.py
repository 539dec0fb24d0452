"""Sums about the same rows over users that differ: what lies between them is about those users alone.

A parent's sums less its children's are the rows of those users that were in the first call and not in the second.
"""

from vfxgb.audit.users.attack import UsersAttack, first_tree, rows_and_ones
from vfxgb.audit.users.claims import UserClaim, UsersOutcome, UsersTotal
from vfxgb.audit.users.view import NodeCells, ServerView, Step


def run(view: ServerView) -> UsersOutcome:
    """Every node of the first tree against its two children."""
    if len(view.start) != 1:
        return UsersOutcome(why_not="several outputs: the first tree of one output is attacked")
    nodes = first_tree(view)
    by_path = {node.path: node for node in nodes}
    claims: list[UserClaim] = []
    for node in nodes:
        pair = _children(node, by_path)
        if pair is None or pair[0].users != pair[1].users or pair[0].users == node.users:
            continue
        gone = tuple(sorted(set(node.users) - set(pair[0].users)))
        if gone and set(pair[0].users) < set(node.users):
            rows, ones = rows_and_ones(view, node.total - pair[0].total - pair[1].total)
            claims.append(UsersTotal(node.path, gone, float(rows), float(ones)))
    return UsersOutcome(claims) if claims else UsersOutcome(why_not="all sums of the tree are over the same users")


def _children(node: NodeCells, by_path: dict[tuple[Step, ...], NodeCells]) -> tuple[NodeCells, NodeCells] | None:
    below = [one for path, one in by_path.items() if len(path) == len(node.path) + 1 and path[:-1] == node.path]
    return (below[0], below[1]) if len(below) == 2 else None


ATTACK = UsersAttack("sum-differences", "rows and labels of users that left between two sums", run)
