"""The rows of a level in the order of the messages, and how its candidates are put into them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.protocols.masked.params import MaskedParams


class Place(NamedTuple):
    """A chunk: `candidates` of them, from number `first` on."""

    round: int
    depth: int
    tree: int
    first: int
    candidates: int


def level_rows(
    partition: _native.gbdt.RowPartition, nodes: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(rows, start): the sampled rows of node i are rows[start[i]:start[i + 1]], ascending."""
    parts = [partition.rows(int(node)) for node in nodes]
    start = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts]), start


def squared_lengths(params: MaskedParams, start: NDArray[np.int64], n_train: int) -> NDArray[np.float64]:
    """C of each node, float64[nodes]: the squared length of the active party's secret factors there.

    The left side of theorem 2 is proportional to the rows of a message over C. With noise_scale="node" every message
    therefore has the epsilon that one about all `n_train` training rows has at C. The passive parties know the rows
    of every node, and so this number, too.
    """
    counts = np.diff(start)
    if params.noise_scale == "root":
        return np.full(len(counts), params.C)
    return params.C * counts / n_train


def places(
    round_index: int, depth: int, tree: int, count: int, start: NDArray[np.int64], params: MaskedParams
) -> Iterator[Place]:
    """The chunks of `count` candidates, at both parties: at most chunk_bytes of noise, but at least one candidate.

    With W above 1 candidates go one by one: more noise vectors of each are on their way, and they are to stay few.
    """
    size = max(1, params.chunk_bytes // (8 * max(1, int(start[-1])))) if params.W == 1 else 1
    for first in range(0, count, size):
        yield Place(round_index, depth, tree, first, min(size, count - first))
