"""Comparing ids as points, for two parties with few ids (points.py): the active party learns which it has in common.

active   -> a h(x), in blocks                       passive  -> b h(y), shuffled
active   -> a b h(y), shuffled again                passive     how many of b a h(x) are among them; too few: it stops
                                                    passive  -> b a h(x)
active      which of b a h(x) are among a b h(y)

The passive party thus learns how many ids are common, and not which, before the active party learns anything.
"""

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.align.blocks import Progress, blocks, check_first
from vfxgb.align.ids import Ids
from vfxgb.align.messages import BlindedIds, TwiceBlindedIds
from vfxgb.align.params import BLOCK_IDS
from vfxgb.align.points import POINT_BYTES, Blinder
from vfxgb.errors import MessageError
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, unpack_array

Points = NDArray[np.uint8]
_Kind = type[BlindedIds] | type[TwiceBlindedIds]


def compare_active(
    digests: NDArray[np.uint8], n_passive: int, channel: Channel, progress: Progress | None
) -> NDArray[np.bool_]:
    """Which of the ids uint8[n, 16] the peer, who has `n_passive`, has too."""
    step = f"{channel.own} comparing ids with {channel.peer}"
    blinder = Blinder()
    own = np.empty((len(digests), POINT_BYTES), dtype=np.uint8)
    for block in blocks(len(digests), BLOCK_IDS):
        own[block] = blinder.blind_ids(digests[block])
        if progress is not None:
            progress(f"comparing ids with {channel.peer}", block.stop, len(digests))
    _send(channel, BlindedIds, own)
    theirs = blinder.blind_points(_receive(channel, BlindedIds, n_passive, step), step)
    _send(channel, TwiceBlindedIds, _shuffled(theirs))
    mine = _receive(channel, TwiceBlindedIds, len(digests), step)
    known = {point.tobytes() for point in theirs}
    return np.array([point.tobytes() in known for point in mine], dtype=np.bool_)


def compare_passive(ids: Ids, n_active: int, channel: Channel, enough: Callable[[int], None] | None) -> None:
    """Let the peer, who has `n_active` ids, learn which it has in common with `ids`, if `enough` does not raise."""
    step = f"{channel.own} comparing ids with {channel.peer}"
    blinder = Blinder()
    theirs = _receive(channel, BlindedIds, n_active, step)
    twice = blinder.blind_points(theirs, step)
    if len({point.tobytes() for point in theirs}) != n_active:
        raise MessageError(f"{step}: found a point twice, wanted each id once")
    _send(channel, BlindedIds, blinder.blind_ids(_shuffled(ids.digests)))
    mine = {point.tobytes() for point in _receive(channel, TwiceBlindedIds, len(ids), step)}
    if enough is not None:
        enough(sum(point.tobytes() in mine for point in twice))
    _send(channel, TwiceBlindedIds, twice)


def _shuffled(rows: NDArray[Any]) -> NDArray[Any]:
    order = list(range(len(rows)))
    secrets.SystemRandom().shuffle(order)
    return np.ascontiguousarray(rows[order])


def _send(channel: Channel, kind: _Kind, points: Points) -> None:
    for block in blocks(len(points), BLOCK_IDS):
        channel.send(kind(first=block.start, points=pack_array(points[block])))


def _receive(channel: Channel, kind: _Kind, count: int, step: str) -> Points:
    """So many points, which arrive in blocks: room is made for those that did."""
    parts = []
    for block in blocks(count, BLOCK_IDS):
        message = channel.recv(kind)
        check_first(message.first, block.start, step)
        parts.append(unpack_array(message.points, np.uint8, (block.stop - block.start, POINT_BYTES), step))
    return np.concatenate(parts)
