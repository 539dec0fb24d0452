"""Hidden routing in Python's integers, as cpp/routing/hidden_bits.h defines it: one row, one group and one bit at a
time. Nothing here is fast.
"""

from functools import reduce
from operator import xor

import numpy as np
from numpy.typing import NDArray

import transfer_twin as twin

Bits = NDArray[np.uint8]


def packed(lines: Bits) -> bytes:
    """Lines of 0 and 1, uint8[lines, rows], as they travel."""
    return np.packbits(lines, axis=1, bitorder="little").tobytes()


def unpacked(data: bytes, rows: int) -> Bits:
    """The lines again, uint8[lines, rows]."""
    width = (rows + 7) // 8
    return np.unpackbits(np.frombuffer(data, np.uint8).reshape(-1, width), axis=1, bitorder="little", count=rows)


class RoutingTwin:
    """One question over a batch of transfers: q, t are uint8[n, 16], random uint8[n], wanted uint16[groups, rows]."""

    def __init__(
        self, keys: twin.Keys, first: int, entries: list[int], planes: int, wanted: NDArray[np.uint16], random: Bits
    ) -> None:
        self.keys, self.first, self.entries, self.planes = keys, first, entries, planes
        self.wanted, self.random = wanted, random
        self.rows = wanted.shape[1]
        self.starts = np.cumsum([0, *(count.bit_length() for count in entries)])

    def transfer(self, group: int, j: int, row: int) -> int:
        """The number of a transfer among those of the question."""
        return int(self.starts[group] + j) * self.rows + row

    def corrections(self) -> bytes:
        lines = [
            [
                int(self.random[self.transfer(group, j, row)]) ^ (int(self.wanted[group, row]) >> j & 1)
                for row in range(self.rows)
            ]
            for group, count in enumerate(self.entries)
            for j in range(count.bit_length())
        ]
        return packed(np.array(lines, dtype=np.uint8))

    def mask(self, rows: list[int], group: int, row: int, entry: int, plane: int) -> int:
        """The sum of one place of the strings of these rows of transfers."""
        place = (plane << self.entries[group].bit_length()) + entry
        parts = [
            self.keys.key(value, self.first + self.transfer(group, j, row), place // 128)
            for j, value in enumerate(rows)
        ]
        return reduce(xor, parts) >> place % 128 & 1

    def receiver_masks(self, t: Bits) -> bytes:
        lines = [
            [
                self.mask(
                    [twin.number(bytes(t[self.transfer(group, j, row)])) for j in range(count.bit_length())],
                    group,
                    row,
                    int(self.wanted[group, row]),
                    plane,
                )
                for row in range(self.rows)
            ]
            for group, count in enumerate(self.entries)
            for plane in range(self.planes)
        ]
        return packed(np.array(lines, dtype=np.uint8))

    def sent(self, q: Bits, delta: bytes, bits: Bits) -> bytes:
        """The masked bits; bits uint8[lines, rows]."""
        flips = unpacked(self.corrections(), self.rows)
        lines = []
        for group, count in enumerate(self.entries):
            for plane in range(self.planes):
                for entry in range(1, count + 1):
                    line = []
                    for row in range(self.rows):
                        rows = []
                        for j in range(count.bit_length()):
                            value = twin.number(bytes(q[self.transfer(group, j, row)]))
                            named = (entry >> j & 1) ^ int(flips[self.starts[group] + j, row])
                            rows.append(value ^ (twin.number(delta) if named else 0))
                        line.append(self.mask(rows, group, row, entry, plane) ^ int(bits[len(lines), row]))
                    lines.append(line)
        return packed(np.array(lines, dtype=np.uint8))
