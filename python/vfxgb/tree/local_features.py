"""The active party's own features: proposals without a protocol."""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import LevelNodes, Proposals
from vfxgb.data.categories import Split
from vfxgb.params import TrainParams
from vfxgb.rows.base import RowStore
from vfxgb.rows.columns import columns_of, spread
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.growing import GrowingTree, OwnedSplits
from vfxgb.tree.proposal import CentredRule, SumTable
from vfxgb.tree.split_weights import SplitWeights


class OwnFeatures:
    """Scores and applies the active party's candidates, and files its records.

    `constraints`: int8 per column of the bins, or None when the run has none. min_bucket_rows holds for these features
    as for all others, so that a model does not depend on who holds a column and no split makes a child too small to
    show cuts.
    """

    def __init__(
        self, binned: BinnedTable, constraints: NDArray[np.int8] | None, params: TrainParams, threads: int
    ) -> None:
        self._binned = binned
        self._constraints = constraints
        self._params = params
        self.threads = threads
        self._weights = SplitWeights(self.rows, binned.has_missing) if params.rule == "centred" else None
        self._features: list[NDArray[np.int32]] = []
        self._lists: list[CandidateList] = []
        self._tables: list[SumTable] = []
        self._cuts: list[ShownCuts] = []
        self.records: list[Split] = []

    @property
    def rows(self) -> RowStore:
        """The party's binned rows."""
        return self._binned.rows

    def begin_tree(self, features: list[NDArray[np.int32]]) -> None:
        """A new round; `features[k]`: the features (positions, ascending) that tree k may use."""
        self._features = features
        columns = [columns_of(self.rows.columns, allowed) for allowed in features]
        self._lists = [
            CandidateList(self.rows, self._binned.has_missing, allowed, self._constraints, None, self.threads)
            for allowed in columns
        ]
        self._tables = [
            SumTable(
                candidates.constraint,
                self.threads,
                self._rule(candidates),
                candidates.partitions,
                self._params.max_cat_threshold,
            )
            for candidates in self._lists
        ]
        self._cuts = [ShownCuts(self.rows, allowed, self._params.min_bucket_rows) for allowed in columns]

    def _rule(self, candidates: CandidateList) -> CentredRule | None:
        if self._weights is None:
            return None
        return CentredRule(self._weights.of(candidates.features), self._params.gamma)

    def propose(self, tree: GrowingTree, allowed: NDArray[np.bool_] | None) -> Proposals:
        """The best splits of the tree's level; `allowed`: bool[m, features of the tree], or None for all."""
        level: LevelNodes = tree.level
        candidates, cuts = self._lists[tree.tree], self._cuts[tree.tree]
        allowed = spread(self.rows.columns, allowed, self._features[tree.tree])
        cuts.open(tree.partition, level.nodes, level.parent)
        left = candidates.left_sums(
            tree.partition,
            np.ascontiguousarray(level.nodes[level.build]),
            tree.pairs,
            None if allowed is None else allowed[level.build],
            cuts,
        )
        integers = None
        if level.integers is not None:
            pairs = self.rows.integer_pairs(level.integers)
            integers = candidates.left_sums(tree.partition, level.nodes, pairs, allowed, cuts)[:, :, 0]
        return self._tables[tree.tree].propose(level, left, integers)

    def take(self, tree: GrowingTree, party: int, positions: NDArray[np.int64], proposals: Proposals) -> OwnedSplits:
        """File the splits won at `positions` and find out who goes left."""
        start, tokens = _native.gbdt.select_tokens(proposals.start, proposals.tokens, positions)
        resolved = self._lists[tree.tree].resolve(start, tokens)
        chosen = self._tables[tree.tree].chosen(positions, resolved.tokens)
        bits = resolved.left_bits(self.rows, tree.partition, np.ascontiguousarray(tree.level.nodes[positions]))
        first = len(self.records)
        self.records += self._binned.splits(resolved.feature, resolved.bin, resolved.default_left, resolved.right)
        records = np.arange(first, len(self.records), dtype=np.int32)
        return OwnedSplits(party, positions, chosen.left, chosen.constraint, records, bits)
