"""Lines of bits in the messages of hidden routing, as they were sent (cpp/routing/hidden_bits.h has their order)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.view import AttackerView
from vfxgb.contract.messages import BeginHiddenRound
from vfxgb.routing.messages import HiddenRoute, HiddenRouted

Lines = NDArray[np.bool_]


def routed_lines(view: AttackerView, peer: str) -> Iterator[tuple[int, int, Lines, Lines]]:
    """For each level with splits that won: round, depth, corrections and masked bits, bool[lines, rows] each.

    A level of several trees has the lines of all of them, tree by tree. Parts of the rows are joined.
    """
    round_index, depth = -1, -1
    parts: list[tuple[Lines, Lines]] = []
    asked: HiddenRoute | None = None
    for message in view.tagged(peer, BeginHiddenRound.TAG, HiddenRoute.TAG, HiddenRouted.TAG):
        if isinstance(message, HiddenRouted) and asked is not None:
            parts.append((_lines(asked.corrections, asked.count), _lines(message.sent, asked.count)))
            continue
        if parts and not (isinstance(message, HiddenRoute) and message.first):
            yield round_index, depth, *(np.concatenate(lines, axis=1) for lines in zip(*parts, strict=True))
            parts = []
        if isinstance(message, BeginHiddenRound):
            round_index = message.round
        else:
            asked, depth = message, message.depth
    if parts:
        yield round_index, depth, *(np.concatenate(lines, axis=1) for lines in zip(*parts, strict=True))


def _lines(data: memoryview, rows: int) -> Lines:
    packed = np.frombuffer(data, dtype=np.uint8).reshape(-1, -(-rows // 8))
    bits: Lines = np.unpackbits(packed, axis=1, count=rows, bitorder="little").astype(np.bool_)
    return bits
