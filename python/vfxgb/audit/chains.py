"""The cuts of one feature, put in order again: what a secret order of candidates hides, and what it does not.

Left of a higher cut of a feature lie all rows that lie left of a lower one. h is never negative, so the sums of h are
ascending along the cuts of a feature in every node; cuts of different features violate that in some node. And the sums
left of neighbouring cuts differ by those of few rows, in every node about as many as its share: those left of cuts of
different features differ by the sums of many rows, however near their totals are. Candidates are linked to chains: each
to the one above it that differs least.

A feature with missing values has each cut twice, with them on the left and with them on the right. Both differ by the
sum over the missing rows, which is the same for all cuts of the feature, to the last bit, in every node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.opened_sums import Flags, Matrix, OpenedTree
from vfxgb.audit.programs import assigned


@dataclass(frozen=True)
class Chain:
    """The cuts of one feature, ascending, as positions of candidates.

    `twin`: the position at which a cut stands again with missing values on its left, per cut; empty for none.
    """

    cuts: tuple[int, ...]
    twin: tuple[int, ...] = ()


def chains_of(trees: Sequence[OpenedTree]) -> list[Chain]:
    """The chains of candidates that stand at the same positions in all of `trees`."""
    sums = np.concatenate([part for tree in trees for part in (tree.left, tree.derived)])
    shown = np.concatenate([part for tree in trees for part in (tree.shown, tree.derived_shown)])
    totals, squares = (np.concatenate([tree.totals()[which] for tree in trees]) for which in range(2))
    every = [tree.shares() for tree in trees]
    usable: Flags = np.any([~np.isnan(shares) for shares in every], axis=0)
    share = mean_share(every)
    twins = _twins(sums, shown, np.flatnonzero(usable), share)
    usable[list(twins.values())] = False
    places = np.flatnonzero(usable)
    above = _above(sums[:, places, 1], shown[:, places])
    scale = totals[0]
    apart = _apart(sums[:, places] / scale, shown[:, places], share[places], totals / scale, squares / scale**2)
    chains = []
    for cuts in _paths(above, apart):
        chain = tuple(int(places[cut]) for cut in cuts)
        doubled = [twins[cut] for cut in chain if cut in twins]
        chains.append(Chain(chain, tuple(doubled) if len(doubled) == len(chain) else ()))
    return chains


def mean_share(shares: Sequence[Matrix]) -> Matrix:
    """The mean of what is known of each candidate in several trees, 0.5 where nothing is."""
    known = ~np.isnan(shares)
    mean: Matrix = np.where(known, shares, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known.any(axis=0), mean, 0.5)


def _twins(sums: NDArray[np.int64], shown: Flags, places: NDArray[np.int64], share: Matrix) -> dict[int, int]:
    """Cut -> the same cut with missing values on the left: at least three pairs that differ by the same sums.

    The difference of two cuts comes twice at most, with missing values on either side: it does not count.
    """
    whole = shown[:, places].all(axis=1)
    sums, share = sums[whole][:, places], share[places]
    if len(sums) == 0:
        return {}
    # All nodes in one number: two differences are compared modulo 2^64 under random weights.
    weights = np.random.default_rng(0).integers(0, 2**63, size=(len(sums), 2), dtype=np.uint64) * np.uint64(2)
    mark = (sums.astype(np.uint64) * (weights + np.uint64(1))[:, None, :]).sum(axis=(0, 2), dtype=np.uint64)
    low, high = np.nonzero(share[:, None] < share[None, :])
    _, group, counts = np.unique(mark[high] - mark[low], return_inverse=True, return_counts=True)
    twin_of: dict[int, int] = {}
    taken: set[int] = set()
    often = counts[group] >= 3
    for edge in np.flatnonzero(often)[np.argsort(-counts[group][often], kind="stable")].tolist():
        cut, twin = int(places[low[edge]]), int(places[high[edge]])
        if cut not in taken and twin not in taken:
            twin_of[cut] = twin
            taken |= {cut, twin}
    return twin_of


def _above(h: NDArray[np.int64], shown: Flags) -> Flags:
    """bool[c, c]: whether the second is in no node below the first; h int64[nodes, c]."""
    count = h.shape[1]
    never = np.ones((count, count), dtype=np.bool_)
    once = np.zeros((count, count), dtype=np.bool_)
    whole = bool(shown.all())
    for here, known in zip(h, shown, strict=True):
        falls = here[:, None] > here[None, :]
        if not whole:
            falls &= known[:, None] & known[None, :]
        never &= ~falls
        once |= falls.T
    # Equal sums everywhere: one order of the two is as good as the other.
    never &= once | (np.arange(count)[:, None] < np.arange(count)[None, :])
    np.fill_diagonal(never, False)
    return never


def _apart(sums: Matrix, shown: Flags, share: Matrix, totals: Matrix, squares: Matrix) -> Matrix:
    """float64[c, c]: in about how large a share of the rows the left sides of two candidates differ.

    `sums` float64[nodes, c, 2], `share` float64[c] of the rows that go left, `totals` and `squares` (sums of squares of
    the rows) float64[nodes, 2]. What a random share of the rows adds to a node has that share of the squares as its
    variance.
    """
    known = shown.astype(np.float64)
    # The sum over nodes where both are shown of (a - b)^2, a and b being how far each departs from its share.
    part = (sums - share[:, None] * totals[:, None, :]) * known[:, :, None]
    flat = part.transpose(0, 2, 1).reshape(-1, len(share))
    size = (part**2).sum(axis=2).T @ known
    weight = known.T @ (known * squares.sum(axis=1)[:, None])
    distances: Matrix = np.maximum(size + size.T - 2.0 * flat.T @ flat, 0.0) / np.maximum(weight, 1e-30)
    return distances


def _paths(above: Flags, apart: Matrix) -> list[list[int]]:
    """All positions in chains, each in exactly one: as few chains as can be, linked as closely as can be."""
    count = len(above)
    # Dearer than any number of links: a chain ends only where it must.
    cost = np.where(above, apart, 1.0 + count * (1.0 + apart.max(initial=0.0)))
    after = np.array([high if above[low, high] else -1 for low, high in enumerate(assigned(cost).tolist())])
    paths = []
    for start in sorted(set(range(count)) - set(after.tolist())):
        path = [start]
        while after[path[-1]] >= 0:
            path.append(int(after[path[-1]]))
        paths.append(path)
    return paths
