"""From products back to sums of fixed-point gradients.

A sum of integers that was taken through real numbers lies next to the integer it stands for. Rounding gives it back,
exactly, as long as the error is below a half; found further off than a quarter, it is refused: precision_bits are too
many for so many rows, or the products were not what the protocol says.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import PrecisionError

MOST_ERROR = 0.25
MOST_SUM = 2.0**53
# Bits of the integers that single products are rounded to before they are added up.
FINE_BITS = 62


def products_to_sums(
    products: NDArray[np.float64], pairs: NDArray[np.int64], threads: int, what: str
) -> NDArray[np.int64]:
    """W [g h] of products W, float64[k, n], and pairs, int64[n, 2]: int64[k, 2]. Raises PrecisionError."""
    return nearest(_native.smm.inner_products(products, pairs.T.astype(np.float64, order="C"), threads), what)


def nearest(sums: NDArray[np.float64], what: str) -> NDArray[np.int64]:
    """The integers next to `sums`. Raises PrecisionError for one that is not near any."""
    if not (np.abs(sums) < MOST_SUM).all():
        raise PrecisionError(f"{what}: found sums of 2**53 steps and more, or none at all; lower precision_bits")
    rounded = np.rint(sums)
    _require_whole(float(np.abs(sums - rounded).max(initial=0.0)), what)
    return rounded.astype(np.int64)


def fine_bits(products: NDArray[np.float64], step: float, what: str) -> int:
    """By how many bits finer than the step products float64[2, n] may be rounded, for no sum of them to leave int64.

    Raises PrecisionError if that is none.
    """
    n = products.shape[1]
    largest = float(np.abs(products).max(initial=0.0)) / step
    if not math.isfinite(largest):
        raise PrecisionError(f"{what}: found products that are not finite")
    bits = FINE_BITS - int(n).bit_length() - math.frexp(largest)[1]
    if bits < 1:
        raise PrecisionError(
            f"{what}: found products of up to {largest:.2g} steps in {n} rows, too large to be added up exactly; "
            "lower precision_bits"
        )
    return bits


def fine_pairs(products: NDArray[np.float64], step: float, bits: int) -> NDArray[np.int64]:
    """Products W_g, W_h, float64[2, n], as whole numbers of step / 2**bits, int64[n, 2]."""
    return np.rint(products.T * (2.0**bits / step)).astype(np.int64)


def coarse_sums(sums: NDArray[np.int64], bits: int, what: str) -> NDArray[np.int64]:
    """Sums of fine_pairs in steps. Raises PrecisionError for one that is not near a whole number of them."""
    whole = (sums + (1 << (bits - 1))) >> bits
    _require_whole(float(np.abs(sums - (whole << bits)).max(initial=0)) / 2.0**bits, what)
    return whole


def _require_whole(error: float, what: str) -> None:
    """Raise PrecisionError for sums that are too far, in steps, off a whole number of steps."""
    if error > MOST_ERROR:
        raise PrecisionError(
            f"{what}: found sums {error:.2g} steps off a whole number of steps, wanted at most {MOST_ERROR}; "
            "lower precision_bits, and check that all parties run the same version"
        )
