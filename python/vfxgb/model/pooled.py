"""The whole model in one place: all shares merged, as only a simulation or the consent of every party allows.

Nodes of all trees stand in flat arrays; those of tree t are tree_start[t]:tree_start[t + 1]. Feature ids are
global: the parties' features in party order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.data.categories import Encoding
from vfxgb.data.column_regressions import ColumnRegressions
from vfxgb.errors import ShareMismatchError
from vfxgb.model.seal import check_shares
from vfxgb.model.shares import LEAF, ActiveShare, PassiveShare, SplitRecords
from vfxgb.threads import resolve_threads

# Rows that are turned into tests of categories at once.
BLOCK_ROWS = 4096
Matrix = NDArray[np.float64] | NDArray[np.float32]


class PooledModel:
    """Trees with features and cuts in clear.

    Attributes; arrays over all nodes unless said otherwise, not to be written to:

    n_trees, n_outputs, n_rounds  ints; tree t belongs to round t // n_outputs
    group            int32[n_trees], the output of each tree
    tree_start       int64[n_trees + 1]
    feature          int32, global feature id, -1 for a leaf
    threshold        float64, x < threshold goes left; NaN for a leaf
    default_left     bool
    left, right, parent  int32, numbers within the tree, -1 where there is none
    value            float64, weight with the learning rate applied (of a leaf: what it adds to the margin)
    gain, cover      float64
    right_codes      dict, node -> the codes that go right (int32) at a split by categories, whose threshold is 0
    party            int16, position in `parties` of the split's owner, -1 for a leaf
    feature_names    tuple of str, global order
    feature_party    tuple of str, the owner of each feature
    encodings        tuple, per feature its categories (CategorySets), None for numbers
    feature_fill     float64[n_features], what imputation puts in place of NaN (NaN: nothing)
    parties, active  names
    objective        name, "custom" for a callable
    base_margin, base_score  float64[n_outputs]
    missing_strategy, params, best_iteration  as in ActiveShare
    has_private_stage  bool, whether the active party predicts with trees of its own after these
    """

    def __init__(self, active_share: ActiveShare, passive_shares: Mapping[str, PassiveShare]) -> None:
        """Merge. Raises ShareMismatchError unless the shares are intact, of one run, and complete."""
        check_shares(active_share, passive_shares)
        self.n_outputs = active_share.n_outputs
        self.n_trees = len(active_share.trees)
        self.n_rounds = active_share.n_rounds
        self.group = np.arange(self.n_trees, dtype=np.int32) % np.int32(self.n_outputs)
        self.parties = active_share.parties
        self.active = active_share.party
        self.objective = active_share.objective
        self.base_margin = active_share.base_margin
        self.base_score = active_share.base_score
        self.missing_strategy = active_share.missing_strategy
        self.params = active_share.params
        self.best_iteration = active_share.best_iteration
        self.gains_shared = active_share.gains_shared
        self.has_private_stage = active_share.private_stage is not None
        self._take_trees(active_share)
        records = [
            active_share.records if party == self.active else passive_shares[party].records for party in self.parties
        ]
        self._take_records(records)
        self._forest: _native.gbdt.Forest | None = None

    @property
    def used_rounds(self) -> int:
        """Rounds that predictions use: up to the best one, where early stopping chose it."""
        return self.n_rounds if self.best_iteration is None else self.best_iteration + 1

    def _take_trees(self, share: ActiveShare) -> None:
        trees = share.trees
        self.tree_start = np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64)
        self.party = _joined([tree.party for tree in trees], np.int16)
        self._record = _joined([tree.record for tree in trees], np.int32)
        self.left = _joined([tree.left for tree in trees], np.int32)
        self.right = _joined([tree.right for tree in trees], np.int32)
        self.parent = _joined([tree.parent for tree in trees], np.int32)
        self.value = _joined([tree.value for tree in trees], np.float64)
        self.gain = _joined([tree.gain for tree in trees], np.float64)
        self.cover = _joined([tree.cover for tree in trees], np.float64)

    def _take_records(self, records: list[SplitRecords]) -> None:
        self.feature_names = tuple(name for part in records for name in part.features)
        self.feature_party = tuple(
            party for party, part in zip(self.parties, records, strict=True) for _ in part.features
        )
        self.encodings: tuple[Encoding | None, ...] = tuple(
            encoding
            for part in records
            for encoding in ((None,) * len(part.features) if part.categories is None else part.categories.encodings)
        )
        self.right_codes: dict[int, NDArray[np.int32]] = {}
        nan = float("nan")
        self.feature_fill = np.array(
            [value for part in records for value in (part.fill or (nan,) * len(part.features))], dtype=np.float64
        )
        self.feature = np.full(len(self.party), LEAF, dtype=np.int32)
        self.threshold = np.full(len(self.party), nan, dtype=np.float64)
        self.default_left = np.zeros(len(self.party), dtype=np.bool_)
        # Per party whose missing values are predicted: its first feature, and what predicts them.
        self._regressions: list[tuple[int, ColumnRegressions]] = []
        first = 0
        for place, part in enumerate(records):
            if part.regressions is not None:
                self._regressions.append((first, part.regressions))
            nodes = np.flatnonzero(self.party == place)
            numbers = self._record[nodes]
            if len(numbers) and int(numbers.max()) >= len(part):
                raise ShareMismatchError(
                    f"joining shares: a tree names record {int(numbers.max())} of party {self.parties[place]!r}, "
                    f"which has {len(part)}"
                )
            self.feature[nodes] = part.feature[numbers] + np.int32(first)
            self.threshold[nodes] = part.cut[numbers]
            self.default_left[nodes] = part.default_left[numbers]
            for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
                codes = part.right(number)
                if codes is not None:
                    self.right_codes[node] = codes
            first += len(part.features)

    @property
    def n_features(self) -> int:
        """Features of all parties."""
        return len(self.feature_names)

    def margins(self, X: Matrix, n_rounds: int | None = None, threads: int | None = None) -> NDArray[np.float64]:
        """Margins float64[n, n_outputs] of raw features X[n, n_features], global order, over the first rounds (None:
        all).

        Learned default directions; imputed values where the model has them. Not for models that send rows both ways.
        """
        place = (0, self._count(n_rounds), resolve_threads(threads))
        parts = [self._native().margins(x, self.value, self.group, self.n_outputs, *place) for x in self._blocks(X)]
        return np.concatenate(parts) + self.base_margin

    def leaves(self, X: Matrix, n_rounds: int | None = None, threads: int | None = None) -> NDArray[np.int32]:
        """The leaf (number within its tree) of each row in each tree, int32[n, trees]."""
        place = (0, self._count(n_rounds), resolve_threads(threads))
        return np.concatenate([self._native().leaves(x, *place) for x in self._blocks(X)])

    def _count(self, n_rounds: int | None) -> int:
        return self.n_trees if n_rounds is None else min(n_rounds, self.n_rounds) * self.n_outputs

    def _filled(self, X: Matrix) -> Matrix:
        if self._regressions:
            filled: Matrix = X.copy()
            for first, regressions in self._regressions:
                regressions.fill_matrix(filled[:, first : first + regressions.n_columns])
            return filled
        if np.isnan(self.feature_fill).all():
            return X
        return np.where(np.isnan(X), self.feature_fill.astype(X.dtype), X)

    def _blocks(self, X: Matrix) -> Iterator[Matrix]:
        """X as the native trees take it: categories are codes, and each set of them that a split tests is a column of
        its own, 1 for rows that go right. Such rows come a block at a time.
        """
        filled = self._filled(X)
        if not self.right_codes:
            yield filled
            return
        for first in range(0, max(len(filled), 1), BLOCK_ROWS):
            block = filled[first : first + BLOCK_ROWS]
            tests = [self._belong(block[:, feature], feature, codes) for feature, codes in self._sets()]
            yield np.column_stack([block, *tests])

    def _sets(self) -> list[tuple[int, tuple[int, ...]]]:
        """The different sets of categories that splits test, with their features."""
        return sorted({(int(self.feature[node]), tuple(codes.tolist())) for node, codes in self.right_codes.items()})

    def _belong(self, values: NDArray[Any], feature: int, codes: tuple[int, ...]) -> NDArray[Any]:
        known = len(self.encodings[feature] or ())
        inside = np.isin(values, codes).astype(values.dtype)
        # What the encoding lacks is missing.
        inside[np.isnan(values) | (values >= known)] = np.nan
        return inside

    def _native(self) -> _native.gbdt.Forest:
        if self._forest is None:
            feature, threshold = self.feature, self.threshold
            sets = {test: self.n_features + place for place, test in enumerate(self._sets())}
            if sets:
                feature, threshold = feature.copy(), threshold.copy()
                for node, codes in self.right_codes.items():
                    feature[node] = sets[int(self.feature[node]), tuple(codes.tolist())]
                    threshold[node] = 1.0
            links = (self.left, self.right)
            count = self.n_features + len(sets)
            self._forest = _native.gbdt.Forest(self.tree_start, feature, threshold, self.default_left, *links, count)
        return self._forest


def _joined(parts: list[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
