"""Hidden routing of all rows at the splits that have won a level: both parties' sides."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, PassiveContext, WonNodes
from vfxgb.protocols.receive import receive
from vfxgb.routing import Asked, Level, Question, RoutingReceiver, RoutingSender
from vfxgb.routing.messages import HiddenRoute, HiddenRouted
from vfxgb.routing.receiver import MAX_BATCH
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_bytes


def learn_bits(
    context: ActiveContext, channel: Channel, routing: RoutingReceiver, level: ActiveLevel, won: Sequence[WonNodes]
) -> list[NDArray[np.uint8]]:
    """For each tree of `won` a packed line of all rows: whether a row goes left at the split of its own node.

    Raises MessageError, TransferError for answers that are none.
    """
    routed = _level_of(won)
    wanted = np.stack([_entries(level, each) for each in won])
    taken = []

    def read(first: int, asked: Asked) -> None:
        count = asked.wanted.shape[1]
        where = {"depth": level.depth, "first": first, "count": count, "n_groups": len(won)}
        answer = receive(context, channel, HiddenRouted, f"routing by {channel.peer}", **where)
        taken.append(np.packbits(asked.read(answer.sent)[:, 0], axis=1, bitorder="little"))

    with context.timings.phase("route"):
        waiting: list[tuple[int, Asked]] = []
        for first, count in _parts(routed, wanted.shape[1], routing.stocked):
            question, asked = routing.ask(routed, np.ascontiguousarray(wanted[:, first : first + count]))
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
            waiting.append((first, asked))
            # A question that brings its transfers is answered before the next: both parties do not send much at once.
            if len(question.transfers):
                for each in waiting:
                    read(*each)
                waiting = []
        for each in waiting:
            read(*each)
    return list(np.concatenate(taken, axis=1))


def tell_bits(
    context: PassiveContext, routing: RoutingSender, depth: int, groups: Sequence[NDArray[np.uint8]], n_rows: int
) -> None:
    """Answer for all rows; `groups` are the packed lines of the splits, tree by tree.

    Raises MessageError, TransferError for questions that are not about these splits and all rows.
    """
    routed = Level(np.array([len(lines) for lines in groups], dtype=np.int32))
    lines = np.concatenate(groups)
    for first, count in _parts(routed, n_rows, routing.stocked):
        what, where = f"{context.party} routing rows", {"depth": depth, "first": first, "count": count}
        route = receive(context, context.channel, HiddenRoute, what, **where)
        question = Question(route.batch, route.n_transfers, route.transfers, route.corrections)
        part = np.ascontiguousarray(lines[:, first // 8 : -(-(first + count) // 8)])
        with context.timings.phase("route"):
            sent = routing.answer(routed, count, question, part)
        context.channel.send(HiddenRouted(depth, first, count, len(groups), pack_bytes(sent)))


def transfers_of(won: Sequence[WonNodes]) -> int:
    """Transfers that a row takes at these splits."""
    return _level_of(won).transfers


def _level_of(won: Sequence[WonNodes]) -> Level:
    return Level(np.array([len(each.positions) for each in won], dtype=np.int32))


def _entries(level: ActiveLevel, won: WonNodes) -> NDArray[np.uint16]:
    """For every row which of the splits it stands before, from 1 on; 0 for none."""
    nodes = level.trees[won.index]
    leaves = nodes.partition.leaves()
    own = nodes.nodes[won.positions]
    entry = np.zeros(max(int(leaves.max(initial=0)), int(own.max())) + 1, dtype=np.uint16)
    entry[own] = np.arange(1, len(own) + 1, dtype=np.uint16)
    return entry[leaves]


def _parts(level: Level, n_rows: int, stocked: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first row, rows) of each question: as many as one batch of transfers serves, in whole bytes.

    `stocked`: transfers that were made ahead, batch by batch, which are used first.
    """
    first, ahead = 0, list(stocked)
    while first < n_rows:
        most = (ahead.pop(0) if ahead else max(8 * level.transfers, MAX_BATCH)) // level.transfers // 8 * 8
        count = min(most, n_rows - first)
        if count > 0:
            yield first, count
        first += count
