"""The rows of a level in the order of the messages."""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native


def level_rows(
    partition: _native.RowPartition, nodes: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(rows, start): the sampled rows of node i are rows[start[i]:start[i + 1]], ascending."""
    parts = [partition.rows(int(node)) for node in nodes]
    start = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts]), start
