"""The model of a run for the page: its trees in few bytes, and importance by owner.

A tree is a set of lists with an entry per node, the root first, as model/shares.py has them:

    owner   place of the party in `parties`, -1 for a leaf
    record  number of the split at its owner, -1 for a leaf
    yes, no children, -1 for a leaf
    name    place of the feature in `features`, -1 for a leaf or a masked split
    cut     x < cut goes to `yes`; for a split by categories what goes there, in words; None where masked
    left    1: a missing value goes to `yes`, 0: to `no`, -1: not known, a leaf, or imputed
    value   what a leaf adds to the margin
    gain, cover
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vfxgb.model.drawing import describe, feature_importance, known_records, party_importance
from vfxgb.model.shares import LEAF, ActiveShare, PassiveShare, SplitRecords, TreeShape

# More nodes than this make a page that browsers are slow to open; the rest is for `vfxgb inspect`.
MOST_NODES = 150_000


def describe_model(active: ActiveShare | None, passive: Mapping[str, PassiveShare]) -> dict[str, Any]:
    """All that the given shares say. Without the active party's share: the records of the others alone.

    `gains`: whether gain and cover are known, which a user of a server is not told. Raises ShareMismatchError where a
    tree names a record that is not there.
    """
    if active is None:
        return {"trees": [], "records": describe(None, passive)["records"]}
    known = known_records(active, passive)
    features = list(dict.fromkeys(name for records in known.values() for name in records.features))
    places = {name: place for place, name in enumerate(features)}
    trees, nodes = [], 0
    for tree in active.trees:
        nodes += tree.n_nodes
        if nodes > MOST_NODES:
            break
        trees.append(_tree(active, tree, known, places))
    return {
        "parties": list(active.parties),
        "active": active.party,
        "known": list(known),
        "objective": active.objective,
        "outputs": active.n_outputs,
        "best_iteration": active.best_iteration,
        "base_score": active.base_score.tolist(),
        "missing_strategy": active.missing_strategy,
        "features": features,
        "gains": active.gains_shared,
        "trees": trees,
        "n_trees": len(active.trees),
        "importance": {"parties": party_importance(active), "features": feature_importance(active, known)},
        "records": {},
    }


def _tree(
    active: ActiveShare, tree: TreeShape, known: Mapping[str, SplitRecords], places: Mapping[str, int]
) -> dict[str, list[Any]]:
    name, left = [-1] * tree.n_nodes, [-1] * tree.n_nodes
    cut: list[Any] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.party != LEAF).tolist():
        records = known.get(active.parties[tree.party[node]])
        if records is None:
            continue
        number = int(tree.record[node])
        feature = int(records.feature[number])
        name[node] = places[records.features[feature]]
        cut[node] = _short(float(records.cut[number])) if records.right(number) is None else records.condition(number)
        left[node] = int(records.default_left[number]) if not records.imputed else -1
    return {
        "owner": tree.party.tolist(),
        "record": tree.record.tolist(),
        "yes": tree.left.tolist(),
        "no": tree.right.tolist(),
        "name": name,
        "cut": cut,
        "left": left,
        "value": [_short(value) for value in tree.value.tolist()],
        "gain": [_short(value) for value in tree.gain.tolist()],
        "cover": [_short(value) for value in tree.cover.tolist()],
    }


def _short(value: float) -> Any:
    """Six digits, as the page shows them."""
    return float(f"{value:.6g}")
