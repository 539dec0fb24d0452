"""Whatever is not the message that is next is refused by name, and nothing was made of it."""

import random

import numpy as np
import pytest

from two_party_runs import DOMAIN, Sides, ends, play, share, sides
from vfxgb.errors import CapacityError, TransferError
from vfxgb.ot import Receiver, Sender, SilentReceiver, SilentSender
from vfxgb.ot.silent import SilentShape
from vfxgb.two_party import ActiveArgmax, ArgmaxPlan, Correlations, Demand, PassiveArgmax, argmax, plan_argmax

PLAN = plan_argmax(9, 3, 5)
VALUES = np.array([[4, -9, 2, 0, 1], [3, 3, -3, 1, 0], [0, 0, 0, 0, 1]])
OWN = np.array([5, 2, 7])


def begin(both: Sides, plan: ArgmaxPlan = PLAN) -> tuple[ActiveArgmax, PassiveArgmax]:
    x, y = share(VALUES, plan.value_bits, np.random.default_rng(1))
    return ActiveArgmax(plan, both.active, x, OWN), PassiveArgmax(plan, both.passive, y)


def stocked(seed: int = 0, plan: ArgmaxPlan = PLAN) -> Sides:
    both = sides(seed)
    both.make(plan.demand)
    return both


def finish(active: ActiveArgmax, passive: PassiveArgmax) -> None:
    play(active, passive)
    wanted = argmax(VALUES, np.ones(3, dtype=np.int64), extras=OWN[:, np.newaxis])
    assert np.where(active.won, 5, passive.won).tolist() == wanted.tolist()


def first_message(both: Sides, plan: ArgmaxPlan = PLAN) -> bytes:
    return begin(both, plan)[0].send()


def other_number() -> bytes:
    both = sides()
    both.make(Demand(*(2 * count for count in PLAN.demand)))
    begin(both)
    return first_message(both)


def from_passive() -> bytes:
    active, passive = begin(stocked())
    passive.receive(active.send())
    return passive.send()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda good: b"", "0 bytes that are no flight"),
        (lambda good: b"VX2P" + bytes(100), "no flight of version 2"),
        (lambda good: good[:-1], "are truncated"),
        (lambda good: good + b"\0", "are truncated"),
        (lambda good: good[:50] + bytes([good[50] ^ 1]) + good[51:], "the digest does not match"),
        (lambda good: first_message(stocked(1)), "a flight of session"),
        (lambda good: first_message(stocked(plan=plan_argmax(10, 3, 5)), plan_argmax(10, 3, 5)), "numbers of 10 bits"),
        (
            lambda good: first_message(
                stocked(plan=ArgmaxPlan(9, 3, 5, True, 0, (2, 2))), ArgmaxPlan(9, 3, 5, True, 0, (2, 2))
            ),
            "another plan",
        ),
        (lambda good: other_number(), "flight 0 of argmax 1"),
        (lambda good: from_passive(), "a flight of the passive party"),
    ],
)
def test_a_flight_that_is_another_one(make, words) -> None:
    active, passive = begin(stocked())
    good = active.send()
    with pytest.raises(TransferError, match=words):
        passive.receive(make(good))
    passive.receive(good)
    finish(active, passive)


def test_an_argmax_after_others_that_differed() -> None:
    """Each party began one of its own before, and nobody sent anything: the stocks are at different places."""
    both, small = sides(), plan_argmax(1, 1, 1, own=False)
    both.make(PLAN.demand.plus(PLAN.demand))
    ActiveArgmax(small, both.active, np.zeros((1, 1), dtype=np.uint64))
    PassiveArgmax(PLAN, both.passive, np.zeros((3, 5), dtype=np.uint64))
    active, passive = begin(both)
    with pytest.raises(TransferError, match="begins at piece"):
        passive.receive(active.send())


def test_a_flight_that_comes_twice_or_out_of_turn() -> None:
    active, passive = begin(stocked())
    with pytest.raises(TransferError, match="call of receive, wanted send"):
        active.receive(b"")
    with pytest.raises(TransferError, match="call of send, wanted receive"):
        passive.send()
    good = active.send()
    with pytest.raises(TransferError, match="call of send, wanted receive"):
        active.send()
    passive.receive(good)
    with pytest.raises(TransferError, match="call of receive, wanted send"):
        passive.receive(good)
    with pytest.raises(TransferError, match="winners are known after it"):
        _ = active.won
    with pytest.raises(TransferError, match="winners are known after it"):
        _ = active.forwarded
    active.receive(passive.send())
    active.send()
    with pytest.raises(TransferError, match="found flight 0 of argmax 0"):
        passive.receive(good)


def test_candidates_that_enter_late() -> None:
    active, passive = begin(stocked())
    with pytest.raises(TransferError, match="once more, wanted them once"):
        active.enter(OWN)
    both = stocked()
    x, y = share(VALUES, PLAN.value_bits, np.random.default_rng(1))
    active = ActiveArgmax(PLAN, both.active, x, own_later=True)
    passive = PassiveArgmax(PLAN, both.passive, y)
    passive.receive(active.send())
    answer = passive.send()
    with pytest.raises(TransferError, match="call enter first"):
        active.receive(answer)
    with pytest.raises(CapacityError, match=r"found \[2\] values of one's own"):
        active.enter(OWN[:2])
    active.enter(OWN)
    active.receive(answer)
    finish(active, passive)


def test_nothing_comes_after_the_end() -> None:
    active, passive = begin(stocked())
    finish(active, passive)
    for party in (active, passive):
        with pytest.raises(TransferError, match="wanted nothing more"):
            party.send()
        with pytest.raises(TransferError, match="that is opened"):
            _ = party.winners


def test_pieces_serve_once() -> None:
    both = stocked()
    active, passive = begin(both)
    x, _ = share(VALUES, 9, np.random.default_rng(1))
    with pytest.raises(TransferError, match="request more pieces first"):
        ActiveArgmax(PLAN, both.active, x, OWN)
    finish(active, passive)
    with pytest.raises(TransferError, match="request more pieces first"):
        ActiveArgmax(PLAN, both.active, x, OWN)


@pytest.mark.parametrize(
    ("shares", "own", "words"),
    [
        (np.zeros((3, 4), dtype=np.uint64), OWN, r"uint64\[3, 4\], wanted uint64\[3, 5\]"),
        (np.zeros((3, 5), dtype=np.int64), OWN, r"int64\[3, 5\], wanted uint64"),
        (np.zeros((3, 5), dtype=np.uint64), OWN[:2], r"found \[2\] values of one's own"),
        (np.zeros((3, 5), dtype=np.uint64), None, "no candidates of the active party's own"),
        (np.zeros((3, 5), dtype=np.uint64), np.array([0, -512, 0]), "512, wanted one below 2\\^9"),
        (np.zeros((3, 5), dtype=np.uint64), np.array([0, -(2**63), 0]), "9223372036854775808, wanted one below"),
    ],
)
def test_bad_input_takes_nothing_from_the_stock(shares, own, words) -> None:
    both = stocked()
    with pytest.raises(CapacityError, match=words):
        ActiveArgmax(PLAN, both.active, shares, own)
    assert both.active.left == PLAN.demand
    finish(*begin(both))


def test_the_stock_of_the_other_party() -> None:
    both = stocked()
    with pytest.raises(TransferError, match="stock of the other party"):
        PassiveArgmax(PLAN, both.active, np.zeros((3, 5), dtype=np.uint64))


def test_requests_that_are_none() -> None:
    both, demand = sides(), Demand(3, 4, 5)
    with pytest.raises(TransferError, match="wanted to send one first"):
        both.active.accept(b"")
    mine, theirs = both.active.request(demand), both.passive.request(demand)
    with pytest.raises(TransferError, match="give it to accept"):
        both.active.request(demand)
    more = sides()
    for request, words in [
        (b"", "no request of version 3"),
        (theirs[:72] + theirs[76:], "batch"),
        (theirs[:-1], "truncated"),
        (theirs[:72], "found 0 batches of transfers, wanted 3"),
        (more.passive.request(Demand(4, 4, 5)), "found request 0 for Demand"),
    ]:
        with pytest.raises(TransferError, match=words):
            both.active.accept(request)
    both.active.accept(theirs)
    both.passive.accept(mine)
    assert both.active.left == both.passive.left == demand
    both.active.request(demand)
    with pytest.raises(TransferError, match="found request 0"):
        both.active.accept(theirs)
    with pytest.raises(TransferError, match="wanted none or more"):
        both.passive.request(Demand(-1, 0, 0))


def test_corrections_that_are_none() -> None:
    both, demand = sides(), Demand(1, 2, 1, 5)
    mine, theirs = both.active.request(demand), both.passive.request(demand)
    corrections = both.active.accept(theirs), both.passive.accept(mine)
    assert both.active.left == Demand(1, 2, 1)
    with pytest.raises(TransferError, match="wanted corrections first"):
        both.active.request(demand)
    for broken, words in [
        (b"", "found 0 bytes of corrections, wanted 31"),
        (corrections[1] + b"0", "found 32 bytes"),
        (bytes([corrections[1][0] ^ 1]) + corrections[1][1:], "the digest of corrections"),
        (corrections[0], "the digest of corrections"),
    ]:
        with pytest.raises(TransferError, match=words):
            both.active.complete(broken)
    both.active.complete(corrections[1])
    both.passive.complete(corrections[0])
    assert both.active.left == both.passive.left == demand
    with pytest.raises(TransferError, match="found 31 bytes of corrections, wanted 0"):
        both.active.complete(corrections[1])


def test_a_request_that_fails_in_its_transfers_ends_the_stock() -> None:
    both, demand = sides(), Demand(3, 4, 5)
    both.active.request(demand)
    theirs = both.passive.request(demand)
    with pytest.raises(TransferError, match="digest"):
        both.active.accept(theirs[:-20] + bytes([theirs[-20] ^ 1]) + theirs[-19:])
    for call in (lambda: both.active.accept(theirs), lambda: both.active.request(demand)):
        with pytest.raises(TransferError, match="start a new session"):
            call()


def test_transfers_with_two_parties_make_no_stock() -> None:
    sender, _ = ends(1)
    _, receiver = ends(2)
    receiver.peer = "somebody"
    with pytest.raises(TransferError, match="wanted transfers in both directions with one party"):
        Correlations(True, sender, receiver, DOMAIN)


def test_a_forked_process_has_no_stock(monkeypatch) -> None:
    both = stocked()
    monkeypatch.setattr("vfxgb.two_party.correlations.os.getpid", lambda: -1)
    for call in (lambda: begin(both), lambda: both.active.request(Demand(1))):
        with pytest.raises(TransferError, match="another process"):
            call()


def test_silent_transfers_that_are_used_up() -> None:
    (sender, _), (_, receiver) = ends(1), ends(2)
    shape = SilentShape(4, 4, 64, insecure=True)
    mine = Correlations(True, SilentSender(sender, 9, shape), SilentReceiver(receiver, 9, shape), DOMAIN)
    with pytest.raises(TransferError, match="refill first"):
        mine.request(Demand(0, 1, 0))


def test_numbers_of_transfers_only_advance_after_a_resume() -> None:
    """A resumed session has another name and later transfers: what was made before is foreign to it."""
    (sender, receiver), (back, forth) = ends(1), ends(2)
    both = Sides(Correlations(True, sender, forth, DOMAIN), Correlations(False, back, receiver, DOMAIN))
    both.make(PLAN.demand)
    old = begin(both)[0].send()
    place = sender.position
    assert place == receiver.position > 0
    senders = [Sender.restore("the other", party.state(), party.position) for party in (sender, back)]
    receivers = [Receiver.restore("the other", party.state(), party.position) for party in (receiver, forth)]
    again = Sides(
        Correlations(True, senders[0], receivers[1], DOMAIN), Correlations(False, senders[1], receivers[0], DOMAIN)
    )
    again.make(PLAN.demand)
    assert senders[0].position > place
    active, passive = begin(again)
    with pytest.raises(TransferError, match="a flight of session"):
        passive.receive(old)
    passive.receive(active.send())
    finish(active, passive)


def test_mutated_messages_change_nothing() -> None:
    """Bytes changed, cut, repeated or replaced in every flight: refused, and then the argmax goes on."""
    rng = random.Random(1)
    active, passive = begin(stocked())
    refused = 0
    while not active.finished:
        sender, party = (active, passive) if active.sends else (passive, active)
        message = sender.send()
        for _ in range(60):
            broken = bytearray(message)
            for _ in range(rng.randint(1, 3)):
                broken[rng.randrange(len(broken))] ^= rng.randint(1, 255)
            broken = broken[: rng.randint(0, len(broken))] if rng.random() < 0.3 else broken
            if bytes(broken) == message:
                continue
            with pytest.raises(TransferError):
                party.receive(broken)
            refused += 1
        party.receive(message)
    assert refused > 500
    assert np.where(active.won, 5, passive.won).tolist() == [1, 0, 5]


def test_mutated_requests_never_crash() -> None:
    rng = random.Random(2)
    for _ in range(300):
        both, demand = sides(), Demand(3, 2, 2)
        both.active.request(demand)
        request = bytearray(both.passive.request(demand))
        for _ in range(rng.randint(1, 4)):
            request[rng.randrange(min(len(request), rng.choice([60, 1 << 20])))] ^= rng.randint(1, 255)
        with pytest.raises(TransferError):
            both.active.accept(request)
