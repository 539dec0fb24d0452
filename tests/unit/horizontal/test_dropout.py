"""Who is away when: rates, schedules, functions, and settings that are none."""

import itertools
from typing import Any

import pytest

from vfxgb.errors import ParameterError
from vfxgb.horizontal.dropout import Drop, make_dropout
from vfxgb.secagg.base import JOIN, MASK, STAGES, UNMASK


def absences(dropout: Any, round_index: int, n_users: int, depths: int = 3) -> list[set[int]]:
    """Who is away at each stage of each level of a round, in order."""
    return [
        {user for user in range(n_users) if dropout(round_index, depth, stage, user)}
        for depth in range(depths)
        for stage in STAGES
    ]


def test_nobody_by_default() -> None:
    assert make_dropout(None, range(6), 3, 0) is None


def test_a_rate_every_so_many_rounds() -> None:
    dropout = make_dropout({"rate": 0.3, "every": 10}, range(20), 3, 7)
    for round_index in range(40):
        away = absences(dropout, round_index, 20)
        # Once gone, gone until the round ends.
        assert all(before <= after for before, after in itertools.pairwise(away))
        assert len(away[-1]) == (6 if round_index % 10 == 9 else 0)


def test_drops_come_at_all_stages_and_levels_and_are_drawn_anew() -> None:
    dropout = make_dropout({"rate": 0.5, "every": 1}, range(200), 3, 1)
    away = absences(dropout, 0, 200)
    assert all(before < after for before, after in itertools.pairwise(away))
    assert away[-1] != absences(dropout, 1, 200)[-1]
    assert away == absences(make_dropout({"rate": 0.5, "every": 1}, range(200), 3, 1), 0, 200)


def test_a_schedule_by_id() -> None:
    drops = [Drop("ann", 1, depth=1, stage=MASK), Drop("eve", 2, stage=UNMASK, until=4)]
    dropout = make_dropout(drops, ["ann", "bob", "eve"], 6, 0)
    assert not any(absences(dropout, 0, 3))
    away = absences(dropout, 1, 3)
    place = len(STAGES) + STAGES.index(MASK)
    assert away == [set()] * place + [{0}] * (len(away) - place)
    away = absences(dropout, 2, 3)
    place = STAGES.index(UNMASK)
    assert away == [set()] * place + [{2}] * (len(away) - place)
    assert all(absence == {2} for absence in absences(dropout, 3, 3))
    assert not any(absences(dropout, 4, 3))


def test_a_second_call_of_the_same_level_does_not_bring_a_user_back() -> None:
    dropout = make_dropout([Drop(0, 0, stage=UNMASK)], range(2), 6, 0)
    assert not dropout(0, 0, JOIN, 0)
    assert dropout(0, 0, UNMASK, 0)
    assert dropout(0, 0, JOIN, 0)


def test_a_function_is_asked_for_the_id() -> None:
    asked = []

    def absent(*place: Any) -> bool:
        asked.append(place)
        return place[-1] == "bob"

    dropout = make_dropout(absent, ["ann", "bob"], 6, 0)
    assert not dropout(3, 2, JOIN, 0)
    assert dropout(3, 2, JOIN, 1)
    assert asked == [(3, 2, JOIN, "ann"), (3, 2, JOIN, "bob")]


@pytest.mark.parametrize(
    "given",
    [
        "often",
        7,
        {"rate": 1.5},
        {"rate": True},
        {"rate": 0.1, "every": 0},
        {"rate": 0.1, "each": 2},
        {"every": 2},
        [3],
        [Drop(9, 0)],
        [Drop(0, 0, stage="lunch")],
        [Drop(0, 3, until=3)],
    ],
)
def test_settings_that_are_none(given: Any) -> None:
    with pytest.raises(ParameterError, match="dropout="):
        make_dropout(given, range(3), 6, 0)
