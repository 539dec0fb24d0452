"""A passive party's side of `plain` where nodes are hidden: sums over all rows per slot, bits of all rows per split."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, Resolved, SlotLevel, SlotNodes, SlotTree, SlotWins, equations_of
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.passive import draw_candidates, send_weights, weights_asked
from vfxgb.protocols.plain.messages import PlainLeft, PlainSlot, PlainSums, TreeLeft, TreeSums
from vfxgb.protocols.plain.passive import tree_sums
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.tree.candidates import CandidateList

ROOT = np.zeros(1, dtype=np.int32)


class HiddenPlainPassive:
    """A HiddenPassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        # All training rows, in one node: sums are over all of them, with gradients that are 0 outside of a slot's node.
        self._everyone = context.rows.partition(None)
        self._weights = weights_asked(context)
        self._candidates: list[CandidateList] = []

    def begin_tree(self, round_index: int, trees: Sequence[SlotTree]) -> None:  # noqa: ARG002
        """Draw the secret order of each tree's candidates."""
        self._candidates = draw_candidates(self._context, trees)

    def open_level(self, level: SlotLevel) -> None:
        """Send the left sums of every slot."""
        if level.depth == 0 and self._weights is not None:
            send_weights(self._context.channel, level.round, self._candidates, self._weights)
        answers = [self._sums(level, slots) for slots in level.trees]
        self._context.channel.send(PlainSums(round=level.round, depth=level.depth, trees=answers))

    def _sums(self, level: SlotLevel, slots: SlotNodes) -> TreeSums:
        candidates = self._candidates[slots.tree]
        sums = np.zeros((slots.n_slots, len(candidates), 2), dtype=np.int64)
        for slot in range(slots.n_slots):
            pairs = self._context.rows.pairs(read_slot(self._context, level, slots.tree, slot))
            allowed = None if slots.allowed is None else slots.allowed[slot : slot + 1]
            with self._context.timings.phase("sums"):
                sums[slot] = candidates.left_sums(self._everyone, ROOT, pairs, allowed)[0]
        self._context.disclosed.opened_equations += equations_of(slots.n_slots, len(candidates))
        return tree_sums(candidates, sums, level.depth)

    def tell_left(self, round_index: int, depth: int, won: Sequence[SlotWins]) -> Sequence[Resolved]:
        """Send for each split that won, of every row, whether it goes left."""
        return send_left(self._context, self._candidates, round_index, depth, won)

    def end_tree(self) -> None:
        """Forget the orders."""
        self._candidates = []

    def close(self) -> None:
        """Nothing runs in the background."""


def read_slot(context: PassiveContext, level: SlotLevel, tree: int, slot: int) -> NDArray[np.int64]:
    """The pairs of a slot, int64[n_train, 2]. Raises MessageError unless it is the slot whose turn it is."""
    what = f"{context.party} reading gradients"
    with context.timings.phase("wait"):
        message = context.channel.recv(PlainSlot)
    place = (message.round, message.depth, message.tree, message.slot)
    if place != (level.round, level.depth, tree, slot):
        raise MessageError(
            f"{what}: found round, depth, tree and slot {place}, wanted {(level.round, level.depth, tree, slot)}"
        )
    pairs: NDArray[np.int64] = unpack_array(message.pairs, np.int64, (context.n_train, 2), what)
    return pairs


def send_left(
    context: PassiveContext, candidates: Sequence[CandidateList], round_index: int, depth: int, won: Sequence[SlotWins]
) -> Sequence[Resolved]:
    """Send for each split that won, of every row, whether it goes left; returns these splits."""
    splits = [candidates[wins.tree].resolve(wins.start, wins.tokens) for wins in won]
    answers = []
    for wins, split in zip(won, splits, strict=True):
        bits = context.rows.row_bits(split.feature, split.bin, split.default_left)
        answers.append(TreeLeft(tree=wins.tree, tokens=pack_array(split.tokens), bits=pack_bytes(bits)))
    context.channel.send(PlainLeft(round=round_index, depth=depth, trees=answers))
    return splits
