"""Which questions of a prediction a passive party answers: those that a row can come to on its way through a tree.

The active party names splits of the passive party and the rows that stand before them. A row takes one path through each
tree. The passive party knows where its own splits stand (model.shares.SplitPaths), and which way it sent the row at each
of them; what the row did at splits of other parties it does not know. So it answers for a row, in each tree,

    at most one split per level, the levels in their order, and
    a split only where the next of its own splits above was answered last, and sent the row to that side.

Splits that lie below different branches of somebody else's split are thus never both answered for one row. Where rows
with missing values go both ways (missing_strategy="probabilistic") a row may stand before several splits of a level:
then each split is answered at most once for a row, and only where its own split above sent the row there, or found its
value missing.

A *gate* is a set of rows that may still ask. Without "probabilistic" all splits that have the same split above them on
the same side share a gate, and a row that has asked for one of them may ask for no other.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.model.shares import SplitPaths
from vfxgb.predict.block import Answer, Mask, Packed, unpack_mask
from vfxgb.predict.routing import Rows

REMEDY = "a prediction answers the path of each row and no more; the peer deviates, or its version differs"


class PathGuard:
    """The questions of one prediction. Call `check` before a message is answered, and `note` with the answers.

    `paths`: those of the party's share. None (a share of an earlier version): each split once for a row, no more is
    known. `n_records`: splits of the party.
    """

    def __init__(self, paths: SplitPaths | None, n_records: int) -> None:
        unknown = np.full(n_records, -1, dtype=np.int32)
        self._depth = None if paths is None else paths.depth
        self._above = unknown if paths is None else paths.above
        by_record = paths is None or paths.both_ways
        # The gate of each record. Those with nothing above have one per tree, numbered below 0.
        self._gate_of: NDArray[np.int64] = np.arange(n_records, dtype=np.int64)
        if paths is not None and not by_record:
            self._gate_of = np.where(paths.above >= 0, paths.above, -1 - paths.tree).astype(np.int64)
        # Gates that a side (2 k or 2 k + 1) of a record opens, and the last level at which each gate is needed.
        self._behind: dict[int, set[int]] = {}
        self._last: dict[int, int] = {}
        for record in range(n_records):
            gate = int(self._gate_of[record])
            if self._above[record] >= 0:
                self._behind.setdefault(int(self._above[record]), set()).add(gate)
            if self._depth is not None:
                self._last[gate] = max(self._last.get(gate, 0), int(self._depth[record]))
        self._block = (0, 0)
        self._level = -1
        self._gates: dict[int, Packed] = {}

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
            self._block, self._level, self._gates = (first, count), -1, {}
        if depth <= self._level:
            raise MessageError(f"{what}: found level {depth}, wanted one after {self._level}; {REMEDY}")
        self._level = depth
        for gate in [gate for gate in self._gates if self._last.get(gate, depth) < depth]:
            del self._gates[gate]

    def check(self, records: Sequence[int], sets: Sequence[Rows | None], what: str) -> None:
        """Let the rows of each question pass the gate of its record. Raises MessageError for rows that may not."""
        for record, rows in zip(records, sets, strict=True):
            if self._depth is not None and self._depth[record] != self._level:
                raise MessageError(f"{what}: found a question about a split of level {self._depth[record]}; {REMEDY}")
            gate = int(self._gate_of[record])
            allowed = self._allowed(gate, record)
            passing = allowed if rows is None else allowed[rows]
            refused = len(passing) - int(np.count_nonzero(passing))
            if refused:
                raise MessageError(
                    f"{what}: found {refused} of {len(passing)} rows that cannot come to split {record} on their path, "
                    f"wanted none; {REMEDY}"
                )
            if rows is None:
                allowed[:] = False
            else:
                allowed[rows] = False
            self._gates[gate] = np.packbits(allowed, bitorder="little")

    def note(self, records: Sequence[int], sets: Sequence[Rows | None], answers: Sequence[Answer]) -> None:
        """Open the gates behind the sides to which the rows were sent."""
        for record, rows, (left, missing) in zip(records, sets, answers, strict=True):
            for side, goes in ((2 * record, left), (2 * record + 1, ~left)):
                behind = self._behind.get(side, ())
                if behind:
                    opened = np.zeros(self._block[1], dtype=np.bool_)
                    opened[slice(None) if rows is None else rows] = goes if missing is None else goes | missing
                    packed = np.packbits(opened, bitorder="little")
                    for gate in behind:
                        self._gates[gate] = packed

    def _allowed(self, gate: int, record: int) -> Mask:
        """The rows of the block that may still pass a gate, as an array of its own."""
        packed = self._gates.get(gate)
        if packed is not None:
            return unpack_mask(packed, self._block[1])
        return np.full(self._block[1], self._above[record] < 0, dtype=np.bool_)
