"""Who wins a tournament, computed in the open: what the two parties compute on shares, as a function of integers.

    candidates 0 and 1, 2 and 3, ... of a node, in the order of the tournament, are pairs; the last may be alone
    of a pair (a, b) the larger of |V_a| and |V_b| goes on; if they are equal, a if tau V_a >= 0, else b
    of the extras and then of the candidates left, in this order, the largest wins; of several such the first

Extras are the active party's own best and, with several passive parties, the winner of those before. tau is the coin
of the node, 1 or -1. It decides ties of pairs and nothing else. How a tournament is cut into groups
does not show in its result.
"""

import numpy as np
from numpy.typing import NDArray


def argmax(
    values: NDArray[np.int64],
    tau: NDArray[np.int64],
    order: NDArray[np.intp] | None = None,
    extras: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """The winner of each node: a column of `values`, int64[nodes, candidates], or candidates + k for column k of
    `extras`.

    order: the column that stands at each place of the tournament; as they stand for None. extras: int64[nodes, k], of
    any sign, whose absolute values enter; the active party's own best is the first of them.
    """
    nodes, count = values.shape
    columns = np.arange(count) if order is None else np.asarray(order)
    placed = (tau[:, np.newaxis] * values)[:, columns]
    size = np.abs(placed)
    first, second = size[:, 0 : count - count % 2 : 2], size[:, 1::2]
    second_wins = (second > first) | ((second == first) & (placed[:, 0 : count - count % 2 : 2] < 0))
    left = np.arange(0, count, 2) + np.zeros((nodes, 1), dtype=np.int64)
    left[:, : count // 2] += second_wins
    entrants = np.take_along_axis(size, left, axis=1)
    names = columns[left].astype(np.int64)
    if extras is not None:
        entrants = np.hstack([np.abs(extras), entrants])
        names = np.hstack([count + np.arange(extras.shape[1]) + np.zeros((nodes, 1), dtype=np.int64), names])
    best = np.argmax(entrants, axis=1)  # the first of the largest
    return np.asarray(names[np.arange(nodes), best])
