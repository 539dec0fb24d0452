"""The axes of the field: shapes of tables, lines between parties, levels of privacy; and what a run measures.

Shapes are those of the papers and pages that published seconds per tree, so that numbers can stand side by side.
"""

from dataclasses import dataclass, replace

from vfxgb.bench.field.shaper import Line
from vfxgb.contract import ProtocolSpec


@dataclass(frozen=True)
class Shape:
    """A generated table: rows, features of the active and of the passive party; depth and bins of the trees on it."""

    name: str
    rows: int
    features: tuple[int, int]
    depth: int
    bins: int

    @property
    def cells(self) -> int:
        """Rows times features of both."""
        return self.rows * sum(self.features)

    @property
    def words(self) -> str:
        """The shape as tables and titles say it."""
        active, passive = self.features
        return f"{self.rows:,} x ({active}+{passive}), depth {self.depth}, {self.bins} bins"


SHAPES = (
    Shape("50k", 50_000, (8, 7), 4, 8),
    Shape("wide", 30_000, (5, 50), 5, 16),
    Shape("100k", 100_000, (10, 10), 5, 16),
    Shape("140k", 140_000, (7, 16), 5, 10),
    Shape("creditcard", 284_807, (15, 15), 5, 16),
    Shape("1m", 1_000_000, (10, 10), 5, 16),
)
LINES = (
    Line("lan", 1000, 0.2),
    Line("200/20", 200, 20),
    Line("100/20", 100, 20),
    Line("10/50", 10, 50),
)
# What an entrant is tried on before it meets a table: whether it runs at all, and how its time grows with the table.
# Who would need more than the limit of a cell for the larger one is tried on the small one alone.
PROBES = (Shape("probe", 200, (5, 5), 4, 8), Shape("probe 2k", 2_000, (5, 5), 4, 8))
PROBE_LINE = LINES[0]


@dataclass(frozen=True)
class Level:
    """Who learns what, in one of a few classes; `rank` orders those that can be ordered, from weak to strong."""

    name: str
    rank: int
    words: str


LEVELS = (
    Level("pooled", 0, "one place has all data"),
    Level("clear", 1, "gradients travel in clear, and with them the labels"),
    Level("noise", 2, "what travels is randomised: it is hidden up to an epsilon, and accuracy pays for it"),
    Level(
        "sums",
        3,
        "gradients are hidden from the passive party; it learns which rows are in a node, and the active party opens "
        "sums of gradients for every bucket of its features",
    ),
    Level(
        "splits",
        4,
        "no sum is opened and the passive party is shown no node but through its own splits; a party learns no more "
        "than splits that win, and which way rows go there",
    ),
    Level(
        "nothing", 5, "sums, nodes and splits stay shared: neither party learns more than the model, or shares of it"
    ),
)
LEVEL_NAMES = tuple(level.name for level in LEVELS)


def level_of(spec: ProtocolSpec) -> str:
    """The level of a protocol of ours, from what its spec says. A broken one protects nothing."""
    if spec.security in ("none", "broken"):
        return "clear"
    if spec.dp_events:
        return "noise"
    return "sums" if spec.shows_sums or spec.shows_nodes else "splits"


@dataclass(frozen=True)
class Settings:
    """What a run measures. `trees` are timed; some are grown before them (bench/field/adapter.py) and one after them.

    `enough_seconds`: a cell that would take longer is run with fewer trees. `limit_seconds`: what a cell may take; one
    that would take longer even so is not run. `budget_seconds`: what all may take together, None for any time.
    """

    quick: bool
    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]
    trees: int
    enough_seconds: float
    limit_seconds: float
    budget_seconds: float | None
    threads: int


FULL = Settings(
    quick=False,
    shapes=SHAPES,
    lines=LINES,
    trees=3,
    enough_seconds=30.0,
    limit_seconds=300.0,
    budget_seconds=3600.0,
    threads=1,
)
QUICK = replace(
    FULL,
    quick=True,
    shapes=SHAPES[:1],
    lines=(LINES[0], LINES[2]),
    enough_seconds=15.0,
    limit_seconds=120.0,
    budget_seconds=540.0,
)
# The fewest trees that are timed where the limit forbids more.
FEWEST_TREES = 1
# Trees that are grown after those that are timed: behind the last one nothing is made ahead.
LAST_TREES = 1
