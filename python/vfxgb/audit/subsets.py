"""Which few rows have a given sum: meeting in the middle over all sums of two rows."""

import numpy as np
from numpy.typing import NDArray

MOST_MEMBERS = 4
# Odd, so that (g, h) -> g + KEY h mod 2**64 keeps sums and hardly ever maps two pairs to one number.
KEY = np.uint64(0x9E3779B97F4A7C15)


class SubsetSums:
    """Sums of up to four of the rows of `pairs`, int64[n, 2]. Rows with equal pairs are one value, used repeatedly."""

    def __init__(self, pairs: NDArray[np.int64]) -> None:
        self._values, inverse, self._counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        self._inverse = inverse.reshape(-1)
        keys = _key(self._values)
        first, second = np.triu_indices(len(keys))
        sums = keys[first] + keys[second]
        order = np.argsort(sums, kind="stable")
        self._single = keys
        self._first, self._second, self._sums = first[order], second[order], sums[order]
        self._by_key = np.argsort(keys, kind="stable")

    @property
    def size(self) -> int:
        """Count the sums of two rows."""
        return len(self._sums)

    def only(self, target: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The positions of the one to four rows that sum to `target`, if no other rows do."""
        candidates: set[tuple[int, ...]] = set()
        key = _key(target[None, :])[0]
        sorted_keys = self._single[self._by_key]
        # One row; two; one and two; two and two.
        for place in _matches(sorted_keys, np.array([key]))[1].tolist():
            candidates.add((int(self._by_key[place]),))
        for place in _matches(self._sums, np.array([key]))[1].tolist():
            candidates.add(self._pair(place))
        for match, place in zip(*_matches(self._sums, key - self._single), strict=True):
            candidates.add(tuple(sorted((int(match), *self._pair(int(place))))))
        for match, place in zip(*_matches(self._sums, key - self._sums), strict=True):
            candidates.add(tuple(sorted((*self._pair(int(match)), *self._pair(int(place))))))
            if len(candidates) > MANY:
                return None
        possible = [members for members in candidates if self._is_sum(members, target)]
        if len(possible) != 1:
            return None
        values, used = np.unique(possible[0], return_counts=True)
        # Of several rows with the same pair, all or it is not known which.
        if (used != self._counts[values]).any():
            return None
        return np.flatnonzero(np.isin(self._inverse, values))

    def _pair(self, place: int) -> tuple[int, int]:
        return int(self._first[place]), int(self._second[place])

    def _is_sum(self, members: tuple[int, ...], target: NDArray[np.int64]) -> bool:
        values, used = np.unique(members, return_counts=True)
        enough = bool((used <= self._counts[values]).all())
        return enough and bool((self._values[list(members)].sum(axis=0) == target).all())


# More solutions than this are not looked at one by one.
MANY = 1000


def _key(pairs: NDArray[np.int64]) -> NDArray[np.uint64]:
    unsigned = pairs.astype(np.uint64)
    keys: NDArray[np.uint64] = unsigned[:, 0] + KEY * unsigned[:, 1]
    return keys


def _matches(haystack: NDArray[np.uint64], needles: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(needle, place) of every equal pair; `haystack` ascending. At most MANY."""
    low = np.searchsorted(haystack, needles, side="left")
    # Most needles are not there: the second search is for those that are.
    hits = np.flatnonzero(haystack[np.minimum(low, len(haystack) - 1)] == needles)
    counts = np.searchsorted(haystack, needles[hits], side="right") - low[hits]
    if counts.sum() > MANY:
        keep = np.cumsum(counts) <= MANY
        hits, counts = hits[keep], counts[keep]
    needle = np.repeat(hits, counts)
    offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return needle, low[needle] + offset
