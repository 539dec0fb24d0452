"""The numbers of a set-up: ring, widths, bits on the wire, chosen from rows and precision, and what they are worth.

Notation of README.md. R = Z_q[X] / (X^N + 1), q = 2^log_q. A column's message is its weight omega (at most 32) where a
row goes left, else 0. Sums V of a node's integer weights u satisfy |V| < 2^b (`value_bits`), weights |u| <= 2^c
(`norm_bits`, Euclidean), and Delta = 2^(log_q - 2 - b): the two bits above V are room for sums and differences of two
sums. Shares of a sum add up to Delta V + noise with

    noise = sum of u e + sum of r e_z - <e1, s> - <rounding of w, s>
    variance = |u|^2 (16 + C / 12) + 2 N / 3 (16 + C / 12 + 16 + W / 12)

where C = 4^(log_q - column_bits) and W = 4^(log_q - node_bits) come from rounding what is sent. Every term is
subgaussian with its variance, so noise reaches t deviations with a probability of at most 2 exp(-t^2 / 2). Delta is at
least 60 deviations.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from vfxgb.errors import CapacityError, LatticeError
from vfxgb.lattice.security import Hardness, core_svp

RingChoice = Literal["auto", "wide"]

MAX_ROWS = (1 << 31) - 1
MAX_COLUMNS = 1 << 24
MAX_WEIGHT = 32
DELTA_DEVIATIONS = 60
# omega_j sqrt(k_j) <= sqrt(32 n) for the k_j rows on the smaller side of column j, if omega_j is at most
# 4 / sqrt(alpha (1 - alpha)) for the share alpha = k_j / n: the weights of the rule `centred`.
COLUMN_NORM_SQUARED = 32
NOISE_DEVIATION = 4.0
TERNARY_VARIANCE = 2 / 3
# Where nothing is asked for, the root's weights have about 3 bits, and small tables more, up to 6 or sums of 22 bits.
DEFAULT_PRECISION_BITS = 3
SMALL_PRECISION_BITS = 6
SMALL_VALUE_BITS = 22
# Small nodes may have norms so many bits above the root's, where that fits.
_SMALL_NODE_BITS = 2.0
# At most this part of the noise comes from rounding w.
_NODE_ROUNDING = 1 / 16


@dataclass(frozen=True)
class Ring:
    """Z_q[X] / (X^degree + 1), q = 2^log_q."""

    degree: int
    log_q: int

    @property
    def hardness(self) -> Hardness:
        """Of one column's secret, and of one node's mask."""
        return _hardness(self.degree, self.log_q)

    def __str__(self) -> str:
        return f"{self.degree}/{self.log_q}"


NARROW = Ring(2048, 48)
WIDE = Ring(4096, 64)


@lru_cache(maxsize=8)
def _hardness(degree: int, log_q: int) -> Hardness:
    return core_svp(degree, log_q, NOISE_DEVIATION, math.sqrt(TERNARY_VARIANCE))


@dataclass(frozen=True)
class LatticeParams:
    """What both parties of a set-up compute with. Made by `choose_params`; tests make smaller ones."""

    ring: Ring
    rows: int
    value_bits: int
    norm_bits: float
    column_bits: int
    node_bits: int

    @property
    def blocks(self) -> int:
        """Blocks of `ring.degree` rows; the last one may have fewer."""
        return -(-self.rows // self.ring.degree)

    @property
    def log_delta(self) -> int:
        """The base-2 logarithm of Delta, modulo q."""
        return self.ring.log_q - 2 - self.value_bits

    @property
    def delta_shift(self) -> int:
        """The same in words, whose upper log_q bits are used."""
        return 62 - self.value_bits

    @property
    def root_norm(self) -> float:
        """The largest norm of weights that a node of any rows may have, whatever its weights are."""
        return 2.0**self.value_bits / math.sqrt(COLUMN_NORM_SQUARED * self.rows)

    @property
    def precision_bits(self) -> float:
        """The base-2 logarithm of the root-mean-square weight that a node of all rows can have."""
        return math.log2(self.root_norm / math.sqrt(self.rows))

    @property
    def column_variance(self) -> float:
        """The noise of one word of a column as it is sent."""
        return self._word_variance(self.column_bits)

    def noise_variance(self, norm: float) -> float:
        """The variance of a sum's noise modulo q, for weights of this norm."""
        masks = self.ring.degree * TERNARY_VARIANCE * (self.column_variance + self._word_variance(self.node_bits))
        return norm**2 * self.column_variance + masks

    def _word_variance(self, bits: int) -> float:
        """Noise, and rounding to `bits` bits if that drops any."""
        rounding = 4.0 ** (self.ring.log_q - bits) / 12 if bits < self.ring.log_q else 0.0
        return NOISE_DEVIATION**2 + rounding

    @property
    def deviations(self) -> float:
        """How many standard deviations of the largest noise Delta is."""
        return 2.0**self.log_delta / math.sqrt(self.noise_variance(2.0**self.norm_bits))

    @property
    def failure_bits(self) -> float:
        """A sum is wrong with a probability of at most 2^-failure_bits: noise reaches Delta / 2."""
        return _tail_bits(self.deviations / 2)

    @property
    def comparison_failure_bits(self) -> float:
        """The same for a comparison of two sums whose shares keep two bits below Delta: noise reaches Delta / 4."""
        return _tail_bits(self.deviations / 4 / math.sqrt(2))

    def node_bytes(self) -> int:
        """Bytes that a node takes on the wire."""
        return -(-self.ring.degree * self.node_bits // 8)

    def setup_bytes(self, columns: int) -> int:
        """Bytes of the columns and of z, headers not counted."""
        whole, rest = divmod(self.rows, self.ring.degree)
        words = [*([self.ring.degree] * (whole + 1)), rest]
        return columns * sum(-(-count * self.column_bits // 8) for count in words)

    def describe(self) -> str:
        """One line for logs."""
        hardness = self.ring.hardness
        return (
            f"ring {self.ring}, {self.value_bits} bits a sum, norms to 2^{self.norm_bits:.1f}, {self.column_bits} bits "
            f"a row and column, {self.node_bytes()} bytes a node, core-SVP {hardness.classical:.0f} bits classical, "
            f"{hardness.quantum:.0f} quantum"
        )


def _tail_bits(deviations: float) -> float:
    """-log2 of 2 exp(-t^2 / 2)."""
    return deviations**2 / 2 / math.log(2) - 1


def choose_params(rows: int, precision_bits: float | None = None, ring: RingChoice = "auto") -> LatticeParams:
    """The parameters for so many rows: the narrow ring if it fits, else the wide one; `ring="wide"` for the latter.

    `precision_bits`: the base-2 logarithm of the root-mean-square weight that a node of all rows can have at least;
    None takes about 3, and more for small tables. Smaller nodes have more. Raises CapacityError, which names the
    largest precision that fits, and LatticeError for rows or rings that cannot be.
    """
    if not 1 <= rows <= MAX_ROWS:
        raise LatticeError(f"choosing lattice parameters: found {rows} rows, wanted 1 to {MAX_ROWS}")
    if precision_bits is not None and not math.isfinite(precision_bits):
        raise LatticeError(
            f"choosing lattice parameters: found precision_bits={precision_bits}, wanted a number of bits"
        )
    if ring not in get_args(RingChoice):
        raise LatticeError(f"choosing lattice parameters: found ring={ring!r}, wanted one of {get_args(RingChoice)}")
    root = math.log2(math.sqrt(COLUMN_NORM_SQUARED) * rows)
    if precision_bits is None:
        small = min(SMALL_VALUE_BITS, round(root) + SMALL_PRECISION_BITS)
        value_bits = max(small, round(root) + DEFAULT_PRECISION_BITS)
    else:
        value_bits = max(1, math.ceil(root + precision_bits))
    rings = (WIDE,) if ring == "wide" else (NARROW, WIDE)
    for each in rings:
        params = widths(each, rows, value_bits)
        if params is not None:
            return params
    wanted = value_bits - root
    best = max(value for value in range(1, WIDE.log_q) if widths(rings[-1], rows, value) is not None)
    raise CapacityError(
        f"choosing lattice parameters: {rows:,} rows with precision_bits={wanted:.1f} need sums of {value_bits} bits, "
        f"whose noise could reach them in the ring {rings[-1]}; the largest precision_bits that fits is "
        f"{math.floor(10 * (best - root)) / 10}"
    )


def widths(ring: Ring, rows: int, value_bits: int) -> LatticeParams | None:
    """The fewest bits on the wire that keep noise away from sums of `value_bits` bits; None if there are none."""
    log_delta = ring.log_q - 2 - value_bits
    if log_delta < 1:
        return None
    budget = (2.0**log_delta / DELTA_DEVIATIONS) ** 2
    rounding = budget * _NODE_ROUNDING / (ring.degree * TERNARY_VARIANCE)
    cut = max(0, math.floor(math.log2(max(12 * rounding, 1)) / 2))
    params = LatticeParams(ring, rows, value_bits, 0.0, ring.log_q, ring.log_q - cut)
    root = math.log2(params.root_norm)
    found = None
    for column_bits in range(ring.log_q, 0, -1):
        wider = replace(params, column_bits=column_bits)
        left = budget - wider.noise_variance(0)
        if left <= 0:
            break
        # In tenths, downwards.
        norm_bits = math.floor(5 * math.log2(left / wider.column_variance)) / 10
        if norm_bits < (root if found is None else root + _SMALL_NODE_BITS):
            break
        found = replace(wider, norm_bits=norm_bits)
    return found
