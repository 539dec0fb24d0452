"""Whether a benchmark timed real trees: a run whose trees have no split is fast, and says nothing.

Every benchmark that trains calls one of these on what it trained; `what` names the measurement in the error.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from vfxgb.errors import BenchmarkError
from vfxgb.model.shares import LEAF, ActiveShare, TreeShape


def splits_by_party(trees: Iterable[TreeShape], parties: Sequence[str]) -> list[dict[str, int]]:
    """Count the splits of every party in each tree."""
    return [{party: int((tree.party == place).sum()) for place, party in enumerate(parties)} for tree in trees]


def assert_real_trees(share: ActiveShare, what: str) -> None:
    """Raise BenchmarkError unless every tree of a model has a split, and every passive party one in some tree."""
    splits = splits_by_party(share.trees, share.parties)
    _check_splits([int((tree.party != LEAF).sum()) for tree in share.trees], what)
    idle = [party for party in share.parties if party != share.party and not any(tree[party] for tree in splits)]
    if idle:
        raise BenchmarkError(
            f"{what}: found no split of {' and '.join(idle)} in {len(splits)} trees, wanted at least one; "
            "what was timed is not what training together costs"
        )


def assert_real_booster(booster: Any, what: str) -> None:
    """The same of an xgboost.Booster, which has no parties."""
    _check_splits(["children" in json.loads(tree) for tree in booster.get_dump(dump_format="json")], what)


def assert_real_predictions(predictions: Any, what: str) -> None:
    """For a library that does not show its trees: without a split all rows have the same prediction."""
    distinct = len(np.unique(np.asarray(predictions)))
    if distinct < 2:
        raise BenchmarkError(
            f"{what}: found {distinct} distinct predictions, wanted at least 2; its trees have no split"
        )


def _check_splits(splits: Sequence[int], what: str) -> None:
    empty = [number for number, count in enumerate(splits) if not count]
    if empty or not splits:
        raise BenchmarkError(
            f"{what}: found {len(empty)} of {len(splits)} trees without a split, first {empty[:1]}, wanted none; "
            "their time says nothing about training"
        )
