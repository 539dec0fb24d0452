"""A passive party's splits as they are chosen, and where each stands in its tree.

The party sees the trees of all parties grow: which nodes are split and which nodes are their children. So it can note
for every split of its own which of its other splits lies above it, and on which side. A prediction is held to this:
only questions that one row can come to on its way are answered (predict/paths.py).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import CheckpointError, FormatError
from vfxgb.model.file import check_paths
from vfxgb.model.shares import SplitPaths, SplitRecords
from vfxgb.train.checkpoint import KeptRecords, Place, keep_records, restore_places, restore_records

NOTHING_ABOVE = -1


class SplitLog:
    """The splits of one party in one run, record i at position i."""

    def __init__(self) -> None:
        self._records: list[tuple[int, float, bool]] = []
        self._places: list[Place] = []
        # Of the trees that are growing: node -> the split of this party above it, as in SplitPaths.above.
        self._above: dict[int, dict[int, int]] = {}

    @classmethod
    def restore(cls, kept: KeptRecords, n_records: int, n_features: int) -> "SplitLog":
        """The first `n_records` of a checkpoint. Raises CheckpointError for arrays that are none."""
        log = cls()
        records = restore_records(kept, n_features)
        log._records = records[:n_records]
        log._places = restore_places(kept, len(records))[:n_records]
        try:
            check_paths(log.paths(""), len(log), "resuming")
        except FormatError as error:
            raise CheckpointError(str(error)) from None
        return log

    def __len__(self) -> int:
        return len(self._records)

    def keep(self, first: int, stop: int) -> KeptRecords:
        """Records first to stop - 1 as a checkpoint holds them."""
        return keep_records(self._records[first:stop], self._places[first:stop])

    def begin_round(self) -> None:
        """New trees begin, each with its root."""
        self._above = {}

    def choose(
        self, tree: int, number: int, depth: int, nodes: Sequence[int], splits: Sequence[tuple[int, float, bool]]
    ) -> NDArray[np.int32]:
        """Enter splits (feature, cut, default_left) of nodes of a tree; returns their record numbers.

        `tree` counts within the round and `number` within the model.
        """
        first = len(self._records)
        above = self._above.get(tree, {})
        self._records += splits
        self._places += [(number, depth, above.get(node, NOTHING_ABOVE)) for node in nodes]
        return np.arange(first, len(self._records), dtype=np.int32)

    def grow(
        self,
        tree: int,
        nodes: Sequence[int],
        left: Sequence[int],
        right: Sequence[int],
        own: Sequence[int] | None,
    ) -> None:
        """Nodes of a tree have children now. `own`: the records that split them, None for another party's splits."""
        above = self._above.setdefault(tree, {})
        for place, (node, left_child, right_child) in enumerate(zip(nodes, left, right, strict=True)):
            inherited = above.get(node, NOTHING_ABOVE)
            above[left_child] = inherited if own is None else 2 * own[place]
            above[right_child] = inherited if own is None else 2 * own[place] + 1

    def records(self, features: tuple[str, ...], fill: tuple[float, ...] | None) -> SplitRecords:
        """The splits as a share holds them."""
        feature, cut, default_left = zip(*self._records, strict=True) if self._records else ((), (), ())
        return SplitRecords(
            features,
            np.array(feature, dtype=np.int32),
            np.array(cut, dtype=np.float64),
            np.array(default_left, dtype=np.bool_),
            fill,
        )

    def paths(self, missing_strategy: str) -> SplitPaths:
        """Where they stand, as a share holds it."""
        tree, depth, above = np.array(self._places, dtype=np.int32).reshape(-1, 3).T.copy()
        return SplitPaths(missing_strategy, tree, depth, above)
