"""The active party in joint prediction: all trees and all rows together, one round trip per level.

At every level each row stands before one node of each tree. The active party tests its own splits and asks each
passive party about that party's nodes of the level, all in one message. With "probabilistic" handling of missing values
a row whose value is missing goes down both branches, weighted by their training cover (SecureBoost).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.model.shares import LEAF, ActiveShare, TreeShape
from vfxgb.predict.block import Answer, Mask, unpack_mask
from vfxgb.predict.messages import ClosePrediction, OpenPrediction, PredictionReady, Route, Routed
from vfxgb.predict.routing import Rows, pack_rows
from vfxgb.predict.split_evaluator import SplitTester
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, unpack_array

# (row, tree) pairs on their way at once: bounds memory and message size.
BLOCK_PAIRS = 1 << 25
# What such a pair takes in memory here: a row number, its place among the others, answers.
PAIR_BYTES = 16


@dataclass(frozen=True)
class Visit:
    """Rows (numbers within the block, ascending) before one node of one tree, each with its weight if not 1."""

    tree: int
    node: int
    rows: Rows
    weight: NDArray[np.float64] | None


@dataclass(frozen=True)
class ActivePredictor:
    """One prediction by the first `n_trees` trees.

    `tester` tests this party's rows; `rows` holds their number and digest.
    """

    share: ActiveShare
    tester: SplitTester
    rows: tuple[int, bytes]
    channels: Mapping[str, Channel]
    n_trees: int

    @property
    def _both_ways(self) -> bool:
        return self.share.missing_strategy == "probabilistic"

    def margins(self) -> NDArray[np.float64]:
        """Margins float64[n_rows, n_outputs]: leaf weights in the order of the trees, then the start margin."""
        outputs = self.share.n_outputs
        sums = np.zeros((self.rows[0], outputs))
        for block in self._blocks():
            _add_leaves(sums[block], self._walk(block), self.share.trees)
        # In place: a second array would be what takes most memory.
        sums += self.share.base_margin
        return sums

    def leaves(self) -> NDArray[np.int32]:
        """The leaf of every row in every tree, int32[n_rows, trees]; of several, that of the largest weight."""
        reached = np.zeros((self.rows[0], self.n_trees), dtype=np.int32)
        for block in self._blocks():
            _write_leaves(reached[block], self._walk(block))
        return reached

    def open(self) -> None:
        """Agree with every passive party on model and rows."""
        opening = OpenPrediction(self.share.run, self.share.seal.model, *self.rows, missing=self._both_ways)
        for channel in self.channels.values():
            channel.send(opening)
        for channel in self.channels.values():
            channel.recv(PredictionReady)

    def close(self) -> None:
        """Let the passive parties go."""
        for channel in self.channels.values():
            channel.send(ClosePrediction())

    def _blocks(self) -> Iterator[slice]:
        """Rows that are on their way together."""
        trees = max(1, self.n_trees)
        size = max(1, BLOCK_PAIRS // trees)
        most = self.tester.rows_at_most(PAIR_BYTES * trees)
        size = size if most is None else min(size, most)
        for first in range(0, self.rows[0], size):
            yield slice(first, min(first + size, self.rows[0]))

    def _walk(self, block: slice) -> list[list[Visit]]:
        """Per tree the leaves with the rows of a block that end there."""
        everyone = np.arange(block.stop - block.start, dtype=np.int32)
        arrivals: list[list[Visit]] = [[] for _ in range(self.n_trees)]
        ahead = [Visit(tree, 0, everyone, None) for tree in range(self.n_trees)]
        depth = 0
        while True:
            inner: dict[int, list[Visit]] = {}
            for visit in ahead:
                party = int(self.share.trees[visit.tree].party[visit.node])
                if party == LEAF:
                    arrivals[visit.tree].append(visit)
                else:
                    inner.setdefault(party, []).append(visit)
            if not inner:
                return arrivals
            ahead = self._advance(inner, depth, block)
            depth += 1

    def _advance(self, inner: Mapping[int, list[Visit]], depth: int, block: slice) -> list[Visit]:
        """All visits of a level moved on to the next one."""
        own, first, count = self.share.party, block.start, block.stop - block.start
        asked = {self.share.parties[party]: visits for party, visits in inner.items()}
        records = {
            party: [int(self.share.trees[visit.tree].record[visit.node]) for visit in visits]
            for party, visits in asked.items()
        }
        for party, visits in asked.items():
            if party != own:
                sets = [visit.rows for visit in visits]
                sizes = np.array([len(rows) for rows in sets], dtype=np.int32)
                numbers = pack_array(np.array(records[party], dtype=np.int32))
                rows = pack_bytes(pack_rows(sets, count))
                self.channels[party].send(Route(depth, first, count, numbers, pack_array(sizes), rows))
        ahead: list[Visit] = []
        # Own splits first: the others are at work meanwhile.
        for party, visits in sorted(asked.items(), key=lambda entry: entry[0] != own):
            if party == own:
                sets_here = [None if len(visit.rows) == count else visit.rows for visit in visits]
                answers = self.tester.test(records[party], sets_here, first, count, self._both_ways)
            else:
                answers = self._receive(party, visits, depth)
            for visit, (left, missing) in zip(visits, answers, strict=True):
                ahead += self._branches(visit, left, missing)
        return ahead

    def _receive(self, party: str, visits: Sequence[Visit], depth: int) -> list[Answer]:
        message = self.channels[party].recv(Routed)
        what = f"reading the answers of {party}, level {depth}"
        if message.depth != depth:
            raise MessageError(f"{what}: found level {message.depth}")
        ends = np.cumsum([len(visit.rows) for visit in visits])
        if message.n_answers != int(ends[-1]):
            raise MessageError(f"{what}: found {message.n_answers} answers, wanted {ends[-1]}")
        left = np.split(_bits(message.left, int(ends[-1]), what), ends[:-1])
        missing = _bits(message.missing, int(ends[-1]) if self._both_ways else 0, what)
        if not self._both_ways:
            return [(mask, None) for mask in left]
        return list(zip(left, np.split(missing, ends[:-1]), strict=True))

    def _branches(self, visit: Visit, left: Mask, missing: Mask | None) -> list[Visit]:
        """The visits that follow one: left and right, empty ones left out."""
        tree = self.share.trees[visit.tree]
        visits = []
        for child, goes in ((int(tree.left[visit.node]), left), (int(tree.right[visit.node]), ~left)):
            weight = visit.weight
            if missing is not None and missing.any():
                goes = goes | missing  # noqa: PLW2901 - a row with a missing value goes both ways
                share = float(tree.cover[child]) / float(tree.cover[visit.node])
                weight = np.where(missing, share, 1.0) * (1.0 if weight is None else weight)
            # Positions first: a mask costs several times as much.
            chosen = np.flatnonzero(goes)
            if len(chosen):
                part = None if weight is None else weight.take(chosen)
                visits.append(Visit(visit.tree, child, visit.rows.take(chosen), part))
        return visits


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


def _bits(data: Bulk, count: int, what: str) -> Mask:
    return unpack_mask(unpack_array(data, np.uint8, ((count + 7) // 8,), what), count)
