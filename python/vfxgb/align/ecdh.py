"""Comparing ids as points, for two parties with few ids (points.py): the active party learns which it has in common.

active   -> a h(x), in blocks                       passive  -> b a h(x), block by block; then b h(y), shuffled
active      a b h(y), and which of b a h(x) are among them
"""

import secrets

import numpy as np
from numpy.typing import NDArray

from vfxgb.align.blocks import Progress, blocks, check_first
from vfxgb.align.ids import Ids
from vfxgb.align.messages import BlindedIds, TwiceBlindedIds
from vfxgb.align.params import BLOCK_IDS
from vfxgb.align.points import POINT_BYTES, Blinder
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, unpack_array


def compare_active(
    digests: NDArray[np.uint8], n_passive: int, channel: Channel, progress: Progress | None
) -> NDArray[np.bool_]:
    """Which of the ids uint8[n, 16] the peer, who has `n_passive`, has too."""
    step = f"{channel.own} comparing ids with {channel.peer}"
    blinder = Blinder()
    own = np.empty((len(digests), POINT_BYTES), dtype=np.uint8)
    for block in blocks(len(digests), BLOCK_IDS):
        channel.send(BlindedIds(first=block.start, points=pack_array(blinder.blind_ids(digests[block]))))
        # Before the next block: two parties that only send may both wait for room.
        own[block] = _receive(channel, TwiceBlindedIds, block.start, block.stop, step)
        if progress is not None:
            progress(f"comparing ids with {channel.peer}", block.stop, len(digests))
    theirs = blinder.blind_points(_receive(channel, BlindedIds, 0, n_passive, step), step)
    known = {point.tobytes() for point in theirs}
    return np.array([point.tobytes() in known for point in own], dtype=np.bool_)


def compare_passive(ids: Ids, n_active: int, channel: Channel) -> None:
    """Let the peer, who has `n_active` ids, learn which it has in common with `ids`."""
    step = f"{channel.own} comparing ids with {channel.peer}"
    blinder = Blinder()
    for block in blocks(n_active, BLOCK_IDS):
        points = _receive(channel, BlindedIds, block.start, block.stop, step)
        channel.send(TwiceBlindedIds(first=block.start, points=pack_array(blinder.blind_points(points, step))))
    order = list(range(len(ids)))
    secrets.SystemRandom().shuffle(order)
    digests = ids.digests[order]
    for block in blocks(len(ids), BLOCK_IDS):
        channel.send(BlindedIds(first=block.start, points=pack_array(blinder.blind_ids(digests[block]))))


def _receive(
    channel: Channel, kind: type[BlindedIds] | type[TwiceBlindedIds], begin: int, end: int, step: str
) -> NDArray[np.uint8]:
    """Points begin .. end of those that arrive in blocks."""
    points = np.empty((end - begin, POINT_BYTES), dtype=np.uint8)
    for block in blocks(end - begin, BLOCK_IDS):
        message = channel.recv(kind)
        check_first(message.first, begin + block.start, step)
        points[block] = unpack_array(message.points, np.uint8, (block.stop - block.start, POINT_BYTES), step)
    return points
