"""From left sums to proposals: sibling subtraction and scoring, the same for every party and protocol that opens sums.

Sums are made for the smaller child only. Those of its sibling are the parent's minus its own: plain integers, exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import ChosenSums, OpenNodes, Proposals
from vfxgb.errors import MessageError
from vfxgb.tree.category_cells import CategoryCells, OfferedSets
from vfxgb.tree.choice import worth


@dataclass(frozen=True)
class CentredRule:
    """How candidates are scored under split_rule='centred' (CENTRED.md).

    `weights`: uint8[c]. Where `own_gamma` is given, the candidates are the active party's own: the best of them is the
    one of the largest gain, and it has a score if the gain is worth a split under that gamma. Of a passive party's
    candidates the best is the one of the largest score, whatever its gain.
    """

    weights: NDArray[np.uint8]
    own_gamma: float | None = None


class SumTable:
    """The left sums of one party for the open nodes of one tree, kept from level to level.

    `constraint`: int8[c], the monotone direction of each candidate, or None when the run has no constraint. `centred`:
    None where the gain decides. `partitions`: the features that are split by sets of up to `most` categories.
    """

    def __init__(
        self,
        constraint: NDArray[np.int8] | None,
        threads: int,
        centred: CentredRule | None = None,
        partitions: Sequence[CategoryCells] = (),
        most: int = 0,
    ) -> None:
        self._constraint = constraint
        self._threads = threads
        self._centred = centred
        self._partitions = tuple(partitions)
        self._most = most
        self._sets: OfferedSets | None = None
        self._sums: NDArray[np.int64] | None = None
        self._proposals: Proposals | None = None

    @property
    def n_candidates(self) -> int | None:
        """c, once sums have been seen: the same in all levels of a tree."""
        return None if self._sums is None else self._sums.shape[1]

    def propose(
        self, level: OpenNodes, built: NDArray[np.int64], integers: NDArray[np.int64] | None = None
    ) -> Proposals:
        """The best splits of a level, from the sums int64[len(level.build), c, 2] of its built nodes.

        `integers`: int64[m, c], left sums of the nodes' integers, where scores are made of these (score_bits).
        """
        centred = self._centred
        if built.shape[1] == 0:
            self._sums, m = self._complete(level, built), len(level.nodes)
            none = np.zeros(0, dtype=np.int64)
            self._proposals = Proposals(np.zeros(m), np.zeros(m + 1, dtype=np.int64), none, np.zeros(m))
        elif self._partitions:
            self._sums = self._complete(level, built)
            limits = (self._most, self._constraint, self._threads)
            self._sets = OfferedSets(self._partitions, self._sums, level, *limits)
            self._proposals = Proposals(self._sets.gain, self._sets.start, self._sets.tokens)
        elif centred is None:
            self._sums, self._proposals = self._best_by_gain(level, built)
        else:
            self._sums = self._complete(level, built)
            self._proposals = self._best_by_score(level, self._sums, centred, integers)
        return self._proposals

    def _best_by_gain(self, level: OpenNodes, built: NDArray[np.int64]) -> tuple[NDArray[np.int64], Proposals]:
        """The sums of all nodes, and the best by gain: in one call where there are siblings to derive."""
        if len(level.build) == len(level.nodes):
            return built, Proposals(*self._by_gain(level, built))
        assert self._sums is not None  # noqa: S101 - only a level below the first leaves nodes out
        derivation = (level.build, level.sibling, level.parent, self._sums)
        limits = (self._constraint, level.bounds, self._threads)
        sums, gain, start, tokens = _native.gbdt.complete_and_score(
            level.rule, built, *derivation, level.totals, *limits
        )
        return sums, Proposals(gain, start, tokens)

    def _best_by_score(
        self, level: OpenNodes, sums: NDArray[np.int64], centred: CentredRule, integers: NDArray[np.int64] | None
    ) -> Proposals:
        scores = self._scores(level, sums, centred.weights, integers)
        if centred.own_gamma is None:
            return Proposals(
                *_native.gbdt.best_by_score(
                    level.rule, sums, level.totals, scores, self._constraint, level.bounds, self._threads
                )
            )
        gain, start, tied = self._by_gain(level, sums)
        split = np.flatnonzero(worth(gain, centred.own_gamma))
        score = np.zeros(len(gain))
        score[split] = scores[split, tied[start[split]]]
        return Proposals(gain, start, tied, score)

    def _by_gain(
        self, level: OpenNodes, sums: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        return level.rule.score(sums, level.totals, None, self._constraint, level.bounds, self._threads)

    def _scores(
        self,
        level: OpenNodes,
        sums: NDArray[np.int64],
        weights: NDArray[np.uint8],
        integers: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:
        """The score of every candidate in every node, float64[m, c]."""
        if integers is not None:
            scores: NDArray[np.float64] = np.abs(integers * weights).astype(np.float64)
            return scores
        return _native.gbdt.centred_scores(sums, level.totals, weights, self._threads)

    def _complete(self, level: OpenNodes, built: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(level.build) == len(level.nodes):
            return built
        assert self._sums is not None  # noqa: S101 - only a level below the first leaves nodes out
        return _native.gbdt.complete_sums(built, level.build, level.sibling, level.parent, self._sums)

    def chosen(self, positions: NDArray[np.int64], tokens: NDArray[np.int64]) -> ChosenSums:
        """Left sums and directions of the splits `tokens` of the nodes at `positions`, of the level last proposed.

        Raises MessageError for a token that was not among the best of its node.
        """
        assert self._sums is not None and self._proposals is not None  # noqa: S101, PT018 - propose came first
        if self._sets is not None:
            left = self._sets.left(positions, tokens)
        else:
            offered = (self._proposals.start, self._proposals.tokens)
            try:
                left = _native.gbdt.chosen_sums(self._sums, *offered, positions, tokens)
            except ValueError as error:
                raise MessageError(f"applying a split: {error}") from None
        direction = np.zeros(len(tokens), np.int8)
        if self._constraint is not None:
            # A set of categories has no direction.
            direction = np.where(tokens < 0, direction, self._constraint[np.maximum(tokens, 0)])
        return ChosenSums(left, direction)
