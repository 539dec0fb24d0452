"""What a party sees: uniform bytes, whatever the numbers are, and an opening that follows from what it may know.

tests/native/test_two_party.cpp goes through all pieces and shares of every step at its smallest size; here whole
tournaments are played often, and what either party received is told apart from what a simulator makes of its output.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from two_party_runs import play, share, sides
from vfxgb.two_party import ActiveArgmax, ArgmaxPlan, PassiveArgmax
from vfxgb.two_party.tournament import _unpack
from vfxgb.two_party.wire import DIGEST_BYTES, OVERHEAD_BYTES

HEADER = OVERHEAD_BYTES - DIGEST_BYTES
NODES = 3000
BITS = 4
PLANS = {
    "ands": ArgmaxPlan(BITS, NODES, 5, True, 0, (2, 2), (2, 3, 2)),
    "lookups": ArgmaxPlan(BITS, NODES, 5, True, 0, (4,), (7, 7)),
}
PLAN = PLANS["ands"]
# Numbers of one node, played NODES times, and the active party's own. The first two have one winner, candidate 1.
NUMBERS = {
    "spread": ([3, -9, 0, 2, 1], 8),
    "other sign": ([-3, 9, 5, -8, 8], 0),
    "tie": ([9, 9, 9, 9, -9], 8),
    "own": ([1, 2, -3, 4, 5], 15),
}


def payloads(messages: list[bytes]) -> list[NDArray[np.uint8]]:
    return [np.frombuffer(m[HEADER:-DIGEST_BYTES], dtype=np.uint8) for m in messages if m]


def masked(messages: list[bytes], opening: int) -> list[NDArray[np.uint8]]:
    """All but the opening."""
    *others, last = payloads(messages)
    return [*others, last[:-opening]] if len(last) > opening else others


def opened(messages: list[bytes], size: int) -> NDArray[np.uint8]:
    """The opening: the last part of the last flight."""
    return payloads(messages)[-1][-size:]


def views(
    name: str, seed: int, plan: ArgmaxPlan = PLAN
) -> tuple[ActiveArgmax, PassiveArgmax, list[bytes], list[bytes]]:
    """Both parties after the end, what the passive one received, and what the active one received."""
    numbers, own = NUMBERS[name]
    generator = np.random.default_rng(seed)
    both = sides(seed)
    both.make(plan.demand)
    x, y = share(np.tile(np.array(numbers), (NODES, 1)), BITS, generator)
    active = ActiveArgmax(plan, both.active, x, np.full(NODES, own))
    passive = PassiveArgmax(plan, both.passive, y)
    sent = play(active, passive)
    return active, passive, [message for message, _ in sent], [message for _, message in sent]


def chi_square(observed: NDArray[np.int64], wanted: NDArray[np.float64]) -> float:
    """How many deviations the statistic lies above its mean."""
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    free = len(observed) - 1
    return (statistic - free) / np.sqrt(2 * free)


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("name", NUMBERS)
def test_all_flights_are_uniform(name, kind) -> None:
    for seed in (1, 2):
        _, _, to_passive, to_active = views(name, seed, PLANS[kind])
        for messages, opening in zip((to_passive, to_active), PLAN.opening, strict=True):
            for payload in masked(messages, opening):
                # The last bits of a message may be padding.
                observed = np.bincount(payload[:-1], minlength=256)
                assert chi_square(observed, np.full(256, (len(payload) - 1) / 256)) < 6
                assert len(payload) > 256


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("name", NUMBERS)
def test_no_flight_depends_on_the_place_of_a_bit(name, kind) -> None:
    """Bits of every node's own fields, by their place within a node: each is 1 in half of the nodes."""
    _, _, to_passive, to_active = views(name, 3, PLANS[kind])
    for messages, opening in zip((to_passive, to_active), PLAN.opening, strict=True):
        for payload in masked(messages, opening):
            bits = np.unpackbits(payload, bitorder="little")
            places = len(bits) // NODES
            for place in range(places):
                ones = bits[place * NODES : (place + 1) * NODES].sum()
                assert abs(int(ones) - NODES / 2) < 6 * np.sqrt(NODES) / 2


def test_the_opening_follows_from_what_a_party_learns() -> None:
    """The simulator: uniform flights; then the share that opens to the output, given one's own share."""
    for name in NUMBERS:
        active, passive, to_passive, to_active = views(name, 4)
        won, own_won = passive.won, active.won
        assert (won == (-1 if name == "own" else won[0])).all()
        assert (own_won == (name == "own")).all()
        codes = [party._native.winners()[1] for party in (active, passive)]
        last = _unpack(opened(to_passive, PLAN.opening.to_passive), NODES, PLAN.index_bits)
        ones = np.uint64((1 << PLAN.index_bits) - 1)
        assert (last == ((codes[1] & ones) ^ (won + 1).astype(np.uint64))).all()
        bit = _unpack(opened(to_active, PLAN.opening.to_active), NODES, 1)
        assert (bit == ((codes[0] >> np.uint64(PLAN.index_bits) & np.uint64(1)) ^ own_won.astype(np.uint64))).all()
        # A party's own share of a code is uniform: the opened code is all that it learns.
        for share_of_code in codes:
            observed = np.bincount(share_of_code.astype(np.int64), minlength=1 << PLAN.code_bits)
            assert chi_square(observed, np.full(len(observed), NODES / len(observed))) < 6


@pytest.mark.parametrize("kind", PLANS)
def test_views_of_the_same_winners_look_alike(kind) -> None:
    """Other numbers with the same winners: what either party received has the same distribution, flight by flight."""
    one, other = views("spread", 5, PLANS[kind]), views("other sign", 6, PLANS[kind])
    assert one[1].won.tolist() == other[1].won.tolist()
    for side in (2, 3):
        for first, second in zip(payloads(one[side]), payloads(other[side]), strict=True):
            pair = [np.bincount(payload, minlength=256) for payload in (first, second)]
            both = pair[0] + pair[1]
            seen = both > 0
            statistic = float(((pair[0] - pair[1])[seen] ** 2 / both[seen]).sum())
            free = int(seen.sum()) - 1
            assert statistic < free + 6 * np.sqrt(2 * max(free, 1))
