"""How long a run will take, how many bytes will pass and how much memory it needs, before it begins.

A tree of one output costs a constant, something per row, something per row, feature and level, and something per bucket
of the passive parties' features:

    cost = c0 + c1 rows + c2 rows features depth + c3 nodes features bins

The constants were fitted to small trainings with two cores (bench/e2e/estimate.py) and stand in COSTS alone. They are
good to about a factor of three: processors differ, encryption grows with the size of keys (by its square, taken into
account), trees stop early, and networks are slower than memory.
"""

from dataclasses import dataclass

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


def terms(shape: Shape) -> tuple[float, float, float, float]:
    """1, rows, rows x features x depth, buckets of passive features in all nodes of a tree."""
    nodes = sum(min(2**level, shape.rows) for level in range(shape.depth))
    buckets = nodes * shape.others * min(shape.bins, shape.rows)
    return 1.0, float(shape.rows), float(shape.rows * (shape.own + shape.others) * shape.depth), float(buckets)
