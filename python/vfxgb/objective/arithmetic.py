"""XGBoost's float32 arithmetic, as far as several objectives share it.

exp is taken in float64 and rounded: the C library's expf, which XGBoost calls, returns the same but for one unit in the
last place once in some thousand values (numpy's own float32 exp differs in a third of them).
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.numeric.exact_sums import ExactSum, ExactSums, exact_sum

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
AnyFloat = NDArray[np.floating]

ONE = np.float32(1.0)
LEAST_HESSIAN = np.float32(1e-16)
# XGBoost's: keeps expf of it finite.
LARGEST_EXPONENT = 88.7


def column(margins: AnyFloat) -> Float32Array:
    """Margins [n, 1] as float32[n]."""
    return np.asarray(margins, dtype=np.float32).reshape(len(margins))


def exp(values: Float32Array) -> Float32Array:
    """exp, rounded once."""
    return np.exp(values.astype(np.float64)).astype(np.float32)


def weighted(g: Float32Array, h: Float32Array, weights: Float32Array | None) -> tuple[Float32Array, Float32Array]:
    """(g w, h w) as float32[n, 1]."""
    if weights is not None:
        g, h = g * weights, h * weights
    return g[:, None], h[:, None]


def half_weights(weights: Float32Array | None) -> FloatArray:
    """w / 2 as float64[n, 1], or [1, 1] without weights."""
    return np.full((1, 1), 0.5) if weights is None else 0.5 * weights.astype(np.float64)[:, None]


def label_sums(labels: Float32Array, weights: Float32Array | None) -> ExactSums:
    """Sums of w y and w."""
    if weights is None:
        return ExactSums((exact_sum(labels), ExactSum.of(len(labels))))
    # A product of two float32 numbers is exact in float64.
    products = labels.astype(np.float64) * weights
    return ExactSums((exact_sum(products), exact_sum(weights)))
