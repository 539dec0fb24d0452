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
    flight_bytes_of,
    noise_limit,
    plan_argmax,
    request_sizes,
)
from vfxgb.two_party.wire import OVERHEAD_BYTES


def demand_by_text(plan: ArgmaxPlan) -> Demand:
    """Pieces of a plan, counted comparison by comparison."""
    blocks = -(-(plan.value_bits + 3) // 4)
    signs = selections = products = 0
    for _ in range(plan.nodes):
        signs += plan.candidates
        selections += plan.candidates
        left = list(range(-(-plan.candidates // 2) + plan.extras))
        for group in plan.groups:
            parts = [left[i : i + group] for i in range(0, len(left), group)]
            for part in parts:
                signs += len(list(itertools.combinations(part, 2)))
                selections += len(part) - 1
                # A product of n bits takes n - 1 ANDs, in whatever order.
                products += (len(part) - 1) * max(0, len(part) - 2)
            left = left[: len(parts)]
        assert len(left) == 1
    return Demand(signs * blocks, signs * (blocks - 1) + products, selections)


PLANS = [
    ArgmaxPlan(1, 1, 1, False, 0, ()),
    ArgmaxPlan(1, 2, 1, True, 0, (2,)),
    ArgmaxPlan(22, 3, 12, True, 0, (2, 2, 2)),
    ArgmaxPlan(22, 3, 12, True, 0, (7,)),
    ArgmaxPlan(25, 2, 31, True, 0, (3, 6)),
    ArgmaxPlan(29, 2, 17, False, 0, (4, 3)),
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("checked", [False, True])
def test_flights_and_bytes_are_as_foretold(plan, checked) -> None:
    assert plan.demand == demand_by_text(plan)
    generator = np.random.default_rng(1)
    both = sides(bits=5, checked=checked)
    both.make(Demand(1, 1, 1))  # the first requests carry seeds
    mine, theirs = both.active.request(plan.demand), both.passive.request(plan.demand)
    assert request_sizes(plan.demand, TransferSettings(5, checked)) == (len(mine), len(theirs))
    both.active.accept(theirs)
    both.passive.accept(mine)
    x, y = share(np.zeros((plan.nodes, plan.candidates), dtype=np.int64), plan.value_bits, generator)
    own = np.ones(plan.nodes, dtype=np.int64) if plan.own else None
    active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
    assert active.flights == passive.flights == plan.flights()
    sent = play(active, passive)
    for messages, sizes in zip(sent, active.flights, strict=True):
        assert tuple(map(len, messages)) == tuple(size + OVERHEAD_BYTES if size else 0 for size in sizes)
    assert both.active.used == both.passive.used == plan.demand
    assert both.active.left == both.passive.left == (1, 1, 1)


def test_batches_of_many_transfers(monkeypatch) -> None:
    """What does not fit one batch goes in several, and the size is foretold all the same."""
    monkeypatch.setattr("vfxgb.two_party.correlations.BATCH_TRANSFERS", 512)
    both = sides()
    both.make(Demand())
    both.make(Demand(1))
    demand = Demand(1000, 513, 512)
    assert both.make(demand) - sum(request_sizes(demand, TransferSettings(6))) == 4096 + 32  # the other's first
    assert both.active.left == both.passive.left == demand.plus(Demand(1))


def cost_by_text(plan: ArgmaxPlan, transfer_bits: int, flight_bytes: int) -> int:
    """Bits of a plan and of its flights."""
    transfers = plan.demand.active_sends + plan.demand.passive_sends
    online = 8 * sum(map(sum, plan.exchanges))
    return transfers * (pieces(transfer_bits) - 1) + online + 8 * flight_bytes * len(plan.flights(opens=False))


def all_groups(entrants: int) -> Iterator[tuple[int, ...]]:
    if entrants == 1:
        yield ()
    for group in range(2, entrants + 1):
        for rest in all_groups(-(-entrants // group)):
            yield (group, *rest)


@pytest.mark.parametrize("flight_bytes", [0, 100, 1000, 10_000])
@pytest.mark.parametrize("candidates", [1, 5, 12, 21])
def test_groups_are_the_cheapest(candidates, flight_bytes) -> None:
    found = plan_argmax(14, 2, candidates, transfer_bits=4, flight_bytes=flight_bytes)
    costs = [
        cost_by_text(ArgmaxPlan(14, 2, candidates, True, 0, groups), 4, flight_bytes)
        for groups in all_groups(-(-candidates // 2) + 1)
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
        (ArgmaxPlan(60, 3, 5, True, 0, (4,)), "numbers of 60 bits"),
        (ArgmaxPlan(9, -3, 5, True, 0, (4,)), "nodes must not be negative"),
    ],
)
def test_plans_that_are_none_are_refused(plan, words) -> None:
    with pytest.raises(CapacityError, match=words):
        _ = plan.demand
