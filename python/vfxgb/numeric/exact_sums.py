"""Sums of floats without any rounding: they do not depend on the order of rows, nor on how these are divided.

A finite float64 is a whole multiple of 2**-1074, and so is every sum of them: an ExactSum holds that multiple as an
integer. Sums of parts add up to the sum of all, and only their conversion to a float rounds, once and correctly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import PrecisionError

# The smallest positive float64 is 2**-LEAST.
LEAST = 1074
# Mantissas have 53 bits; their halves are summed as floats, exactly: 2**20 rows of 27 bits need 47.
_BLOCK_ROWS = 1 << 20
_MANTISSA = 53
_HALF = 27


@dataclass(frozen=True)
class ExactSum:
    """`units` times 2**-1074. Sums add with `+`; `float` gives the nearest float64."""

    units: int = 0

    @classmethod
    def of(cls, whole: int) -> "ExactSum":
        """A whole number, such as a count of rows."""
        return cls(whole << LEAST)

    def __add__(self, other: "ExactSum") -> "ExactSum":
        return ExactSum(self.units + other.units)

    def __float__(self) -> float:
        """The nearest float64, ties to even. Raises OverflowError beyond its range."""
        # Python divides integers with a single, correct rounding.
        return self.units / (1 << LEAST)


@dataclass(frozen=True)
class ExactSums:
    """Several sums over the same rows; those of other rows add with `+`, one by one."""

    sums: tuple[ExactSum, ...]

    def __add__(self, other: "ExactSums") -> "ExactSums":
        return ExactSums(tuple(mine + its for mine, its in zip(self.sums, other.sums, strict=True)))

    @staticmethod
    def join(parts: Sequence["ExactSums"]) -> "ExactSums":
        """The sums over the rows of all parts, of which there is at least one."""
        return reduce(ExactSums.__add__, parts)

    def rounded(self) -> NDArray[np.float64]:
        """Each sum as the nearest float64."""
        return np.array([float(total) for total in self.sums], dtype=np.float64)


def exact_sum(values: NDArray[np.floating]) -> ExactSum:
    """The sum of float32 or float64 numbers [n]. Raises PrecisionError where one is not finite."""
    return grouped_sums(values, np.zeros(len(values), dtype=np.int64), 1).sums[0]


def grouped_sums(values: NDArray[np.floating], groups: NDArray[np.integer], n_groups: int) -> ExactSums:
    """The sums of the numbers [n] of each group 0 to n_groups - 1, where `groups` [n] says which a number is in.

    Raises PrecisionError where a number is not finite.
    """
    units = [0] * n_groups
    for start in range(0, len(values), _BLOCK_ROWS):
        block = values[start : start + _BLOCK_ROWS].astype(np.float64)
        if not np.isfinite(block).all():
            row = start + int(np.argmin(np.isfinite(block)))
            raise PrecisionError(f"summing exactly: row {row} holds {values[row]}, wanted finite numbers")
        _add_block(units, block, groups[start : start + _BLOCK_ROWS])
    return ExactSums(tuple(ExactSum(total) for total in units))


def _add_block(units: list[int], block: NDArray[np.float64], groups: NDArray[np.integer]) -> None:
    fractions, exponents = np.frexp(block)
    # value = mantissa * 2**(exponent - 53), where the mantissa is an integer, also for subnormal numbers.
    mantissas = np.ldexp(fractions, _MANTISSA)
    upper = np.floor(np.ldexp(mantissas, -_HALF))
    lower = mantissas - np.ldexp(upper, _HALF)
    least = int(exponents.min())
    width = int(exponents.max()) - least + 1
    cells = groups.astype(np.int64) * width + (exponents - least)
    uppers = np.bincount(cells, weights=upper)
    lowers = np.bincount(cells, weights=lower)
    for cell in np.flatnonzero((uppers != 0) | (lowers != 0)):
        group, exponent = divmod(int(cell), width)
        mantissa = (int(uppers[cell]) << _HALF) + int(lowers[cell])
        shift = exponent + least - _MANTISSA + LEAST
        # A shift below zero belongs to subnormal numbers, whose last bits are zeros.
        units[group] += mantissa << shift if shift >= 0 else mantissa >> -shift
