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
    # First row -> a question whose answer comes later: several are on their way at once.
    asked: dict[int, HiddenRoute] = {}
    for message in view.tagged(peer, BeginHiddenRound.TAG, HiddenRoute.TAG, HiddenRouted.TAG):
        if isinstance(message, HiddenRouted):
            question = asked.pop(message.first)
            parts.append((_lines(question.corrections, question.count), _lines(message.sent, question.count)))
            continue
        if parts and not (isinstance(message, HiddenRoute) and message.first):
            yield round_index, depth, *_joined(parts)
            parts = []
        if isinstance(message, BeginHiddenRound):
            round_index = message.round
        else:
            asked[message.first], depth = message, message.depth
    if parts:
        yield round_index, depth, *_joined(parts)


def _joined(parts: list[tuple[Lines, Lines]]) -> tuple[Lines, Lines]:
    corrections, bits = zip(*parts, strict=True)
    return np.concatenate(corrections, axis=1), np.concatenate(bits, axis=1)


def _lines(data: memoryview, rows: int) -> Lines:
    packed = np.frombuffer(data, dtype=np.uint8).reshape(-1, -(-rows // 8))
    bits: Lines = np.unpackbits(packed, axis=1, count=rows, bitorder="little").astype(np.bool_)
    return bits
