"""How long a run will take, how many bytes will pass and how much memory it needs, before it begins.

A tree of one output costs a constant, something per row, something per row, feature and level, something per bucket of
the passive parties' features in every node, and something per bucket once:

    cost = c0 + c1 rows + c2 rows features depth + c3 nodes features bins + c4 features bins

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
    """Constants (c0 ... c4) of what the first tree costs more than the others, and of every tree."""

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
        (0, 0.000117, 0, 0, 0),
        (0.0544, 6.38e-05, 0, 3.22e-05, 0.000133),
        (1.87e03, 0.0587, 0, 0, 0),
        (3.1e03, 515, 0.0105, 13.2, 9.66),
    ),
    "federboost": Costs(
        (0.000455, 0, 1.32e-08, 3.2e-07, 0),
        (0.00176, 0, 1.7e-09, 3.37e-08, 0),
        (0, 1.93, 0.192, 0, 15.2),
        (974, 0.17, 0.00623, 0, 0),
    ),
    "ldp": Costs(
        (0.00274, 0, 8.48e-09, 3.3e-08, 0),
        (0.00248, 0, 3.05e-09, 2.18e-09, 0),
        (148, 0, 0, 0.0803, 0),
        (2.63e03, 16.4, 0.00357, 0, 0),
    ),
    "masked": Costs(
        (0.000712, 0, 0, 0, 0), (0.0016, 0, 1.5e-07, 1.79e-06, 3.13e-07), (986, 0, 0, 0, 0), (0, 0, 168, 679, 1.71e04)
    ),
    "ot_shares": Costs(
        (0.0702, 1.93e-06, 0, 1.53e-06, 1.18e-05),
        (0.00228, 0, 2.65e-08, 0, 2.22e-05),
        (0, 0, 17.9, 0, 2.42e03),
        (0, 1.74, 1.38, 0, 696),
    ),
    "plain": Costs(
        (0.00334, 5.3e-08, 5.48e-10, 0, 6.16e-08),
        (0.00166, 3.52e-09, 4.19e-09, 6.64e-08, 0),
        (31.8, 0, 0, 0, 0.297),
        (1.07e03, 16.4, 0.0002, 8.64, 3.45),
    ),
    "secureboost": Costs(
        (0.255, 0, 0, 5.33e-06, 0),
        (0.0917, 0.000125, 8.76e-07, 2.16e-05, 0.000224),
        (1.77e03, 0.0649, 0, 0, 0),
        (6.73e03, 1.03e03, 0, 14.3, 0.645),
    ),
    "smm1": Costs(
        (0, 0, 0, 1.68e-07, 0),
        (0.00885, 9.45e-06, 2.04e-07, 6.94e-07, 0),
        (2.78e03, 0, 0, 0, 0),
        (0, 1.25e03, 68.4, 296, 5.71e03),
    ),
    "smm2": Costs(
        (0.000439, 6.22e-08, 0, 0, 0),
        (0, 1.25e-05, 4.72e-07, 1.32e-05, 0.000406),
        (0, 0, 0.00735, 0, 0.0444),
        (0, 1.24e03, 0, 0, 0),
    ),
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


def terms(shape: Shape) -> tuple[float, ...]:
    """1, rows, rows x features x depth, buckets of passive features in all nodes of a tree, and in one node."""
    nodes = sum(min(2**level, shape.rows) for level in range(shape.depth))
    buckets = shape.others * min(shape.bins, shape.rows)
    work = shape.rows * (shape.own + shape.others) * shape.depth
    return 1.0, float(shape.rows), float(work), float(nodes * buckets), float(buckets)
