"""A passive party's bits in hidden prediction: all of its splits for all rows of a part, whatever rows reach them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.model.shares import SplitPaths
from vfxgb.predict.block import Packed
from vfxgb.predict.hidden_shape import HiddenLevel, HiddenShape
from vfxgb.predict.split_evaluator import SplitTester


@dataclass(frozen=True, eq=False)
class HiddenSplits:
    """The splits that a hidden prediction is about, in the order in which rows can come to them."""

    paths: SplitPaths
    shape: HiddenShape

    @cached_property
    def records(self) -> NDArray[np.int32]:
        """All of them, ascending."""
        return np.sort(np.concatenate([level.records for level in self.shape.levels]))

    @cached_property
    def _generations(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """Per number of own splits above, from 1 on: places in `records` of splits, of those above, and the sides."""
        above = self.paths.above[self.records]
        generation = np.zeros(len(above), dtype=np.int64)
        # A split comes after the one above it.
        parents = np.searchsorted(self.records, above // 2)
        for at in np.flatnonzero(above >= 0):
            generation[at] = generation[parents[at]] + 1
        found = []
        for number in range(1, int(generation.max(initial=0)) + 1):
            inside = np.flatnonzero(generation == number)
            found.append((inside, parents[inside], (above[inside] % 2).astype(np.intp)))
        return found

    def evaluate(self, tester: SplitTester, first: int, count: int) -> "PartBits":
        """Test rows first to first + count - 1 at every split. Bits of splits that a row cannot reach are 0."""
        both = self.paths.both_ways
        answers = tester.test(self.records.tolist(), [None] * len(self.records), first, count, both)
        left = np.stack([np.packbits(goes, bitorder="little") for goes, _ in answers])
        missing = np.zeros_like(left)
        if both:
            missing = np.stack([np.packbits(lacks, bitorder="little") for _, lacks in answers if lacks is not None])
        # Which rows can stand before each split, by this party's own answers above.
        reach = np.tile(np.packbits(np.ones(count, dtype=np.bool_), bitorder="little"), (len(left), 1))
        for inside, above, side in self._generations:
            goes = np.where(side[:, np.newaxis] == 1, ~left[above], left[above]) | missing[above]
            reach[inside] = reach[above] & goes
        return PartBits(self.records, left & reach, missing & reach if both else None)


@dataclass(frozen=True, eq=False)
class PartBits:
    """The bits of a part of the rows: `left` and, where rows go both ways, `missing`, a packed line for each split."""

    records: NDArray[np.int32]
    left: Packed
    missing: Packed | None

    def lines(self, level: HiddenLevel) -> Packed:
        """The lines of a level, as vfxgb.routing takes them."""
        order, begins = level.lines
        rows = np.searchsorted(self.records, level.records)[order]
        # At most one split of an entry can be reached, so that the others add nothing.
        joined = np.bitwise_or.reduceat(self.left[rows], begins, axis=0)
        if self.missing is None:
            return joined
        return np.stack([joined, self.missing[rows]], axis=1).reshape(2 * len(rows), -1)
