"""Hidden routing of all rows at the splits that have won a level: both parties' sides.

Rows are asked about in parts. Several questions are on their way at once, so that the passive party answers one while
the active party makes the next.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, PassiveContext, WonNodes
from vfxgb.protocols.receive import receive
from vfxgb.routing import Asked, Level, Question, RoutingReceiver, RoutingSender
from vfxgb.routing.messages import HiddenRoute, HiddenRouted
from vfxgb.rows.parts import Entries
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes

# Transfers of one question, at most: 4 MB of them at either party.
PART_TRANSFERS = 1 << 18
# Questions whose answers are not read yet.
PARTS_UNDER_WAY = 16


def learn_bits(
    context: ActiveContext, channel: Channel, routing: RoutingReceiver, level: ActiveLevel, won: Sequence[WonNodes]
) -> list[NDArray[np.uint8]]:
    """For each tree of `won` a packed line of all rows: whether a row goes left at the split of its own node.

    Raises MessageError, TransferError for answers that are none.
    """
    routed = Level(np.array([len(each.positions) for each in won], dtype=np.int32))
    wanted = [entries_of(level, each) for each in won]
    taken: list[NDArray[np.uint8]] = []
    under_way: deque[tuple[int, int, Asked]] = deque()

    def read() -> None:
        first, count, asked = under_way.popleft()
        where = {"depth": level.depth, "first": first, "count": count, "n_groups": len(won)}
        answer = receive(context, channel, HiddenRouted, f"routing by {channel.peer}", **where)
        taken.append(np.packbits(asked.read(answer.sent)[:, 0], axis=1, bitorder="little"))

    with context.timings.phase("route"):
        for first, count in _parts(routed, context.rows.n_rows):
            question, asked = routing.ask(routed, np.stack([entries.part(first, first + count) for entries in wanted]))
            channel.send(
                HiddenRoute(
                    depth=level.depth,
                    first=first,
                    count=count,
                    batch=question.batch,
                    n_transfers=question.count,
                    transfers=pack_bytes(bytes(question.transfers)),
                    corrections=pack_bytes(bytes(question.corrections)),
                )
            )
            under_way.append((first, count, asked))
            if len(under_way) > PARTS_UNDER_WAY:
                read()
        while under_way:
            read()
    return list(np.concatenate(taken, axis=1))


def tell_bits(
    context: PassiveContext,
    routing: RoutingSender,
    depth: int,
    splits: Sequence[int],
    lines: Callable[[int, int], NDArray[np.uint8]],
) -> None:
    """Answer for all rows. `splits`: how many have won in each tree; `lines(first, stop)`: packed bits of some rows.

    Raises MessageError, TransferError for questions that are not about these splits and all rows.
    """
    routed = Level(np.array(splits, dtype=np.int32))
    for first, count in _parts(routed, context.rows.n_rows):
        what, where = f"{context.party} routing rows", {"depth": depth, "first": first, "count": count}
        route = receive(context, context.channel, HiddenRoute, what, **where)
        question = Question(route.batch, route.n_transfers, route.transfers, route.corrections)
        with context.timings.phase("route"):
            sent = routing.answer(routed, count, question, lines(first, first + count))
        context.channel.send(HiddenRouted(depth, first, count, len(splits), pack_bytes(sent)))


def entries_of(level: ActiveLevel, won: WonNodes) -> Entries:
    """For every row which of the splits it stands before, from 1 on; 0 for none."""
    nodes = level.trees[won.index]
    return nodes.partition.entries(np.ascontiguousarray(nodes.nodes[won.positions]))


def _parts(level: Level, n_rows: int) -> Iterator[tuple[int, int]]:
    """(first row, rows) of each question, in whole bytes."""
    most = max(8, PART_TRANSFERS // level.transfers // 8 * 8)
    for first in range(0, n_rows, most):
        yield first, min(most, n_rows - first)
