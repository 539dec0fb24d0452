"""From products back to sums of fixed-point gradients.

A sum of integers that was taken through real numbers lies next to the integer it stands for. Rounding gives it back,
exactly, as long as the error is below a half; found further off than a quarter, it is refused: precision_bits are too
many for so many rows, or the products were not what the protocol says.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import PrecisionError
from vfxgb.protocols.smm.vectors import blocks

MOST_ERROR = 0.25
# Bits of the integers that single products are rounded to before they are added up.
FINE_BITS = 62


def products_to_sums(products: NDArray[np.float64], pairs: NDArray[np.int64], what: str) -> NDArray[np.int64]:
    """W [g h] of products W, float64[k, n], and pairs, int64[n, 2]: int64[k, 2]. Raises PrecisionError.

    Blocks of rows are added with compensation (Neumaier), since the error of a long sum in one go could reach a step.
    """
    total = np.zeros((len(products), 2))
    lost = np.zeros_like(total)
    for block in blocks(len(pairs)):
        part = products[:, block] @ pairs[block].astype(np.float64)
        before = total
        total = before + part
        lost += np.where(np.abs(before) >= np.abs(part), (before - total) + part, (part - total) + before)
    return nearest(total + lost, what)


def nearest(sums: NDArray[np.float64], what: str) -> NDArray[np.int64]:
    """The integers next to `sums`. Raises PrecisionError for one that is not near any."""
    rounded = np.rint(sums)
    error = float(np.abs(sums - rounded).max(initial=0.0))
    if not error <= MOST_ERROR or np.abs(rounded).max(initial=0.0) >= 2.0**53:
        raise PrecisionError(
            f"{what}: found sums {error:.2g} steps off a whole number of steps, wanted at most {MOST_ERROR}; "
            "lower precision_bits, and check that all parties run the same version"
        )
    return rounded.astype(np.int64)


def fine_pairs(products: NDArray[np.float64], step: float, what: str) -> tuple[NDArray[np.int64], int]:
    """Products W_g, W_h, float64[2, n], as integers of step / 2**bits, int64[n, 2], and bits.

    So fine that no sum over n rows leaves int64. Raises PrecisionError if that is coarser than the step itself.
    """
    n = products.shape[1]
    largest = float(np.abs(products).max(initial=0.0)) / step
    if not np.isfinite(largest):
        raise PrecisionError(f"{what}: found products that are not finite")
    bits = FINE_BITS - n.bit_length() - int(np.frexp(largest)[1])
    if bits < 1:
        raise PrecisionError(
            f"{what}: found products of up to {largest:.2g} steps in {n} rows, too large to be added up exactly; "
            "lower precision_bits"
        )
    return np.rint(products.T * (2.0**bits / step)).astype(np.int64), bits


def coarse_sums(sums: NDArray[np.int64], bits: int, what: str) -> NDArray[np.int64]:
    """Sums of fine_pairs in steps. Raises PrecisionError for one that is not near a whole number of them."""
    whole = (sums + (1 << (bits - 1))) >> bits
    error = float(np.abs(sums - (whole << bits)).max(initial=0)) / 2.0**bits
    if error > MOST_ERROR:
        raise PrecisionError(
            f"{what}: found sums {error:.2g} steps off a whole number of steps, wanted at most {MOST_ERROR}; "
            "lower precision_bits, and check that all parties run the same version"
        )
    return whole
