"""Whether a protocol that compares scores of integers grows the trees of `plain`, on the first rows of a benchmark.

With coins of random_state and a known order of candidates such a run can be repeated: `plain` that hides nodes, with
the same rule, bits of scores, seed and order, must give its model tree for tree (python/vfxgb/tree/CENTRED.md).
"""

from typing import Any

import msgspec
import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, Loaded
from vfxgb.errors import BenchmarkError
from vfxgb.model.shares import LEAF
from vfxgb.protocols import protocol_by_name, protocol_names

TWIN = "plain"
TREES = 2


class Twin(msgspec.Struct, frozen=True):
    """How many rows, trees and splits were compared, all of them equal."""

    rows: int
    trees: int
    splits: int


def same_trees(ours: VFXGBClassifier, theirs: VFXGBClassifier) -> bool:
    """Whether two models have the same splits and leaves, to the last bit."""
    numbers = ("tree_start", "feature", "threshold", "default_left", "left", "right", "value", "gain", "cover")
    own, other = ours.model_.pooled, theirs.model_.pooled
    return all(np.array_equal(getattr(own, name), getattr(other, name), equal_nan=True) for name in numbers)


def compare_with_twin(protocol: str, params: dict[str, Any], data: Loaded, depth: int, bins: int) -> Twin | None:
    """Grow both on `data`. None for a protocol without such a twin and for no rows; BenchmarkError if they differ."""
    if protocol not in protocol_names() or not len(data.y):
        return None
    spec = protocol_by_name(protocol)
    if spec.score_bits is None or not spec.secret_coins:
        return None
    known = {"coins": "random_state", "order_seed": 0}
    bits = spec.score_bits(spec.params(**params), len(data.y))
    common: dict[str, Any] = {
        "n_estimators": TREES,
        "max_depth": depth,
        "max_bin": bins,
        "parties": data.parties,
        "active": ACTIVE,
        "split_rule": "centred",
        "score_bits": bits,
    }
    models = [
        VFXGBClassifier(**common, protocol=name, protocol_params=given).fit(data.X, data.y, verbose=False)
        for name, given in ((protocol, {**params, **known}), (TWIN, {"hide_nodes": True, "order_seed": 0}))
    ]
    what = f"bench train: {protocol} and {TWIN} on {len(data.y):,} rows of {data.source}"
    if not same_trees(*models):
        raise BenchmarkError(f"{what}: found models that differ, wanted the same trees; {protocol} computes wrong sums")
    splits = sum(int((tree.party != LEAF).sum()) for tree in models[0].model_.active_share.trees)
    return Twin(len(data.y), TREES, splits)
