"""How long a cell will take, from what the entrant took before: only to plan with, never as a result.

Seconds of computing and bytes are taken to grow evenly with rows times features: along the line through the two largest
tables that were measured and are not larger, or in proportion where there is one. Bytes pass the line one after the
other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vfxgb.bench.field.axes import FEWEST_TREES, LAST_TREES, Shape
from vfxgb.bench.field.results import MEASURED, Cell
from vfxgb.bench.field.shaper import Line


@dataclass(frozen=True)
class Known:
    """A cell: on which shape, over which line, and what it gave."""

    shape: Shape
    line: Line | None
    found: Mapping[str, Any]

    def bytes(self, part: str) -> float:
        """The bytes of a tree or of the set-up, in both directions together."""
        return float(sum(way[part] for way in self.found["bytes"].values()))

    def computing(self, part: str) -> float:
        """Seconds of a tree or of the set-up without those of the line."""
        seconds = float(self.found[f"{part}_seconds"])
        return max(0.0, seconds - on_line(self.line, self.bytes(part), self.trips(part)))

    def trips(self, part: str) -> float:
        """Round trips of a tree, as far as they are known."""
        return float(self.found["round_trips"] or 0.0) if part == "tree" else 0.0

    @property
    def warm(self) -> int:
        """Trees before those that were timed."""
        return int(self.found["grown"] - self.found["trees"] - LAST_TREES)

    @property
    def around(self) -> float:
        """The seconds of the cell that are in no training: starting processes, checking the model."""
        trained = self.found["setup_seconds"] + self.found["grown"] * self.found["tree_seconds"]
        return max(0.0, float(self.found["took"] - trained))


@dataclass(frozen=True)
class Expected:
    """Seconds of a tree, of the set-up, and of what is in no training. `warm`: trees before those that are timed."""

    tree: float
    setup: float
    around: float
    warm: int

    def seconds(self, trees: int) -> float:
        """The seconds that a cell takes which times so many trees."""
        return self.around + self.setup + (self.warm + trees + LAST_TREES) * self.tree


def expected(cell: Cell, known: Sequence[Known]) -> Expected:
    """What a cell will take. `known`: cells of the same entrant, at least one measured that is not larger."""
    measured = [one for one in known if one.found["state"] == MEASURED and one.shape.cells <= cell.shape.cells]
    # Of each shape one: over the same line if that was measured.
    by_shape = {one.shape: one for one in sorted(measured, key=lambda one: one.line == cell.line)}
    largest = sorted(by_shape.values(), key=lambda one: one.shape.cells)[-2:]
    tree, setup = (_seconds(part, largest, cell) for part in ("tree", "setup"))
    return Expected(tree, setup, largest[-1].around, largest[-1].warm)


def _seconds(part: str, known: Sequence[Known], cell: Cell) -> float:
    computing = _grown(known, cell.shape.cells, lambda one: one.computing(part))
    n_bytes = _grown(known, cell.shape.cells, lambda one: one.bytes(part))
    return computing + on_line(cell.line, n_bytes, known[-1].trips(part))


def _grown(known: Sequence[Known], cells: int, value: Callable[[Known], float]) -> float:
    """The value at so many rows times features; it never shrinks with them."""
    last = known[-1]
    if len(known) == 1:
        return value(last) * cells / last.shape.cells
    slope = (value(last) - value(known[0])) / (last.shape.cells - known[0].shape.cells)
    return value(last) + max(0.0, slope) * (cells - last.shape.cells)


def on_line(line: Line | None, n_bytes: float, round_trips: float) -> float:
    """Seconds that a line takes by itself."""
    if line is None:
        return 0.0
    return n_bytes / line.bytes_per_second + round_trips * line.round_trip_ms / 1000


def trees_within(enough: float, limit: float, wanted: int, cost: Expected) -> int:
    """How many trees are timed: those wanted if that takes `enough` seconds at most, the fewest if that takes `limit`
    seconds at most, else 0: the cell is not run.
    """
    plans = ((wanted, min(enough, limit)), (FEWEST_TREES, limit))
    return next((trees for trees, seconds in plans if cost.seconds(trees) <= seconds), 0)
