"""The slot plan: which integers share a plaintext, where in it, and how many sums one returned plaintext holds.

A row has K pairs (g, h), that is 2K *channels*: channel 2k is g and 2k + 1 is h of output k. A *lane* is one ciphertext
per row; it carries some of the channels, each in a slot of its own:

    z = sum over slots of value << offset           (ERRATA section 3, "Exact slots")

A slot is as wide as the sum over all n training rows, so that no sum of rows can leave it, whatever the bucket. Sums of
rows are sums of plaintexts, and several sums, each shifted by a multiple of the lane's width, fit into one plaintext
again. *Capacity* is the number of bits b such that a key encrypts every integer from -2**(b - 1) to 2**(b - 1) - 1.
Everything is laid out before anything is encrypted; what does not fit is a CapacityError then, and never an overflow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto.ints import width_for_bits
from vfxgb.errors import CapacityError


@dataclass(frozen=True)
class PairWidths:
    """Bits of the slots of a pair. h is never negative. `spare`: bits to keep free above the top slot of a plaintext.

    Only codes whose sums can leave their slots need spare bits: the overflow is then found instead of wrapping round.
    """

    g_bits: int
    h_bits: int
    g_signed: bool = True
    spare: int = 0

    @property
    def pair_bits(self) -> int:
        """Bits of a pair."""
        return self.g_bits + self.h_bits


@dataclass(frozen=True)
class Lane:
    """One ciphertext per row: its channels from the lowest slot up, the bits of each slot, which of them are signed.

    `sums`: how many sums a returned plaintext holds. `spare`: see PairWidths.
    """

    channels: tuple[int, ...]
    bits: tuple[int, ...]
    signed: tuple[bool, ...]
    sums: int = 1
    spare: int = 0

    @property
    def width(self) -> int:
        """Bits of one sum: what the next one in a returned plaintext is shifted by."""
        return sum(self.bits)

    @property
    def n_pairs(self) -> int:
        """Outputs of which a sum shows something."""
        return len({channel // 2 for channel in self.channels})

    @property
    def overhead(self) -> int:
        """Bits a plaintext needs beyond its slots: a sign, unless the top slot has its own, and the spare ones."""
        return self.spare + (0 if self.signed[-1] else 1)

    @cached_property
    def offsets(self) -> NDArray[np.int32]:
        """Each slot begins at its offset in bits."""
        return np.cumsum([0, *self.bits[:-1]]).astype(np.int32)

    @property
    def plaintext_bytes(self) -> int:
        """Bytes of one row's plaintext as `encode` writes it."""
        return width_for_bits(self.width + self.overhead)

    def returned(self, count: int) -> int:
        """How many ciphertexts `count` sums come back in."""
        return -(-count // self.sums)

    def encode(self, outputs: Sequence[NDArray[np.int64]], rows: slice | NDArray[np.int32], threads: int = 1) -> bytes:
        """The plaintexts of some rows: plaintext_bytes each, two's complement. outputs[k]: int64[n, 2] of output k."""
        columns = [outputs[channel // 2][rows, channel % 2] for channel in self.channels]
        return _native.codec.encode_slots(np.stack(columns, axis=1), self.offsets, self.plaintext_bytes, threads)

    def decode(
        self, data: bytes, width: int, count: int, threads: int = 1, sums: int | None = None
    ) -> NDArray[np.int64]:
        """`count` sums out of returned plaintexts of `width` bytes each: int64[count, channels].

        `sums` instead of the lane's own number per plaintext: 1 for plaintexts that were never packed. Raises
        CapacityError when a plaintext holds more than its slots: no party that follows the protocol makes one, unless
        the code lets sums overflow.
        """
        per = self.sums if sums is None else sums
        bits = np.tile(np.array(self.bits, dtype=np.int32), per)
        signed = np.tile(np.array(self.signed, dtype=np.bool_), per)
        try:
            slots = _native.codec.decode_slots(data, width, bits, signed, threads)
        except ValueError as error:
            raise CapacityError(f"decoding sums: {error}; a sum has left its slot") from None
        return slots.reshape(-1, len(self.channels))[:count]


@dataclass(frozen=True)
class SlotPlan:
    """The lanes of a row and the capacity they were planned for."""

    lanes: tuple[Lane, ...]
    capacity: int

    def lanes_of(self, output: int) -> tuple[int, ...]:
        """The lanes that carry the pair of an output."""
        return tuple(
            number for number, lane in enumerate(self.lanes) if any(channel // 2 == output for channel in lane.channels)
        )

    def pairs_shown(self, output: int) -> int:
        """Outputs whose sums come along with those of `output`, itself included."""
        return max(self.lanes[number].n_pairs for number in self.lanes_of(output))


def plan_slots(
    widths: PairWidths, n_outputs: int, capacity: int, together: bool, pack: bool = True, most_pairs: int | None = None
) -> SlotPlan:
    """The plan for `n_outputs` pairs a row under a key of `capacity` bits.

    Where `together`, a lane holds as many pairs as fit, or `most_pairs` if that is less, spread evenly; otherwise every
    channel has its own lane. Where `pack`, a returned plaintext holds as many sums as fit; otherwise one. Raises
    CapacityError when even one slot, or pair, does not fit.
    """
    lanes = [_lane(widths, channels) for channels in _shared(widths, n_outputs, capacity, together, most_pairs)]
    for lane in lanes:
        if lane.width + lane.overhead > capacity:
            what = "a pair of gradients" if together else "a gradient"
            raise CapacityError(
                f"planning slots: {what} summed over all rows needs {lane.width} bits and {lane.overhead} to spare, "
                f"a plaintext of the key has {capacity}; use a larger key, or fewer precision_bits"
            )
    if pack:
        lanes = [replace(lane, sums=(capacity - lane.overhead) // lane.width) for lane in lanes]
    return SlotPlan(tuple(lanes), capacity)


def _shared(
    widths: PairWidths, n_outputs: int, capacity: int, together: bool, most_pairs: int | None
) -> list[tuple[int, ...]]:
    """The channels of each lane, from the lowest slot up. A pair has g above h, so that the top slot has the sign."""
    if not together:
        return [(channel,) for channel in range(2 * n_outputs)]
    room = capacity - widths.spare - (0 if widths.g_signed else 1)
    fit = max(1, room // widths.pair_bits)
    if most_pairs is not None:
        fit = min(fit, most_pairs)
    parts = np.array_split(np.arange(n_outputs), -(-n_outputs // fit))
    return [tuple(channel for output in part.tolist() for channel in (2 * output + 1, 2 * output)) for part in parts]


def _lane(widths: PairWidths, channels: tuple[int, ...]) -> Lane:
    bits = tuple(widths.h_bits if channel % 2 else widths.g_bits for channel in channels)
    signed = tuple(widths.g_signed and channel % 2 == 0 for channel in channels)
    return Lane(channels, bits, signed, spare=widths.spare)
