"""Tails of quadratic forms in three normal variables, and the exact privacy of the passive party's noise.

MaskedXGBoost, theorem 3 and appendix D. Notation: rho = sigma1^2 / sigma2^2; a row that changes sides turns the
covariance S of a noise vector into S'. The privacy loss is then a quadratic form in as many independent normals as
S'^-1 S has eigenvalues other than 1: three at most.

For y standard normal in three dimensions, |y|^2 is independent of the direction w = y / |y|, so that
    Pr(sum k_i y_i^2 >= t) = mean over the sphere of Q(t / q(w)), q(w) = sum k_i w_i^2, where q(w) > 0 (t > 0),
with Q the tail of chi squared with three degrees of freedom: an integral over two angles of a smooth function.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ANGLES = 40


@cache
def _sphere() -> tuple[Floats, Floats]:
    """(squares of the coordinates [points, 3], weights [points]) of a rule for functions of the squares: one octant."""
    height, weight = (half[_ANGLES:] for half in np.polynomial.legendre.leggauss(2 * _ANGLES))
    angle = (np.arange(_ANGLES) + 0.5) * (math.pi / 2 / _ANGLES)
    ring = 1 - height[:, None] ** 2
    squares = np.stack(
        [
            (ring * np.cos(angle) ** 2).ravel(),
            (ring * np.sin(angle) ** 2).ravel(),
            np.broadcast_to(height[:, None] ** 2, (_ANGLES, _ANGLES)).ravel(),
        ],
        axis=1,
    )
    return squares, np.repeat(weight, _ANGLES) / _ANGLES


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _chi3_tail(s: Floats) -> Floats:
    """Pr(chi squared with three degrees of freedom >= s)."""
    return np.asarray(_erfc(np.sqrt(s / 2)) + np.sqrt(2 * s / math.pi) * np.exp(-s / 2))


def tail(eigenvalues: Floats, threshold: float) -> float:
    """Pr(sum k_i y_i^2 >= threshold) for at most three eigenvalues k_i."""
    squares, weights = _sphere()
    k = np.zeros(3)
    k[: len(eigenvalues)] = eigenvalues
    form = squares @ k
    if threshold <= 0:  # the complement, of the form with the other sign
        return 1.0 if threshold == 0 and (k >= 0).all() else 1 - tail(-k, -threshold) if threshold < 0 else math.nan
    out = np.zeros(len(form))
    out[form > 0] = _chi3_tail(threshold / form[form > 0])
    return float(weights @ out)


def _covariance(active: int, size: int, rho: float) -> Floats:
    """Return the covariance of noise over `size` rows, the first `active` of them active, in units of sigma2^2."""
    out = np.eye(size) * (2 * rho + 1)
    for i in range(active):
        out[i, (i + 1) % active] -= rho
        out[(i + 1) % active, i] -= rho
    return out


def exact_delta(rho: float, epsilon: float, active: int) -> float:
    """The least delta, in both directions, when one of `active` rows on the left moves to the right.

    The protocol makes no noise for fewer than three rows on the left: three or less become none.
    """
    before = _covariance(active, active, rho)
    # Row 0 leaves; those that remain are still in cyclic order.
    after = np.roll(np.roll(_covariance(active - 1 if active > 3 else 0, active, rho), 1, axis=0), 1, axis=1)
    return max(_one_way(before, after, epsilon), _one_way(after, before, epsilon))


def _one_way(first: Floats, second: Floats, epsilon: float) -> float:
    """Pr(loss >= epsilon | first) - e^epsilon Pr(loss >= epsilon | second)."""
    ratios = np.linalg.eigvals(np.linalg.solve(second, first)).real
    ratios = ratios[np.argsort(-np.abs(np.log(ratios)))][:3]
    # loss = (sum (ratio_i - 1) y_i^2 - ln prod ratio_i) / 2 under the first, 1 - 1 / ratio_i under the second.
    threshold = 2 * epsilon + float(np.log(ratios).sum())
    return tail(ratios - 1, threshold) - math.exp(epsilon) * tail(1 - 1 / ratios, threshold)
