"""What the bits of rows at winning splits say about a passive party's table (protocol `sealed`).

The active party learns which rows of a node go left at every split that a passive party has won. Each bit compares one
value of a row with a cut that the active party does not know. Two splits of one feature never contradict each other:
their left sides are nested among the rows that both have compared. Splits of different features nearly always do, as
soon as there are enough such rows. So the splits can be sorted by feature (`by_feature`), and the rows be put in order
along each feature (`positions`). Somebody who knows feature and cut of every split knows between which bins a value
lies (`possible_bins`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.view import AttackerView, CutsOf

Sides = NDArray[np.int8]

# Splits that are sorted by feature: those of the largest nodes. Their number squared times the rows bounds the work.
MOST_SPLITS = 2_500
# Two nested splits are taken for one feature if so many rows would contradict that, were the two independent. Among
# some millions of pairs chance makes none with a probability above exp(-20) each.
LINK = 20.0
# Rows that are multiplied at a time.
CHUNK = 4_096
# How often cuts and rows are put in place in turns.
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Told:
    """All comparisons of one passive party's splits.

    `sides`: int8[splits, n_train], +1 for a row that goes left, -1 for one that goes right, 0 for rows of other nodes.
    `places`: (round, tree, depth, number among those of the level from 0 on) of each split.
    """

    sides: Sides
    places: tuple[tuple[int, int, int, int], ...]

    def largest(self, count: int) -> "Told":
        """The splits of the `count` largest nodes, the largest first."""
        order = np.argsort(-np.count_nonzero(self.sides, axis=1), kind="stable")[:count]
        return Told(self.sides[order], tuple(self.places[split] for split in order.tolist()))


def told_by(view: AttackerView, peer: str) -> Told:
    """The comparisons that an active party has learnt from `peer`, refused winners included.

    Splits that were withheld are left out: no row goes left there.
    """
    sides, places = [], []
    for note in view.notes("left-bits:"):
        _, depth, party = note.name.split(":", 2)
        if party != peer:
            continue
        for split in range(int(np.abs(note.array).max(initial=0))):
            side = (note.array == split + 1).astype(np.int8) - (note.array == -split - 1).astype(np.int8)
            if (side > 0).any():
                sides.append(side)
                places.append((note.round, note.tree, int(depth), split))
    n = view.setup.n_train
    return Told(np.stack(sides) if sides else np.zeros((0, n), dtype=np.int8), tuple(places))


def by_feature(sides: Sides, features: int) -> list[NDArray[np.int64]]:
    """Splits in at most `features` groups, each of one feature as far as can be told.

    First splits that are nested beyond chance are joined. The largest group, and the next largest that contradicts all
    those before it, stand for a feature each. Every other split goes to the one group that it does not contradict; one
    that contradicts all of them, or fits more than one, is left out.
    """
    linked, apart = _relations(sides)
    group = np.arange(len(sides))
    members = {split: [split] for split in range(len(sides))}
    for first, second in linked:
        a, b = int(group[first]), int(group[second])
        if a == b or apart[np.ix_(members[a], members[b])].any():
            continue
        members[a] += members.pop(b)
        group[members[a]] = a
    compared = np.count_nonzero(sides, axis=1)
    ordered = sorted(members.values(), key=lambda splits: -int(compared[splits].sum()))
    chosen: list[list[int]] = []
    for splits in ordered:
        if len(chosen) < features and all(apart[np.ix_(splits, other)].any() for other in chosen):
            chosen.append(splits)
    taken = {split for splits in chosen for split in splits}
    for splits in ordered:
        if taken.isdisjoint(splits):
            fitting = [other for other in chosen if not apart[np.ix_(splits, other)].any()]
            if len(fitting) == 1:
                fitting[0].extend(splits)
    return [np.array(sorted(splits)) for splits in chosen]


def _relations(sides: Sides) -> tuple[list[tuple[int, int]], NDArray[np.bool_]]:
    """Pairs that are nested beyond chance, the surest first; and bool[splits, splits], which contradict each other."""
    count = len(sides)
    # [i, j]: rows left at both; left at i and right at j; right at both.
    both, across, neither = (np.zeros((count, count)) for _ in range(3))
    for first in range(0, sides.shape[1], CHUNK):
        part = sides[:, first : first + CHUNK]
        left, right = (part > 0).astype(np.float32), (part < 0).astype(np.float32)
        both += left @ left.T
        across += left @ right.T
        neither += right @ right.T
    apart: NDArray[np.bool_] = (across > 0) & (across.T > 0)
    rows = np.maximum(both + across + across.T + neither, 1.0)
    # How many rows would be left at i and right at j, if the splits were independent: there are none if i lies in j.
    expected = (both + across) * (across + neither) / rows
    sure = np.where(across == 0, expected, 0.0)
    sure = np.triu(np.maximum(sure, sure.T), 1)
    low, high = np.nonzero(sure >= LINK)
    order = np.argsort(-sure[low, high], kind="stable")
    return list(zip(low[order].tolist(), high[order].tolist(), strict=True)), apart


def positions(sides: Sides, steps: int) -> NDArray[np.float64]:
    """float64[n_train]: where each row lies along one feature, from 0 to 1, by splits of that feature.

    The largest node comes first. A cut lies where as many rows would go left as did, if each row lay anywhere between
    the cuts that it is known to lie between; and at a multiple of 1 / `steps`, as the cuts of equally full bins do.
    """
    low, high = np.zeros(sides.shape[1]), np.ones(sides.shape[1])
    cuts = np.arange(1, steps) / steps
    for side in sides[np.argsort(-np.count_nonzero(sides, axis=1), kind="stable")]:
        rows = np.flatnonzero(side)
        wanted = np.count_nonzero(side > 0)
        # The expected number that goes left grows with the cut: look for the first cut at which it is reached.
        first, last = 0, len(cuts) - 1
        while first < last:
            middle = (first + last) // 2
            width = np.maximum(high[rows] - low[rows], 1e-9)
            expected = np.clip((cuts[middle] - low[rows]) / width, 0.0, 1.0).sum()
            first, last = (first, middle) if expected >= wanted else (middle + 1, last)
        cut = cuts[first]
        left, right = side > 0, side < 0
        high[left], low[right] = np.minimum(high[left], cut), np.maximum(low[right], cut)
        # A cut that was placed wrong contradicts others; the row is then somewhere near both.
        crossed = low > high
        low[crossed], high[crossed] = high[crossed], low[crossed]
    return (low + high) / 2


def refined_bins(sides: Sides, start: NDArray[np.float64], steps: int) -> NDArray[np.int64]:
    """int64[n_train]: the bin of each row among `steps` equally full ones, from positions to begin with.

    In turns each cut is put where it agrees with the bins of most rows, and each row to the middle of the bins that
    agree with most of its cuts; rows in that order then fill the bins.
    """
    left, right = (sides > 0).astype(np.float32), (sides < 0).astype(np.float32)
    at_or_below = np.tril(np.ones((steps, steps), dtype=np.float32)).T
    bins = _filled(start, steps)
    for _ in range(ROUNDS):
        held = np.zeros((len(bins), steps), dtype=np.float32)
        held[np.arange(len(bins)), bins] = 1.0
        # [split, c]: rows that are on the right side of a cut after bin c.
        agreeing = (left @ held) @ at_or_below + (right @ held) @ (1.0 - at_or_below)
        cut = np.argmax(agreeing[:, :-1], axis=1)
        below = (np.arange(steps) <= cut[:, None]).astype(np.float32)
        votes = left.T @ below + right.T @ (1.0 - below)
        best = votes == votes.max(axis=1, keepdims=True)
        first, last = np.argmax(best, axis=1), steps - 1 - np.argmax(best[:, ::-1], axis=1)
        bins = _filled((first + last) / 2, steps)
    return bins


def _filled(values: NDArray[np.float64], steps: int) -> NDArray[np.int64]:
    """Equally full bins of values; equal ones share the bin in their middle."""
    ordered = np.sort(values)
    middle = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    bins: NDArray[np.int64] = np.minimum((middle / len(values) * steps).astype(np.int64), steps - 1)
    return bins


def possible_bins(told: Told, cuts: CutsOf) -> Iterator[NDArray[np.bool_]]:
    """For each feature bool[n_train, bins + 1]: which bins each row may lie in; the last column is for no value."""
    chosen = np.array([cuts.splits[place[:3]][place[3]] for place in told.places]).reshape(-1, 3)
    for feature, count in enumerate(cuts.n_bins.tolist()):
        possible = np.ones((told.sides.shape[1], count + 1), dtype=np.bool_)
        possible[:, count] = cuts.has_missing[feature]
        for split in np.flatnonzero(chosen[:, 0] == feature).tolist():
            goes_left = np.arange(count + 1) <= chosen[split, 1]
            goes_left[count] = bool(chosen[split, 2])
            side = told.sides[split]
            possible[side > 0] &= goes_left
            possible[side < 0] &= ~goes_left
        yield possible


def middle_bins(possible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[n]: the middle one of the bins that each row may lie in."""
    before = np.cumsum(possible, axis=1)
    half = (before[:, -1:] + 1) // 2
    middle: NDArray[np.int64] = np.argmax(before >= half, axis=1)
    return middle


def pinned(possible: Sequence[NDArray[np.bool_]]) -> float:
    """Which share of all values can lie in one bin only, of features with two bins or more."""
    shares = [float((bins.sum(axis=1) == 1).mean()) for bins in possible if bins.shape[1] > 2]
    return float(np.mean(shares)) if shares else 0.0
