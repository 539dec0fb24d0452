"""The code of the Batch HE paper: shift, truncate, quantise, pad. Not exact; here to reproduce the paper.

    u = v - s                     shifted, so that nothing is negative
    u = min(max(u, 0), alpha)     truncated
    q = rint((2**r - 1) u / alpha_max)
    slot: q with `padding` zero bits above it

and back, for a sum z over n rows: z alpha_max / (2**r - 1) + n s. With the corrections of ERRATA 1.2: clipping below,
too (E22); 2**r - 1 instead of 2**r, which needs one bit more than r (E23); n is the number of rows in the sum (E27),
which the party that made the sum has to send along in clear.

The paper calls a sum overflown when all padding bits are set ('11'). That is neither necessary nor sufficient (E25): a
larger sum wraps round and spoils the slot above it. Whoever encodes therefore checks the sum over all rows first,
with `check_total`; no sum over some of them can be larger.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.padded import PaddedSlots


@dataclass(frozen=True)
class ShiftCode(PaddedSlots):
    """Sums go over up to `rows` rows. `s` is the shift; `alpha`, `alpha_max`, `r` and `padding` are explained above."""

    s: float = -10.0

    counts = True

    def encode(self, pairs: NDArray[np.int64], step: float) -> NDArray[np.int64]:
        """Quantised values in [0, 2**r)."""
        values: NDArray[np.float64] = pairs.astype(np.float64) * step
        return _native.codec.quantise_shifted(values, self.s, self.alpha, self.alpha_max, self.r)

    def decode(self, sums: NDArray[np.int64], counts: NDArray[np.int64] | None, step: float) -> NDArray[np.int64]:
        """Sums in fixed point, rounded. Raises CapacityError when padding reads all ones, as the paper wants it."""
        assert counts is not None  # noqa: S101 - `counts` says that they are needed
        self.check_padding(sums)
        values = sums * self.resolution + counts[..., None] * self.s
        return np.rint(values / step).astype(np.int64)
