"""Names in the figures of a field: apart from one another, in order, and as near to their points as that allows."""

import pytest

from vfxgb.bench.field.figure import spread


@pytest.mark.parametrize(
    ("heights", "wanted"),
    [
        ([], []),
        ([3.0, 1.0], [3.0, 1.0]),
        ([1.0, 1.0], [1.5, 0.5]),
        ([1.0, 1.0, 1.0], [2.0, 1.0, 0.0]),
        ([5.0, 1.0, 0.9], [5.0, 1.45, 0.45]),
        # The lower pair is moved up into the upper one's way: all four move.
        ([2.0, 2.0, 1.0, 1.0], [3.0, 2.0, 1.0, 0.0]),
    ],
)
def test_names_do_not_lie_on_one_another(heights: list[float], wanted: list[float]) -> None:
    assert spread(heights, 1.0) == pytest.approx(wanted)
