"""Turns: every part is sent once, as soon as its sender can make it, and flights are as few as they can be."""

from hypothesis import given
from hypothesis import strategies as st

from vfxgb.two_party.turns import FlightSize, take_turns

EXCHANGES = [FlightSize(0, 5), FlightSize(7, 0)]
LAYER = FlightSize(2, 3)


def stage(layers: int) -> list[FlightSize]:
    return EXCHANGES + [LAYER] * layers


def finished_by(parts: set[tuple[bool, int]], exchanges: list[FlightSize]) -> int:
    """How many exchanges a party has finished that has all of `parts`, its own and the other's."""
    place = 0
    while place < len(exchanges):
        size = exchanges[place]
        if (size.to_passive and (True, place) not in parts) or (size.to_active and (False, place) not in parts):
            break
        place += 1
    return place


@given(st.lists(st.sampled_from([FlightSize(0, 1), FlightSize(1, 0), LAYER]), min_size=1, max_size=12))
def test_every_part_is_sent_once_and_not_before_it_can_be_made(exchanges) -> None:
    turns = take_turns(exchanges)
    known: dict[bool, set[tuple[bool, int]]] = {True: set(), False: set()}
    sent = []
    for number, turn in enumerate(turns):
        assert turn.by_active == (bool(exchanges[0].to_passive) == (number % 2 == 0))
        for part in turn.parts:
            size = exchanges[part]
            assert size.to_passive if turn.by_active else size.to_active
            # All of it that others send before has arrived, and all of its own before was made.
            assert finished_by(known[turn.by_active], exchanges) >= part
            known[turn.by_active].add((turn.by_active, part))
        sent += [(turn.by_active, part) for part in turn.parts]
        known[not turn.by_active] |= {(turn.by_active, part) for part in turn.parts}
    parts = [(True, i) for i, size in enumerate(exchanges) if size.to_passive]
    parts += [(False, i) for i, size in enumerate(exchanges) if size.to_active]
    assert sorted(sent) == sorted(parts)
    total = FlightSize(sum(size.to_passive for size in exchanges), sum(size.to_active for size in exchanges))
    sizes = [turn.size(exchanges) for turn in turns]
    assert (sum(size.to_passive for size in sizes), sum(size.to_active for size in sizes)) == total


def test_flights_of_stages() -> None:
    """A stage of n layers takes the next even number after n, or n + 1; the next stage begins with its last flight."""
    for layers in range(1, 9):
        turns = take_turns(stage(layers))
        more = take_turns(stage(layers) + stage(3))
        # What the passive party sends last belongs to no stage that follows.
        begun = next(number for number, turn in enumerate(more) if layers + 2 in turn.parts)
        assert begun == (layers + 2) // 2 * 2
        assert len(turns) in (begun, begun + 1)


def test_the_flights_of_a_stage_as_the_text_shows_them() -> None:
    assert [(turn.by_active, turn.parts) for turn in take_turns(stage(3))] == [
        (False, (0,)),
        (True, (1, 2)),
        (False, (2, 3)),
        (True, (3, 4)),
        (False, (4,)),
    ]


def test_lookups_take_a_flight_each_and_one_more() -> None:
    """The parties take turns to choose, and whoever sends tables sends its choices along; then comes a selection."""
    for lookups in range(1, 7):
        exchanges = []
        for number in range(lookups):
            there, back = FlightSize(1, 0), FlightSize(0, 15)
            exchanges += [there, back] if number % 2 == 0 else [FlightSize(0, 1), FlightSize(15, 0)]
        turns = take_turns([*exchanges, LAYER])
        assert len(turns) == lookups + 2
        assert [turn.parts for turn in turns[:2]] == [(0,), (1, 2)]
        # The last tables come with the sender's part of the selection, and the other party may begin what follows.
        assert turns[-2].parts == (2 * lookups - 1, 2 * lookups)
        assert turns[-1].parts == (2 * lookups,)
