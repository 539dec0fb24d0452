"""Winners that stay shared: tournaments of the active party with one passive party after the other."""

import numpy as np
import pytest

from two_party_runs import open_winners, play, share, sides
from vfxgb.errors import CapacityError, TransferError
from vfxgb.two_party import (
    NOT_YOURS,
    ActiveArgmax,
    PassiveArgmax,
    WinnerShares,
    argmax,
    code_fields,
    plan_argmax,
)

BITS = 8


def test_winners_stay_shared() -> None:
    generator = np.random.default_rng(1)
    values = generator.integers(-200, 201, (40, 9))
    plan = plan_argmax(BITS, 40, 9, own=False)
    both = sides()
    both.make(plan.demand)
    x, y = share(values, BITS, generator, "none")
    active = ActiveArgmax(plan, both.active, x, opens=False)
    passive = PassiveArgmax(plan, both.passive, y, opens=False)
    with pytest.raises(TransferError, match="not over"):
        _ = active.winners
    play(active, passive)
    assert active.flights == plan.flights(opens=False)
    found, codes = open_winners(active.winners, passive.winners)
    best = argmax(values, np.ones(40, dtype=np.int64))
    assert (codes.astype(np.int64) - 1).tolist() == best.tolist()
    # Without noise a carried value is off by the unit of the cut at most.
    assert (np.abs(found.astype(np.int64) - 64 * np.abs(values).max(axis=1)) <= 1).all()


@pytest.mark.parametrize("parties", [2, 3])
def test_several_passive_parties(parties) -> None:
    """Nothing is opened but the end: each party learns its own winners, and the rule over all of them holds."""
    generator = np.random.default_rng(parties)
    nodes = 60
    counts = [5, 8, 3][:parties]
    values = [generator.integers(-6, 7, (nodes, count)) for count in counts]
    own = generator.integers(-7, 8, nodes)
    mine: WinnerShares | None = None
    theirs: WinnerShares | None = None
    widths: list[int] = []
    for k, count in enumerate(counts):
        last = k == parties - 1
        plan = plan_argmax(BITS, nodes, count, own=last, earlier_bits=sum(widths))
        both = sides(k)
        both.make(plan.demand)
        x, y = share(values[k], BITS, generator)
        active = ActiveArgmax(plan, both.active, x, own if last else None, mine, opens=last)
        passive = PassiveArgmax(plan, both.passive, y, theirs, opens=last)
        play(active, passive)
        if last:
            break
        widths.insert(0, plan.index_bits)
        rho, rest = passive.winners.split()
        sent = WinnerShares.from_bytes(rho.to_bytes(), BITS, plan.code_bits, nodes, "passive")
        mine, theirs = active.winners.joined(sent), rest
    earlier = code_fields(active.forwarded ^ passive.forwarded, widths)
    # Of equal ones the active party's own is first in the rule, then those of the passive parties in their order.
    wanted = argmax_of_parties(values, own)
    assert active.won.tolist() == [party == parties for party, _ in wanted]
    assert passive.won.tolist() == [c if party == parties - 1 else NOT_YOURS for party, c in wanted]
    for k in range(parties - 1):
        codes = earlier[parties - 2 - k].astype(np.int64) - 1
        assert codes.tolist() == [c if party == k else NOT_YOURS for party, c in wanted]
    assert {party for party, _ in wanted} == set(range(parties + 1))


def argmax_of_parties(values, own) -> list[tuple[int, int]]:
    """(party, candidate) of each node, the active party being the last: each party's best, and of those the largest."""
    tau = np.ones(len(own), dtype=np.int64)
    own_place = len(values)
    best = [argmax(numbers, tau) for numbers in values]
    out = []
    for node, mine in enumerate(own):
        entrants = [(abs(int(mine)), own_place, 0)]
        entrants += [(abs(int(values[k][node, c[node]])), k, int(c[node])) for k, c in enumerate(best)]
        largest = max(size for size, _, _ in entrants)
        out.append(next((party, candidate) for size, party, candidate in entrants if size == largest))
    return out


def test_parts_of_a_share_are_uniform() -> None:
    nodes = 20_000
    shares = WinnerShares(4, 3, np.full(nodes, 77, dtype=np.uint64), np.full(nodes, 5, dtype=np.uint64))
    rho, rest = shares.split()
    values, codes = open_winners(rho, rest)
    assert (values == 77).all()
    assert (codes == 5).all()
    for part in (rho, rest):
        for numbers, cells in ((part.values, 1 << 12), (part.codes, 8)):
            observed = np.bincount(numbers.astype(np.int64), minlength=cells)
            assert len(observed) == cells
            statistic = float(((observed - nodes / cells) ** 2 / (nodes / cells)).sum())
            # A chi-square has this mean and, nearly, this deviation.
            assert abs(statistic - (cells - 1)) < 10 * np.sqrt(2 * cells)
    assert "77" not in repr(shares)


def test_shares_of_other_winners_are_refused() -> None:
    plan = plan_argmax(BITS, 3, 5, earlier_bits=4)
    both = sides()
    both.make(plan.demand)
    shares, own = np.zeros((3, 5), dtype=np.uint64), np.zeros(3, dtype=np.int64)
    zeros = np.zeros(3, dtype=np.uint64)
    for earlier, words in [
        (None, "no earlier winners"),
        (WinnerShares(BITS + 1, 4, zeros, zeros), "value_bits=8"),
        (WinnerShares(BITS, 5, zeros, zeros), "code_bits=4"),
        (WinnerShares(BITS, 4, zeros[:2], zeros[:2]), "3 nodes"),
    ]:
        with pytest.raises(CapacityError, match=words):
            ActiveArgmax(plan, both.active, shares, own, earlier)
    good = WinnerShares(BITS, 4, zeros, zeros)
    with pytest.raises(CapacityError, match="joining shares of winners"):
        good.joined(WinnerShares(BITS, 5, zeros, zeros))
    with pytest.raises(TransferError, match="found 47 bytes, wanted 48"):
        WinnerShares.from_bytes(bytes(47), BITS, 4, 3, "shop")
    with pytest.raises(TransferError, match="shares of winners from shop: found numbers beyond 16"):
        WinnerShares.from_bytes(b"\xff" * 48, BITS, 4, 3, "shop")
    assert WinnerShares.from_bytes(good.to_bytes(), BITS, 4, 3, "shop").values.tolist() == [0, 0, 0]
