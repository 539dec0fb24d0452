"""The candidate splits of one party for one tree, and the gradient sums left of each.

A candidate is (feature, bin, default direction); the true order is XGBoost's (see _native.gbdt.candidates). Features
are columns of the bins here (rows/columns.py). A party
that shows sums to another shows them in a secret order: position j, the *token*, stands for candidate order[j].

Two rules make a candidate unavailable in a node: column sampling by level or node, and `min_bucket_rows` (adjacent
bins are merged into buckets, and a cut inside a bucket is none: shown_cuts.py). Its sums are then zero, which no child
of a split can have: the scorer passes over it, and the sums themselves are not disclosed.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import Resolved
from vfxgb.errors import MessageError
from vfxgb.rows.base import RowStore
from vfxgb.rows.columns import BinColumns, RightBins
from vfxgb.rows.listing import Listing
from vfxgb.rows.parts import Pairs, Partition
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.tree.category_cells import CategoryCells, split_tokens


class CandidateList:
    """The candidates of the features `features` (int32, ascending) of binned rows, c of them.

    `constraints` holds an int8 per feature of the rows, or is None. `random` is the source of the secret order, or None
    for the true order, which is what a party uses for itself. `has_missing` and `n_bins` have an entry for each of
    `features`. `order` is a permutation, int64[c], or None for the true order; it may be given where there is no
    `random`.
    """

    def __init__(
        self,
        rows: RowStore,
        has_missing: NDArray[np.bool_],
        features: NDArray[np.int32],
        constraints: NDArray[np.int8] | None,
        random: Callable[[int], bytes] | None,
        threads: int,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        self._rows = rows
        self.features = features
        self._threads = threads
        self.n_bins = np.ascontiguousarray(rows.n_bins[features])
        self.has_missing = np.ascontiguousarray(has_missing[features])
        self._local, self._bin, self._default_left = _native.gbdt.candidates(self.n_bins, self.has_missing)
        self.order = order
        if random is not None:
            self.order = np.argsort(np.frombuffer(random(8 * len(self)), dtype="<u8"), kind="stable").astype(np.int64)
        self._ranks: NDArray[np.int64] | None = None
        self.partitions: tuple[CategoryCells, ...] = ()
        if rows.columns is not None:
            self._take_columns(rows.columns)
        self._listing = Listing(features, self.n_bins, self.has_missing, self.order)
        self.constraint: NDArray[np.int8] | None = None
        if constraints is not None:
            direction = constraints[features][self._local]
            self.constraint = np.ascontiguousarray(direction if self.order is None else direction[self.order])

    def _take_columns(self, columns: BinColumns) -> None:
        """Some features are categories: see to XGBoost's order and directions, and to sorted partitions."""
        one_hot = columns.one_hot[self.features[self._local]]
        # XGBoost tries each category with missing values on the left first, also where no row misses the value.
        self._default_left = self._default_left | (one_hot & ~self.has_missing[self._local])
        self._ranks = np.arange(len(self))
        # Such a column has two candidates, which stand next to each other.
        both = np.flatnonzero(one_hot & self.has_missing[self._local]).reshape(-1, 2)
        self._ranks[both] = both[:, ::-1]
        place = np.arange(len(self)) if self.order is None else np.argsort(self.order)
        self.partitions = tuple(
            CategoryCells(
                column,
                int(self.n_bins[column]),
                place[(self._local == column) & ~self._default_left],
                place[(self._local == column) & self._default_left][::-1],
            )
            for column in np.flatnonzero(columns.partitioned[self.features]).tolist()
        )

    def __len__(self) -> int:
        return len(self._local)

    def listed(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Feature (counted within the list), bin and default direction of the candidate at each position."""
        if self.order is None:
            return self._local, self._bin, self._default_left
        return self._local[self.order], self._bin[self.order], self._default_left[self.order]

    def left_sums(
        self,
        partition: Partition,
        nodes: NDArray[np.int32],
        pairs: Pairs,
        allowed: NDArray[np.bool_] | None = None,
        cuts: ShownCuts | None = None,
    ) -> NDArray[np.int64]:
        """Sums over the sampled rows of each node that go left, int64[len(nodes), c, 2], position j for token j.

        `pairs`: int64[n_train, 2]. `allowed`, `cuts`: see `available`.
        """
        if len(self) == 0:
            return np.zeros((len(nodes), 0, 2), dtype=np.int64)
        left = self._rows.left_sums(partition, nodes, pairs, self._listing)
        available = self.available(nodes, allowed, cuts)
        if available is not None:
            left[~(available if self.order is None else available[:, self.order])] = 0
        return left

    def resolve(self, start: NDArray[np.int64], tokens: NDArray[np.int64]) -> Resolved:
        """For each node i the first candidate, in true order, among tokens[start[i]:start[i + 1]] (at least one each).

        Tokens of sorted partitions are those of category_cells.py. Raises MessageError for a token that is no position
        of the list, or a node without tokens.
        """
        if self.partitions:
            return self._resolve_sets(start, tokens)
        order = self.order
        if self._ranks is not None:
            order = self._ranks if order is None else self._ranks[order]
        try:
            taken = _native.gbdt.first_tokens(start, tokens, order, len(self))
        except ValueError as error:
            raise MessageError(f"choosing a split: {error}") from None
        first = taken if self.order is None else self.order[taken]
        return Resolved(taken, self.features[self._local[first]], self._bin[first], self._default_left[first])

    def _resolve_sets(self, start: NDArray[np.int64], tokens: NDArray[np.int64]) -> Resolved:
        """See `resolve`, where a token may stand for a set of categories."""
        assert self._ranks is not None  # noqa: S101 - there are columns of categories
        taken: list[int] = []
        right: list[RightBins | None] = []
        column, cut, default_left = [], [], []
        for numbers, sets in split_tokens(start, tokens, self.partitions, len(self)):
            candidates = numbers if self.order is None else self.order[numbers]
            best = min((int(self._local[c]), int(self._ranks[c]), int(c)) for c in candidates) if len(numbers) else None
            chosen = min(sets, key=lambda one: one.column) if sets else None
            if chosen is not None and (best is None or chosen.column < best[0]):
                taken.append(chosen.token)
                right.append(chosen.right)
                column.append(chosen.column)
                cut.append(0)
                default_left.append(chosen.default_left)
                continue
            assert best is not None  # noqa: S101 - a node has tokens
            taken.append(int(numbers[int(np.flatnonzero(candidates == best[2])[0])]))
            right.append(None)
            column.append(best[0])
            cut.append(int(self._bin[best[2]]))
            default_left.append(bool(self._default_left[best[2]]))
        return Resolved(
            np.array(taken, dtype=np.int64),
            self.features[np.array(column, dtype=np.int64)],
            np.array(cut, dtype=np.int32),
            np.array(default_left, dtype=np.bool_),
            right=right,
        )

    def available(
        self, nodes: NDArray[np.int32], allowed: NDArray[np.bool_] | None, cuts: ShownCuts | None
    ) -> NDArray[np.bool_] | None:
        """Which candidates a node may use and show: bool[len(nodes), c] in true order, or None for all.

        `allowed` says which features a node may use, bool[len(nodes), len(features)]; None allows all. `cuts` belongs
        to the tree and to the same features, with the nodes' level open; it is None only where nobody set a
        min_bucket_rows.
        """
        available = None if allowed is None else allowed[:, self._local]
        if cuts is not None and cuts.least > 1:
            ends, missing_apart = cuts.shown(nodes)
            merged = ends[:, self._local, self._bin] & (~self._default_left | missing_apart[:, self._local])
            available = merged if available is None else available & merged
        return available
