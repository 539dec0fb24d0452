"""Padded slots: what the codes that quantise to r bits and leave `padding` bits above have in common (Batch HE)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.codec.plan import PairWidths
from vfxgb.errors import CapacityError


@dataclass(frozen=True)
class PaddedSlots:
    """Sums go over up to `rows` rows. Values are cut off at `alpha`; `alpha_max` is what r bits can hold.

    A code says in `counts` whether it needs the number of rows in a sum, and in `sign_bits` how many of the r bits are
    signs.
    """

    rows: int
    alpha: float = 20.0
    alpha_max: float = 1e6
    r: int = 30
    padding: int = 2

    counts = False
    sign_bits = 0

    @property
    def widths(self) -> PairWidths:
        """Two unsigned slots of r + padding bits, and room above for what all rows can overflow by."""
        bits = self.r + self.padding
        return PairWidths(g_bits=bits, h_bits=bits, g_signed=False, spare=self.rows.bit_length())

    @property
    def resolution(self) -> float:
        """The value of the integer 1 in a slot."""
        return float(self.alpha_max / (2 ** (self.r - self.sign_bits) - 1))

    def check_total(self, total: NDArray[np.int64]) -> None:
        """Raise CapacityError if a sum leaves [0, 2**(r + padding)). This finds the overflows that padding hides."""
        bits, largest = self.r + self.padding, int(total.max(initial=0))
        if largest >= 1 << bits:
            raise CapacityError(
                f"encoding gradients: the sum over all rows needs {largest.bit_length()} bits, a slot of r={self.r} "
                f"and padding={self.padding} has {bits}; raise padding or alpha_max, or use encoding='exact'"
            )

    def check_padding(self, sums: NDArray[np.int64]) -> None:
        """Raise CapacityError if all padding bits of a sum are set: equation (12) of the Batch HE paper."""
        marked = int((sums >> self.r == (1 << self.padding) - 1).sum())
        if marked:
            raise CapacityError(
                f"decoding sums: the overflow bits of {marked} of {sums.size} sums read {'1' * self.padding}, so they "
                f"may have left their slots of r={self.r} and padding={self.padding}; raise padding or alpha_max, or "
                "use encoding='exact'"
            )
