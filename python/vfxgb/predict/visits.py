"""What the active party knows while rows are on their way: who stands before which node, and who is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.predict.block import Answer
from vfxgb.predict.routing import Rows


@dataclass(frozen=True)
class Visit:
    """Rows (numbers within the block, ascending) before one node of one tree, each with its weight if not 1.

    `record`: the number of the node's split at its party, -1 for a leaf.
    """

    tree: int
    node: int
    record: int
    rows: Rows
    weight: NDArray[np.float64] | None


@dataclass(frozen=True)
class Part:
    """Rows first to first + count - 1 of a prediction, which travel together, within a block that begins at `block`."""

    block: int
    first: int
    count: int

    @property
    def offset(self) -> int:
        """Where the part begins in its block."""
        return self.first - self.block


class Line(Protocol):
    """How the active party asks one passive party about rows at its splits."""

    @property
    def end(self) -> int:
        """The level after the last one at which the party is asked whether rows stand before its splits or not."""

    def ask(self, depth: int, part: Part, visits: Sequence[Visit]) -> Any:
        """Send the questions of a level; returns what `read` needs, None if nothing is asked. Called by every level."""

    def read(self, asked: Any, depth: int, part: Part, visits: Sequence[Visit]) -> list[Answer]:
        """The answers about the visits. Questions are read in the order in which they were asked."""
