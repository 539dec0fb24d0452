"""Whose split a node gets: the best by gain, or under split_rule='centred' the best by score, if its gain will do.

A node is split when the gain is above 1e-6 (XGBoost's kRtEps) and at least gamma.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import Proposals

LEAST_GAIN = 1e-6

# Per node the best gain, and per party the positions of the nodes that it wins.
Choice = tuple[NDArray[np.float64], dict[int, NDArray[np.int64]]]


def best_by_gain(proposals: Mapping[int, Proposals], gamma: float) -> Choice:
    """The best gain of each node wins, and of equal ones the first party's.

    `proposals`: party position -> those of the same m nodes, in party order. Nodes whose best gain is too small are
    nobody's.
    """
    gains = [offered.gain for offered in proposals.values()]
    best, positions = _native.gbdt.share_nodes(gains, LEAST_GAIN, gamma)
    return best, {party: won for party, won in zip(proposals, positions, strict=True) if len(won)}


def best_by_score(proposals: Mapping[int, Proposals], active: int, gamma: float) -> Choice:
    """The best score of each node wins, of equal ones the active party's, then the first party's.

    A passive party's winner must also have a gain that is worth a split and above that of the active party's own best;
    else the node is the active party's, or nobody's.
    """
    parties = [active, *(party for party in proposals if party != active)]
    scores = np.stack([_scores(proposals[party]) for party in parties])
    gains = np.stack([proposals[party].gain for party in parties])
    every = np.arange(scores.shape[1])
    winner = np.argmax(scores, axis=0)
    kept = worth(gains[winner, every], gamma) & (gains[winner, every] > gains[0])
    winner[~kept] = 0
    best = gains[winner, every]
    return best, _won(parties, winner, worth(best, gamma))


def worth(gain: NDArray[np.float64], gamma: float) -> NDArray[np.bool_]:
    """Whether gains are large enough for a split."""
    return (gain > LEAST_GAIN) & (gain >= gamma)


def _scores(proposals: Proposals) -> NDArray[np.float64]:
    assert proposals.score is not None  # noqa: S101 - whoever makes proposals under this rule scores them
    return proposals.score


def _won(parties: list[int], winner: NDArray[np.intp], split: NDArray[np.bool_]) -> dict[int, NDArray[np.int64]]:
    won = {party: np.flatnonzero(split & (winner == row)) for row, party in enumerate(parties)}
    return {party: positions for party, positions in won.items() if len(positions)}
