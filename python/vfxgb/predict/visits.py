"""What the active party knows while rows are on their way: who stands before which node, and who is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.model.leanings import Leans
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


class Line(Protocol):
    """How the active party asks one passive party about rows at its splits."""

    @property
    def end(self) -> int:
        """The level after the last one at which the party is asked whether rows stand before its splits or not."""

    def ask(self, depth: int, block: slice, visits: Sequence[Visit]) -> Any:
        """Send the questions of a level about a block of rows; returns what `read` needs, None if nothing is asked."""

    def prepare(self, depth: int) -> None:
        """Send what the next level takes whatever the answers are, while those of level `depth` are on their way."""

    def read(self, asked: Any, depth: int, block: slice, visits: Sequence[Visit]) -> list[Answer]:
        """The answers about the visits. Questions are read in the order in which they were asked."""

    def read_leans(self, depth: int, answers: Sequence[Answer]) -> list[Leans]:
        """The leans of rows whose value is missing, one array for each of the answers just read.

        Only for models that weight both ways by what each party observes of a row.
        """
