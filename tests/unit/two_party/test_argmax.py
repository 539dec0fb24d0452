"""Argmax on shares: winners are those of the rule, whatever the noise, the shares, the groups and the threads are."""

import threading
from queue import SimpleQueue

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from two_party_runs import argmax_by_text, decide, ends, play, share, sides
from vfxgb.ot import SilentReceiver, SilentSender
from vfxgb.ot.silent import SilentShape
from vfxgb.two_party import (
    NOT_YOURS,
    ActiveArgmax,
    ArgmaxPlan,
    Correlations,
    PassiveArgmax,
    argmax,
    plan_argmax,
    run,
    total_demand,
)


def winners(plan, values, own, generator, both, noise="edge"):
    """The winner of each node as the rule names it; both parties must agree on whose it is."""
    own_won, index = decide(plan, values, own, generator, both, noise)
    assert ((index == NOT_YOURS) == own_won).all()
    return np.where(own_won, plan.candidates, index)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_rule_is_its_text(data) -> None:
    nodes, count, extras = (data.draw(st.integers(*bounds)) for bounds in [(1, 4), (1, 9), (0, 3)])
    small = st.integers(-3, 3)
    values = np.array(data.draw(st.lists(small, min_size=nodes * count, max_size=nodes * count))).reshape(nodes, count)
    more = np.array(data.draw(st.lists(small, min_size=nodes * extras, max_size=nodes * extras))).reshape(nodes, extras)
    tau = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=nodes, max_size=nodes)))
    order = np.array(data.draw(st.permutations(range(count))))
    found = argmax(values, tau, order, more.astype(np.int64) if extras else None)
    wanted = [argmax_by_text(values[i].tolist(), int(tau[i]), order.tolist(), more[i].tolist()) for i in range(nodes)]
    assert found.tolist() == wanted


def test_all_pairs_of_a_small_ring() -> None:
    """Every (a, b) with |a|, |b| < 8, with noise at its limit, many times with other shares."""
    generator = np.random.default_rng(1)
    numbers = np.arange(-7, 8)
    pairs = np.array([(a, b) for a in numbers for b in numbers for _ in range(40)])
    plan = plan_argmax(3, len(pairs), 2, own=False)
    both = sides()
    for noise in ("edge", "any", "none"):
        x, y = share(pairs, 3, generator, noise)
        both.make(plan.demand)
        active, passive = ActiveArgmax(plan, both.active, x), PassiveArgmax(plan, both.passive, y)
        play(active, passive)
        assert passive.won.tolist() == argmax(pairs, np.ones(len(pairs), dtype=np.int64)).tolist()
        assert not active.won.any()


@pytest.mark.slow
def test_four_million_pairs_at_the_edge_of_the_noise() -> None:
    """Pairs that differ by at most one in absolute value: no winner is wrong, ties included."""
    generator = np.random.default_rng(2)
    nodes, rounds = 1 << 19, 8
    bits = 5
    plan = plan_argmax(bits, nodes, 2, own=False)
    both = sides(bits=2, threads=2)
    ties = 0
    for _ in range(rounds):
        first = generator.integers(1 - (1 << bits), 1 << bits, nodes)
        second = np.clip(np.abs(first) + generator.integers(-1, 2, nodes), 0, (1 << bits) - 1)
        pairs = np.stack([first, second * generator.choice([-1, 1], nodes)], axis=1)
        x, y = share(pairs, bits, generator)
        both.make(plan.demand)
        active, passive = ActiveArgmax(plan, both.active, x, threads=2), PassiveArgmax(plan, both.passive, y, threads=2)
        play(active, passive)
        assert np.array_equal(passive.won, argmax(pairs, np.ones(nodes, dtype=np.int64)))
        ties += int((np.abs(pairs[:, 0]) == np.abs(pairs[:, 1])).sum())
    assert ties > nodes


@pytest.mark.parametrize("groups", [(2, 2, 2, 2, 2), (4, 4, 2), (17,), (3, 6), (9, 2)])
@pytest.mark.parametrize("threads", [1, 2])
def test_groups_and_threads_do_not_show(groups, threads) -> None:
    generator = np.random.default_rng(3)
    values = generator.integers(-5, 6, (50, 31))
    own = generator.integers(-6, 7, 50)
    plan = ArgmaxPlan(10, 50, 31, True, 0, groups)
    found = winners(plan, values, own, generator, sides(threads=threads))
    wanted = argmax(values, np.ones(50, dtype=np.int64), extras=own[:, np.newaxis])
    assert found.tolist() == wanted.tolist()
    assert 0 < (wanted == 31).sum() < 50


@given(
    nodes=st.integers(1, 6),
    candidates=st.integers(1, 12),
    value_bits=st.integers(1, 40),
    own=st.booleans(),
    flight_bytes=st.sampled_from([0, 4096, 1 << 20]),
    seed=st.integers(0, 1 << 30),
)
@settings(max_examples=60, deadline=None)
def test_any_shape(nodes, candidates, value_bits, own, flight_bytes, seed) -> None:
    generator = np.random.default_rng(seed)
    top = min(1 << value_bits, int(generator.choice([2, 4, 1 << 40])))
    values = generator.integers(1 - top, top, (nodes, candidates))
    best = generator.integers(1 - top, top, nodes) if own else None
    plan = plan_argmax(value_bits, nodes, candidates, own, flight_bytes=flight_bytes)
    found = winners(plan, values, best, generator, sides(), str(generator.choice(["edge", "any", "none"])))
    extras = None if best is None else best[:, np.newaxis]
    assert found.tolist() == argmax(values, np.ones(nodes, dtype=np.int64), extras=extras).tolist()


def test_a_coin_decides_ties_of_pairs_and_nothing_else() -> None:
    """With tau in the numbers, as the lattice step leaves them: the winner is the rule's for that coin."""
    generator = np.random.default_rng(4)
    values = generator.integers(-2, 3, (400, 6))
    both = sides()
    plan = plan_argmax(5, 400, 6, own=False)
    found = {}
    for tau in (1, -1):
        coin = np.full(400, tau)
        x, y = share(tau * values, 5, generator)
        both.make(plan.demand)
        active, passive = ActiveArgmax(plan, both.active, x), PassiveArgmax(plan, both.passive, y)
        play(active, passive)
        found[tau] = passive.won
        assert passive.won.tolist() == argmax(values, coin).tolist()
    sizes = np.abs(values)
    differ = found[1] != found[-1]
    assert differ.any()
    assert (sizes[np.arange(400), found[1]] == sizes[np.arange(400), found[-1]]).all()
    assert (found[1][differ] // 2 == found[-1][differ] // 2).all()


def test_a_run_over_a_link() -> None:
    """`run` calls a link for what is sent and received, and nothing else."""
    generator = np.random.default_rng(5)
    plan = plan_argmax(9, 3, 5)
    both = sides()
    both.make(total_demand([plan, plan]))
    values, own = generator.integers(1, 10, (3, 5)), np.array([-10, 0, 0])
    x, y = share(values, 9, generator)
    active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
    play(active, passive)
    again = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
    inboxes: tuple[SimpleQueue[bytes], SimpleQueue[bytes]] = SimpleQueue(), SimpleQueue()
    other = threading.Thread(target=run, args=(again[1], inboxes[0].put, lambda: inboxes[1].get(timeout=60)))
    other.start()
    run(again[0], inboxes[1].put, lambda: inboxes[0].get(timeout=60))
    other.join(60)
    assert inboxes[0].empty()
    assert inboxes[1].empty()
    assert again[0].won.tolist() == active.won.tolist() == [True, False, False]
    assert again[1].won.tolist() == passive.won.tolist()


def test_pieces_are_made_by_a_thread_while_others_are_used() -> None:
    generator = np.random.default_rng(7)
    plan, both, argmaxes = plan_argmax(9, 20, 5), sides(), 12
    values, own = generator.integers(-9, 10, (20, 5)), generator.integers(0, 10, 20)
    wanted = argmax(values, np.ones(20, dtype=np.int64), extras=own[:, np.newaxis])
    made: SimpleQueue[int] = SimpleQueue()

    def make() -> None:
        for _ in range(argmaxes):
            made.put(both.make(plan.demand))

    thread = threading.Thread(target=make)
    thread.start()
    for _ in range(argmaxes):
        made.get(timeout=60)
        x, y = share(values, 9, generator)
        active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
        play(active, passive)
        assert np.where(active.won, 5, passive.won).tolist() == wanted.tolist()
    thread.join(60)
    assert both.active.left == both.passive.left == (0, 0, 0)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("bits", [2, 6, 8])
def test_transfers_of_any_kind(bits, checked) -> None:
    generator = np.random.default_rng(bits)
    values, own = generator.integers(-50, 51, (4, 7)), generator.integers(0, 51, 4)
    plan = plan_argmax(7, 4, 7)
    found = winners(plan, values, own, generator, sides(bits=bits, checked=checked))
    assert found.tolist() == argmax(values, np.ones(4, dtype=np.int64), extras=own[:, np.newaxis]).tolist()


def test_silent_transfers() -> None:
    shape = SilentShape(64, 8, 2048, insecure=True)
    (sender_a, receiver_b), (sender_b, receiver_a) = ends(1), ends(2)
    silent = []
    for sender, receiver in ((sender_a, receiver_b), (sender_b, receiver_a)):
        theirs, mine = SilentSender(sender, 9, shape), SilentReceiver(receiver, 9, shape)
        mine.finish(theirs.refill(mine.refill()))
        silent.append((theirs, mine))
    active = Correlations(True, silent[0][0], silent[1][1], 5)
    passive = Correlations(False, silent[1][0], silent[0][1], 5)
    plan = plan_argmax(5, 6, 8)
    mine, theirs = active.request(plan.demand), passive.request(plan.demand)
    active.accept(theirs)
    passive.accept(mine)
    generator = np.random.default_rng(6)
    values, own = generator.integers(-20, 21, (6, 8)), generator.integers(0, 21, 6)
    x, y = share(values, 5, generator)
    one, two = ActiveArgmax(plan, active, x, own), PassiveArgmax(plan, passive, y)
    play(one, two)
    wanted = argmax(values, np.ones(6, dtype=np.int64), extras=own[:, np.newaxis])
    assert np.where(one.won, 8, two.won).tolist() == wanted.tolist()
