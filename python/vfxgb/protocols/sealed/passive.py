"""A passive party's side of `sealed`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, Resolved, SlotLevel, SlotTree, SlotWins
from vfxgb.errors import MessageError
from vfxgb.lattice import LatticeNodes
from vfxgb.protocols.receive import receive
from vfxgb.protocols.sealed.columns import CandidateColumns
from vfxgb.protocols.sealed.kept import hold_setups
from vfxgb.protocols.sealed.level_shares import Pick, all_columns, candidates_of, pick_shares, tell_picks
from vfxgb.protocols.sealed.limits import WinLimits
from vfxgb.protocols.sealed.passive_line import PassiveLine, set_up_line
from vfxgb.protocols.sealed.passive_tournament import find_own_winners
from vfxgb.protocols.sealed.pieces import answer_pieces, tree_demand
from vfxgb.protocols.sealed.recorded import note_won
from vfxgb.protocols.sealed.routed import tell_bits
from vfxgb.two_party import NOT_YOURS, Demand


class SealedPassive:
    """A HiddenPassiveRole. Raises MessageError for a run whose scores are no integers, and what hold_setups raises."""

    def __init__(self, context: PassiveContext) -> None:
        if context.score_bits is None:
            raise MessageError(f"{context.party} setting up: found no score_bits, wanted those of the scores")
        self._context = context
        self._line: PassiveLine | None = None
        with hold_setups(context.params.setup_dir, [context.channel]) as held:
            self._columns = CandidateColumns(context)
            self._limits = WinLimits(context, self._columns)
            self._held = held.pop_all()
        self._features: dict[int, NDArray[np.int32]] = {}
        # Pieces that were used before this round.
        self._used = Demand()
        # Tree -> the column that won each slot of the level, or NOT_YOURS.
        self._won: dict[int, NDArray[np.int64]] = {}

    def begin_tree(self, round_index: int, trees: Sequence[SlotTree]) -> None:  # noqa: ARG002
        """Set up if that was not done, and make pieces for the comparisons of the round."""
        if self._line is None:
            self._line = set_up_line(self._context, self._columns)
        self._features = {tree.tree: tree.features for tree in trees}
        correlations = self._line.correlations
        with self._context.timings.phase("pieces"):
            answer_pieces(self._context.channel, correlations, self._most_pieces(self._line))
        self._used = correlations.used

    def _most_pieces(self, line: PassiveLine) -> Demand:
        """What a round may need: what the one before has used, or what full trees take."""
        context, columns = self._context, len(self._columns)
        full = tree_demand(line.settings, columns, line.peers.place == 0, context.max_depth, context.n_outputs)
        last = (now - then for now, then in zip(line.correlations.used, self._used, strict=True))
        return Demand(*map(max, full, last))

    def open_level(self, level: SlotLevel) -> None:
        """Compare the candidates of every slot with those of the others, on shares."""
        context, line = self._context, self._started()
        slots = sum(each.n_slots for each in level.trees)
        nodes = receive(context, context.channel, LatticeNodes, f"{context.party} reading nodes", nodes=slots)
        with context.timings.phase("sums"):
            shares = line.owner.shares(nodes)
        picks = self._picks(level)
        if line.samples_columns:
            context.channel.send(tell_picks(picks, len(self._columns)))
        winners = find_own_winners(context, line, pick_shares(shares, picks), candidates_of(picks))
        first, self._won = 0, {}
        for pick in picks:
            own = winners[first : first + pick.slots]
            self._won[pick.tree] = self._columns_of(pick, own)
            first += pick.slots

    def _picks(self, level: SlotLevel) -> list[Pick]:
        columns, picks = self._columns, []
        for each in level.trees:
            features = self._features[each.tree]
            used = columns.used(features)
            if each.allowed is None:
                whole = used.all() or not self._started().samples_columns
                pick = all_columns(each.tree, each.n_slots, len(columns))
                picks.append(pick if whole else Pick(each.tree, each.n_slots, np.flatnonzero(used)))
            else:
                withheld = columns.withheld(used, features, each.allowed)
                picks.append(Pick(each.tree, each.n_slots, np.flatnonzero(used), withheld))
        return picks

    def _columns_of(self, pick: Pick, winners: NDArray[np.int64]) -> NDArray[np.int64]:
        """The columns of winners, which are places of the tournament. Raises MessageError for a place of none."""
        if winners.max(initial=NOT_YOURS) >= len(pick.columns):
            raise MessageError(
                f"{self._context.party} comparing splits: found place {int(winners.max())} as a winner, wanted one of "
                f"{len(pick.columns)}; the other party deviates from the protocol"
            )
        if not len(pick.columns):
            return winners
        return np.where(winners == NOT_YOURS, NOT_YOURS, pick.columns[winners])

    def tell_left(self, round_index: int, depth: int, won: Sequence[SlotWins]) -> Sequence[Resolved]:
        """Answer for all rows at the splits that won; the active party takes the bits that it has chosen."""
        what = f"{self._context.party} choosing splits"
        asked = {wins.tree: wins.slots.tolist() for wins in won}
        mine = {tree: np.flatnonzero(own != NOT_YOURS).tolist() for tree, own in self._won.items()}
        wanted = {tree: slots for tree, slots in mine.items() if slots}
        if asked != wanted:
            raise MessageError(f"{what}: found slots {asked} of trees, wanted those that this party has won, {wanted}")
        columns = [self._won[wins.tree][wins.slots] for wins in won]
        told = self._limits.enter(np.concatenate(columns))
        self._tell_bits(depth, columns, told)
        by_tree = np.split(told, np.cumsum([len(each) for each in columns])[:-1])
        resolved = [replace(self._columns.resolve(each), told=may) for each, may in zip(columns, by_tree, strict=True)]
        for wins, splits in zip(won, resolved, strict=True):
            note_won(self._context, round_index, depth, wins.tree, splits)
        return resolved

    def _tell_bits(self, depth: int, columns: Sequence[NDArray[np.int64]], told: NDArray[np.bool_]) -> None:
        """`columns`: those that won, tree by tree. Of one that is not `told` no row goes left."""
        every = np.concatenate(columns)
        tell_bits(
            self._context,
            self._started().routing,
            depth,
            [len(each) for each in columns],
            lambda first, stop: self._columns.lines(every, first, stop) * told[:, None],
        )

    def _started(self) -> PassiveLine:
        if self._line is None:
            raise MessageError(f"{self._context.party} opening a level: found no round that was begun")
        return self._line

    def end_tree(self) -> None:
        """Forget who won."""
        self._won, self._features = {}, {}

    def close(self) -> None:
        """Leave the kept set-up to other runs."""
        self._held.close()
