"""Plans: flights and bytes are as foretold, groups are the cheapest there are, and what does not fit is refused."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from two_party_runs import play, share, sides
from vfxgb.errors import CapacityError
from vfxgb.ot import TransferSettings
from vfxgb.ot.transfer_bits import pieces
from vfxgb.two_party import (
    ActiveArgmax,
    ArgmaxPlan,
    Demand,
    PassiveArgmax,
    correction_bytes,
    flight_bytes_of,
    noise_limit,
    plan_argmax,
    request_sizes,
)
from vfxgb.two_party.turns import FlightSize, take_turns
from vfxgb.two_party.wire import OVERHEAD_BYTES


def count(factors: int, arity: int, products: list[int]) -> int:
    """Join so many factors, two or three at a time, and count; how many layers that takes."""
    layers = 0
    while factors > 1:
        parts = [min(arity, factors - first) for first in range(0, factors, arity)]
        products[0] += parts.count(2)
        products[1] += parts.count(3)
        factors, layers = len(parts), layers + 1
    return layers


def look_up(factors: int, lookups: list[list[int]]) -> int:
    """The same by lookups of up to seven: lookups[layer] counts small and large ones."""
    layers = 0
    while factors > 1:
        chunk = factors if factors <= 7 else min(7, max(4, -(-factors // 7)))
        parts = [min(chunk, factors - first) for first in range(0, factors, chunk)]
        lookups[layers][0] += sum(2 <= part <= 4 for part in parts)
        lookups[layers][1] += sum(part > 4 for part in parts)
        factors, layers = len(parts), layers + 1
    return layers


def stage_by_text(signs: int, factors: list[int], blocks: int, arity: int, by_active: bool) -> tuple[Demand, int]:
    """(pieces without those of selections, flights) of a stage that `by_active` begins, comparison by comparison."""
    if arity < 7:
        products = [0, 0]  # of two bits, of three
        joins = max([count(blocks, arity, products) for _ in range(signs)])
        layers = max([count(each, arity, products) for each in factors], default=0)
        tables = {"back_tables" if by_active else "tables": signs * blocks}
        return Demand(ands=products[0], triples=products[1], **tables), joins + layers + 2
    lookups = [[signs * blocks, 0], [signs, 0] if blocks <= 4 else [0, signs], *([0, 0] for _ in range(4))]
    products = lookups[2:]
    layers = 2 + max([look_up(each, products) for each in factors], default=0)
    found = Demand()
    for layer, (small, large) in enumerate(lookups[:layers]):
        # The parties take turns to choose.
        back = by_active == (layer % 2 == 0)
        found = found.plus(Demand(back_tables=small, back_large=large) if back else Demand(small, large=large))
    return found, layers + 1


def demand_by_text(plan: ArgmaxPlan) -> Demand:
    """Pieces of a plan, counted comparison by comparison."""
    blocks = -(-(plan.value_bits + 3) // 4)
    arities = plan.arities or (2,) * (1 + len(plan.groups))
    demand, flights = stage_by_text(plan.nodes * plan.candidates, [], blocks, arities[0], True)
    selections, by_active = plan.nodes * plan.candidates, flights % 2 == 0
    left = -(-plan.candidates // 2) + plan.extras
    for group, arity in zip(plan.groups, arities[1:], strict=True):
        parts = [min(group, left - first) for first in range(0, left, group)] * plan.nodes
        factors = [part - 1 for part in parts for _ in range(part - 1)]
        signs = sum(len(list(itertools.combinations(range(part), 2))) for part in parts)
        own, flights = stage_by_text(signs, factors, blocks, arity, by_active)
        demand, by_active = demand.plus(own), by_active == (flights % 2 == 0)
        selections += sum(part - 1 for part in parts)
        left = -(-left // group)
    assert left == 1
    return demand.plus(Demand(muxes=selections))


PLANS = [
    ArgmaxPlan(1, 1, 1, False, 0, ()),
    ArgmaxPlan(1, 2, 1, True, 0, (2,)),
    ArgmaxPlan(22, 3, 12, True, 0, (2, 2, 2)),
    ArgmaxPlan(22, 3, 12, True, 0, (7,)),
    ArgmaxPlan(25, 2, 31, True, 0, (3, 6)),
    ArgmaxPlan(29, 2, 17, False, 0, (4, 3)),
    ArgmaxPlan(29, 2, 17, False, 0, (4, 3), (3, 3, 3)),
    ArgmaxPlan(33, 2, 31, True, 0, (9, 2), (3, 2, 3)),
    ArgmaxPlan(25, 2, 31, True, 0, (9, 2), (7, 7, 7)),
    ArgmaxPlan(22, 2, 31, True, 0, (3, 6), (3, 7, 2)),
    ArgmaxPlan(13, 1, 90, True, 0, (46,), (7, 7)),
    ArgmaxPlan(5, 3, 31, False, 0, (4, 4), (7, 2, 7)),
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("checked", [False, True])
def test_flights_and_bytes_are_as_foretold(plan, checked) -> None:
    assert plan.demand == demand_by_text(plan)
    generator = np.random.default_rng(1)
    both = sides(bits=5, checked=checked)
    both.make(Demand(1, 1, 1, 1, 1, 1, 1))  # the first requests carry seeds
    mine, theirs = both.active.request(plan.demand), both.passive.request(plan.demand)
    assert request_sizes(plan.demand, TransferSettings(5, checked)) == (len(mine), len(theirs))
    corrections = both.active.accept(theirs), both.passive.accept(mine)
    assert list(map(len, corrections)) == 2 * [correction_bytes(plan.demand)]
    both.active.complete(corrections[1])
    both.passive.complete(corrections[0])
    x, y = share(np.zeros((plan.nodes, plan.candidates), dtype=np.int64), plan.value_bits, generator)
    own = np.ones(plan.nodes, dtype=np.int64) if plan.own else None
    active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
    assert active.flights == passive.flights == plan.flights()
    sent = play(active, passive)
    for messages, sizes in zip(sent, active.flights, strict=True):
        assert tuple(map(len, messages)) == tuple(size + OVERHEAD_BYTES if size else 0 for size in sizes)
    assert both.active.used == both.passive.used == plan.demand
    assert both.active.left == both.passive.left == (1, 1, 1, 1, 1, 1, 1)


def test_batches_of_many_transfers(monkeypatch) -> None:
    """What does not fit one batch goes in several, and the size is foretold all the same."""
    monkeypatch.setattr("vfxgb.two_party.correlations.BATCH_TRANSFERS", 512)
    both = sides()
    both.make(Demand())
    both.make(Demand(1, 1))
    demand = Demand(1000, 513, 512, 0, 300, 200, 73)
    assert both.make(demand) == sum(request_sizes(demand, TransferSettings(6)))
    assert both.active.left == both.passive.left == demand.plus(Demand(1, 1))


def cost_by_text(plan: ArgmaxPlan, transfer_bits: int, flight_bytes: int) -> int:
    """Bits of a plan and of its flights."""
    transfers = plan.demand.active_sends + plan.demand.passive_sends
    corrections = 2 * 8 * 3 * plan.demand.triples
    online = 8 * sum(map(sum, plan.exchanges))
    # Until the passive party has sent what follows.
    turns = take_turns([*plan.exchanges, FlightSize(0, 1)])
    flights = next(number for number, turn in enumerate(turns) if len(plan.exchanges) in turn.parts)
    return transfers * (pieces(transfer_bits) - 1) + corrections + online + 8 * flight_bytes * flights


def all_groups(entrants: int) -> Iterator[tuple[int, ...]]:
    if entrants == 1:
        yield ()
    for group in range(2, entrants + 1):
        for rest in all_groups(-(-entrants // group)):
            yield (group, *rest)


@pytest.mark.parametrize("flight_bytes", [0, 100, 1000, 10_000])
@pytest.mark.parametrize("candidates", [1, 5, 12, 17])
def test_groups_are_the_cheapest(candidates, flight_bytes) -> None:
    found = plan_argmax(14, 2, candidates, transfer_bits=4, flight_bytes=flight_bytes)
    costs = [
        cost_by_text(ArgmaxPlan(14, 2, candidates, True, 0, groups, arities), 4, flight_bytes)
        for groups in all_groups(-(-candidates // 2) + 1)
        for arities in itertools.product((2, 3, 7), repeat=1 + len(groups))
    ]
    assert cost_by_text(found, 4, flight_bytes) == min(costs)


def test_dearer_flights_make_fewer_of_them() -> None:
    plans = [plan_argmax(22, 8, 155, flight_bytes=cost) for cost in (0, 4096, 1 << 18)]
    flights = [len(plan.flights()) for plan in plans]
    sizes = [plan.transfer_bytes() + sum(map(sum, plan.exchanges)) for plan in plans]
    assert flights == sorted(flights, reverse=True)
    assert flights[0] > flights[2]
    assert sizes == sorted(sizes)


def test_what_a_flight_may_cost() -> None:
    assert flight_bytes_of(200, 20) == 250_000
    assert flight_bytes_of(8, 1) == 500


def test_the_noise_that_numbers_may_have() -> None:
    """At least a sixth of Delta: ten deviations where Delta is sixty of them."""
    for bits in range(1, 49):
        delta = 1 << (62 - bits)
        assert delta // 6 <= noise_limit(bits) < delta // 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 1, 1), "numbers of 0 bits"),
        ((49, 1, 1), "numbers of 49 bits"),
        ((22, 0, 5), "0 nodes"),
        ((22, 5, 0), "0 candidates"),
        ((22, 5, 5, True, -1), "-1 bits"),
        ((48, 5, 200), "wanted 64 together"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words) -> None:
    with pytest.raises(CapacityError, match=words):
        plan_argmax(*arguments)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (ArgmaxPlan(9, 3, 5, True, 0, ()), "the groups leave 4 entrants"),
        (ArgmaxPlan(9, 3, 5, True, 0, (4, 2)), "groups of 2 for 1 entrants"),
        (ArgmaxPlan(9, 3, 5, True, 0, (1, 4)), "groups of 1 for 4 entrants"),
        (ArgmaxPlan(9, 3, 5, True, 0, (-4,)), "use plan_argmax"),
        (ArgmaxPlan(9, 3, 5, True, 0, (4,), (3,)), "joins of two or three"),
        (ArgmaxPlan(9, 3, 5, True, 0, (4,), (2, 4)), "joins of two or three"),
        (ArgmaxPlan(26, 3, 5, True, 0, (4,), (2, 7)), "or of seven where numbers have no more blocks"),
        (ArgmaxPlan(60, 3, 5, True, 0, (4,)), "numbers of 60 bits"),
        (ArgmaxPlan(9, -3, 5, True, 0, (4,)), "nodes must not be negative"),
    ],
)
def test_plans_that_are_none_are_refused(plan, words) -> None:
    with pytest.raises(CapacityError, match=words):
        _ = plan.demand
