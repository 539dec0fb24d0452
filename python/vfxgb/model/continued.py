"""A model and the rounds that were trained on top of it, as one model.

The trees of the later run follow those of the earlier one; every party puts its later splits behind its earlier ones,
under numbers that go on. Parties, features and outputs must be the same.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vfxgb.errors import ShareMismatchError
from vfxgb.model.seal import seal_all
from vfxgb.model.shares import LEAF, ActiveShare, CategorySets, PassiveShare, SplitPaths, SplitRecords, TreeShape

Shares = tuple[ActiveShare, Mapping[str, PassiveShare]]
# The one treatment of missing values of which records hold nothing that was learned from the rows of a run.
CONTINUED_MISSING = "learned"


def joined(before: Shares, after: Shares) -> tuple[ActiveShare, dict[str, PassiveShare]]:
    """The shares of both runs as those of one, sealed anew; the start margin is that of the earlier run.

    `after` has the rounds that were trained from the margins of `before`. Raises ShareMismatchError for models that do
    not fit.
    """
    first, second = before[0], after[0]
    check_continues(first, {party: share.records for party, share in before[1].items()}, second, after[1])
    held = {first.party: len(first.records)} | {party: len(share.records) for party, share in before[1].items()}
    shift = np.array([held[party] for party in first.parties], dtype=np.int32)
    best = None if second.best_iteration is None else second.best_iteration + first.n_rounds
    active = replace(
        second,
        base_margin=first.base_margin,
        base_score=first.base_score,
        trees=(*first.trees, *(_shifted(tree, shift) for tree in second.trees)),
        records=_behind(first.records, second.records),
        best_iteration=best,
    )
    passive = {}
    for party, later in after[1].items():
        earlier = before[1][party]
        paths = None
        if earlier.paths is not None and later.paths is not None:
            paths = _paths_behind(earlier.paths, later.paths, len(earlier.records), len(first.trees))
        passive[party] = replace(later, records=_behind(earlier.records, later.records), paths=paths)
    return seal_all(active, passive)


def check_continues(
    first: ActiveShare, records: Mapping[str, SplitRecords], second: ActiveShare, later: Mapping[str, PassiveShare]
) -> None:
    """Raise ShareMismatchError unless the second model may follow the first."""
    same = {
        "parties": (first.parties, second.parties),
        "active party": (first.party, second.party),
        "outputs": (first.n_outputs, second.n_outputs),
        "objective": (first.objective, second.objective),
        "missing_strategy": (first.missing_strategy, second.missing_strategy),
        f"columns of {first.party}": (first.records.features, second.records.features),
        **{
            f"columns of {party}": (records[party].features, later[party].records.features)
            for party in records
            if party in later
        },
    }
    for what, (old, new) in same.items():
        if old != new:
            raise ShareMismatchError(
                f"continuing a model: its {what} are {old!r}, those of this training {new!r}; wanted the same"
            )
    pairs = {first.party: (first.records, second.records)}
    pairs |= {party: (records[party], later[party].records) for party in records if party in later}
    for party, (before, after) in pairs.items():
        if _encodings(before) != _encodings(after):
            raise ShareMismatchError(
                f"continuing a model: a column of {party} has other categories than the model knows, or in another "
                "order, so that its splits would mean others; give the column the categories of the first training"
            )


def _encodings(records: SplitRecords) -> object:
    return None if records.categories is None else records.categories.encodings


def _shifted(tree: TreeShape, shift: np.ndarray) -> TreeShape:
    """The tree with the numbers of its splits as they are behind `shift` earlier ones of each party."""
    record = np.where(tree.party == LEAF, tree.record, tree.record + shift[tree.party])
    return TreeShape(
        tree.party,
        record.astype(np.int32),
        tree.left,
        tree.right,
        tree.parent,
        tree.value,
        tree.gain,
        tree.cover,
    )


def _behind(earlier: SplitRecords, later: SplitRecords) -> SplitRecords:
    return SplitRecords(
        earlier.features,
        np.concatenate([earlier.feature, later.feature]),
        np.concatenate([earlier.cut, later.cut]),
        np.concatenate([earlier.default_left, later.default_left]),
        categories=_sets_behind(earlier.categories, later.categories),
    )


def _sets_behind(earlier: CategorySets | None, later: CategorySets | None) -> CategorySets | None:
    """The sets of both; codes mean the same in both, as check_continues has seen to."""
    if earlier is None or later is None:
        return None
    return CategorySets(
        earlier.encodings,
        np.concatenate([earlier.start, earlier.start[-1] + later.start[1:]]).astype(np.int32),
        np.concatenate([earlier.codes, later.codes]),
    )


def _paths_behind(earlier: SplitPaths, later: SplitPaths, n_records: int, n_trees: int) -> SplitPaths:
    above = np.where(later.above < 0, later.above, later.above + np.int32(2 * n_records))
    return SplitPaths(
        earlier.missing_strategy,
        np.concatenate([earlier.tree, later.tree + np.int32(n_trees)]),
        np.concatenate([earlier.depth, later.depth]),
        np.concatenate([earlier.above, above]).astype(np.int32),
    )
