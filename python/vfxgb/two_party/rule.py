"""Who wins a tournament, computed in the open: what the two parties compute on shares, as a function of integers.

    candidates 0 and 1, 2 and 3, ... of a node, in the order of the tournament, are pairs; the last may be alone
    of a pair (a, b) the larger of |V_a| and |V_b| goes on; if they are equal, a if tau V_a >= 0, else b
    of the extras and then of the candidates left, in this order, the largest wins; of several such the first

Extras are the active party's own best and, with several passive parties, the winner of those before. tau is the coin
of the node, 1 or -1. It decides ties of pairs and nothing else. How a tournament is cut into groups
does not show in its result. Who wins among candidates is numeric/tournament.py's to say.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.numeric.tournament import largest


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
    count = values.shape[1]
    columns = np.arange(count) if order is None else np.asarray(order)
    index, size = largest((tau[:, np.newaxis] * values)[:, columns])
    winner: NDArray[np.int64] = columns[index].astype(np.int64)
    if extras is None:
        return winner
    entrants = np.hstack([np.abs(extras), size[:, np.newaxis]])
    best = np.argmax(entrants, axis=1)  # the first of the largest
    return np.where(best < extras.shape[1], count + best, winner)
