"""What a RowStore makes of its rows and takes back: who is in which node, and gradient pairs of every training row.

Both stay where the rows are. A store gets only what it made itself, so an implementation names its own classes where
this interface says OwnPartition and OwnPairs.
"""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native

Nodes: TypeAlias = NDArray[np.int32]

# A Partition and Pairs of the store that is asked.
OwnPartition: TypeAlias = Any
OwnPairs: TypeAlias = Any
# CentredRows (integers.py) over it.
OwnCentred: TypeAlias = Any


class Entries(Protocol):
    """For every row the place of its node in a list, from 1 on; 0 for rows of no listed node."""

    def part(self, first: int, stop: int) -> NDArray[np.uint16]:
        """Those of rows `first` to `stop` - 1."""


class Partition(Protocol):
    """Which node each row of a store is in while a tree grows. _native.gbdt.RowPartition says what rows count."""

    @property
    def n_rows(self) -> int:
        """Count all rows."""

    @property
    def here(self) -> _native.gbdt.RowPartition:
        """The rows themselves, for protocols that need them in this process. Raises EngineError where they are not."""

    def nodes(self) -> Nodes:
        """The nodes that have not been split, ascending."""

    def has(self, nodes: Nodes) -> bool:
        """Whether every node exists and has not been split."""

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64[len(nodes), 2]: sampled rows and other rows of each node."""

    def left_bits_size(self, nodes: Nodes) -> int:
        """Bytes of left bits for these nodes."""

    def split(self, nodes: Nodes, left: Nodes, right: Nodes, bits: bytes | memoryview) -> None:
        """See _native.gbdt.RowPartition.split.

        Nothing changes when the arguments are refused (ValueError, IndexError).
        """

    def leaves(self) -> Nodes:
        """The node of every row, int32[n_rows]."""

    def gather_bits(self, nodes: Nodes, bits: bytes | memoryview) -> bytes:
        """See _native.gbdt.RowPartition.gather_bits. Raises ValueError."""

    def entries(self, nodes: Nodes) -> Entries:
        """The place of every row's node in `nodes`, at most 65,535 of them."""

    def left_sums(self, nodes: Nodes, bits: bytes | memoryview, pairs: OwnPairs) -> NDArray[np.int64]:
        """See _native.gbdt.left_node_sums."""

    def centred(self, nodes: Nodes, totals: NDArray[np.int64], pairs: OwnPairs) -> OwnCentred:
        """The centred gradients of the rows of `nodes` (ascending), whose sums of pairs are totals[m, 2]."""


class Pairs(Protocol):
    """int64[n_train, 2], wherever the rows are: `np.asarray` brings them here, and copies nothing that is here."""

    def __array__(self) -> NDArray[np.int64]: ...
