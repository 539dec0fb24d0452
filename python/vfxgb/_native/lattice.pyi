"""cpp/lattice: sums over encrypted columns.

Words stand for integers modulo 2^log_q and fill the upper bits of uint64. Packed words keep their upper `bits` bits.
The nodes of a level are offsets int64[nodes + 1] into rows and weights, the rows of each node ascending. `path` names a
set of loops for tests; "" is the best one, or the portable one where VFXGB_SIMD asks for it.
"""

import numpy as np
from numpy.typing import NDArray

from . import Buffer

def nodes_of_leaves(
    leaves: NDArray[np.int32], node_of_leaf: NDArray[np.int32], values: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """(offsets, rows, weights) of nodes from a number for each row: row i has the weight values[i], 31 bits.

    It is in node node_of_leaf[leaves[i]], and in none where that is -1. Rows of weight 0 are left out.
    """

def node_norms(
    offsets: NDArray[np.int64], rows: NDArray[np.int32], weights: NDArray[np.int32], stop: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """For each node the sum of squares of its weights, the sum of the positive ones, and that of the others, negated.

    ValueError for rows of a node that do not ascend, or are not below `stop`.
    """

class Elements:
    def __init__(
        self,
        degree: int,
        log_q: int,
        first_block: int,
        words: NDArray[np.uint64],
        threads: int = 1,
        path: str = "",
    ) -> None: ...
    def correlate(
        self,
        offsets: NDArray[np.int64],
        rows: NDArray[np.int32],
        weights: NDArray[np.int32],
        threads: int = 1,
    ) -> NDArray[np.uint64]: ...

class Columns:
    def __init__(self, first_row: int, rows: int, columns: int, file: str | None = None, path: str = "") -> None: ...
    def fill(self, first: int, rows: int, packed: Buffer, bits: int, threads: int = 1) -> None: ...
    def sums(
        self,
        offsets: NDArray[np.int64],
        rows: NDArray[np.int32],
        weights: NDArray[np.int32],
        threads: int = 1,
    ) -> NDArray[np.uint64]: ...
    @property
    def nbytes(self) -> int:
        """Bytes that the words take, in memory or in the file."""
    def drop(self) -> None:
        """Give the memory that holds the file back: it is read again when wanted. Without a file: nothing."""
    def rows(self, begin: int, end: int) -> NDArray[np.uint64]: ...
    def set_rows(self, begin: int, words: NDArray[np.uint64]) -> None: ...

class SecretColumns:
    def __init__(self, degree: int, log_q: int, columns: int, key: bytes, threads: int = 1, path: str = "") -> None: ...
    def encrypt(
        self,
        block: int,
        element: NDArray[np.uint64],
        first: int,
        rows: int,
        left: NDArray[np.uint8] | None,
        weights: NDArray[np.int32],
        shifts: list[int],
        bits: int,
        threads: int = 1,
    ) -> bytes:
        """Packed words of some rows. Each word has a message for each of `shifts`, with left bits and a weight each."""
    def shares(self, packed: Buffer, count: int, bits: int, threads: int = 1) -> NDArray[np.uint64]: ...

class MaskMaker:
    def __init__(
        self,
        degree: int,
        log_q: int,
        element: NDArray[np.uint64],
        z: Buffer,
        columns: int,
        bits: int,
        threads: int = 1,
        path: str = "",
    ) -> None: ...
    def make(self, count: int, threads: int = 1) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...

def pack_words(words: NDArray[np.uint64], bits: int) -> bytes: ...
def unpack_words(packed: Buffer, vectors: int, length: int, bits: int) -> NDArray[np.uint64]: ...
def packed_bytes(count: int, bits: int) -> int: ...
def available_paths() -> list[str]: ...
def path_in_use() -> str: ...
