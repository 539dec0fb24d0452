"""What shares add up to. Protocols compute on shares and open nothing; tests and benchmarks look at the sums."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.lattice.params import LatticeParams


def open_sums(total: NDArray[np.uint64], params: LatticeParams) -> NDArray[np.int64]:
    """The sums V from x + y modulo 2^64: the nearest multiples of Delta."""
    half = np.uint64(1 << (params.delta_shift - 1))
    return (total + half).view(np.int64) >> params.delta_shift


def open_noise(total: NDArray[np.uint64], params: LatticeParams) -> NDArray[np.int64]:
    """What x + y is beyond Delta V, modulo q.

    Of two columns in a word, the upper one has the lower sum there, and the lower one's noise counts 2^lower_shift.
    """
    sums = open_sums(total, params).view(np.uint64) << np.uint64(params.delta_shift)
    return (total - sums).view(np.int64) >> (64 - params.ring.log_q)
