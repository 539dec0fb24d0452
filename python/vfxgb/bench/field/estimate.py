"""How long a cell will take, from what the entrant took before: only to plan with, never as a result.

Everything is taken to grow with rows times features, and bytes to pass the line one after the other. Where a cell was
measured that is smaller or as large, the largest of those is the measure, else the probe. Costs that do not grow with
the table make this too much for a larger one, so what is left out for lack of time could be run after all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vfxgb.bench.field.axes import FEWEST_TREES, PROBE, PROBE_LINE, UNTIMED_TREES, Shape
from vfxgb.bench.field.results import MEASURED, Cell
from vfxgb.bench.field.shaper import Line


@dataclass(frozen=True)
class Known:
    """A measured cell: on which shape, over which line, and what it gave."""

    shape: Shape
    line: Line | None
    cell: Mapping[str, Any]


@dataclass(frozen=True)
class Expected:
    """Seconds of a tree, of the set-up, and of what is in no training: starting processes, checking the model."""

    tree: float
    setup: float
    around: float

    def seconds(self, trees: int) -> float:
        """Of a cell that times so many trees."""
        return self.around + self.setup + (trees + UNTIMED_TREES) * self.tree


def expected(cell: Cell, known: Iterable[Known]) -> Expected:
    """What a cell will take. `known`: cells of the same entrant, at least one measured that is not larger."""
    measured = [
        one
        for one in known
        if one.cell["state"] == MEASURED
        and one.shape.cells <= cell.shape.cells
        and (one.line is None) == (cell.line is None)
    ]
    nearest = max(measured, key=lambda one: (one.shape.cells, one.line == cell.line))
    growth = cell.shape.cells / nearest.shape.cells
    tree, setup = (_seconds(part, nearest, cell.line, growth) for part in ("tree", "setup"))
    return Expected(tree, setup, _around(nearest.cell))


def _around(found: Mapping[str, Any]) -> float:
    """The seconds of a cell that are in no training."""
    trained = found["setup_seconds"] + (found["trees"] + UNTIMED_TREES) * found["tree_seconds"]
    return max(0.0, float(found["took"] - trained))


def _seconds(part: str, known: Known, line: Line | None, growth: float) -> float:
    """Seconds of the tree or of the set-up: those of computing, and those of the line."""
    found = known.cell
    seconds: float = found[f"{part}_seconds"]
    if line is None or known.line is None:
        return growth * seconds
    n_bytes = sum(way[part] for way in found["bytes"].values())
    trips = (found["round_trips"] or 0) if part == "tree" else 0
    computing = max(0.0, seconds - _on_line(known.line, n_bytes, trips))
    return growth * computing + _on_line(line, growth * n_bytes, trips)


def _on_line(line: Line, n_bytes: float, round_trips: float) -> float:
    return n_bytes / line.bytes_per_second + round_trips * line.round_trip_ms / 1000


def trees_within(seconds: float, wanted: int, cost: Expected) -> int:
    """How many trees can be timed in so many seconds: those wanted, or the fewest, or 0 for none."""
    return next((trees for trees in (wanted, FEWEST_TREES) if cost.seconds(trees) <= seconds), 0)


def probe_of(cell: Cell) -> Cell:
    """The cell in which an entrant is tried on a small table before it meets a large one."""
    return Cell(cell.peer, cell.entrant, PROBE, PROBE_LINE if cell.line else None)
