"""Cut points of a column whose rows lie in several shards: exactly those of `make_cuts`, in fixed memory.

With more than max_bin distinct values, the cuts of a column are order statistics: the values at ranks that follow from
how many rows hold the smallest and the largest value (`cuts.goal_ranks`). They are found by their bits. A float32 is
read as a 32-bit integer, its key, such that keys are ordered as the values are:

    survey     per shard: rows, missing rows, both extremes, and how many keys begin with each 16 bits
    level 1    for the beginnings that hold a wanted rank: how many keys go on with each of the next 8 bits
    level 2    for the 24 bits found so: the last 8, which are the value

What a shard answers are counts, which add up over shards in any order. A column is read three times and nobody holds it
as a whole. Where there may be at most max_bin distinct values, all beginnings are wanted: each is then a cut, but for
the smallest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.binning.cuts import Float32Array, cuts_with_missing, goal_ranks
from vfxgb.binning.keys import Keys, floats_of
from vfxgb.errors import CutsError

Counts = NDArray[np.int64]

# The level after which there is none.
DONE = 3
FAN = 256


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over a column tells. `rows` counts all, `missing` those that are NaN.

    `smallest`, `largest`: keys, with the rows that hold them (0 where every row is missing). `prefixes`: uint16,
    ascending, the upper halves of all keys; `counts`: int64, rows of each. At most 640 KiB.
    """

    rows: int
    missing: int
    smallest: int
    smallest_rows: int
    largest: int
    largest_rows: int
    prefixes: NDArray[np.uint16]
    counts: Counts

    @staticmethod
    def join(surveys: Sequence["Survey"]) -> "Survey":
        """The survey of all their rows; of no row if there is none."""
        smallest = min((part.smallest for part in surveys if part.smallest_rows), default=0)
        largest = max((part.largest for part in surveys if part.largest_rows), default=0)
        counts = np.zeros(1 << 16, dtype=np.int64)
        for part in surveys:
            counts[part.prefixes] += part.counts
        return _survey(
            sum(part.rows for part in surveys),
            sum(part.missing for part in surveys),
            (smallest, sum(part.smallest_rows for part in surveys if part.smallest == smallest)),
            (largest, sum(part.largest_rows for part in surveys if part.largest == largest)),
            counts,
        )

    @property
    def present(self) -> int:
        """Rows that have a value."""
        return self.rows - self.missing


def survey(column: Float32Array) -> Survey:
    """The survey of a shard's column: float32[n], contiguous, NaN is missing."""
    present, smallest, largest, counts = _native.gbdt.survey_keys(column)
    return _survey(len(column), len(column) - present, smallest, largest, counts)


def refine(column: Float32Array, prefixes: Keys, level: int) -> Counts:
    """How the keys of a shard's column that begin with `prefixes` go on: int64[len(prefixes), 256].

    `prefixes`: `wanted` of a search, ascending: 16 bits at level 1, 24 at level 2. Column c of the result counts the
    keys whose next 8 bits are c.
    """
    return _native.gbdt.refine_keys(column, prefixes, level)


class RankSearch:
    """Finds the values at given ranks, exactly, from a survey and two refinements.

    While `wanted` is not None, pass the sum of `refine(column, wanted, level)` over all shards to `refine`.
    """

    def __init__(self, survey: Survey, ranks: NDArray[np.integer], every: int = 0) -> None:
        """Look for the values at `ranks`, from 0 to survey.present - 1, and for all of them if at most `every` differ.

        At most max(len(ranks), every) prefixes are wanted at each level.
        """
        self._ranks = np.unique(np.asarray(ranks, dtype=np.int64))
        self._asked = np.asarray(ranks, dtype=np.int64)
        self._every = every
        self._complete = True
        self.level = 1
        self._keep(survey.prefixes.astype(np.uint32), survey.counts, np.cumsum(survey.counts) - survey.counts)
        if len(self._keys) == 0:
            self.level = DONE

    @property
    def wanted(self) -> Keys | None:
        """The prefixes to refine, ascending, of 16 bits at level 1 and 24 at level 2; None when all is found."""
        return None if self.level == DONE else self._keys

    def refine(self, counts: Counts) -> None:
        """Take the counts [len(wanted), 256] of all shards. Raises CutsError when they are of other rows."""
        if counts.shape != (len(self._keys), FAN) or (counts.sum(axis=1) != self._rows).any() or (counts < 0).any():
            raise CutsError(
                f"making cuts from shards: the counts of pass {self.level + 1} are of {int(counts.sum())} values, "
                f"wanted {int(self._rows.sum())}, as many as in the pass before; leave the data alone while it is read"
            )
        begin = self._begin[:, None] + np.cumsum(counts, axis=1) - counts
        keys = (self._keys[:, None] << np.uint32(8)) | np.arange(FAN, dtype=np.uint32)
        some = counts > 0
        self.level += 1
        self._keep(keys[some], counts[some], begin[some])

    @property
    def distinct(self) -> Float32Array | None:
        """All different values, ascending, if there are at most `every`; None if there are more."""
        return floats_of(self._keys) if self._complete else None

    def values(self) -> Float32Array:
        """The values at the ranks asked for, in their order. For a search that wants nothing more."""
        return floats_of(self._keys[np.searchsorted(self._begin, self._asked, side="right") - 1])

    def _keep(self, keys: Keys, rows: Counts, begin: Counts) -> None:
        """Go on with these cells, or with those of them that hold a rank: cell i holds ranks from begin[i] on."""
        self._complete = self._complete and len(keys) <= self._every
        if not self._complete:
            hold = np.unique(np.searchsorted(begin, self._ranks, side="right") - 1)
            keys, rows, begin = keys[hold], rows[hold], begin[hold]
        self._keys, self._rows, self._begin = keys, rows, begin


class CutSearch(RankSearch):
    """Finds the cuts of one column from its shards' counts; see the top of the file. Ask for `cuts` in the end."""

    def __init__(self, survey: Survey, max_bin: int) -> None:
        """`survey` is that of all training rows; `max_bin` is at least 2."""
        self._max_bin = max_bin
        self.has_missing = survey.missing > 0
        last = survey.present - survey.largest_rows
        goals = goal_ranks(float(survey.smallest_rows), float(last), max_bin)
        ranks = np.append(np.floor(goals).astype(np.int64), last)
        # A constant column has no cuts, and nothing has to be searched for.
        varies = survey.smallest != survey.largest
        super().__init__(survey, ranks if varies else ranks[:0], max_bin if varies else 0)

    def cuts(self) -> Float32Array:
        """The cuts, float32, strictly ascending, with the one for missing values if some row misses the column.

        Raises CutsError while something is still wanted.
        """
        if self.wanted is not None:
            raise CutsError(f"making cuts from shards: pass {self.level + 1} is missing, wanted its counts first")
        distinct = self.distinct
        # A rank that is searched for lies above all rows that hold the smallest value.
        cuts = np.unique(self.values())[: self._max_bin - 1] if distinct is None else distinct[1:]
        return cuts_with_missing(cuts) if self.has_missing else cuts


def _survey(rows: int, missing: int, smallest: tuple[int, int], largest: tuple[int, int], counts: Counts) -> Survey:
    prefixes = np.flatnonzero(counts)
    return Survey(rows, missing, *smallest, *largest, prefixes.astype(np.uint16), counts[prefixes])
