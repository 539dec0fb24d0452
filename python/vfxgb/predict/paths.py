"""Which questions of a prediction a passive party answers: those that a row can come to on its way through a tree.

The active party names splits of the passive party and the rows that stand before them. A row takes one path through
each tree. The passive party knows where its own splits stand (model.shares.SplitPaths), and which way it sent the row
at each of them; what the row did at splits of other parties it does not know. So it answers for a row, in each tree,

    at most one split per level, the levels in their order, and
    a split only where the next of its own splits above was answered last, and sent the row to that side.

Splits that lie below different branches of somebody else's split are thus never both answered for one row. Where rows
with missing values go both ways (missing_strategy="probabilistic" or "conditional") a row may stand before several
splits of a level: then each split is answered at most once for a row, and only where its own split above sent the row
there, or found its value missing.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.model.shares import CONDITIONAL, SplitPaths
from vfxgb.predict.block import Answer, Mask, Packed, unpack_mask
from vfxgb.predict.routing import Rows

REMEDY = "a prediction answers the path of each row and no more; the peer deviates, or its version differs"


def most_comparisons(paths: SplitPaths) -> int:
    """The most that a party tells of one row by the questions that PathGuard lets pass, over all trees."""
    if paths.both_ways:
        # Where rows lean, a missing value is told with its lean, which counts as a comparison of its own.
        return len(paths.tree) * (2 if paths.missing_strategy == CONDITIONAL else 1)
    # A split comes after the one above it, so that one walk is enough.
    lengths: list[int] = []
    longest: dict[int, int] = {}
    for tree, above in zip(paths.tree.tolist(), paths.above.tolist(), strict=True):
        lengths.append(1 if above < 0 else 1 + lengths[above // 2])
        longest[tree] = max(longest.get(tree, 0), lengths[-1])
    return sum(longest.values())


class PathGuard:
    """The questions of one prediction. Call `enter` and `check` before a message is answered, `note` with the answers.

    `paths`: those of the party's share. None (a share of an earlier version): each split once for a row, no more is
    known. `n_records`: splits of the party.
    """

    def __init__(self, paths: SplitPaths | None, n_records: int) -> None:
        self._depth = None if paths is None else paths.depth
        self._rows: _OnePath | _ManyPaths = (
            _ManyPaths(paths, n_records) if paths is None or paths.both_ways else _OnePath(paths)
        )
        self._block = (0, 0)
        self._level = -1

    def enter(self, first: int, count: int, depth: int, what: str) -> None:
        """A message about rows first to first + count - 1 at level `depth`: blocks and levels come once, in order.

        Raises MessageError.
        """
        if (first, count) != self._block:
            begin, size = self._block
            if first < begin + size:
                raise MessageError(
                    f"{what}: found rows {first} to {first + count}, wanted rows from {begin + size} on, as those "
                    f"before were answered; {REMEDY}"
                )
            self._block, self._level = (first, count), -1
            self._rows.begin(count)
        if depth <= self._level:
            raise MessageError(f"{what}: found level {depth}, wanted one after {self._level}; {REMEDY}")
        self._level = depth

    def check(self, records: Sequence[int], sets: Sequence[Rows | None], what: str) -> None:
        """Raise MessageError if a question is about a split of another level, or about rows that cannot come to it."""
        for record, rows in zip(records, sets, strict=True):
            if self._depth is not None and self._depth[record] != self._level:
                raise MessageError(f"{what}: found a question about a split of level {self._depth[record]}; {REMEDY}")
            refused = self._rows.ask(record, rows)
            if refused:
                asked = self._block[1] if rows is None else len(rows)
                raise MessageError(
                    f"{what}: found {refused} of {asked} rows that cannot come to split {record} on their path, wanted "
                    f"none; {REMEDY}"
                )

    def note(self, records: Sequence[int], sets: Sequence[Rows | None], answers: Sequence[Answer]) -> None:
        """Remember which way the rows of each question were sent."""
        for record, rows, (left, missing) in zip(records, sets, answers, strict=True):
            self._rows.note(record, rows, left, missing)


class _OnePath:
    """Rows that go one way at every split: the split of this party that each has passed last, and to which side."""

    # A row that has been asked about and not yet answered; nothing lies below that.
    ASKED = -2

    def __init__(self, paths: SplitPaths) -> None:
        self._tree, self._above = paths.tree.tolist(), paths.above.tolist()
        self._count = 0
        # Of trees that were asked about: int32[count], as SplitPaths.above.
        self._passed: dict[int, NDArray[np.int32]] = {}

    def begin(self, count: int) -> None:
        """Other rows, so many, at the roots."""
        self._count, self._passed = count, {}

    def ask(self, record: int, rows: Rows | None) -> int:
        """How many of the rows cannot stand before the split; the others do, if there is no such row."""
        tree = self._tree[record]
        passed = self._passed.get(tree)
        if passed is None:
            passed = self._passed[tree] = np.full(self._count, -1, dtype=np.int32)
        last = passed if rows is None else passed.take(rows)
        refused = int(np.count_nonzero(last != self._above[record]))
        if not refused:
            passed[slice(None) if rows is None else rows] = self.ASKED
        return refused

    def note(self, record: int, rows: Rows | None, left: Mask, missing: Mask | None) -> None:  # noqa: ARG002
        """The rows were sent to the left or to the right."""
        self._passed[self._tree[record]][slice(None) if rows is None else rows] = 2 * record + 1 - left.astype(np.int32)


class _ManyPaths:
    """Rows that may stand before several splits of a level: for each split those that may still ask, as bits."""

    def __init__(self, paths: SplitPaths | None, n_records: int) -> None:
        self._above = [-1] * n_records if paths is None else paths.above.tolist()
        # Splits with nothing of this party in between that lie on a side (2 k or 2 k + 1) of a split.
        self._behind: dict[int, list[int]] = {}
        for record, above in enumerate(self._above):
            self._behind.setdefault(above, []).append(record)
        self._count = 0
        self._may_ask: dict[int, Packed] = {}

    def begin(self, count: int) -> None:
        """Other rows, so many, at the roots."""
        self._count, self._may_ask = count, {}

    def ask(self, record: int, rows: Rows | None) -> int:
        """See _OnePath."""
        packed = self._may_ask.get(record)
        if packed is None:
            may = np.full(self._count, self._above[record] < 0, dtype=np.bool_)
        else:
            may = unpack_mask(packed, self._count)
        chosen = slice(None) if rows is None else rows
        refused = int(np.count_nonzero(~may[chosen]))
        if not refused:
            may[chosen] = False
            self._may_ask[record] = np.packbits(may, bitorder="little")
        return refused

    def note(self, record: int, rows: Rows | None, left: Mask, missing: Mask | None) -> None:
        """The rows were sent to the left or to the right, or both ways where their value is missing."""
        for side, goes in ((2 * record, left), (2 * record + 1, ~left)):
            behind = self._behind.get(side)
            if behind:
                sent = np.zeros(self._count, dtype=np.bool_)
                sent[slice(None) if rows is None else rows] = goes if missing is None else goes | missing
                packed = np.packbits(sent, bitorder="little")
                self._may_ask.update(dict.fromkeys(behind, packed))
