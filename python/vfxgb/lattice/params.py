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

With `ring="pairs"` a word has the messages of two columns. The upper one has Delta = 2^(62 - b), the lower one
2^(59 - 2 b) in the lower 61 - b bits of the word: two bits above its V. So what stands below the upper Delta is at most
2^(59 - b), an eighth of it, as long as the lower sum is right. Parties take the lower sum from the lower bits of their
shares. It is the one that noise is kept away from.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import CapacityError, LatticeError
from vfxgb.lattice.security import Hardness, core_svp

RingChoice = Literal["auto", "wide", "pairs"]

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
# Bits of a sum and of its precision are compared as floating-point numbers.
_SLACK = 1e-6


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
    columns_per_word: int = 1

    @property
    def blocks(self) -> int:
        """Blocks of `ring.degree` rows; the last one may have fewer."""
        return -(-self.rows // self.ring.degree)

    @property
    def log_delta(self) -> int:
        """The base-2 logarithm of Delta, modulo q; of two in a word the smaller one."""
        return _log_delta(self.ring, self.value_bits, self.columns_per_word)

    @property
    def delta_shift(self) -> int:
        """Delta of a share, whose upper log_q bits are used."""
        return 62 - self.value_bits

    @property
    def lower_shift(self) -> int:
        """How far the lower one of two columns in a word is below the place of a share."""
        return self.value_bits + 3

    @property
    def message_shifts(self) -> list[int]:
        """Delta of the message of each column of a word, the upper one first."""
        return [self.delta_shift - k * self.lower_shift for k in range(self.columns_per_word)]

    def words(self, columns: int) -> int:
        """The words of a row that so many columns take."""
        return -(-columns // self.columns_per_word)

    def spread(self, words: NDArray[np.uint64], columns: int) -> NDArray[np.uint64]:
        """Shares of each column, uint64[..., columns], from shares of words, uint64[..., words(columns)]."""
        if self.columns_per_word == 1:
            return words
        shares = np.empty((*words.shape[:-1], columns), dtype=np.uint64)
        shares[..., ::2] = words
        shares[..., 1::2] = words[..., : columns // 2] << np.uint64(self.lower_shift)
        return shares

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
        return self.words(columns) * sum(-(-count * self.column_bits // 8) for count in words)

    def describe(self) -> str:
        """One line for logs."""
        hardness = self.ring.hardness
        columns = "column" if self.columns_per_word == 1 else "two columns"
        return (
            f"ring {self.ring}, {self.value_bits} bits a sum, norms to 2^{self.norm_bits:.1f}, {self.column_bits} bits "
            f"a row and {columns}, {self.node_bytes()} bytes a node, core-SVP {hardness.classical:.0f} bits classical, "
            f"{hardness.quantum:.0f} quantum"
        )


def _tail_bits(deviations: float) -> float:
    """-log2 of 2 exp(-t^2 / 2)."""
    return deviations**2 / 2 / math.log(2) - 1


def choose_params(rows: int, precision_bits: float | None = None, ring: RingChoice = "auto") -> LatticeParams:
    """The parameters for so many rows: the narrow ring if it fits, else the wide one; `ring="wide"` for the latter.

    `ring="pairs"` puts two columns into each word of the wide ring. `precision_bits`: the base-2 logarithm of the
    root-mean-square weight that a node of all rows can have at least; None takes about 3, more for small tables, and
    what fits, 0 or more, of pairs. Smaller nodes have more. Raises CapacityError, which names the
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
    rings = (NARROW, WIDE) if ring == "auto" else (WIDE,)
    per_word = 2 if ring == "pairs" else 1
    for each in rings:
        params = widths(each, rows, value_bits, per_word)
        if params is not None:
            return params
    best = max(value for value in range(1, WIDE.log_q) if widths(WIDE, rows, value, per_word) is not None)
    if per_word == 2 and precision_bits is None and best >= root:
        return choose_params(rows, best - root - _SLACK, ring)
    raise CapacityError(
        f"choosing lattice parameters: {rows:,} rows with precision_bits={value_bits - root:.1f} need sums of "
        f"{value_bits} bits, whose noise could reach them in the ring {WIDE}{_of_pairs(per_word)}; the largest "
        f"precision_bits that fits is {math.floor(10 * (best - root)) / 10}"
        + ("; take ring='auto' for more" if per_word == 2 else "")
    )


def _of_pairs(per_word: int) -> str:
    return " with two columns a word" if per_word == 2 else ""


def _log_delta(ring: Ring, value_bits: int, per_word: int) -> int:
    return ring.log_q - 2 - value_bits if per_word == 1 else ring.log_q - 5 - 2 * value_bits


def widths(ring: Ring, rows: int, value_bits: int, per_word: int = 1) -> LatticeParams | None:
    """The fewest bits on the wire that keep noise away from sums of `value_bits` bits; None if there are none.

    `per_word`: 1 or 2 columns in a word.
    """
    log_delta = _log_delta(ring, value_bits, per_word)
    if log_delta < 1:
        return None
    budget = (2.0**log_delta / DELTA_DEVIATIONS) ** 2
    rounding = budget * _NODE_ROUNDING / (ring.degree * TERNARY_VARIANCE)
    cut = max(0, math.floor(math.log2(max(12 * rounding, 1)) / 2))
    params = LatticeParams(ring, rows, value_bits, 0.0, ring.log_q, ring.log_q - cut, per_word)
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
