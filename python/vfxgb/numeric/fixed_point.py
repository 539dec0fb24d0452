"""Fixed-point gradients: the one rounding after which every sum is exact.

Notation: n training rows, S the gradient scale (a power of two with |g|, |h| <= S in this round), f fractional bits.
An encoded value is v * 2**f / S, rounded to the nearest integer or at random to one of its neighbours, so
|encoded| <= 2**f. With f = min(40, 52 - ceil(log2 n)) a sum over any rows is at most n * 2**f <= 2**52 in magnitude: it
fits int64, converts to float64 exactly, and does not depend on the order of addition. Every exact protocol returns
these very integers.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
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

    def encode_pairs(
        self,
        gradients: NDArray[np.floating],
        hessians: NDArray[np.floating],
        rows: NDArray[np.int32] | None = None,
        threads: int = 1,
        words: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.int64]:
        """(g / step, h / step) of one output as integers, int64[n_train, 2], zero outside `rows` when given.

        `gradients`, `hessians`: [n_train], of one floating type. They are rounded to the nearest integer, or with
        `words`, uint64[n_train] of random words, up or down at random so that the expected value is the true one.
        Raises GradientError for NaN and for magnitudes above the scale.
        """
        pairs = (np.empty if rows is None else np.zeros)((len(gradients), 2), dtype=np.int64)
        if not _native.gbdt.encode_pairs(gradients, hessians, self.scale, self.step, rows, pairs, threads, words):
            raise GradientError(
                f"encoding gradients: found a magnitude above the scale {self.scale:g} of this round, or NaN"
            )
        return pairs
