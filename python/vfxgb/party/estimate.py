"""How long a run will take, how many bytes will pass and how much memory it needs, before it begins.

A tree of one output costs a constant, something per row, something per row, feature and level, and something per bucket
of the passive parties' features:

    cost = c0 + c1 rows + c2 rows features depth + c3 nodes features bins

The constants were fitted to small trainings with two cores (bench/e2e/estimate.py) and stand in COSTS alone. They are
good to about a factor of three: processors differ, encryption grows with the size of keys (by its square, taken into
account), trees stop early, and networks are slower than memory.
"""

from dataclasses import dataclass
from typing import Any

KEY_BITS = 2048
FACTOR = 3
# What a process takes before it has read anything, and bytes of a value as read, binned and held.
BASE_BYTES = 120_000_000
BYTES_PER_VALUE = 14
BYTES_PER_ROW = 64
# Bytes per id of alignment by KKRT, both directions.
ALIGN_BYTES = 250


@dataclass(frozen=True)
class Shape:
    """A training: common rows, features of the active party and of all others, bins, depth, trees over all outputs."""

    rows: int
    own: int
    others: int
    bins: int
    depth: int
    trees: int


@dataclass(frozen=True)
class Costs:
    """Constants (c0 ... c3) of what the first tree costs more than the others, and of every tree."""

    first_seconds: tuple[float, ...]
    seconds: tuple[float, ...]
    first_bytes: tuple[float, ...]
    bytes: tuple[float, ...]


@dataclass(frozen=True)
class Estimate:
    """Seconds, bytes in both directions over all passive parties, and bytes of memory at this party."""

    seconds: float
    bytes: float
    memory: float


COSTS = {
    "batch_he": Costs(
        (0.25, 1.56e-05, 0, 7.86e-06),
        (0.0449, 2.52e-05, 1.94e-06, 3.65e-05),
        (1.76e03, 0, 0, 0.114),
        (4.14e03, 513, 0.0855, 13.2),
    ),
    "federboost": Costs(
        (0.00388, 0, 1.03e-08, 0), (0, 6.07e-08, 0, 1.71e-07), (2.04e03, 0.805, 0.228, 0), (582, 0.299, 0.000294, 0.575)
    ),
    "ldp": Costs((0.00591, 0, 0, 0), (8.55e-05, 0, 2.29e-09, 3.02e-07), (93.8, 0, 0, 0), (1.36e03, 16.4, 0, 0.838)),
    "masked": Costs(
        (0.000279, 0, 0, 0), (8.38e-05, 9.43e-07, 5.59e-08, 2.98e-06), (1.06e03, 0, 0, 0), (0, 0, 194, 1.09e03)
    ),
    "ot_shares": Costs(
        (0.0821, 0, 4.34e-08, 5.49e-07), (0.00244, 0, 0, 2.61e-06), (1.25e05, 0, 18.2, 0), (3.82e04, 0, 1.63, 0.799)
    ),
    "plain": Costs(
        (0.00372, 0, 0, 2.59e-07),
        (0.00112, 9.68e-08, 1.02e-09, 1.16e-07),
        (52.2, 0, 0, 0),
        (1.43e03, 16.3, 0.00384, 8.64),
    ),
    "secureboost": Costs(
        (0.249, 0, 0, 0), (0.0441, 0.000148, 0, 3.7e-05), (1.68e03, 0, 0, 0.106), (6.91e03, 1.03e03, 0, 14.2)
    ),
    "smm1": Costs(
        (0.000294, 0, 0, 0), (0.00121, 1.38e-05, 1.02e-07, 4.45e-06), (1.35e03, 0, 0, 2.21), (0, 0, 143, 291)
    ),
    "smm2": Costs((0, 0, 0, 3.02e-08), (0, 2.08e-05, 2.24e-07, 0), (0, 2.09, 0, 0), (0, 1.04e03, 0, 0)),
}


def estimate(protocol: str, params: Any, shape: Shape) -> Estimate | None:
    """What a run of this shape takes; None for a protocol that was never measured. `params`: of the protocol."""
    costs = COSTS.get(protocol)
    if costs is None:
        return None
    bits = getattr(params, "key_bits", KEY_BITS)
    later = max(shape.trees - 1, 0)
    known = terms(shape)

    def total(first: tuple[float, ...], each: tuple[float, ...]) -> tuple[float, float]:
        one = sum(constant * term for constant, term in zip(each, known, strict=True))
        return sum(constant * term for constant, term in zip(first, known, strict=True)) + one, one

    seconds, seconds_each = total(costs.first_seconds, costs.seconds)
    size, size_each = total(costs.first_bytes, costs.bytes)
    values = shape.rows * shape.own * BYTES_PER_VALUE + shape.rows * BYTES_PER_ROW
    return Estimate(
        (seconds + later * seconds_each) * (bits / KEY_BITS) ** 2,
        (size + later * size_each) * (bits / KEY_BITS) + ALIGN_BYTES * shape.rows,
        BASE_BYTES + values + size * (bits / KEY_BITS),
    )


def terms(shape: Shape) -> tuple[float, float, float, float]:
    """1, rows, rows x features x depth, buckets of passive features in all nodes of a tree."""
    nodes = sum(min(2**level, shape.rows) for level in range(shape.depth))
    buckets = nodes * shape.others * min(shape.bins, shape.rows)
    return 1.0, float(shape.rows), float(shape.rows * (shape.own + shape.others) * shape.depth), float(buckets)
