"""The figures of a field, one for each shape: seconds of a tree against the level of privacy, a panel for each line."""

from collections.abc import Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any, NamedTuple

from vfxgb.bench.field.axes import LEVEL_NAMES, Shape
from vfxgb.bench.field.page import cells_at, level_of, lines_of
from vfxgb.bench.field.published import published
from vfxgb.bench.field.results import MEASURED
from vfxgb.bench.field.shaper import Line
from vfxgb.errors import MissingPackageError

OURS = "vfxgb"


class Kind(NamedTuple):
    """How points of a kind are drawn. Colours are Okabe and Ito's: told apart with any kind of colour vision."""

    words: str
    color: str
    marker: str
    is_filled: bool


KINDS = {
    "ours": Kind("vfxgb", "#0072B2", "o", True),
    "peer": Kind("other library", "#D55E00", "o", True),
    "alone": Kind("other library, both parties in one process without a line", "#D55E00", "s", False),
    "published": Kind("published, other machines", "#6F6F6F", "^", False),
}
PANEL_INCHES = (6.4, 4.6)
COLUMNS = 2
DOTS_PER_INCH = 110
FONT_POINTS = 7.5
# What a name takes of the height of a panel, and where names stand right of their points.
NAME_SHARE, SHIFT = 0.036, 0.1


class Point(NamedTuple):
    """One entrant of the figure, at its level of privacy. `kind` is one of KINDS."""

    level: str
    name: str
    seconds: float
    kind: str


def draw(document: Mapping[str, Any], shape: Shape, path: Path) -> None:
    """Write the figure of a shape that has cells over a line. Raises OSError, MissingPackageError for matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            "drawing a field: matplotlib is not installed; pip install 'vfxgb[bench]', then vfxgb bench field --page"
        ) from None
    by_line = {line: points(document, shape, line) for line in lines_of(document, shape)}
    seconds = [point.seconds for some in by_line.values() for point in some]
    columns = min(COLUMNS, len(by_line))
    rows = -(-len(by_line) // columns)
    figure = Figure(figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    # Room for names above the slowest and below the fastest.
    span = (min(seconds, default=0.1) / 2, max(seconds, default=1.0) * 2)
    for axes, (line, some) in zip(panels, by_line.items(), strict=False):
        _panel(axes, line, some, span)
    for axes in panels[len(by_line) :]:
        axes.set_visible(False)
    shown = dict.fromkeys(point.kind for some in by_line.values() for point in some)
    handles = [panels[0].scatter([], [], s=30, label=KINDS[kind].words, **_look(KINDS[kind])) for kind in shown]
    figure.suptitle(f"{shape.words}: seconds a tree by level of privacy", fontsize=11)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False)
    figure.savefig(path, dpi=DOTS_PER_INCH)


def points(document: Mapping[str, Any], shape: Shape, line: Line) -> list[Point]:
    """All that was measured at a shape and line, in one process, or published; by level, the slowest first."""
    found = []
    for place in (line, None):
        for cell in cells_at(document, shape, place):
            if cell["state"] == MEASURED:
                is_ours = cell["peer"] == OURS
                name = cell["entrant"] if is_ours else f"{cell['peer']} {cell['entrant']}"
                kind = "ours" if is_ours else "peer" if place else "alone"
                found.append(Point(level_of(document, cell), name, float(cell["tree_seconds"]), kind))
    for system, stated in published(shape.name, line.name):
        if system.level is not None:
            found.append(Point(system.level, system.name.partition(" (")[0], stated.seconds, "published"))
    return sorted(found, key=lambda point: (LEVEL_NAMES.index(point.level), -point.seconds))


def spread(heights: Sequence[float], step: float) -> list[float]:
    """Heights at least `step` apart, in the same order, as near as possible to those given, which must not rise.

    With i steps added to the i-th, what is wanted is a sequence that does not rise: blocks that rise take their mean.
    """
    blocks: list[list[float]] = []
    for place, height in enumerate(heights):
        blocks.append([height + place * step])
        while len(blocks) > 1 and _mean(blocks[-2]) < _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    means = [_mean(block) for block in blocks for _ in block]
    return [mean - place * step for place, mean in enumerate(means)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _look(kind: Kind) -> dict[str, Any]:
    return {
        "marker": kind.marker,
        "facecolors": kind.color if kind.is_filled else "white",
        "edgecolors": kind.color,
    }


def _panel(axes: Any, line: Line, some: Sequence[Point], span: tuple[float, float]) -> None:
    axes.set_title(line.words, fontsize=9)
    axes.set_yscale("log")
    axes.set_ylim(span)
    axes.set_ylabel("seconds a tree")
    axes.tick_params(labelleft=True)
    axes.set_xticks(range(len(LEVEL_NAMES)), LEVEL_NAMES)
    # The names of the last level stand right of it.
    axes.set_xlim(-0.3, len(LEVEL_NAMES) + 0.1)
    axes.grid(axis="y", alpha=0.25)
    step = NAME_SHARE * (log10(span[1]) - log10(span[0]))
    for x, level in enumerate(LEVEL_NAMES):
        here = [point for point in some if point.level == level]
        for point, height in zip(here, spread([log10(one.seconds) for one in here], step), strict=True):
            kind = KINDS[point.kind]
            axes.scatter([x], [point.seconds], s=30, zorder=3, **_look(kind))
            axes.plot([x, x + SHIFT], [point.seconds, 10**height], color=kind.color, linewidth=0.5, zorder=2)
            axes.text(x + 1.2 * SHIFT, 10**height, point.name, fontsize=FONT_POINTS, color=kind.color, va="center")
