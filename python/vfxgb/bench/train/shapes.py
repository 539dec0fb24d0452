"""Shapes of generated tables, each with its bins and depth: what `vfxgb bench train --shapes` measures side by side.

A shape is written ROWSxACTIVE+PASSIVE:bins=B:depth=D, such as 150000x5+5:bins=32:depth=6.
"""

import re
from dataclasses import dataclass

from vfxgb.errors import ParameterError

# give_credit's; that of Squirrel's table (USENIX Security 2023); the same with a million rows; a wide table.
BARS = (
    "150000x5+5:bins=32:depth=6",
    "100000x10+10:bins=16:depth=5",
    "1000000x10+10:bins=16:depth=5",
    "30000x5+50:bins=64:depth=6",
)
# The word that stands for all of them.
ALL_BARS = "bars"
_FORM = re.compile(r"(\d+)x(\d+)\+(\d+):bins=(\d+):depth=(\d+)")


@dataclass(frozen=True)
class Shape:
    """A generated table, `features` at the active and at the passive party, and the trees that are grown on it."""

    rows: int
    features: tuple[int, int]
    bins: int
    depth: int

    def __str__(self) -> str:
        active, passive = self.features
        return f"{self.rows:,} x ({active}+{passive}), {self.bins} bins, depth {self.depth}"


def read_shapes(text: str) -> tuple[Shape, ...]:
    """The shapes of a list that is separated by commas. Raises ParameterError for what is none, or is there twice."""
    parts = [part for given in text.split(",") for part in (BARS if given == ALL_BARS else (given,))]
    shapes = tuple(_read_shape(part) for part in parts)
    if len(set(shapes)) != len(shapes):
        raise ParameterError(f"bench train: found {text!r} in --shapes, wanted every shape once")
    return shapes


def _read_shape(text: str) -> Shape:
    match = _FORM.fullmatch(text)
    if match is None or min(map(int, match.groups())) < 1:
        raise ParameterError(
            f"bench train: found {text!r} in --shapes, wanted ROWSxACTIVE+PASSIVE:bins=B:depth=D such as {BARS[0]}, "
            f"or {ALL_BARS!r}"
        )
    rows, active, passive, bins, depth = map(int, match.groups())
    return Shape(rows, (active, passive), bins, depth)
