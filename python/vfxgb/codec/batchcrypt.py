"""BatchCrypt's code (Zhang et al., USENIX ATC 2020): two's complement with two sign bits. It fails on purpose here.

A value is clipped to [-alpha, alpha] and quantised to r - 2 bits and a sign; the slot holds it modulo 2**r, so a
negative value begins with two sign bits '11', and has `padding` zero bits above them. Every further negative number in
a sum carries into the padding: with four of them it reads '11' though the sum itself is small, and the fifth carries
into the next slot and leaves padding that reads '00' (Batch HE, section II-B; ERRATA E24, E25). Boosting adds
thousands of gradients, about half of them negative. Kept to show that, in tests and benchmarks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.codec.padded import PaddedSlots


@dataclass(frozen=True)
class BatchCryptCode(PaddedSlots):
    """Sums go over up to `rows` rows. `alpha`, `alpha_max`, `r` and `padding` are explained above."""

    sign_bits = 2

    def encode(self, pairs: NDArray[np.int64], step: float) -> NDArray[np.int64]:
        """Quantised values modulo 2**r."""
        values = np.clip(pairs * step, -self.alpha, self.alpha)
        quantised: NDArray[np.int64] = np.rint(values / self.resolution).astype(np.int64)
        return np.bitwise_and(quantised, (1 << self.r) - 1)

    def check_total(self, total: NDArray[np.int64]) -> None:
        """Checks nothing: the overflow is what this code is kept to show."""

    def decode(
        self,
        sums: NDArray[np.int64],
        counts: NDArray[np.int64] | None,  # noqa: ARG002 - see PairCode
        step: float,
    ) -> NDArray[np.int64]:
        """The low r bits as two's complement. Raises CapacityError where padding reads all ones, and only there."""
        self.check_padding(sums)
        low = sums & ((1 << self.r) - 1)
        signed = np.where(low >> (self.r - 1) == 1, low - (1 << self.r), low)
        return np.rint(signed * (self.resolution / step)).astype(np.int64)
