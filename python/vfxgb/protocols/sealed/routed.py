"""Hidden routing of all rows at the splits that have won a level: both parties' sides."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, PassiveContext, WonNodes
from vfxgb.protocols.receive import receive
from vfxgb.routing import Level, Question, RoutingReceiver, RoutingSender
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
    routed = Level(np.array([len(each.positions) for each in won], dtype=np.int32))
    wanted = np.stack([entries_of(level, each) for each in won])
    taken = []
    with context.timings.phase("route"):
        for first, count in _parts(routed, wanted.shape[1]):
            own = np.ascontiguousarray(wanted[:, first : first + count])
            question, asked = routing.ask(routed, own)
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
            where = {"depth": level.depth, "first": first, "count": count, "n_groups": len(won)}
            answer = receive(context, channel, HiddenRouted, f"routing by {channel.peer}", **where)
            taken.append(np.packbits(asked.read(answer.sent)[:, 0], axis=1, bitorder="little"))
    return list(np.concatenate(taken, axis=1))


def tell_bits(
    context: PassiveContext, routing: RoutingSender, depth: int, groups: Sequence[NDArray[np.uint8]], n_rows: int
) -> None:
    """Answer for all rows; `groups` are the packed lines of the splits, tree by tree.

    Raises MessageError, TransferError for questions that are not about these splits and all rows.
    """
    routed = Level(np.array([len(lines) for lines in groups], dtype=np.int32))
    lines = np.concatenate(groups)
    for first, count in _parts(routed, n_rows):
        what, where = f"{context.party} routing rows", {"depth": depth, "first": first, "count": count}
        route = receive(context, context.channel, HiddenRoute, what, **where)
        question = Question(route.batch, route.n_transfers, route.transfers, route.corrections)
        part = np.ascontiguousarray(lines[:, first // 8 : -(-(first + count) // 8)])
        with context.timings.phase("route"):
            sent = routing.answer(routed, count, question, part)
        context.channel.send(HiddenRouted(depth, first, count, len(groups), pack_bytes(sent)))


def entries_of(level: ActiveLevel, won: WonNodes) -> NDArray[np.uint16]:
    """For every row which of the splits it stands before, from 1 on; 0 for none."""
    nodes = level.trees[won.index]
    leaves = nodes.partition.leaves()
    own = nodes.nodes[won.positions]
    entry = np.zeros(max(int(leaves.max(initial=0)), int(own.max())) + 1, dtype=np.uint16)
    entry[own] = np.arange(1, len(own) + 1, dtype=np.uint16)
    return entry[leaves]


def _parts(level: Level, n_rows: int) -> Iterator[tuple[int, int]]:
    """(first row, rows) of each question: as many as one batch of transfers serves, in whole bytes."""
    most = max(8, MAX_BATCH // level.transfers // 8 * 8)
    for first in range(0, n_rows, most):
        yield first, min(most, n_rows - first)
