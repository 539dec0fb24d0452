"""Exact fixed point and the packing of a gradient pair into one plaintext (ERRATA section 3, "Exact slots").

With f = min(40, 52 - ceil(log2 n)) fractional bits, every sum of n rounded values fits 53 bits. The pair (g, h) is
z = g_int 2**w_h + h_int with h >= 0: sums of z are sums of both, and both come back exactly.
"""

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import CapacityError

MAX_FRACTION_BITS = 40
EXACT_BITS = 52


@dataclass(frozen=True)
class SlotPlan:
    """Widths in bits for sums over up to `rows` rows: `g_bits` includes the sign, h is non-negative."""

    rows: int
    fraction_bits: int
    g_bits: int
    h_bits: int

    @staticmethod
    def for_logistic(rows: int, max_plaintext: int) -> "SlotPlan":
        """The plan for logistic loss, |g| <= 1 and 0 <= h <= 1/4.

        Raises CapacityError when a packed sum may exceed `max_plaintext`, the bound of the key.
        """
        fraction_bits = min(MAX_FRACTION_BITS, EXACT_BITS - ceil(log2(rows)))
        if fraction_bits < 2:
            raise CapacityError(f"planning slots: {rows} rows leave no fractional bits, wanted at most 2**50 rows")
        g_bits = (rows << fraction_bits).bit_length() + 1
        h_bits = (rows << (fraction_bits - 2)).bit_length()
        if g_bits + h_bits > max_plaintext.bit_length():
            raise CapacityError(
                f"planning slots: {rows} rows need {g_bits + h_bits} bits per plaintext, the key holds "
                f"{max_plaintext.bit_length()}; use a larger key"
            )
        return SlotPlan(rows, fraction_bits, g_bits, h_bits)

    def quantise(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Round real values once to fixed point: rint(v * 2**fraction_bits)."""
        return np.rint(values * 2.0**self.fraction_bits).astype(np.int64)

    def pack(self, g: NDArray[np.int64], h: NDArray[np.int64]) -> list[int]:
        """One plaintext per pair."""
        return [(a << self.h_bits) + b for a, b in zip(g.tolist(), h.tolist(), strict=True)]

    def unpack(self, packed: int) -> tuple[int, int]:
        """The two sums inside a sum of plaintexts."""
        h = packed & ((1 << self.h_bits) - 1)
        return (packed - h) >> self.h_bits, h
