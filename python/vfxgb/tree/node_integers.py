"""The integers that stand for the gradients of open nodes where scores are sums of integers (score_bits).

CENTRED.md defines them. They are a function of the gradients in fixed point, of who is in which node, and of a seed;
nothing of it is floating point. Only the active party makes them.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import LevelNodes
from vfxgb.rows.sampling import random_words
from vfxgb.tree.split_weights import MOST_WEIGHT, WEIGHT_SQUARED_SHARE

# The bound of scores counts at least so many rows, which also bounds the integers of short tables.
LEAST_ROWS = 1024


def node_integers(
    pairs: NDArray[np.int64],
    nodes: LevelNodes,
    score_bits: int,
    seed: int,
    round_index: int,
    depth: int,
    threads: int = 1,
) -> NDArray[np.int64]:
    """The integers of all training rows, int64[n_train], each times its node's coin; 0 for rows of no open node.

    `pairs`: int64[n_train, 2], the gradients in fixed point.
    """
    n_train, m = len(pairs), len(nodes.nodes)
    place = _places(nodes, n_train)
    centred = _native.gbdt.centre_rows(pairs, place, nodes.totals, threads)
    words = random_words(seed, n_train, "integers", round_index, nodes.tree, depth)
    squares = node_squares(centred, place, m)[1]
    shift = np.array([_first_shift(each, n_train, score_bits) for each in squares], dtype=np.int32)
    signs = coins(seed, round_index, nodes.tree, nodes.nodes).astype(np.int32)
    while True:
        rounded = _native.gbdt.round_rows(centred, place, shift, signs, words, threads)
        sums, squares = node_squares(rounded, place, m)
        fits = [fits_bits(*norms, n_train, score_bits) for norms in zip(sums, squares, strict=True)]
        if all(fits):
            return rounded
        shift += ~np.array(fits)


def integer_pairs(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers of rows in the form of gradient pairs, int64[n_train, 2], whose second number is 0."""
    return np.stack([integers, np.zeros_like(integers)], axis=1)


def coins(seed: int, round_index: int, tree: int, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """1 or -1 for each node (ids, ascending): it decides ties, so that they do not tell the sign of a sum."""
    first = int(nodes[0]) if len(nodes) else 0
    count = int(nodes[-1]) - first + 1 if len(nodes) else 0
    words = random_words(seed, count, "coins", round_index, tree, first=first)[nodes - first]
    return 1 - 2 * (words >> np.uint64(63)).astype(np.int64)


def fits_bits(total: int, squares: int, n_train: int, score_bits: int) -> bool:
    """Whether integers of a node, by their sum and the sum of their squares, keep every score below 2**score_bits.

    A score is at most sqrt(32 n squares) + 32 |total| (CENTRED.md).
    """
    rest = (1 << score_bits) - MOST_WEIGHT * abs(total)
    return rest > 0 and WEIGHT_SQUARED_SHARE * max(n_train, LEAST_ROWS) * squares < rest * rest


def node_squares(values: NDArray[np.int64], place: NDArray[np.int32], nodes: int) -> tuple[list[int], list[int]]:
    """Per node the sum of its values and the sum of their squares, in full."""
    sums, words = _native.gbdt.node_norms(values, place, nodes)
    return sums.tolist(), [low + (high << 64) for low, high in words.tolist()]


def _first_shift(squares: int, n_train: int, score_bits: int) -> int:
    """The least s >= 0 for which integers divided by 2**s would fit if they added up to 0 and were not rounded."""
    shift = 0
    while WEIGHT_SQUARED_SHARE * max(n_train, LEAST_ROWS) * squares >= 4 ** (score_bits + shift):
        shift += 1
    return shift


def _places(nodes: LevelNodes, n_train: int) -> NDArray[np.int32]:
    """The position of each training row's node among the open ones, or -1."""
    leaves = nodes.partition.leaves()[:n_train]
    most = max(int(leaves.max(initial=0)), int(nodes.nodes.max(initial=0)))
    position = np.full(most + 1, -1, dtype=np.int32)
    position[nodes.nodes] = np.arange(len(nodes.nodes), dtype=np.int32)
    return position.take(leaves)
