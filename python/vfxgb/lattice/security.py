"""How hard the lattice problems behind a set of parameters are: core-SVP, primal attack, the estimate of 2016.

An attacker who has samples b = A s + e modulo q looks for the short vector (e, s, 1) in the lattice that they span. The
estimate of Alkim, Ducas, Poeppelmann and Schwabe (New Hope, USENIX Security 2016, section 6.3) says when lattice
reduction with blocks of size beta finds it:

    sigma sqrt(beta) <= delta^(2 beta - d - 1) Vol^(1 / d)
    delta = ((pi beta)^(1 / beta) beta / (2 pi e))^(1 / (2 (beta - 1)))

with d = m + n + 1 for m samples, and counts one call of a shortest-vector solver on a block: 2^(0.292 beta) steps, or
2^(0.265 beta) with a quantum computer. Secrets smaller than the noise are scaled up to it (Bai and Galbraith 2014).
Ring structure is given no value, as nobody knows how to use it at these sizes. Everything the estimate leaves out
(memory, many calls, the cost of a step) makes real attacks slower, by 10 to 40 bits in other estimates; so its numbers
are lower than those that are usually quoted for the same parameters.
"""

import math
from dataclasses import dataclass

import numpy as np

CLASSICAL = 0.292
QUANTUM = 0.265
_SMALLEST_BLOCK = 50
_LARGEST_BLOCK = 4000


@dataclass(frozen=True)
class Hardness:
    """The block size that lattice reduction needs, and what that costs: the base-2 logarithm of steps."""

    block_size: int

    @property
    def classical(self) -> float:
        """Bits against a classical computer."""
        return CLASSICAL * self.block_size

    @property
    def quantum(self) -> float:
        """Bits against a quantum computer."""
        return QUANTUM * self.block_size


def core_svp(
    dimension: int, log_q: float, noise_deviation: float, secret_deviation: float, samples: int | None = None
) -> Hardness:
    """The hardness of learning with errors: `dimension` secrets, modulus 2^log_q, at most `samples` samples.

    None stands for as many samples as suit the attacker. Raises ValueError where no block size is enough.
    """
    counts = np.arange(1, (4 * dimension if samples is None else samples) + 1, dtype=np.float64)
    d = counts + dimension + 1
    volume = (counts * log_q + dimension * math.log2(noise_deviation / secret_deviation)) / d

    def found(beta: int) -> bool:
        delta = math.log2((math.pi * beta) ** (1 / beta) * beta / (2 * math.pi * math.e)) / (2 * (beta - 1))
        short = math.log2(noise_deviation) + 0.5 * math.log2(beta)
        return bool(np.any(short <= (2 * beta - d - 1) * delta + volume))

    low, high = _SMALLEST_BLOCK, _LARGEST_BLOCK
    if not found(high):
        raise ValueError(f"no block of up to {high} is enough; the estimate does not cover such parameters")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle + 1, high)
    return Hardness(low)
