"""The figure of a field: seconds of a tree against the level of privacy, a panel for each shape and line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vfxgb.bench.field.axes import LEVEL_NAMES, Shape
from vfxgb.bench.field.page import cells_at, level_of, lines_of, shapes_of
from vfxgb.bench.field.published import published
from vfxgb.bench.field.results import MEASURED
from vfxgb.bench.field.shaper import Line
from vfxgb.errors import MissingPackageError

# Okabe and Ito's: told apart with any kind of colour vision. Ours, other libraries, published.
OURS_COLOR, PEER_COLOR, PAPER_COLOR = "#0072B2", "#D55E00", "#7F7F7F"
OURS = "vfxgb"
PANEL_INCHES = (6.0, 4.2)
DOTS_PER_INCH = 110
# Names of a level stand beside its points, each a little lower than the one before.
STEP, SHIFT = 1.35, 0.08


def draw(document: Mapping[str, Any], path: Path) -> None:
    """Write the figure. Raises MissingPackageError without matplotlib, OSError."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            "drawing a field: matplotlib is not installed; pip install 'vfxgb[bench]', then vfxgb bench field --page"
        ) from None
    rows = [(shape, lines_of(document, shape)) for shape in shapes_of(document)]
    rows = [(shape, lines) for shape, lines in rows if lines]
    if not rows:
        return
    columns = max(len(lines) for _, lines in rows)
    figure = Figure(figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(rows), columns, squeeze=False, sharey="row", sharex=True)
    for (shape, lines), row in zip(rows, panels, strict=True):
        for place, axes in enumerate(row):
            if place < len(lines):
                _panel(axes, document, shape, lines[place])
            else:
                axes.set_visible(False)
    figure.savefig(path, dpi=DOTS_PER_INCH)


def points(document: Mapping[str, Any], shape: Shape, line: Line) -> list[tuple[str, str, float, str]]:
    """(level, name, seconds, colour) of all that was measured at a shape and line, in one process, or published."""
    found = [
        (
            level_of(document, cell),
            cell["entrant"] if cell["peer"] == OURS else f"{cell['peer']} {cell['entrant']}",
            float(cell["tree_seconds"]),
            OURS_COLOR if cell["peer"] == OURS else PEER_COLOR,
        )
        for place in (line, None)
        for cell in cells_at(document, shape, place)
        if cell["state"] == MEASURED
    ]
    papers = [
        (system.level, f"{system.name.partition(' (')[0]} (published)", stated.seconds, PAPER_COLOR)
        for system, stated in published(shape.name, line.name)
        if system.level is not None
    ]
    return sorted([*found, *papers], key=lambda point: (LEVEL_NAMES.index(point[0]), -point[2]))


def _panel(axes: Any, document: Mapping[str, Any], shape: Shape, line: Line) -> None:
    axes.set_title(f"{shape.words}\n{line.words}", fontsize=9)
    axes.set_yscale("log")
    axes.set_ylabel("seconds a tree")
    axes.set_xticks(range(len(LEVEL_NAMES)), LEVEL_NAMES)
    axes.set_xlim(-0.3, len(LEVEL_NAMES) - 0.1)
    axes.grid(axis="y", alpha=0.3)
    written: dict[str, float] = {}
    for level, name, seconds, color in points(document, shape, line):
        x = LEVEL_NAMES.index(level)
        filled = color if color != PAPER_COLOR else "none"
        axes.scatter([x], [seconds], s=26, facecolors=filled, edgecolors=color, zorder=3)
        # Names must not lie on one another: each at most a step below the one above it.
        height = min(seconds, written.get(level, float("inf")) / STEP)
        written[level] = height
        axes.text(x + SHIFT, height, name, fontsize=6.5, color=color, va="center")
