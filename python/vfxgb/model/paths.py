"""Where the splits of a party stand, read off the trees that the active party holds."""

from collections.abc import Sequence

import numpy as np

from vfxgb.model.shares import SplitPaths, TreeShape

# The tree of a record that stands in none.
NO_TREE = np.iinfo(np.int32).max


def paths_in_trees(trees: Sequence[TreeShape], party: int, missing_strategy: str) -> SplitPaths:
    """Where the splits of a party (its position in ActiveShare.parties) stand, as the active party's trees say."""
    places: dict[int, tuple[int, int, int]] = {}
    for number, tree in enumerate(trees):
        depths, aboves = [0] * tree.n_nodes, [-1] * tree.n_nodes
        owners, records = tree.party.tolist(), tree.record.tolist()
        for node, parent in enumerate(tree.parent.tolist()):
            if parent >= 0:
                side = int(tree.right[parent]) == node
                depths[node] = depths[parent] + 1
                aboves[node] = 2 * records[parent] + side if owners[parent] == party else aboves[parent]
            if owners[node] == party:
                places[records[node]] = number, depths[node], aboves[node]
    table = np.full((max(places, default=-1) + 1, 3), (NO_TREE, 0, -1), dtype=np.int32)
    for record, place in places.items():
        table[record] = place
    return SplitPaths(missing_strategy, *np.ascontiguousarray(table.T))
