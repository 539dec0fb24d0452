"""How long a run will take, how many bytes will pass and how much memory it needs, before it begins.

A tree of one output costs a constant, something per row, something per row, feature and level, something per bucket of
the passive parties' features in every node, and something per bucket once:

    cost = c0 + c1 rows + c2 rows features depth + c3 nodes features bins + c4 features bins

The constants were fitted to small trainings with two cores (bench/e2e/estimate.py) and stand in costs.json alone: by
protocol, c0 to c4 of what the first tree costs more than the others and of every tree, in seconds. They are good to
about a factor of three: processors differ, encryption grows with the size of keys (by its square, taken into account),
trees stop early, and networks are slower than memory. Bytes are what the protocol says (train/wire_estimate.py).
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec

from vfxgb.train.wire_estimate import LineEstimate

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


@dataclass(frozen=True)
class Estimate:
    """Seconds, bytes in both directions over all passive parties, and bytes of memory at this party."""

    seconds: float
    bytes: float
    memory: float


COSTS = msgspec.json.decode(files("vfxgb.party").joinpath("costs.json").read_bytes(), type=dict[str, Costs])


def estimate(protocol: str, params: Any, shape: Shape, line: LineEstimate) -> Estimate | None:
    """Estimate what a run of this shape takes; None for a protocol that was never measured.

    `params` are the parameters of the protocol, `line` is what passes between the parties.
    """
    costs = COSTS.get(protocol)
    if costs is None:
        return None
    bits = getattr(params, "key_bits", KEY_BITS)
    later = max(shape.trees - 1, 0)
    known = terms(shape)

    def cost(constants: tuple[float, ...]) -> float:
        return sum(constant * term for constant, term in zip(constants, known, strict=True))

    seconds_each, size_each = cost(costs.seconds), line.round / line.outputs
    seconds, size = cost(costs.first_seconds) + seconds_each, line.setup + size_each
    values = shape.rows * shape.own * BYTES_PER_VALUE + shape.rows * BYTES_PER_ROW
    return Estimate(
        (seconds + later * seconds_each) * (bits / KEY_BITS) ** 2,
        size + later * size_each + ALIGN_BYTES * shape.rows,
        BASE_BYTES + values + size,
    )


def terms(shape: Shape) -> tuple[float, ...]:
    """Return 1, rows, rows x features x depth, and the buckets of passive features in a tree's nodes and in one."""
    nodes = sum(min(2**level, shape.rows) for level in range(shape.depth))
    buckets = shape.others * min(shape.bins, shape.rows)
    work = shape.rows * (shape.own + shape.others) * shape.depth
    return 1.0, float(shape.rows), float(work), float(nodes * buckets), float(buckets)
