"""The candidate splits of one party for one tree, and the gradient sums left of each.

A candidate is (feature, bin, default direction); the true order is XGBoost's (see _native.gbdt.candidates). A party
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
from vfxgb.rows.listing import Listing
from vfxgb.rows.parts import Pairs, Partition
from vfxgb.rows.shown_cuts import ShownCuts


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
        self._listing = Listing(features, self.n_bins, self.has_missing, self.order)
        self.constraint: NDArray[np.int8] | None = None
        if constraints is not None:
            direction = constraints[features][self._local]
            self.constraint = np.ascontiguousarray(direction if self.order is None else direction[self.order])

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

        Raises MessageError for a token that is no position of the list, or a node without tokens.
        """
        try:
            taken = _native.gbdt.first_tokens(start, tokens, self.order, len(self))
        except ValueError as error:
            raise MessageError(f"choosing a split: {error}") from None
        first = taken if self.order is None else self.order[taken]
        return Resolved(taken, self.features[self._local[first]], self._bin[first], self._default_left[first])

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
