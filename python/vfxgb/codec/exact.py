"""The exact code: slots hold the fixed-point integers themselves (ERRATA section 3, "Exact slots").

With |g| <= 2**f, 0 <= h <= 2**(f - s) and n rows

    w_g = bitlen(n 2**f) + 1   (signed),      w_h = bitlen(n 2**(f - s))   (h >= 0)

bits hold any sum; s is known from the loss alone (Objective.hessian_shift). No shift and no count of rows is needed,
and decoding returns the very integers that plain sums give.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.codec.plan import PairWidths
from vfxgb.errors import CapacityError


@dataclass(frozen=True)
class ExactCode:
    """Sums go over up to `rows` rows with |g| up to 2**fraction_bits, and h up to that without `hessian_shift` bits."""

    rows: int
    fraction_bits: int
    hessian_shift: int = 0

    counts = False

    @property
    def widths(self) -> PairWidths:
        """See PairCode."""
        return PairWidths(
            g_bits=(self.rows << self.fraction_bits).bit_length() + 1,
            h_bits=(self.rows * self.largest_hessian).bit_length(),
        )

    @property
    def largest_hessian(self) -> int:
        """The largest h of a row, as an integer: at least 1, as rounding may go up."""
        return 1 << max(0, self.fraction_bits - self.hessian_shift)

    def encode(self, pairs: NDArray[np.int64], step: float) -> NDArray[np.int64]:  # noqa: ARG002 - see PairCode
        """The pairs, unchanged. Raises CapacityError for more rows or larger values than planned, or a negative h."""
        if len(pairs) > self.rows:
            raise CapacityError(
                f"encoding gradients: found {len(pairs)} rows, wanted at most the {self.rows} the slots are for"
            )
        least, most = int(pairs.min(initial=0)), int(pairs.max(initial=0))
        hessians = pairs[:, 1]
        if (
            max(-least, most) > 1 << self.fraction_bits
            or int(hessians.min(initial=0)) < 0
            or int(hessians.max(initial=0)) > self.largest_hessian
        ):
            raise CapacityError(
                f"encoding gradients: found integers from {least.bit_length()}-bit negative to {most.bit_length()}-bit "
                f"positive ones, wanted magnitudes up to 2**{self.fraction_bits}, and hessians from 0 to "
                f"{self.largest_hessian}"
            )
        return pairs

    def check_total(self, total: NDArray[np.int64]) -> None:
        """Nothing to check: the slots hold any sum of encoded rows."""

    def decode(
        self,
        sums: NDArray[np.int64],
        counts: NDArray[np.int64] | None,  # noqa: ARG002 - see PairCode
        step: float,  # noqa: ARG002
    ) -> NDArray[np.int64]:
        """The sums, unchanged."""
        return sums
