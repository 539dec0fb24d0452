"""Fixed-point gradients: the one rounding after which every sum is exact.

Notation: n training rows, S the gradient scale (a power of two with |g|, |h| <= S in this round), f fractional bits.
An encoded value is rint(v * 2**f / S), so |encoded| <= 2**f. With f = min(40, 52 - ceil(log2 n)) a sum over any
rows is at most n * 2**f <= 2**52 in magnitude: it fits int64, converts to float64 exactly, and does not depend on the
order of addition. Every exact protocol returns these very integers.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import CapacityError, GradientError

MAX_FRACTION_BITS = 40
SUM_BITS = 52


def fraction_bits(n_train: int, most_bits: int | None = None) -> int:
    """f = min(40, 52 - ceil(log2 n)), or `most_bits` if that is less, for n >= 1 training rows.

    Raises CapacityError beyond 2**40 rows.
    """
    if not 1 <= n_train <= 2**MAX_FRACTION_BITS:
        raise CapacityError(
            f"choosing fixed point: found {n_train} training rows, wanted 1 to 2**{MAX_FRACTION_BITS}; "
            "train on fewer rows"
        )
    exact = min(MAX_FRACTION_BITS, SUM_BITS - (n_train - 1).bit_length())
    return exact if most_bits is None else min(exact, most_bits)


def power_of_two_above(value: float) -> float:
    """The least power of two that is at least `value`; 1 for 0.

    Raises GradientError if `value` is negative, not finite, or so extreme that fixed point would leave float64.
    """
    if value == 0.0:
        return 1.0
    if not (math.isfinite(value) and value > 0.0):
        raise GradientError(
            f"scaling gradients: the largest magnitude is {value}, wanted a finite number; "
            "check the labels, weights and objective"
        )
    mantissa, exponent = math.frexp(value)
    exponent -= mantissa == 0.5
    if not -900 <= exponent <= 900:
        raise GradientError(
            f"scaling gradients: the largest magnitude is {value:g}, wanted one between 2**-900 and "
            "2**900; rescale the labels"
        )
    return math.ldexp(1.0, exponent)


@dataclass(frozen=True)
class FixedPoint:
    """An encoding with `bits` fractional bits of the scale `scale`, a power of two."""

    bits: int
    scale: float

    @classmethod
    def for_rows(cls, n_train: int, scale: float, most_bits: int | None = None) -> "FixedPoint":
        """The encoding for sums over up to `n_train` rows of values up to `scale`, with at most `most_bits` bits."""
        return cls(fraction_bits(n_train, most_bits), scale)

    @property
    def step(self) -> float:
        """The value of the integer 1: S / 2**f, a power of two."""
        return math.ldexp(self.scale, -self.bits)

    def encode(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        """rint(values / step), same shape. Raises GradientError for NaN and for magnitudes above the scale."""
        largest = float(np.max(np.abs(values), initial=0.0))
        if not largest <= self.scale:
            raise GradientError(
                f"encoding gradients: found magnitude {largest}, wanted at most the scale {self.scale:g} of this round"
            )
        return np.rint(np.asarray(values, dtype=np.float64) * (1.0 / self.step)).astype(np.int64)

    def decode(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Encoded values or sums of them back to float64, exactly. Same shape."""
        return np.asarray(sums, dtype=np.float64) * self.step


def encode_pairs(
    fixed: FixedPoint,
    gradients: NDArray[np.floating],
    hessians: NDArray[np.floating],
    n_rows: int,
    rows: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """(gradient, hessian) of one output as int64[n_rows, 2]: what the histogram kernel reads.

    `gradients`, `hessians`: [n_train]. The first n_train of the n_rows rows are training rows; rows after them, and
    training rows outside `rows` when given, hold zeros.
    """
    pairs = np.zeros((n_rows, 2), dtype=np.int64)
    if rows is None:
        pairs[: len(gradients), 0] = fixed.encode(gradients)
        pairs[: len(hessians), 1] = fixed.encode(hessians)
    else:
        pairs[rows, 0] = fixed.encode(gradients[rows])
        pairs[rows, 1] = fixed.encode(hessians[rows])
    return pairs
