"""The active party's side of `sealed`."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LeftRows, LevelNodes, Proposals, WonNodes
from vfxgb.protocols.receive import receive
from vfxgb.protocols.sealed.active_line import ActiveLine, argmax_settings, samples_columns, set_up_lines
from vfxgb.protocols.sealed.kept import hold_setups
from vfxgb.protocols.sealed.level_shares import Pick, all_columns, read_picks
from vfxgb.protocols.sealed.messages import SealedColumns
from vfxgb.protocols.sealed.params import check_score_bits
from vfxgb.protocols.sealed.pieces import finish_pieces, missing, next_round, offer_pieces, tree_demand
from vfxgb.protocols.sealed.recorded import note_left
from vfxgb.protocols.sealed.routed import learn_bits, transfers_of
from vfxgb.protocols.sealed.tournament import begin_early, find_winners
from vfxgb.rows.encrypted_columns import SlotRows
from vfxgb.rows.parts import Pairs
from vfxgb.two_party import Demand

_NO_TOKENS = np.zeros(0, dtype=np.int64)
OPENED = "no sum of gradients was opened to anybody: candidate splits were compared on encrypted shares"
ACTIVE_LEARNT = (
    "the active party learnt which rows of a node go left at each split that {parties} won, also at those that it "
    "refused; each tree says more exactly where a row lies in their columns, whose names and thresholds stay hidden"
)
PASSIVE_LEARNT = (
    "{parties} learnt which of their own splits won, where these stand in the trees, and how many nodes were open; "
    "nobody but the active party learnt which rows are in a node, nor any label or gradient"
)
WITHHELD = (
    "{party} withheld the rows of {count:,} of its winning splits, as its consent limits what may be won; the active "
    "party's own best split or a leaf took their place; ask {party} for a larger max_won_columns or max_wins"
)


class SealedActive:
    """A HiddenActiveRole. Raises CapacityError for score_bits that do not fit the ring, and what hold_setups raises."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context
        self._settings = argmax_settings(context)
        check_score_bits(context.params, self._settings.value_bits, context.n_train)
        self._held = hold_setups(context.params.setup_dir, context.channels.values())
        self._lines: dict[str, ActiveLine] = {}
        self._pairs: Sequence[Pairs] = ()
        # Passive party -> winning splits whose rows it did not tell, in this session.
        self._withheld = dict.fromkeys(context.channels, 0)
        parties = ", ".join(context.channels)
        context.remarks.extend(each.format(parties=parties) for each in (OPENED, ACTIVE_LEARNT, PASSIVE_LEARNT))

    def begin_tree(self, gradients: Gradients) -> None:
        """Set up if that was not done, and make pieces for the comparisons of the round."""
        if not self._lines:
            self._set_up()
        self._pairs = gradients.pairs
        lines = list(self._lines.values())
        train = self._context.train
        wanted = [self._wanted(line, place == 0) for place, line in enumerate(lines)]
        lacking = [missing(demand, line.correlations) for line, demand in zip(lines, wanted, strict=True)]
        with self._context.timings.phase("pieces"):
            for line, demand in zip(lines, lacking, strict=True):
                offer_pieces(line.channel, line.correlations, demand)
            for line, demand, take in zip(lines, lacking, wanted, strict=True):
                finish_pieces(line.channel, line.correlations, demand)
                line.used = line.correlations.used
                last = gradients.round + 1 >= train.n_estimators
                line.ahead.begin_round(Demand() if last else next_round(take, line.correlations), train.max_depth)

    def _set_up(self) -> None:
        """Set up with all passive parties, and count the bytes of that."""
        context = self._context
        before = sum(channel.traffic.total_bytes for channel in context.channels.values())
        with context.timings.phase("set-up"):
            self._lines = set_up_lines(context, self._settings)
        after = sum(channel.traffic.total_bytes for channel in context.channels.values())
        context.timings.count("set-up bytes", after - before)

    def _wanted(self, line: ActiveLine, own: bool) -> Demand:
        """Pieces that a round takes: what the one before has used, or what full trees take."""
        context, before = self._context, line.correlations.used
        last = Demand(*(now - then for now, then in zip(before, line.used, strict=True)))
        if not any(last):
            last = tree_demand(self._settings, line.holder.columns, own, context.train.max_depth, context.n_outputs)
        return last

    def open_level(self, level: ActiveLevel) -> None:
        """Send all passive parties the masked nodes of the level, in the order of slots, and the first one a flight."""
        with self._context.timings.phase("sums"):
            trees = [_slot_rows(nodes) for nodes in level.trees]
            for line in self._lines.values():
                message, shares = line.holder.mask(line.columns.sums(trees), shuffle=False)
                line.shares = shares.x
                line.channel.send(message)
        lines = list(self._lines.values())
        for line in lines:
            line.ahead.begin_level(level.depth, [len(nodes.order) for nodes in level.trees])
        if not samples_columns(self._context):
            begin_early(self._context, self._settings, lines, self._picks(lines[0], level))

    def propose(self, level: ActiveLevel, own: Sequence[Proposals]) -> Mapping[str, Sequence[Proposals]]:
        """See HiddenActiveRole: the winner's gain is infinite, and nobody else has one."""
        lines = list(self._lines.values())
        picks = {line.party: self._picks(line, level) for line in lines}
        scores = [_scores(mine)[nodes.order] for mine, nodes in zip(own, level.trees, strict=True)]
        won = find_winners(self._context, self._settings, lines, picks, np.concatenate(scores))
        ends = np.cumsum([len(nodes.order) for nodes in level.trees])[:-1]
        return {
            party: [_won(nodes, slots) for nodes, slots in zip(level.trees, np.split(bits, ends), strict=True)]
            for party, bits in won.items()
        }

    def _picks(self, line: ActiveLine, level: ActiveLevel) -> Sequence[Pick]:
        columns = line.holder.columns
        slots = [len(nodes.order) for nodes in level.trees]
        trees = [nodes.tree for nodes in level.trees]
        if not samples_columns(self._context):
            return [all_columns(tree, count, columns) for tree, count in zip(trees, slots, strict=True)]
        what = f"columns of {line.party}"
        message = receive(self._context, line.channel, SealedColumns, what)
        return read_picks(message, trees, slots, columns, what)

    def learn_left(self, party: str, level: ActiveLevel, won: Sequence[WonNodes]) -> Sequence[LeftRows]:
        """See HiddenActiveRole."""
        line = self._lines[party]
        lines = learn_bits(self._context, line.channel, line.routing, level, won)
        line.ahead.routed(level.depth, transfers_of(won))
        for each, bits in zip(won, lines, strict=True):
            note_left(self._context, party, level, each, bits)
        return [self._left(party, level.trees[each.index], each, bits) for each, bits in zip(won, lines, strict=True)]

    def _left(self, party: str, nodes: LevelNodes, won: WonNodes, line: NDArray[np.uint8]) -> LeftRows:
        """`line`: for every row its bit at the split of its own node."""
        bits = nodes.gather_bits(won.positions, line.tobytes())
        left = nodes.left_sums(won.positions, bits, self._pairs[nodes.tree])
        totals = np.ascontiguousarray(nodes.totals[won.positions])
        gains = nodes.rule.score(left[:, None, :], totals, None, None, None)[0]
        # Rows go left at every split that has won: one without any is withheld.
        withheld = ~left.any(axis=1)
        gains[withheld] = 0.0
        self._withheld[party] += int(np.count_nonzero(withheld))
        return LeftRows(left, np.zeros(len(left), dtype=np.int8), bits, gains)

    def end_tree(self) -> None:
        """Forget the gradients and shares."""
        self._pairs = ()
        for line in self._lines.values():
            line.shares = np.zeros((0, 0), dtype=np.uint64)

    def close(self) -> None:
        """End the threads that make masks, leave kept set-ups to other runs, and say what was withheld."""
        for party, count in self._withheld.items():
            if count:
                self._context.remarks.append(WITHHELD.format(party=party, count=count))
        self._withheld = dict.fromkeys(self._withheld, 0)
        for line in self._lines.values():
            line.close()
        self._held.close()


def _slot_rows(nodes: LevelNodes) -> SlotRows:
    assert nodes.integers is not None  # noqa: S101 - the grower makes them where there are score_bits
    return SlotRows(nodes.partition, np.ascontiguousarray(nodes.nodes[nodes.order]), nodes.integers)


def _scores(own: Proposals) -> NDArray[np.int64]:
    """The active party's own best scores: whole numbers below 2^53."""
    assert own.score is not None  # noqa: S101 - own candidates are scored under this rule
    return own.score.astype(np.int64)


def _won(nodes: LevelNodes, slots: NDArray[np.bool_]) -> Proposals:
    """A winner's gain is infinite until its rows are known; it knows its candidate already."""
    gain = np.zeros(len(slots))
    gain[nodes.order] = np.where(slots, np.inf, 0.0)
    return Proposals(gain, np.zeros(len(slots) + 1, dtype=np.int64), _NO_TOKENS)
