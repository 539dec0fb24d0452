"""The active party in joint prediction: all trees and all rows together, one round trip per level.

At every level each row stands before one node of each tree. The active party tests its own splits and asks each
passive party about that party's nodes of the level, all in one message. With "probabilistic" handling of missing values
a row whose value is missing goes down both branches, weighted by their training cover (SecureBoost); with "conditional"
handling each party also says which way its rows lean (model/leanings.py). Questions are open (open_line.py) or hidden
(hidden_line.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.model.leanings import Leans, left_shares
from vfxgb.model.shares import BOTH_WAYS, CONDITIONAL, LEAF, ActiveShare, TreeShape
from vfxgb.predict.block import Answer, Mask
from vfxgb.predict.hidden_line import HiddenLine, HiddenLines
from vfxgb.predict.hidden_shape import MAX_HELD_BITS
from vfxgb.predict.messages import ClosePrediction, OpenPrediction, PredictionReady
from vfxgb.predict.open_line import OpenLine
from vfxgb.predict.routing import Rows
from vfxgb.predict.split_evaluator import SplitTester
from vfxgb.predict.visits import Line, Visit
from vfxgb.routing.setup import fill_silent
from vfxgb.transport.channel import Channel

# (row, tree) pairs on their way at once: bounds memory and message size.
BLOCK_PAIRS = 1 << 25
# What such a pair takes in memory here: a row number, its place among the others, answers.
PAIR_BYTES = 16
# Bits of passive parties that hidden questions about a block of rows make them hold: half of what they allow.
BLOCK_BITS = MAX_HELD_BITS // 2
# Silent transfers that are made before a block of rows is begun, at most.
BLOCK_TRANSFERS = 20_000_000

# Per tree the leaves with the rows that end there.
Arrivals: TypeAlias = list[list[Visit]]


@dataclass
class ActivePredictor:
    """One prediction by the trees before tree `n_trees`, from tree `first_tree` on.

    `tester` tests this party's rows; `rows` holds their number and digest. `hidden`: hidden routing with the passive
    parties, who are then asked about trees before `first_tree` too, where no row is; None asks openly. `start`:
    float64[n_rows, n_outputs], the margins of rows before the first tree; None takes the model's.
    """

    share: ActiveShare
    tester: SplitTester
    rows: tuple[int, bytes]
    channels: Mapping[str, Channel]
    n_trees: int
    hidden: HiddenLines | None = None
    first_tree: int = 0
    start: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        self._hidden_lines: dict[str, HiddenLine] = {}
        if self.hidden is None:
            self._lines: Mapping[str, Line] = {
                party: OpenLine(channel, self._both_ways) for party, channel in self.channels.items()
            }
            return
        for party, channel in self.channels.items():
            shape, stock = self.hidden.shape(party, self.n_trees), self.hidden.stock.get(party, 0)
            self._hidden_lines[party] = HiddenLine(channel, self.hidden.receivers[party], shape, stock)
        self._lines = self._hidden_lines

    @property
    def _both_ways(self) -> bool:
        return self.share.missing_strategy in BOTH_WAYS

    @property
    def _leaning(self) -> bool:
        return self.share.missing_strategy == CONDITIONAL

    def margins(self) -> NDArray[np.float64]:
        """Margins float64[n_rows, n_outputs]: leaf weights in the order of the trees, then the start margin."""
        outputs = self.share.n_outputs
        sums = np.zeros((self.rows[0], outputs))
        for block in self._blocks():
            _add_leaves(sums[block], self._walk(block), self.share.trees)
        # In place: a second array would be what takes most memory.
        sums += self.share.base_margin if self.start is None else self.start
        return sums

    def leaves(self) -> NDArray[np.int32]:
        """The leaf of every row in every tree, int32[n_rows, trees]; of several, that of the largest weight."""
        reached = np.zeros((self.rows[0], self.n_trees - self.first_tree), dtype=np.int32)
        for block in self._blocks():
            _write_leaves(reached[block], self._walk(block)[self.first_tree :])
        return reached

    def open(self) -> None:
        """Agree with every passive party on model and rows. A hidden prediction goes on without waiting for a yes."""
        opening = OpenPrediction(
            self.share.run, self.share.seal.model, *self.rows, missing=self._both_ways, hidden=self.hidden is not None
        )
        for channel in self.channels.values():
            channel.send(opening)
        if self.hidden is None:
            for channel in self.channels.values():
                channel.recv(PredictionReady)
        for line in self._hidden_lines.values():
            line.open()

    def close(self) -> None:
        """Let the passive parties go."""
        for line in self._hidden_lines.values():
            line.ready()
        for channel in self.channels.values():
            channel.send(ClosePrediction())

    def _blocks(self) -> Iterator[slice]:
        """Rows that are on their way together."""
        trees = max(1, self.n_trees)
        size = max(1, BLOCK_PAIRS // trees)
        most = self.tester.rows_at_most(PAIR_BYTES * trees)
        size = size if most is None else min(size, most)
        for line in self._hidden_lines.values():
            size = min(size, max(1, BLOCK_BITS // max(1, line.shape.n_records)))
            if line.receiver.silent is not None:
                size = min(size, max(1, BLOCK_TRANSFERS // max(1, line.shape.transfers)))
        for first in range(0, self.rows[0], size):
            yield slice(first, min(first + size, self.rows[0]))

    def _fill_silent(self, block: slice) -> None:
        """Make the silent transfers that a block takes, where the parties use these and have too few."""
        count = block.stop - block.start
        for party, line in self._hidden_lines.items():
            needed = count * line.shape.transfers
            if line.receiver.silent is not None and line.receiver.silent.left < needed:
                line.ready()
                fill_silent(line.receiver, self.channels[party], needed)

    def _walk(self, block: slice) -> Arrivals:
        """Per tree the leaves with the rows of a block that end there."""
        self._fill_silent(block)
        everyone = np.arange(block.stop - block.start, dtype=np.int32)
        arrivals: Arrivals = [[] for _ in range(self.n_trees)]
        ahead = [self._visit(tree, 0, everyone, None) for tree in range(self.first_tree, self.n_trees)]
        end = max((line.end for line in self._lines.values()), default=0)
        depth = 0
        while True:
            inner: dict[str, list[Visit]] = {}
            for visit in ahead:
                party = int(self.share.trees[visit.tree].party[visit.node])
                if party == LEAF:
                    arrivals[visit.tree].append(visit)
                else:
                    inner.setdefault(self.share.parties[party], []).append(visit)
            if not inner and depth >= end:
                return arrivals
            ahead = self._advance(inner, depth, block)
            depth += 1

    def _advance(self, inner: dict[str, list[Visit]], depth: int, block: slice) -> list[Visit]:
        """All visits of a level moved on to the next one."""
        asked = {party: line.ask(depth, block, inner.get(party, [])) for party, line in self._lines.items()}
        for party, line in self._lines.items():
            if asked[party] is not None:
                line.prepare(depth)
        # Own splits first: the others are at work meanwhile.
        ahead = self._test(inner.pop(self.share.party, []), block)
        # Then in the order in which rows came to them, and those that are asked all the same.
        for party in dict.fromkeys((*inner, *asked)):
            if (question := asked[party]) is not None:
                visits = inner.get(party, [])
                answers = self._lines[party].read(question, depth, block, visits)
                leans = self._lines[party].read_leans(depth, answers) if self._leaning else None
                ahead += self._after(visits, answers, leans)
        return ahead

    def _test(self, visits: Sequence[Visit], block: slice) -> list[Visit]:
        """The visits after this party's own splits."""
        if not visits:
            return []
        first, count = block.start, block.stop - block.start
        sets = [None if len(visit.rows) == count else visit.rows for visit in visits]
        records = [visit.record for visit in visits]
        answers = self.tester.test(records, sets, first, count, self._both_ways)
        leans = None
        if self._leaning:
            lacking = [visit.rows[missing] for visit, (_, missing) in zip(visits, answers, strict=True)]
            leans = self.tester.leans(records, lacking, first, count)
        return self._after(visits, answers, leans)

    def _after(self, visits: Sequence[Visit], answers: Sequence[Answer], leans: Sequence[Leans] | None) -> list[Visit]:
        """The visits that follow others. `leans`: of the missing values of each answer, None if nothing says them."""
        ahead: list[Visit] = []
        for place, (visit, (left, missing)) in enumerate(zip(visits, answers, strict=True)):
            ahead += self._branches(visit, left, missing, None if leans is None else leans[place])
        return ahead

    def _visit(self, tree: int, node: int, rows: Rows, weight: NDArray[np.float64] | None) -> Visit:
        return Visit(tree, node, int(self.share.trees[tree].record[node]), rows, weight)

    def _branches(self, visit: Visit, left: Mask, missing: Mask | None, leans: Leans | None) -> list[Visit]:
        """The visits that follow one: left and right, empty ones left out."""
        tree = self.share.trees[visit.tree]
        visits = []
        both = missing is not None and bool(missing.any())
        shares = _branch_shares(tree, visit.node, leans) if both else (None, None)
        sides = ((int(tree.left[visit.node]), left), (int(tree.right[visit.node]), ~left))
        for (child, goes), share in zip(sides, shares, strict=True):
            weight = visit.weight
            if missing is not None and share is not None:
                goes = goes | missing  # noqa: PLW2901 - a row with a missing value goes both ways
                own = np.ones(len(missing))
                own[missing] = share
                weight = own if weight is None else own * weight
            # Positions first: a mask costs several times as much.
            chosen = np.flatnonzero(goes)
            if len(chosen):
                part = None if weight is None else weight.take(chosen)
                visits.append(self._visit(visit.tree, child, visit.rows.take(chosen), part))
        return visits


def _branch_shares(
    tree: TreeShape, node: int, leans: Leans | None
) -> tuple[float | NDArray[np.float64], float | NDArray[np.float64]]:
    """The weights of the left and the right branch of rows whose value is missing, by cover and leans if there are."""
    left, right = (float(tree.cover[child]) for child in (tree.left[node], tree.right[node]))
    if leans is None:
        whole = float(tree.cover[node])
        return left / whole, right / whole
    share = left_shares(left, right, leans)
    return share, 1.0 - share


def _add_leaves(sums: NDArray[np.float64], arrivals: Sequence[Sequence[Visit]], trees: Sequence[TreeShape]) -> None:
    """Add to the sums [rows, outputs] of a block the weights of leaves, in the order of the trees."""
    outputs = sums.shape[1]
    for tree, visits in enumerate(arrivals):
        value = trees[tree].value
        for visit in visits:
            added = value[visit.node] if visit.weight is None else value[visit.node] * visit.weight
            sums[visit.rows, tree % outputs] += added


def _write_leaves(reached: NDArray[np.int32], arrivals: Sequence[Sequence[Visit]]) -> None:
    """Write into [rows, trees] of a block the leaf of each row, of several that of the largest weight."""
    for tree, visits in enumerate(arrivals):
        best = np.full(len(reached), -1.0)
        for visit in visits:
            weight = np.ones(len(visit.rows)) if visit.weight is None else visit.weight
            better = weight > best[visit.rows]
            rows = visit.rows[better]
            reached[rows, tree], best[rows] = visit.node, weight[better]
