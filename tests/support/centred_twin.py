"""The rule `centred` (python/vfxgb/tree/CENTRED.md) one number at a time, in Python's integers: a twin of the kernels.

Philox words and XGBoost's gain are taken from the package; they have tests of their own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from vfxgb import _native
from vfxgb.rows.sampling import random_words


def weight(left: int, rows: int) -> int:
    """4 / sqrt(share left * share right), rounded, from 8 to 32."""
    product = left * (rows - left)
    if product == 0:
        return 32
    # w is the nearest integer iff (2 w - 1)^2 <= (2 x)^2 < (2 w + 1)^2.
    square = Fraction(64 * rows * rows, product)
    nearest = (math.isqrt(math.floor(square)) + 1) // 2
    return min(nearest, 32)


def score(left: Sequence[int], total: Sequence[int], factor: int) -> float:
    """What a candidate is worth, from sums (g, h)."""
    return float(factor * abs(int(left[0]) * int(total[1]) - int(total[0]) * int(left[1])))


def centred(pair: Sequence[int], total: Sequence[int]) -> int:
    """A row's u, in steps of gradients, to the nearest integer, a half upwards."""
    if total[1] <= 0 or (pair[0] == 0 and pair[1] == 0):
        return 0
    u = Fraction(int(pair[0])) - Fraction(int(total[0]), int(total[1])) * int(pair[1])
    return math.floor(u + Fraction(1, 2))


def rounded(value: int, word: int, shift: int) -> int:
    """Up or down at random."""
    return (value + word % 2**shift) // 2**shift


def node_integers(values: Sequence[int], words: Sequence[int], n_train: int, bits: int) -> list[int]:
    """The integers of one node's rows, from their centred gradients and words."""
    rows = max(n_train, 1024)
    shift = 0
    while math.isqrt(32 * rows * sum(v * v for v in values)) >= 2 ** (bits + shift):
        shift += 1
    while True:
        made = [rounded(v, w, shift) for v, w in zip(values, words, strict=True)]
        room = 2**bits - 32 * abs(sum(made))
        if room > 0 and 32 * rows * sum(v * v for v in made) < room**2:
            return made
        shift += 1


def play(values: Sequence[int]) -> int:
    """The index of the winner: pairs by the signs of a - b and a + b, then magnitudes one after the other."""
    best, size = -1, -1
    for first in range(0, len(values), 2):
        index, value = first, values[first]
        if first + 1 < len(values):
            other = values[first + 1]
            if (value - other >= 0) != (value + other >= 0):
                index, value = first + 1, other
        if abs(value) > size:
            best, size = index, abs(value)
    return best


@dataclass
class TwinParty:
    """One party's candidates: columns of bins int64[n], -1 where a value is missing; `order_seed` of a passive one."""

    bins: np.ndarray
    n_bins: list[int]
    order_seed: int = 0
    candidates: list[np.ndarray] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = len(self.bins)
        for column, count in zip(self.bins.T, self.n_bins, strict=True):
            cuts = [(column >= 0) & (column <= cut) for cut in range(count - 1)]
            if (column < 0).any():
                cuts += [(column < 0) | left for left in reversed(cuts)]
            self.candidates += cuts
        self.weights = [weight(int(left.sum()), n) for left in self.candidates]

    @property
    def met(self) -> list[int]:
        """The candidates in the order in which they meet."""
        words = random_words(self.order_seed, len(self.candidates), "tournament").tolist()
        return sorted(range(len(words)), key=lambda j: (words[j], j))


@dataclass
class TwinTree:
    """Grows one tree; `parties` in party order, `bits` None for exact scores. All rows are training rows."""

    parties: list[TwinParty]
    active: int
    pairs: np.ndarray
    rule: Any
    depth: int
    bits: int | None = None
    seed: int = 0
    round: int = 0
    gamma: float = 0.0

    def grow(self) -> list[tuple[int, float, int, int]]:
        """Per node, in the order of their numbers: party or -1, gain, rows, index of the candidate or -1."""
        n = len(self.pairs)
        nodes: list[tuple[int, float, int, int]] = []
        level = [np.ones(n, dtype=bool)]
        for depth in range(self.depth + 1):
            below: list[np.ndarray] = []
            for rows in level:
                found = None if depth == self.depth else self._split(rows, depth, len(nodes))
                if found is None:
                    nodes.append((-1, 0.0, int(rows.sum()), -1))
                    continue
                party, gain, j = found
                left = self.parties[party].candidates[j]
                nodes.append((party, gain, int(rows.sum()), j))
                below += [rows & left, rows & ~left]
            level = below
        return nodes

    def _split(self, rows: np.ndarray, depth: int, node: int) -> tuple[int, float, int] | None:
        total = self.pairs[rows].sum(axis=0)
        scored = self._exact(rows, total) if self.bits is None else self._integers(rows, total, depth, node)
        own_best: tuple[float, float, int] | None = None
        for j, left in enumerate(self.parties[self.active].candidates):
            gain = self.gain(rows, total, left)
            if gain > 1e-6 and gain >= self.gamma and (own_best is None or gain > own_best[1]):
                own_best = (abs(scored(self.active, j)), gain, j)
        own_gain = 0.0 if own_best is None else own_best[1]
        top, winner = 0.0 if own_best is None else own_best[0], None
        for place, party in enumerate(self.parties):
            if place == self.active or not party.candidates:
                continue
            j = self._best_of(place, rows, total, scored)
            if abs(scored(place, j)) > top:
                top, winner = abs(scored(place, j)), (place, j)
        if winner is not None:
            gain = self.gain(rows, total, self.parties[winner[0]].candidates[winner[1]])
            if gain > 1e-6 and gain >= self.gamma and gain > own_gain:
                return winner[0], gain, winner[1]
        return None if own_best is None else (self.active, own_best[1], own_best[2])

    def _best_of(self, place: int, rows: np.ndarray, total: np.ndarray, scored: Callable[[int, int], float]) -> int:
        party = self.parties[place]
        if self.bits is not None:
            return party.met[play([int(scored(place, j)) for j in party.met])]
        keys = [(scored(place, j), self.gain(rows, total, left)) for j, left in enumerate(party.candidates)]
        return max(range(len(keys)), key=lambda j: (keys[j], -j))

    def _exact(self, rows: np.ndarray, total: np.ndarray) -> Callable[[int, int], float]:
        def scored(place: int, j: int) -> float:
            party = self.parties[place]
            return score(self.pairs[rows & party.candidates[j]].sum(axis=0), total, party.weights[j])

        return scored

    def _integers(self, rows: np.ndarray, total: np.ndarray, depth: int, node: int) -> Callable[[int, int], float]:
        n = len(self.pairs)
        words = random_words(self.seed, n, "integers", self.round, 0, depth)[rows].tolist()
        values = [centred(pair, total.tolist()) for pair in self.pairs[rows].tolist()]
        made = np.zeros(n, dtype=object)
        made[rows] = node_integers(values, words, n, self.bits or 0)
        coin = -1 if int(random_words(self.seed, 1, "coins", self.round, 0, first=node)[0]) >> 63 else 1

        def scored(place: int, j: int) -> float:
            party = self.parties[place]
            return coin * party.weights[j] * sum(made[rows & party.candidates[j]])

        return scored

    def gain(self, rows: np.ndarray, total: np.ndarray, left: np.ndarray) -> float:
        """XGBoost's, 0 for a split that it would not make."""
        sums = self.pairs[rows & left].sum(axis=0)
        return float(self.rule.score(sums[None, None, :], total[None, :])[0][0])


def rule_of(step: float, reg_lambda: float = 1.0, min_child_weight: float = 1.0) -> Any:
    """The rule that makes gains."""
    return _native.gbdt.SplitRule(step, reg_lambda, 0.0, min_child_weight)
