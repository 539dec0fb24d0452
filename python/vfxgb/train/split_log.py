"""A passive party's splits as they are chosen, and where each stands in its tree.

For every split the party notes which of its other splits lies above it, and on which side (tree/path_codes.py). Where
it sees the trees of all parties grow it finds that out itself; where nodes are hidden, the active party says it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.categories import Encoding, Split
from vfxgb.data.impute import StandIns
from vfxgb.errors import CheckpointError, FormatError
from vfxgb.model.file import check_paths
from vfxgb.model.shares import SplitPaths, SplitRecords
from vfxgb.train.checkpoint import KeptRecords, Place, keep_records, restore_places, restore_records
from vfxgb.tree.path_codes import NOTHING_ABOVE, PathCodes


class SplitLog:
    """The splits of one party in one run, record i at position i."""

    def __init__(self) -> None:
        self._records: list[Split] = []
        self._places: list[Place] = []
        # Where this party's splits stand in the trees that are growing.
        self.codes = PathCodes()

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
        self.codes = PathCodes()

    def choose(self, number: int, depth: int, above: Sequence[int], splits: Sequence[Split]) -> NDArray[np.int32]:
        """Enter splits (feature, cut, default_left) at `depth` of tree `number` of the model; returns their records.

        `above`: for each of them the party's split above it (PathCodes).
        """
        first = len(self._records)
        self._records += splits
        self._places += [(number, depth, code) for code in above]
        return np.arange(first, len(self._records), dtype=np.int32)

    def fits(self, number: int, depth: int, above: Sequence[int]) -> bool:
        """Whether splits at `depth` of tree `number` can stand below these splits of the party."""
        places = self._places
        return all(
            code == NOTHING_ABOVE
            or (0 <= code // 2 < len(places) and places[code // 2][0] == number and places[code // 2][1] < depth)
            for code in above
        )

    def records(
        self, features: tuple[str, ...], fill: StandIns | None, encodings: tuple[Encoding | None, ...] = ()
    ) -> SplitRecords:
        """The splits as a share holds them."""
        return SplitRecords.of(features, self._records, fill, encodings)

    def paths(self, missing_strategy: str) -> SplitPaths:
        """Where they stand, as a share holds it."""
        tree, depth, above = np.array(self._places, dtype=np.int32).reshape(-1, 3).T.copy()
        return SplitPaths(missing_strategy, tree, depth, above)
