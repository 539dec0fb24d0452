"""For the nodes of growing trees: which split of one party is the nearest above each, and on which side of it.

A prediction is held to these paths: a passive party answers only questions that one row can come to (predict/paths.py).
A passive party that sees trees grow notes them itself; where nodes are hidden, the active party tells it.
"""

from collections.abc import Sequence

NOTHING_ABOVE = -1


class PathCodes:
    """The codes of one party in one round: twice the record of the split above, plus 1 on its right side."""

    def __init__(self) -> None:
        # (tree, node) -> its code, where there is one.
        self._codes: dict[tuple[int, int], int] = {}

    def above(self, tree: int, nodes: Sequence[int]) -> list[int]:
        """The code of each node of a tree; NOTHING_ABOVE where the party has no split above it."""
        return [self._codes.get((tree, node), NOTHING_ABOVE) for node in nodes]

    def grow(
        self, tree: int, nodes: Sequence[int], left: Sequence[int], right: Sequence[int], own: Sequence[int] | None
    ) -> None:
        """Nodes of a tree have children now. `own`: the records that split them, None for another party's splits."""
        for place, inherited in enumerate(self.above(tree, nodes)):
            codes = (inherited, inherited) if own is None else (2 * own[place], 2 * own[place] + 1)
            self._codes[tree, left[place]], self._codes[tree, right[place]] = codes
