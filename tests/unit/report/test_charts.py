"""Charts: ticks, places of points, and what is said besides the drawing."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.report.charts import Frame, Series, bar, line_chart, ticks

FINITE = st.floats(-1e9, 1e9, allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE, st.booleans())
def test_ticks_are_even_round_and_cover_the_range(a: float, b: float, whole: bool) -> None:
    low, high = min(a, b), max(a, b)
    if high - low < 1e-6 * max(1.0, abs(low), abs(high)):
        high = low
    marks = ticks(low, high, whole=whole)
    assert 2 <= len(marks) <= 14
    slack = 1e-6 * (marks[-1] - marks[0])
    assert marks[0] <= low + slack
    assert marks[-1] >= high - slack
    steps = {round((b - a) / (marks[1] - marks[0]), 6) for a, b in pairwise(marks)}
    assert steps == {1.0}
    if whole and abs(marks[-1]) < 1e6:
        assert all(math.isclose(value, round(value), abs_tol=1e-9) for value in marks)


def _frame(**changes) -> Frame:
    return Frame("k", "A <title>", "What it says.", "round", "auc", **changes)


def _path(drawing: str) -> list[tuple[float, float]]:
    path = re.search(r'<path d="M([^"]*)"', drawing)
    assert path is not None
    return [tuple(map(float, point.split())) for point in path[1].split("L")]


def test_points_stand_where_their_values_are() -> None:
    drawn = line_chart(_frame(y_range=(0.0, 1.0)), [Series("valid", [0.0, 1.0, 4.0], [0.0, 0.5, 1.0])])
    (x0, y0), (x1, y1), (x2, y2) = _path(drawn)
    assert (x1 - x0) / (x2 - x0) == pytest.approx(0.25, abs=0.01)
    assert (y0 - y1) / (y0 - y2) == pytest.approx(0.5, abs=0.01)
    assert y2 < y0  # upwards is less


def test_words_and_numbers_are_there_without_the_drawing() -> None:
    drawn = line_chart(_frame(), [Series("train", [0.0, 1.0], [0.25, 0.75]), Series("valid", [0.0, 1.0], [0.2, 0.5])])
    assert "<title" in drawn
    assert 'role="img"' in drawn
    assert "A &lt;title&gt;" in drawn
    assert '<td class="num">0.75</td><td class="num">0.5</td>' in drawn
    assert "round 1: train 0.75, valid 0.5" in drawn
    assert "s0" in drawn
    assert "s1" in drawn


def test_lines_of_different_places_have_a_table_each() -> None:
    drawn = line_chart(_frame(), [Series("a", [0.0, 1.0], [1.0, 2.0]), Series("b", [0.0, 0.5], [1.0, 2.0])])
    assert drawn.count("<table") == 2


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5, 0.5], [-3.0, 1e7], [0.0]])
def test_few_equal_and_large_values(values: list[float]) -> None:
    drawn = line_chart(_frame(mark=(0.0, "best: 0")), [Series("x", [float(i) for i in range(len(values))], values)])
    assert "nan" not in drawn.lower()
    assert "inf" not in re.sub(r"[a-z]*info[a-z]*", "", drawn)
    assert ("<circle" in drawn) == (len(values) == 1)


def test_many_rounds_are_drawn_without_a_strip_each() -> None:
    rounds = [float(i) for i in range(1000)]
    drawn = line_chart(_frame(), [Series("x", rounds, [math.sqrt(i) for i in rounds])])
    assert 'class="stop"' not in drawn
    assert len(_path(drawn)) == 1000


def test_bars() -> None:
    assert 'width="25"' in bar(1.0, 4.0, "o0")
    assert 'width="0"' in bar(0.0, 0.0, "o0")
