"""The integers that stand for the gradients of open nodes where scores are sums of integers (score_bits).

CENTRED.md defines them. They are a function of the gradients in fixed point, of who is in which node, and of a seed;
nothing of it is floating point. Only the active party makes them.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import LevelNodes
from vfxgb.rows.integers import CentredRows, RowIntegers
from vfxgb.rows.parts import Pairs
from vfxgb.rows.sampling import random_words, word_stream
from vfxgb.tree.split_weights import MOST_WEIGHT, WEIGHT_SQUARED_SHARE

# The bound of scores counts at least so many rows, which also bounds the integers of short tables.
LEAST_ROWS = 1024


def node_integers(
    pairs: Pairs, nodes: LevelNodes, score_bits: int, seed: int, round_index: int, depth: int
) -> RowIntegers:
    """The integers of all training rows, each times its node's coin; 0 for rows of no open node.

    `pairs`: int64[n_train, 2], the gradients in fixed point, where the rows of the nodes' partition are.
    """
    centred: CentredRows = nodes.partition.centred(nodes.nodes, nodes.totals, pairs)
    stream = word_stream(seed, "integers", round_index, nodes.tree, depth)
    signs = coins(seed, round_index, nodes.tree, nodes.nodes)
    n_train = centred.n_train
    shift = np.array([_first_shift(each, n_train, score_bits) for each in centred.norms()[1]], dtype=np.int32)
    while True:
        norms = centred.round(shift, stream, signs)
        fits = [fits_bits(*each, n_train, score_bits) for each in zip(*norms, strict=True)]
        if all(fits):
            return centred.integers
        shift += ~np.array(fits)


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


def _first_shift(squares: int, n_train: int, score_bits: int) -> int:
    """The least s >= 0 for which integers divided by 2**s would fit if they added up to 0 and were not rounded."""
    shift = 0
    while WEIGHT_SQUARED_SHARE * max(n_train, LEAST_ROWS) * squares >= 4 ** (score_bits + shift):
        shift += 1
    return shift
