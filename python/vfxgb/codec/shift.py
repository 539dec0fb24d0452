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

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.padded import PaddedSlots
from vfxgb.errors import CapacityError


@dataclass(frozen=True)
class ShiftCode(PaddedSlots):
    """Sums go over up to `rows` rows. `s` is the shift; `alpha`, `alpha_max`, `r` and `padding` are explained above.

    `s_h`: the shift of hessians, None for that of gradients. The paper has one for each entry, and takes the same.
    """

    s: float = -10.0
    s_h: float | None = None

    counts = True

    @property
    def shifts(self) -> tuple[float, float]:
        """Those of gradients and of hessians."""
        return self.s, self.s if self.s_h is None else self.s_h

    def encode(self, pairs: NDArray[np.int64], step: float) -> NDArray[np.int64]:
        """Quantised values in [0, 2**r)."""
        values: NDArray[np.float64] = pairs.astype(np.float64) * step
        quantised = [
            _native.codec.quantise_shifted(
                np.ascontiguousarray(values[..., which]), shift, self.alpha, self.alpha_max, self.r
            )
            for which, shift in enumerate(self.shifts)
        ]
        return np.stack(quantised, axis=-1)

    def decode(self, sums: NDArray[np.int64], counts: NDArray[np.int64] | None, step: float) -> NDArray[np.int64]:
        """Sums in fixed point, rounded. Raises CapacityError when padding reads all ones, as the paper wants it."""
        assert counts is not None  # noqa: S101 - `counts` says that they are needed
        self.check_padding(sums)
        values: NDArray[np.float64] = sums * self.resolution + counts[..., None] * np.array(self.shifts)
        return np.rint(values / step).astype(np.int64)


def choose_alpha_max(
    rows: int, alpha: float, r: int = 30, padding: int = 2, condition: Literal["14", "15"] = "14"
) -> float:
    """The least alpha_max, so the finest step, for which a condition of the paper on sums of `rows` rows holds.

        (14)  n ((2**r - 1) alpha / alpha_max + 1/2) < (2**padding - 1) 2**r
        (15)  n alpha < alpha_max

    By (14), with the corrected quantisation (E23), no sum can set all padding bits, so that none is refused. (15) is
    what the paper proposes because it is simple: it keeps the padding bits at zero, but for what rounding adds (n/2
    steps at most), and needs steps 2**padding - 1 times as large. Raises CapacityError if no alpha_max satisfies (14).
    """
    if condition == "15":
        return math.nextafter(max(rows * alpha, alpha), math.inf)
    largest, bound = (1 << r) - 1, ((1 << padding) - 1) << r
    room = bound - rows / 2
    if room <= 0:
        raise CapacityError(
            f"choosing alpha_max: rounding alone adds up to {rows / 2:g} over {rows} rows, and r={r} with "
            f"padding={padding} leaves {bound}; raise r or padding"
        )
    least = max(alpha, rows * alpha * largest / room)
    # The condition is strict, and division rounds.
    while not rows * (largest * alpha / least + 0.5) < bound:
        least = math.nextafter(least, math.inf)
    return least
