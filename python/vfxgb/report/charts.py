"""Charts as SVG, drawn here so that they need no script: lines over numbers, and bars for cells of tables.

Colours and dashes come from the classes s0, s1, ... of assets/style.css. Every chart says in words what it shows and
has its numbers in a table below it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vfxgb.report.html import Markup, more, table, tag
from vfxgb.report.words import number

SERIES = 8  # styles that there are for lines
_WIDTH, _HEIGHT = 420.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 12.0, 38.0
# Places at which the pointer is told the values.
_STOPS = 120
Range = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One line: ascending `x`, as many `y`."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Frame:
    """What a chart stands in. `key`: unique on the page. Ranges that are None follow from the data.

    `mark`: a value of x with a line upwards and its name. `diagonal`: draw y = x. `dots`: mark every value.
    `values`: how a y is written; `ticks`: the same on the axis, knowing all that stand there.
    """

    key: str
    title: str
    says: str
    x_name: str
    y_name: str
    x_range: Range | None = None
    y_range: Range | None = None
    mark: tuple[float, str] | None = None
    diagonal: bool = False
    dots: bool = False
    whole: bool = False
    values: Callable[[float], str] = number
    ticks: Callable[[float, Sequence[float]], str] | None = None


def ticks(low: float, high: float, wanted: int = 5, whole: bool = False) -> list[float]:
    """Round numbers from at most `low` to at least `high`, about `wanted` of them; whole ones if asked."""
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        pad = abs(low) * 0.05 or 1.0
        low, high = low - pad, high + pad
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1.0, 2.0, 2.5, 5.0, 10.0) if power * nice >= rough * 0.999)
    if whole:
        step = max(1.0, float(round(step)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [place * step for place in range(first, max(first + 1, last) + 1)]


def line_chart(frame: Frame, series: Sequence[Series]) -> Markup:
    """A figure: title, lines, a legend if there are several, and the numbers folded away."""
    xs = [x for line in series for x in line.x]
    ys = [y for line in series for y in line.y]
    x_ticks = _x_ticks(frame, xs)
    y_ticks = ticks(*(frame.y_range or (min(ys), max(ys))))
    ends = frame.x_range or (min(xs), max(xs))
    scale = _Scale(ends if ends[0] < ends[1] else (x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1]))
    drawing = tag(
        "svg",
        tag("title", frame.title, id=f"{frame.key}-title"),
        tag("desc", frame.says, id=f"{frame.key}-says"),
        _grid(frame, scale, x_ticks, y_ticks),
        (_line(place, line, scale, frame.dots) for place, line in enumerate(series)),
        _stops(frame, series, scale),
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        role="img",
        aria_labelledby=f"{frame.key}-title {frame.key}-says",
    )
    legend = tag(
        "ul",
        (tag("li", _swatch(place), line.name) for place, line in enumerate(series)),
        class_="legend",
    )
    return tag(
        "figure",
        tag("figcaption", frame.title),
        tag("p", frame.says, class_="says"),
        drawing,
        legend if len(series) > 1 else None,
        _numbers(frame, series),
        class_="chart",
    )


def bar(value: float, most: float, style: str) -> Markup:
    """A bar of the share value / most, for a cell of a table whose text has the number."""
    width = 100.0 * max(0.0, value) / most if most > 0 else 0.0
    return tag(
        "svg",
        tag("rect", width=width, height="8", class_=style),
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


@dataclass(frozen=True)
class _Scale:
    x_range: Range
    y_range: Range

    def x(self, value: float) -> float:
        low, high = self.x_range
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low)


def _x_ticks(frame: Frame, xs: Sequence[float]) -> list[float]:
    if frame.x_range is not None:
        return ticks(*frame.x_range, whole=frame.whole)
    low, high = min(xs), max(xs)
    return [low - 1.0, low, low + 1.0] if low == high else ticks(low, high, whole=frame.whole)


def _grid(frame: Frame, scale: _Scale, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> list[Markup]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for value in y_ticks:
        at = scale.y(value)
        parts.append(tag("line", x1=_LEFT, x2=right, y1=at, y2=at, class_="grid"))
        parts.append(tag("text", (frame.ticks or _tick)(value, y_ticks), x=_LEFT - 6, y=at + 4, class_="tick end"))
    for value in x_ticks:
        at = scale.x(value)
        if _LEFT - 1 <= at <= right + 1:
            parts.append(tag("text", _tick(value, x_ticks), x=at, y=bottom + 16, class_="tick mid"))
    parts.append(tag("line", x1=_LEFT, x2=right, y1=bottom, y2=bottom, class_="axis"))
    parts.append(tag("text", frame.x_name, x=(_LEFT + right) / 2, y=_HEIGHT - 5, class_="name mid"))
    if frame.diagonal:
        low = max(scale.x_range[0], scale.y_range[0])
        high = min(scale.x_range[1], scale.y_range[1])
        ends = {"x1": scale.x(low), "y1": scale.y(low), "x2": scale.x(high), "y2": scale.y(high)}
        parts.append(tag("line", class_="diagonal", **ends))
    if frame.mark is not None:
        at, text = scale.x(frame.mark[0]), frame.mark[1]
        late = at > (_LEFT + right) / 2
        parts.append(tag("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="mark"))
        parts.append(tag("text", text, x=at + (-5 if late else 5), y=bottom - 6, class_="note" + " end" * late))
    return parts


def _tick(value: float, others: Sequence[float]) -> str:
    """A tick's label, in as many decimals as its neighbours need."""
    step = others[1] - others[0]
    if max(abs(others[0]), abs(others[-1])) >= 1e5 or step < 1e-5:
        return f"{value:.3g}"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if round(step, decimals) != round(step, decimals + 2):
        decimals += 1
    return f"{value + 0.0:,.{decimals}f}"


def _line(place: int, line: Series, scale: _Scale, dots: bool) -> list[Markup]:
    style = f"s{place % SERIES}"
    points = [(scale.x(x), scale.y(y)) for x, y in zip(line.x, line.y, strict=True)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    parts = [tag("path", d=path, class_=f"line {style}")]
    if dots or len(points) == 1:
        parts += [tag("circle", cx=x, cy=y, r="3.5", class_=f"dot {style}") for x, y in points]
    return parts


def _stops(frame: Frame, series: Sequence[Series], scale: _Scale) -> list[Markup]:
    """Strips over the chart that tell the pointer the values below it."""
    xs = sorted({x for line in series for x in line.x})
    if len(xs) > _STOPS or len(series) > SERIES:
        return []
    held = [dict(zip(line.x, line.y, strict=True)) for line in series]
    edges = [_LEFT, *((scale.x(a) + scale.x(b)) / 2 for a, b in pairwise(xs)), _WIDTH - _RIGHT]
    stops = []
    for place, x in enumerate(xs):
        values = (f"{line.name} {frame.values(ys[x])}" for line, ys in zip(series, held, strict=True) if x in ys)
        stops.append(
            tag(
                "rect",
                tag("title", f"{frame.x_name} {number(x)}: {', '.join(values)}"),
                x=edges[place],
                y=_TOP,
                width=max(0.0, edges[place + 1] - edges[place]),
                height=_HEIGHT - _TOP - _BOTTOM,
                class_="stop",
            )
        )
    return stops


def _swatch(place: int) -> Markup:
    line = tag("line", x1="1", x2="25", y1="6", y2="6", class_=f"line s{place % SERIES}")
    return tag("svg", line, viewBox="0 0 26 12", class_="swatch", aria_hidden="true")


def _numbers(frame: Frame, series: Sequence[Series]) -> Markup:
    """The data of a chart as a table: one if all lines have the same x, else one each."""
    groups = [list(series)] if len({tuple(line.x) for line in series}) == 1 else [[line] for line in series]
    tables = (
        table(
            f"{frame.title}: {', '.join(line.name for line in group)}",
            [frame.x_name, *(line.name if len(series) > 1 else frame.y_name for line in group)],
            ([number(x), *(frame.values(line.y[place]) for line in group)] for place, x in enumerate(group[0].x)),
            numeric=range(len(group) + 1),
        )
        for group in groups
    )
    return more("Numbers", tables, key=f"{frame.key}-numbers")
