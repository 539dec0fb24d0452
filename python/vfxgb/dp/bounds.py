"""Numbers that privacy depends on, rounded to the safe side, and the checks of epsilon and delta.

Notation: e^epsilon is irrational, so the integers of a mechanism come from a rational below it (`exp_below`): the
ratio of any two probabilities is then at most that rational, hence at most e^epsilon.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Real

from vfxgb.errors import DpError

_DIGITS = Context(prec=60)
# Below this epsilon of a release two labels are told apart in less than one of 10^9 cases, and the integers of the
# mechanisms run out of bits.
LEAST_EPSILON = 1e-9
_MOST_EXPONENT = 700.0  # beyond, less than e^epsilon is used: always safe, and no draw could tell


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_epsilon(epsilon: float, step: str) -> float:
    """`epsilon` as a float. Raises DpError unless it is a positive finite number."""
    if not (_is_real(epsilon) and math.isfinite(epsilon) and epsilon > 0):
        raise DpError(f"{step}: found epsilon {epsilon!r}, wanted a positive finite number; smaller is more private")
    return float(epsilon)


def check_noise_epsilon(epsilon: float, step: str) -> float:
    """The same for the epsilon that noise is drawn for: also raises DpError below LEAST_EPSILON."""
    value = check_epsilon(epsilon, step)
    refuse_tiny(value, step)
    return value


def refuse_tiny(epsilon: float, step: str) -> None:
    """Raise DpError for an epsilon of one release below LEAST_EPSILON."""
    if epsilon < LEAST_EPSILON:
        raise DpError(
            f"{step}: found epsilon {epsilon!r}, wanted at least {LEAST_EPSILON:g} for one release: with less nothing "
            "could be learned, and the noise does not fit the integers; raise epsilon, or divide the total among fewer "
            "releases"
        )


def check_delta(delta: float, step: str) -> float:
    """`delta` as a float. Raises DpError unless 0 < delta < 1."""
    if not (_is_real(delta) and 0 < delta < 1):
        raise DpError(f"{step}: found delta {delta!r}, wanted a number between 0 and 1, well below 1 / rows")
    return float(delta)


def check_releases(releases: int, step: str) -> int:
    """`releases`. Raises DpError unless it is a positive integer."""
    if type(releases) is not int or releases < 1:
        raise DpError(f"{step}: found {releases!r} releases, wanted a positive integer")
    return releases


def exp_below(epsilon: float) -> Fraction:
    """A rational at most e^epsilon, and less by no more than one part in 10^58 up to epsilon 700."""
    exact = Decimal(min(epsilon, _MOST_EXPONENT))
    return Fraction(_DIGITS.next_minus(_DIGITS.exp(exact)))


def ceil_ratio(numerator: int | Fraction, denominator: int | Fraction) -> int:
    """The least integer that is at least numerator / denominator."""
    return math.ceil(Fraction(numerator) / Fraction(denominator))
