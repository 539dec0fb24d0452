"""Sorted partitions: splits by sets of categories, found from the sums of a feature's categories (XGBoost's hist).

In each node the categories are sorted by the weight that a leaf of their rows alone would have; equal weights keep the
order of codes. Two scans then try the first categories of this order against the rest, up to max_cat_threshold - 1 of
them from either end. The first scan grows the set that goes right from the front, with missing values on the left; the
second grows the set that goes left from the back, with missing values on the right.

What is shown of such a feature are the sums left of its cuts in the order of codes, as for any other. Whoever scores
them is told which tokens belong to the feature and in which order, and takes differences. A split by a set is written
as tokens, too: a negative one that names feature and direction, followed by 32 bins a word, bit 1 for those that go
right. So the owner learns which of its categories go right, which it must, and nothing of sums.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import OpenNodes
from vfxgb.errors import MessageError
from vfxgb.rows.columns import RightBins

WORD_BITS = 32
Tokens = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CategoryCells:
    """Where the sums of one feature's categories are.

    `column`: of the owner's list, for the order among its features; -1 where nobody else needs to know. `n_bins`: how
    many categories there are. `forward`: the positions of the sums left of the cuts, ascending, missing values on the
    right. `backward`: the same with missing values on the left; empty where no value is missing.
    """

    column: int
    n_bins: int
    forward: Tokens
    backward: Tokens

    @property
    def words(self) -> int:
        """How many words a set of its categories takes."""
        return -(-self.n_bins // WORD_BITS)

    def sums(self, left: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums of each category, int64[m, n_bins, 2], from left sums int64[m, c, 2] and totals int64[m, 2]."""
        missing: NDArray[np.int64] | int = 0
        forward = left[:, self.forward]
        if len(self.backward):
            missing = left[:, self.backward[0]] - forward[:, 0]
        edges = [np.zeros_like(totals)[:, None], forward, (totals - missing)[:, None]]
        return np.diff(np.concatenate(edges, axis=1), axis=1)


@dataclass(frozen=True, eq=False)
class ScoredSets:
    """The sets of one feature that a level's nodes try, in XGBoost's order.

    `left`: int64[m, 2 k, 2], the sums that go left; `order`: int64[m, n_bins], the categories as they were sorted.
    """

    cells: CategoryCells
    left: NDArray[np.int64]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, cells: CategoryCells, sums: NDArray[np.int64], level: OpenNodes, most: int) -> "ScoredSets":
        """Sort and scan. `sums`: left sums of all candidates, int64[m, c, 2]; `most`: max_cat_threshold."""
        each = cells.sums(sums, level.totals)
        shape = each.shape[:2]
        weight = level.rule.weights(np.ascontiguousarray(each.reshape(-1, 2)), None)
        # XGBoost compares weights in float32.
        order = np.argsort(weight.astype(np.float32).reshape(shape), axis=1, kind="stable")
        ordered = np.take_along_axis(each, order[:, :, None], axis=1)
        tried = min(most, cells.n_bins) - 1
        from_front = np.cumsum(ordered[:, :tried], axis=1)
        from_back = np.cumsum(ordered[:, ::-1][:, :tried], axis=1)
        return cls(cells, np.concatenate([level.totals[:, None] - from_front, from_back], axis=1), order)

    def tokens(self, group: int, node: int, place: int) -> list[int]:
        """The tokens of the set at `place` of a node's, of the feature that is number `group` of its tree."""
        tried = self.left.shape[1] // 2
        default_left = place < tried
        count = place + 1 if default_left else self.cells.n_bins - (place - tried) - 1
        right = np.zeros(self.cells.words * WORD_BITS, dtype=np.uint8)
        right[self.order[node, :count]] = 1
        words = np.packbits(right, bitorder="little").view("<u4").astype(np.int64)
        return [_token(group, default_left), *words.tolist()]


@dataclass(frozen=True, eq=False)
class ChosenSet:
    """A set of categories as tokens say it. `right`: bool[n_bins]."""

    token: int
    column: int
    right: RightBins
    default_left: bool


def split_tokens(
    start: Tokens, tokens: Tokens, partitions: Sequence[CategoryCells], count: int
) -> Iterator[tuple[Tokens, list[ChosenSet]]]:
    """Per node the tokens that are positions below `count`, and the sets among them. Raises MessageError."""
    edges = start.tolist()
    if edges[0] != 0 or edges[-1] != len(tokens) or any(low >= high for low, high in pairwise(edges)):
        raise MessageError("choosing a split: found tokens that do not belong to nodes, wanted at least one for each")
    for low, high in pairwise(edges):
        numbers: list[int] = []
        sets: list[ChosenSet] = []
        place = low
        while place < high:
            token = int(tokens[place])
            place += 1
            if token >= 0:
                numbers.append(token)
                continue
            group, default_left = divmod(-token - 1, 2)
            if group >= len(partitions) or place + partitions[group].words > high:
                raise MessageError(f"choosing a split: found the token {token}, wanted a feature of categories")
            sets.append(_read_set(token, partitions[group], not default_left, tokens[place:]))
            place += partitions[group].words
        if any(number >= count for number in numbers):
            raise MessageError(f"choosing a split: found the token {max(numbers)}, wanted one below {count}")
        yield np.array(numbers, dtype=np.int64), sets


def _read_set(token: int, cells: CategoryCells, default_left: bool, words: Tokens) -> ChosenSet:
    held = words[: cells.words]
    if ((held < 0) | (held >= 1 << WORD_BITS)).any():
        raise MessageError("choosing a split: found a set of categories that is none")
    bits = np.unpackbits(held.astype("<u4").view(np.uint8), bitorder="little")
    right = bits.astype(np.bool_)
    if right[cells.n_bins :].any() or right.all() or not right.any() or right[: cells.n_bins].all():
        raise MessageError("choosing a split: found a set of no, of all or of unknown categories")
    return ChosenSet(token, cells.column, right[: cells.n_bins], default_left)


def _token(group: int, default_left: bool) -> int:
    return -(2 * group + (0 if default_left else 1) + 1)


class OfferedSets:
    """The best splits of a level, where sets of categories are among them, and the sums left of each."""

    def __init__(
        self,
        partitions: Sequence[CategoryCells],
        sums: NDArray[np.int64],
        level: OpenNodes,
        most: int,
        constraint: NDArray[np.int8] | None,
        threads: int,
    ) -> None:
        self._sets = [ScoredSets.of(cells, sums, level, most) for cells in partitions]
        self._n_candidates = sums.shape[1]
        self._sums = np.concatenate([sums, *(each.left for each in self._sets)], axis=1)
        self._ends = self._n_candidates + np.cumsum([0, *(each.left.shape[1] for each in self._sets)])
        scored = np.ones(self._sums.shape[:2], dtype=np.bool_)
        for cells in partitions:
            scored[:, cells.forward] = scored[:, cells.backward] = False
        if constraint is not None:
            added = np.zeros(self._sums.shape[1] - len(constraint), dtype=np.int8)
            constraint = np.concatenate([constraint, added])
        found = level.rule.score(self._sums, level.totals, scored, constraint, level.bounds, threads)
        self.gain = found[0]
        # Per node what each token stands for: a place in the sums.
        self._places: list[dict[int, int]] = []
        self.start, self.tokens = self._tokens(found[1].tolist(), found[2].tolist())

    def _tokens(self, start: list[int], found: list[int]) -> tuple[Tokens, Tokens]:
        edges, tokens = [0], []
        for node in range(len(start) - 1):
            places: dict[int, int] = {}
            known: set[int] = set()
            for place in found[start[node] : start[node + 1]]:
                if place < self._n_candidates:
                    places[place] = place
                    tokens.append(place)
                    continue
                group = int(np.searchsorted(self._ends, place, side="right")) - 1
                # The first of equals is XGBoost's choice, and all that the owner needs.
                if group not in known:
                    known.add(group)
                    said = self._sets[group].tokens(group, node, place - int(self._ends[group]))
                    places[said[0]] = place
                    tokens += said
            self._places.append(places)
            edges.append(len(tokens))
        return np.array(edges, dtype=np.int64), np.array(tokens, dtype=np.int64)

    def left(self, positions: NDArray[np.int64], tokens: Tokens) -> NDArray[np.int64]:
        """The sums left of splits of nodes at `positions`. Raises MessageError for what was not offered."""
        places = [
            self._places[node].get(token) for node, token in zip(positions.tolist(), tokens.tolist(), strict=True)
        ]
        if None in places:
            raise MessageError("applying a split: found a token that was not among the best of its node")
        return np.ascontiguousarray(self._sums[positions, np.array(places, dtype=np.int64)])


def pack_partitions(partitions: Sequence[CategoryCells]) -> Tokens:
    """What whoever scores must know of a tree's features of categories, as numbers for a message."""
    parts = [np.zeros(0, dtype=np.int64)]
    for cells in partitions:
        parts += [np.array([cells.n_bins, int(len(cells.backward) > 0)]), cells.forward, cells.backward]
    return np.concatenate(parts).astype(np.int64)


def read_partitions(numbers: Tokens, what: str) -> tuple[CategoryCells, ...]:
    """The inverse of `pack_partitions`. Raises MessageError."""
    partitions: list[CategoryCells] = []
    place = 0
    while place < len(numbers):
        n_bins, missing = (int(number) for number in (*numbers[place : place + 2], 0, 0)[:2])
        used = (n_bins - 1) * (1 + missing)
        tokens = numbers[place + 2 : place + 2 + used]
        if n_bins < 1 or missing not in (0, 1) or len(tokens) != used or (tokens < 0).any():
            raise MessageError(f"{what}: found features of categories that are none")
        partitions.append(CategoryCells(-1, n_bins, tokens[: n_bins - 1], tokens[n_bins - 1 :]))
        place += 2 + used
    every = [token for cells in partitions for token in (*cells.forward.tolist(), *cells.backward.tolist())]
    if len(set(every)) != len(every):
        raise MessageError(f"{what}: found sums that belong to two categories")
    return tuple(partitions)
