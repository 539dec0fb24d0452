"""Rounds at a passive party from which nodes are hidden: it keeps no partition of rows.

    BeginHiddenRound, (OpenSlots, [WonSlots, PlaceSplits])*, EndRound

It knows how many nodes of each tree are open, as slots, which of its own splits have won, and where these stand among
its own. What the protocol's roles exchange beyond that is theirs.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import HiddenPassiveRole, Resolved, SlotLevel, SlotNodes, SlotTree, SlotWins
from vfxgb.contract.messages import BeginHiddenRound, OpenSlots, PlaceSplits, TreePlaces, TreeSlots, TreeWins, WonSlots
from vfxgb.errors import MessageError
from vfxgb.train.arrays import unpack_list, valid_positions
from vfxgb.train.passive_rounds import PassiveRounds, PassiveRun
from vfxgb.transport.messages import Bulk, unpack_array


class HiddenRounds(PassiveRounds):
    """The rounds of a run whose nodes are hidden from this party."""

    def __init__(self, run: PassiveRun, role: HiddenPassiveRole) -> None:
        super().__init__(run)
        self._role = role
        # Per tree that is open, its slots; a level has at most twice as many as the one before.
        self._slots: dict[int, int] = {}
        # Per tree, splits that have won and whose place was not told yet; None before anything has won in this level.
        self._won: dict[int, Resolved] | None = None
        self.handlers = {
            BeginHiddenRound: self._begin_round,
            OpenSlots: self._level,
            WonSlots: self._win,
            PlaceSplits: self._place,
        }

    def end(self) -> None:
        """See PassiveRounds. Raises MessageError for splits without a place."""
        self._refuse_unplaced("ending a round")
        super().end()

    def _begin_round(self, message: BeginHiddenRound) -> None:
        self._begin(message.round, message.features)
        # A root alone is open at depth 0.
        self._slots, self._won = {}, None
        trees = [SlotTree(tree, features, message.round) for tree, features in enumerate(self._features)]
        self._role.begin_tree(message.round, trees)

    def _level(self, message: OpenSlots) -> None:
        self._refuse_unplaced("opening a level")
        self._open(message.round, message.depth, message.trees)
        trees = [self._tree_slots(tree) for tree in message.trees]
        self._slots = {tree.tree: tree.n_slots for tree in trees}
        self._won = None
        self._role.open_level(SlotLevel(message.round, message.depth, trees))

    def _tree_slots(self, message: TreeSlots) -> SlotNodes:
        what = f"{self._party} opening level {self._depth} of tree {message.tree}"
        most = 2 * self._slots.get(message.tree, 0) if self._depth else 1
        if not 1 <= message.n_slots <= most:
            raise MessageError(f"{what}: found {message.n_slots} open nodes, wanted 1 to {most}")
        return SlotNodes(
            message.tree, message.n_slots, self._allowed(message.allowed, message.tree, message.n_slots, what)
        )

    def _win(self, message: WonSlots) -> None:
        self._check_place(message.round, message.depth, self._depth, "choosing splits")
        if self._won is not None:
            raise MessageError(
                f"{self._party} choosing splits: asked twice for round {message.round}, depth {message.depth}"
            )
        won = [self._tree_wins(tree) for tree in message.trees]
        numbers = [tree.tree for tree in won]
        if not numbers or sorted(set(numbers)) != numbers:
            raise MessageError(f"{self._party} choosing splits: found trees {numbers}, wanted some, ascending")
        resolved = self._role.tell_left(message.round, message.depth, won)
        self._won = dict(zip(numbers, resolved, strict=True))

    def _tree_wins(self, message: TreeWins) -> SlotWins:
        what = f"{self._party} choosing splits of tree {message.tree}"
        slots = self._positions(message.slots, self._slots.get(message.tree, 0), what)
        start = unpack_array(message.start, np.int64, (len(slots) + 1,), what)
        if len(slots) == 0:
            raise MessageError(f"{what}: found no slots, wanted at least 1")
        return SlotWins(message.tree, slots, start, unpack_list(message.tokens, np.int64, what))

    def _place(self, message: PlaceSplits) -> None:
        self._check_place(message.round, message.depth, self._depth, "placing splits")
        won = self._won or {}
        numbers = [tree.tree for tree in message.trees]
        if not won or numbers != list(won):
            raise MessageError(f"{self._party} placing splits: found trees {numbers}, wanted {list(won)}")
        for tree in message.trees:
            self._file(tree, won[tree.tree])
        self._won = {}

    def _file(self, message: TreePlaces, resolved: Resolved) -> None:
        what = f"{self._party} placing splits of tree {message.tree}"
        kept = self._positions(message.kept, len(resolved.feature), what)
        if resolved.told is not None and not resolved.told[kept].all():
            raise MessageError(f"{what}: found a split that this party has withheld, wanted those that it has told")
        above = unpack_array(message.above, np.int32, (len(kept),), what).tolist()
        number, log = self._number(message.tree), self._run.splits
        if not log.fits(number, self._depth, above):
            raise MessageError(f"{what}: found splits below {above[:8]}, wanted splits of this party above them, or -1")
        splits = self._records(resolved)
        log.choose(number, self._depth, above, [splits[place] for place in kept.tolist()])

    def _positions(self, data: Bulk, count: int, what: str) -> NDArray[np.int32]:
        positions: NDArray[np.int32] = unpack_list(data, np.int32, what)
        if not valid_positions(positions, count):
            raise MessageError(f"{what}: found slots {positions[:8].tolist()}, wanted ascending ones below {count}")
        return positions

    def _refuse_unplaced(self, step: str) -> None:
        if self._won:
            raise MessageError(f"{self._party} {step}: the splits that won have not been placed")
