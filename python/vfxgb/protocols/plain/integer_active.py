"""The active party's side of `plain` where scores are sums of integers: the twin of a tournament on shares.

Nodes are hidden. A slot's gradients are the integers of its node (tree/node_integers.py); the passive party answers
with its scores, in the order in which its candidates meet. Who wins is decided here as a tournament on shares would
decide it (tree/CENTRED.md); the gain of a winner becomes known with its rows.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import (
    ActiveContext,
    ActiveLevel,
    Gradients,
    LeftRows,
    LevelNodes,
    Proposals,
    WonNodes,
    equations_of,
)
from vfxgb.errors import MessageError
from vfxgb.numeric.tournament import largest
from vfxgb.protocols.plain.hidden_active import read_left, send_slots
from vfxgb.protocols.plain.messages import PlainScores, TreeLeft
from vfxgb.protocols.receive import receive_level
from vfxgb.rows.integers import integer_pairs
from vfxgb.transport.messages import unpack_array

_NONE = np.zeros(0, dtype=np.int64)


class IntegerPlainActive:
    """A HiddenActiveRole."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._pairs: list[NDArray[np.int64]] = []
        # (party, tree) -> the monotone direction of each candidate, int8, from the first level of a round.
        self._directions: dict[tuple[str, int], NDArray[np.int8]] = {}
        # (party, index of the tree in the level) -> the candidate that won each node of the level.
        self._winners: dict[tuple[str, int], NDArray[np.int64]] = {}

    def begin_tree(self, gradients: Gradients) -> None:
        """Keep the gradients, for the gains of winners."""
        self._pairs = gradients.arrays
        self._directions = {}

    def open_level(self, level: ActiveLevel) -> None:
        """Send of each slot the integers of all rows, 0 outside of its node."""
        integers = {nodes.tree: integer_pairs(_integers(nodes)) for nodes in level.trees}
        send_slots(self._context, level, integers)

    def propose(self, level: ActiveLevel, own: Sequence[Proposals]) -> Mapping[str, Sequence[Proposals]]:
        """See HiddenActiveRole: the winner's gain is infinite, and nobody else has one."""
        parties = list(self._context.channels)
        scores = {party: self._receive(party, level) for party in parties}
        proposals: dict[str, list[Proposals]] = {party: [] for party in parties}
        for index, mine in enumerate(own):
            met = [largest(scores[party][index]) for party in parties]
            assert mine.score is not None  # noqa: S101 - own candidates are scored under this rule
            # Of equal scores the active party's own wins, then the first party's.
            best = np.argmax(np.stack([mine.score, *(size for _, size in met)]), axis=0)
            for place, (party, (winner, _)) in enumerate(zip(parties, met, strict=True), 1):
                self._winners[party, index] = winner
                won = best == place
                start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(won)])
                proposals[party].append(Proposals(np.where(won, np.inf, 0.0), start, winner[won]))
        return proposals

    def _receive(self, party: str, level: ActiveLevel) -> list[NDArray[np.int64]]:
        """The scores of a party, int64[m, c] for each tree of the level, by position of the node."""
        what, counted = f"reading scores of {party}", self._context.opened_equations
        message = receive_level(self._context, self._context.channels[party], PlainScores, what, level)
        scores = []
        for nodes, tree in zip(level.trees, message.trees, strict=True):
            if tree.n_candidates < 0:
                raise MessageError(f"{what}: found {tree.n_candidates} candidates, wanted at least 0")
            m = len(nodes.nodes)
            by_slot = unpack_array(tree.scores, np.int64, (m, tree.n_candidates), what)
            limit = 2 ** (self._context.train.score_bits or 0)
            if by_slot.size and not -limit < int(by_slot.min()) <= int(by_slot.max()) < limit:
                raise MessageError(f"{what}: found a score beyond {limit - 1}, the most that the integers allow")
            if level.depth == 0:
                directed = tree.n_candidates if nodes.bounds is not None else 0
                self._directions[party, nodes.tree] = unpack_array(tree.constraint, np.int8, (directed,), what)
            placed = np.empty_like(by_slot)
            placed[nodes.order] = by_slot
            scores.append(placed)
            counted[party] = counted.get(party, 0) + equations_of(m, tree.n_candidates)
        return scores

    def learn_left(self, party: str, level: ActiveLevel, won: Sequence[WonNodes]) -> Sequence[LeftRows]:
        """See HiddenActiveRole."""
        message = read_left(self._context, party, level, won)
        return [self._left(party, level, each, tree) for each, tree in zip(won, message.trees, strict=True)]

    def _left(self, party: str, level: ActiveLevel, won: WonNodes, message: TreeLeft) -> LeftRows:
        what = f"reading the splits of {party}, tree {message.tree}"
        nodes, winners = level.trees[won.index], self._winners[party, won.index][won.positions]
        tokens = unpack_array(message.tokens, np.int64, (len(won.positions),), what)
        if not np.array_equal(tokens, winners):
            raise MessageError(f"{what}: found tokens {tokens.tolist()}, wanted those that won, {winners.tolist()}")
        try:
            bits = nodes.gather_bits(won.positions, message.bits)
        except ValueError as error:
            raise MessageError(f"{what}: {error}") from None
        left = self._left_sums(nodes, won, message.bits)
        known = self._directions[party, nodes.tree]
        directions = known[tokens] if len(known) else np.zeros(len(tokens), dtype=np.int8)
        return LeftRows(left, directions, bits, self._gains(nodes, won, left, directions))

    def _left_sums(self, nodes: LevelNodes, won: WonNodes, bits: memoryview) -> NDArray[np.int64]:
        """Gradient sums int64[k, 2] on the left of the splits, from their bits of all rows."""
        pairs = self._pairs[nodes.tree]
        members = nodes.partition.leaves()[: len(pairs)]
        by_split = np.frombuffer(bits, dtype=np.uint8).reshape(len(won.positions), -1)
        sums = np.zeros((len(won.positions), 2), dtype=np.int64)
        for place, position in enumerate(won.positions.tolist()):
            goes_left = np.unpackbits(by_split[place], count=len(pairs), bitorder="little").astype(np.bool_)
            sums[place] = pairs[goes_left & (members == nodes.nodes[position])].sum(axis=0)
        return sums

    def _gains(
        self, nodes: LevelNodes, won: WonNodes, left: NDArray[np.int64], directions: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """XGBoost's loss changes; 0 where a child is too light or a monotone direction is broken."""
        gains = np.zeros(len(left))
        for direction in (-1, 0, 1):
            chosen = np.flatnonzero(directions == direction)
            at = won.positions[chosen]
            bounds = None if nodes.bounds is None else np.ascontiguousarray(nodes.bounds[at])
            constraint = None if bounds is None else np.array([direction], dtype=np.int8)
            totals = np.ascontiguousarray(nodes.totals[at])
            gains[chosen] = nodes.rule.score(left[chosen][:, None, :], totals, None, constraint, bounds)[0]
        return gains

    def end_tree(self) -> None:
        """Forget the gradients."""
        self._pairs, self._directions, self._winners = [], {}, {}

    def close(self) -> None:
        """Nothing runs in the background."""


def _integers(nodes: LevelNodes) -> NDArray[np.int64]:
    assert nodes.integers is not None  # noqa: S101 - the grower makes them where there are score_bits
    return np.asarray(nodes.integers)
