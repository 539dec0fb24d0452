"""A passive party's side of `plain` where scores are sums of integers: it sends them in the order they meet."""

from collections.abc import Sequence

import numpy as np

from vfxgb.contract import PassiveContext, Resolved, SlotLevel, SlotNodes, SlotTree, SlotWins, equations_of
from vfxgb.protocols.plain.hidden_passive import ROOT, read_slot, send_left
from vfxgb.protocols.plain.messages import PlainScores, TreeScores
from vfxgb.protocols.plain.params import PlainParams
from vfxgb.transport.messages import pack_array, pack_optional
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.split_weights import SplitWeights
from vfxgb.tree.tournament import tournament_words


class IntegerPlainPassive:
    """A HiddenPassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._everyone = context.rows.partition(None)
        self._weights = SplitWeights(context.rows, context.has_missing)
        params: PlainParams = context.params
        counts = (context.rows.n_bins.astype(np.int64) - 1) * (1 + context.has_missing)
        self._words = np.split(tournament_words(params.order_seed, int(counts.sum())), np.cumsum(counts)[:-1])
        self._candidates: list[CandidateList] = []

    def begin_tree(self, round_index: int, trees: Sequence[SlotTree]) -> None:  # noqa: ARG002
        """Put the candidates of each tree into the order in which they meet, which is the same in all trees."""
        self._candidates = [self._listed(tree) for tree in trees]

    def _listed(self, tree: SlotTree) -> CandidateList:
        context = self._context
        words = np.concatenate([np.zeros(0, np.uint64), *(self._words[feature] for feature in tree.features.tolist())])
        order = np.argsort(words, kind="stable").astype(np.int64)
        return CandidateList(
            context.rows, context.has_missing, tree.features, context.constraints, None, context.threads, order
        )

    def open_level(self, level: SlotLevel) -> None:
        """Send the scores of every slot."""
        answers = [self._scores(level, slots) for slots in level.trees]
        self._context.channel.send(PlainScores(round=level.round, depth=level.depth, trees=answers))

    def _scores(self, level: SlotLevel, slots: SlotNodes) -> TreeScores:
        context, candidates = self._context, self._candidates[slots.tree]
        weights = self._weights.of(candidates.features)[candidates.order]
        scores = np.zeros((slots.n_slots, len(candidates)), dtype=np.int64)
        for slot in range(slots.n_slots):
            pairs = context.rows.pairs(read_slot(context, level, slots.tree, slot))
            allowed = None if slots.allowed is None else slots.allowed[slot : slot + 1]
            with context.timings.phase("sums"):
                scores[slot] = weights * candidates.left_sums(self._everyone, ROOT, pairs, allowed)[0, :, 0]
        context.disclosed.opened_equations += equations_of(slots.n_slots, len(candidates))
        return TreeScores(
            tree=slots.tree,
            n_candidates=len(candidates),
            scores=pack_array(scores),
            constraint=pack_optional(candidates.constraint if level.depth == 0 else None),
        )

    def tell_left(self, round_index: int, depth: int, won: Sequence[SlotWins]) -> Sequence[Resolved]:
        """Send for each split that won, of every row, whether it goes left."""
        return send_left(self._context, self._candidates, round_index, depth, won)

    def end_tree(self) -> None:
        """Forget the candidates of the round's trees."""
        self._candidates = []

    def close(self) -> None:
        """Nothing runs in the background."""
