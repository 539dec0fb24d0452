"""The lattice a mechanism works on: one step for all inputs and outputs (ERRATA E54).

Notation: values in [low, high] become integers c + j with j in [-B, B]; c the centre, B the bound, both in steps. The
step is a power of two that follows from low, high and grid_bits alone, so that an output is an integer times a number
that no input has any influence on, and a shift turns it into fixed-point gradients (numeric/fixed_point.py).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import CapacityError, DpError
from vfxgb.numeric.fixed_point import SUM_BITS, FixedPoint, power_of_two_above

GRID_BITS = 20


@dataclass(frozen=True)
class Lattice:
    """`grid_bits`: the half range has between 2**(grid_bits - 1) and 2**grid_bits steps (and one more for rounding).

    Raises DpError for an empty or infinite range and for grid_bits outside 4 to 30.
    """

    low: float
    high: float
    grid_bits: int = GRID_BITS

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise DpError(f"range of a mechanism: found [{self.low}, {self.high}], wanted finite low < high")
        if not 4 <= self.grid_bits <= 30:
            raise DpError(f"grid of a mechanism: found grid_bits {self.grid_bits}, wanted 4 to 30")
        if abs(self.low + self.high) > 2**20 * (self.high - self.low):
            raise DpError(f"range of a mechanism: [{self.low}, {self.high}] is too narrow for where it lies; shift it")

    @property
    def step(self) -> float:
        """The value of the integer 1, a power of two."""
        return math.ldexp(power_of_two_above((self.high - self.low) / 2), -self.grid_bits)

    @property
    def centre(self) -> int:
        """c: the middle of the range, in steps, rounded."""
        return round((self.low + self.high) / 2 / self.step)

    @property
    def bound(self) -> int:
        """B: the least number of steps for which c - B to c + B covers the range."""
        step, centre = self.step, self.centre
        return max(math.ceil(self.high / step) - centre, centre - math.floor(self.low / step))

    def indices(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        """j for each value: clipped to [low, high], rounded to the lattice, less the centre. `values`: [n].

        Raises DpError for NaN and for another shape.
        """
        if np.ndim(values) != 1:
            raise DpError(f"perturbing values: found an array of {np.ndim(values)} dimensions, wanted 1")
        clipped = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        if np.isnan(clipped).any():
            raise DpError("perturbing values: found NaN, wanted numbers; check the labels, weights and objective")
        return np.rint(clipped / self.step).astype(np.int64) - self.centre


class OnLattice(Protocol):
    """What `common_fixed_point` needs to know of a mechanism."""

    @property
    def step(self) -> float:
        """The value of the output 1, a power of two."""

    @property
    def largest(self) -> int:
        """No output is larger in magnitude."""


def common_fixed_point(mechanisms: Iterable[OnLattice], rows: int) -> FixedPoint:
    """The fixed point that holds every output of these mechanisms exactly, and sums of them over `rows` rows.

    Its step is the finest of theirs and its scale covers their largest output. Raises CapacityError if sums would leave
    52 bits.
    """
    listed = tuple(mechanisms)
    scale = power_of_two_above(max(each.largest * each.step for each in listed))
    bits = math.frexp(scale / min(each.step for each in listed))[1] - 1
    if bits + (rows - 1).bit_length() > SUM_BITS:
        raise CapacityError(
            f"fixed point of noisy values: sums of {rows} values need {bits + (rows - 1).bit_length()} bits, wanted at "
            f"most {SUM_BITS}; lower grid_bits, or raise epsilon"
        )
    return FixedPoint(bits, scale)


def encode(indices: NDArray[np.int64], step: float, fixed: FixedPoint) -> NDArray[np.int64]:
    """Outputs on a lattice of `step` as integers of `fixed`: a shift, nothing is rounded.

    Raises DpError if the step of `fixed` is coarser.
    """
    shift = math.frexp(step / fixed.step)[1] - 1
    if shift < 0:
        raise DpError(
            f"encoding noisy values: their step {step:g} is finer than {fixed.step:g}, that of the fixed point"
        )
    return indices << shift
