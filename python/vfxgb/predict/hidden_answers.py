"""A passive party in a hidden prediction: it answers for all of its splits and all rows, and learns nothing of them.

The active party takes the rows in parts, each in turn from where the last one ended, and asks about every part at every
level at which this party has splits, in their order. What was left out when the prediction is closed is refused.
"""

from dataclasses import dataclass, field

import numpy as np

from vfxgb.errors import MessageError, ShareMismatchError
from vfxgb.model.shares import CONDITIONAL, PassiveShare, SplitPaths
from vfxgb.predict.hidden_bits import HiddenSplits, PartBits
from vfxgb.predict.hidden_shape import MAX_HELD_BITS, HiddenShape
from vfxgb.predict.messages import HiddenGroups
from vfxgb.predict.split_evaluator import SplitTester
from vfxgb.routing import Question, RoutingSender, connect_sender
from vfxgb.routing.messages import HiddenRoute, HiddenRouted
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes, unpack_array


@dataclass
class _Part:
    """Rows that are on their way: their number, the next of the shape's levels, and their bits."""

    count: int
    next_level: int
    bits: PartBits


@dataclass(frozen=True)
class HiddenSide:
    """A passive party's hidden routing with the active party, for any number of predictions."""

    sender: RoutingSender
    # By model and number of trees: finding out takes longer than answering for a row.
    _known: dict[tuple[str, int], HiddenSplits] = field(default_factory=dict)

    def splits(self, share: PassiveShare, paths: SplitPaths, n_trees: int) -> HiddenSplits:
        """The splits that a prediction by the first `n_trees` trees is about."""
        known = self._known.get((share.seal.model, n_trees))
        if known is None:
            known = HiddenSplits(paths, HiddenShape.of(paths, n_trees))
            self._known[share.seal.model, n_trees] = known
        return known


def connect_hidden_side(channel: Channel, threads: int | None = None) -> HiddenSide:
    """Set up hidden routing with the active party, which calls connect_hidden. Raises TransferError, PeerError."""
    return HiddenSide(connect_sender(channel, threads))


def announced_splits(side: HiddenSide, share: PassiveShare, announced: HiddenGroups, what: str) -> HiddenSplits:
    """The splits that the prediction which was announced is about.

    Raises ShareMismatchError for a share that does not say it, and where the active party's trees say something else.
    """
    paths = share.paths
    if paths is None:
        raise ShareMismatchError(
            f"{what}: this party's share is of an earlier version and does not say where its splits stand in the "
            "trees, so that nothing can be hidden; train the model again"
        )
    if paths.missing_strategy == CONDITIONAL:
        raise ShareMismatchError(
            f"{what}: found a hidden prediction with a model of missing_strategy={CONDITIONAL!r}, whose weights of "
            "branches are more than the bits that hidden predictions transfer; wanted an open one"
        )
    if announced.n_trees < 0:
        raise MessageError(f"{what}: found a prediction by {announced.n_trees} trees, wanted 0 or more")
    splits = side.splits(share, paths, min(announced.n_trees, int(paths.tree.max(initial=-1)) + 1))
    wanted = splits.shape.table()
    if announced.n_groups != len(wanted):
        raise ShareMismatchError(
            f"{what}: found splits in {announced.n_groups} groups of tree and level, wanted {len(wanted)}, as this "
            "party's share says; use the shares that were saved together"
        )
    found = unpack_array(announced.groups, np.int32, wanted.shape, what)
    other = np.flatnonzero((found != wanted).any(axis=1))
    if len(other):
        depth, tree, entries = wanted[other[0]].tolist()
        raise ShareMismatchError(
            f"{what}: found (level, tree, entries) {tuple(found[other[0]].tolist())}, wanted {entries} entries in tree "
            f"{tree} at level {depth}, as this party's share says; use the shares that were saved together"
        )
    return splits


class HiddenAnswers:
    """The answers of one prediction of `n_rows` rows."""

    def __init__(
        self, party: str, splits: HiddenSplits, tester: SplitTester, n_rows: int, sender: RoutingSender
    ) -> None:
        self._party = party
        self._shape = splits.shape
        self._splits = splits
        self._tester = tester
        self._n_rows = n_rows
        self._sender = sender
        self._begun = 0
        self._parts: dict[int, _Part] = {}

    def answer(self, route: HiddenRoute) -> HiddenRouted:
        """Answer a question. Raises MessageError for one that does not come next; TransferError, see RoutingSender."""
        what = f"{self._party} predicting, level {route.depth}"
        part = self._parts.get(route.first)
        place = 0 if part is None else part.next_level
        if place >= len(self._shape.levels) or self._shape.levels[place].depth != route.depth:
            raise MessageError(
                f"{what}: found a question about rows from {route.first} on, wanted their next level; levels come once "
                "and in order"
            )
        level = self._shape.levels[place]
        question = Question(route.batch, route.n_transfers, route.transfers, route.corrections)
        if part is None:
            self._check_begin(route, what)
            self._sender.check(level.level, route.count, question)
            bits = self._splits.evaluate(self._tester, route.first, route.count)
            part = self._parts[route.first] = _Part(route.count, 0, bits)
            self._begun = route.first + route.count
        if part.count != route.count:
            raise MessageError(
                f"{what}: found {route.count} rows from {route.first} on, wanted {part.count} as at the level before; "
                "no row may be left out"
            )
        sent = self._sender.answer(level.level, route.count, question, part.bits.lines(level))
        part.next_level += 1
        if part.next_level == len(self._shape.levels):
            del self._parts[route.first]
        return HiddenRouted(route.depth, route.first, route.count, len(level.level), pack_bytes(sent))

    def finish(self) -> None:
        """The prediction is closed. Raises MessageError for rows that were left out at some level."""
        if self._shape.levels and (self._parts or self._begun < self._n_rows):
            first = min([*self._parts, self._begun])
            raise MessageError(
                f"{self._party} predicting: found the end of the prediction, wanted all levels of rows {first} to "
                f"{self._n_rows}; the other party leaves rows out, which would show who needs no answer"
            )

    def _check_begin(self, route: HiddenRoute, what: str) -> None:
        if route.first != self._begun or not 0 < route.count <= self._n_rows - route.first:
            raise MessageError(
                f"{what}: found rows {route.first} to {route.first + route.count}, wanted rows from {self._begun} on, "
                f"up to {self._n_rows} at most; parts come once and in order"
            )
        rows = route.count + sum(part.count for part in self._parts.values())
        # One row is always answered, however many splits there are.
        most = max(1, MAX_HELD_BITS // max(1, self._shape.n_records))
        if rows > most:
            raise MessageError(
                f"{what}: found {rows} rows on their way at once, wanted at most {most}: this party holds a bit for "
                "each row and each of its splits"
            )
