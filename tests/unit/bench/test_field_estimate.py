"""How long cells will take: growth between two measured tables, bytes over another line, fewer trees, none."""

from typing import Any

import pytest

from vfxgb.bench.field.axes import Shape
from vfxgb.bench.field.estimate import Expected, Known, expected, on_line, trees_within
from vfxgb.bench.field.results import Cell
from vfxgb.bench.field.shaper import Line

LINE, OTHER = Line("line", 8, 100), Line("other", 80, 20)  # a megabyte a second, and ten
SMALL, MIDDLE, LARGE = (Shape(str(rows), rows, (5, 5), 4, 8) for rows in (100, 1_000, 10_000))


def found(tree: float, setup: float = 0.0, n_bytes: float = 0.0, **more: Any) -> dict[str, Any]:
    ways = {way: {"tree": n_bytes / 2, "setup": 0.0} for way in ("there", "back")}
    numbers = {"tree_seconds": tree, "setup_seconds": setup, "bytes": ways, "round_trips": None}
    cell = {"state": "measured", "trees": 1, "grown": 3, "took": 3 * tree + setup + 5.0, **numbers}
    return {**cell, **more}


def seconds(shape: Shape, line: Line | None, *known: Known) -> Expected:
    return expected(Cell("peer", "entrant", shape, line), known)


def test_one_table_is_taken_in_proportion() -> None:
    cost = seconds(LARGE, None, Known(SMALL, None, found(0.5, 0.25)))
    assert (cost.tree, cost.setup) == (50.0, 25.0)
    assert cost.around == pytest.approx(5.0)
    assert cost.warm == 1
    assert cost.seconds(3) == pytest.approx(5.0 + 25.0 + 5 * 50.0)


def test_two_tables_tell_what_does_not_grow() -> None:
    """A constant of 2 s and a second for each thousand rows."""
    known = [Known(SMALL, None, found(2.1)), Known(MIDDLE, None, found(3.0))]
    assert seconds(LARGE, None, *known).tree == pytest.approx(12.0)
    # Time that seems to shrink is taken as a constant.
    known = [Known(SMALL, None, found(4.0)), Known(MIDDLE, None, found(3.0))]
    assert seconds(LARGE, None, *known).tree == pytest.approx(3.0)


def test_larger_tables_and_failures_say_nothing() -> None:
    known = [Known(SMALL, None, found(0.5)), Known(LARGE, None, found(9.0)), Known(MIDDLE, None, {"state": "failed"})]
    assert seconds(MIDDLE, None, *known).tree == pytest.approx(5.0)


def test_bytes_go_over_the_line_that_is_asked_for() -> None:
    """A tree of 3 s: 2 MB and ten round trips take 2 + 1 s of LINE; half a second was computing."""
    known = Known(SMALL, LINE, found(3.5, n_bytes=2e6, round_trips=10))
    assert known.computing("tree") == pytest.approx(0.5)
    assert seconds(SMALL, OTHER, known).tree == pytest.approx(0.5 + 0.2 + 0.2)
    assert on_line(None, 1e9, 5) == 0.0


def test_a_cell_over_the_same_line_goes_first() -> None:
    known = [Known(SMALL, OTHER, found(7.0)), Known(SMALL, LINE, found(1.0)), Known(SMALL, OTHER, found(8.0))]
    assert seconds(SMALL, LINE, *known).tree == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("enough", "limit", "trees"),
    [(50.0, 100.0, 3), (49.0, 100.0, 1), (100.0, 49.0, 1), (20.0, 30.0, 1), (20.0, 29.0, 0), (100.0, 29.0, 0)],
)
def test_trees_within_a_limit(enough: float, limit: float, trees: int) -> None:
    """Ten seconds a tree, one warm tree and one after: 50 s for three, 30 s for one."""
    assert trees_within(enough, limit, 3, Expected(10.0, 0.0, 0.0, 1)) == trees
