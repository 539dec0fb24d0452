"""Hidden questions: every row takes part at every level, and the passive party does not learn which splits it reaches.

    lines = connect_hidden(share, channels)                     once for a session: base transfers, transfers in stock
    lead_prediction(share, table, channels, hidden=lines)       as often as one likes

Which split a row comes to next depends on the bit before, so that levels wait for one another: one message each way.
Transfers depend on nothing. Those of the next level are sent while the answers of a level are on their way, so that the
line and the passive party are at work meanwhile.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError, ParameterError
from vfxgb.model.leanings import Leans
from vfxgb.model.paths import paths_in_trees
from vfxgb.model.shares import CONDITIONAL, ActiveShare
from vfxgb.predict.block import Answer
from vfxgb.predict.hidden_shape import HiddenLevel, HiddenShape
from vfxgb.predict.messages import HiddenGroups, PredictionReady
from vfxgb.predict.visits import Visit
from vfxgb.routing import Asked, Question, RoutingReceiver, RoutingSettings, connect_receivers
from vfxgb.routing.messages import HiddenRoute, HiddenRouted, TransferStock
from vfxgb.routing.receiver import MAX_BATCH
from vfxgb.routing.setup import LEAST_STOCK
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes

# Transfers of one question, at most, if it is about several rows: 16 MB at either party.
PART_TRANSFERS = 1 << 20
# Transfers of the next level that are sent while answers of a level are on their way, at most.
AHEAD_TRANSFERS = 1 << 20
# Questions whose answers are not read yet: the passive party is at work while the next ones are made.
PARTS_UNDER_WAY = 16


@dataclass(frozen=True)
class HiddenLines:
    """The active party's hidden routing with all passive parties of a model, for any number of predictions.

    `stock`: transfers that are kept ahead for each party, so that a few rows cost one message a level each way. Without
    them, those of the next level are sent ahead.
    """

    share: ActiveShare
    receivers: Mapping[str, RoutingReceiver]
    stock: Mapping[str, int]
    _shapes: dict[tuple[str, int], HiddenShape] = field(default_factory=dict)

    def shape(self, party: str, n_trees: int) -> HiddenShape:
        """What the first `n_trees` trees ask of a party."""
        known = self._shapes.get((party, n_trees))
        if known is None:
            known = self._shapes[party, n_trees] = _shape(self.share, party, n_trees)
        return known


def connect_hidden(
    share: ActiveShare, channels: Mapping[str, Channel], settings: RoutingSettings | None = None, stock_rows: int = 0
) -> HiddenLines:
    """Set up hidden routing with every passive party of a model, each of which calls connect_hidden_side.

    `stock_rows`: rows whose transfers are made now, and made again when they are used up, for questions about few rows;
    silent ones need none. Raises TransferError, PeerError, and ParameterError for a model that sends rows with missing
    values both ways by what each party observes of them: passive parties would have to say more than bits.
    """
    if share.missing_strategy == CONDITIONAL:
        raise ParameterError(
            f"{share.party} predicting: found a hidden prediction with a model of missing_strategy={CONDITIONAL!r}, "
            "whose weights of branches are more than the bits that hidden predictions transfer; predict openly, or "
            "train with another missing_strategy, such as 'probabilistic'"
        )
    if settings is not None and settings.kind == "silent":
        stock_rows = 0
    stock = {}
    for party in channels:
        wanted = stock_rows * _shape(share, party, len(share.trees)).transfers
        stock[party] = min(max(wanted, LEAST_STOCK), MAX_BATCH)
    return HiddenLines(share, connect_receivers(channels, settings, stock), stock if stock_rows else {})


@dataclass
class HiddenLine:
    """See Line. One prediction; `stock`: transfers to keep ahead, 0 for none."""

    channel: Channel
    receiver: RoutingReceiver
    shape: HiddenShape
    stock: int
    _ready: bool = False
    # Rows of the block that is under way.
    _rows: int = 0

    @property
    def end(self) -> int:
        """See Line."""
        return self.shape.end

    def open(self) -> None:
        """Say what will be asked. The passive party's consent is read before its first answer, without a round trip."""
        groups = self.shape.table()
        self.channel.send(HiddenGroups(self.shape.n_trees, len(groups), pack_array(groups)))

    def ready(self) -> None:
        """Wait until the passive party has agreed."""
        if not self._ready:
            self.channel.recv(PredictionReady)
            self._ready = True

    def ask(self, depth: int, block: slice, visits: Sequence[Visit]) -> "_Level | None":
        """See Line. The rows go in parts, so that no question takes more transfers than a batch may have."""
        level = self.shape.by_depth.get(depth)
        if level is None:
            return None
        count = block.stop - block.start
        wanted = np.zeros((len(level.level), count), dtype=np.uint16)
        for visit, group, entry in zip(visits, *_places(level, visits), strict=True):
            wanted[group, visit.rows] = entry
        asked = _Level(level, deque(), np.zeros((len(level.level), level.level.planes, count), dtype=np.bool_))
        for part in self._parts(count):
            question, pending = self.receiver.ask(level.level, np.ascontiguousarray(wanted[:, part]))
            self._send(depth, block.start + part.start, part.stop - part.start, question)
            asked.under_way.append((part, pending))
            if len(asked.under_way) > PARTS_UNDER_WAY:
                self._read_part(asked, block)
        self._rows = count
        return asked

    def _parts(self, count: int) -> list[slice]:
        """The rows of each question about a block of so many.

        They are the same at every level: the passive party holds the bits of a part from the first level to the last.
        """
        size = max(1, PART_TRANSFERS // self.shape.most_transfers)
        return [slice(first, min(first + size, count)) for first in range(0, count, size)]

    def prepare(self, depth: int) -> None:
        """See Line: transfers for the first parts of the block at the next level, a batch for each."""
        level = self.shape.after(depth)
        # Silent transfers are there already; a stock is for few rows, and would be lost behind other batches.
        if level is None or self.stock or self.receiver.silent is not None:
            return
        left = AHEAD_TRANSFERS
        for part in self._parts(self._rows):
            count = level.level.transfers * (part.stop - part.start)
            left -= count
            if left < 0:
                return
            self._send_stock(*self.receiver.add_stock(count), count)

    def _send_stock(self, batch: int, request: bytes, count: int) -> None:
        self.channel.send(TransferStock(batch, count, pack_bytes(request)))

    def _send(self, depth: int, first: int, count: int, question: Question) -> None:
        transfers, corrections = memoryview(question.transfers), memoryview(question.corrections)
        self.channel.send(HiddenRoute(depth, first, count, question.batch, question.count, transfers, corrections))
        if self.receiver.in_stock < self.stock // 4:
            # While the answer is on its way.
            self._send_stock(*self.receiver.make_stock(self.stock), self.stock)

    def read(self, asked: "_Level", depth: int, block: slice, visits: Sequence[Visit]) -> list[Answer]:  # noqa: ARG002
        """See Line."""
        while asked.under_way:
            self._read_part(asked, block)
        groups, _ = _places(asked.level, visits)
        both = asked.level.level.planes > 1
        return [
            (asked.bits[group, 0].take(visit.rows), asked.bits[group, 1].take(visit.rows) if both else None)
            for visit, group in zip(visits, groups, strict=True)
        ]

    def read_leans(self, depth: int, answers: Sequence[Answer]) -> list[Leans]:
        """See Line: connect_hidden refuses models that have any."""
        raise NotImplementedError

    def _read_part(self, asked: "_Level", block: slice) -> None:
        """Read the answer that comes next."""
        self.ready()
        part, pending = asked.under_way.popleft()
        message = self.channel.recv(HiddenRouted)
        found = (message.depth, message.first, message.count, message.n_groups)
        wanted = (asked.level.depth, block.start + part.start, part.stop - part.start, len(asked.level.level))
        if found != wanted:
            raise MessageError(
                f"reading the hidden answers of {self.channel.peer}: found level, first row, rows and groups {found}, "
                f"wanted {wanted}"
            )
        asked.bits[:, :, part] = pending.read(message.sent)


@dataclass(frozen=True)
class _Level:
    """A level of a block that was asked about: parts whose answers are under way, bits bool[groups, planes, rows]."""

    level: HiddenLevel
    under_way: deque[tuple[slice, Asked]]
    bits: NDArray[np.bool_]


def _places(level: HiddenLevel, visits: Sequence[Visit]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(group, entry) of each visit's split."""
    at = np.searchsorted(level.records, np.array([visit.record for visit in visits], dtype=np.int32))
    return level.group[at], level.entry[at]


def _shape(share: ActiveShare, party: str, n_trees: int) -> HiddenShape:
    place = share.parties.index(party)
    return HiddenShape.of(paths_in_trees(share.trees[:n_trees], place, share.missing_strategy), n_trees)
