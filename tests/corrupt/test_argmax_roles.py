"""Flights of an argmax with any contents under digests that fit: a party that deviates crashes nobody and names nobody.

VFXGB_FUZZ_FRAMES: how many argmaxes, of which each has one such flight.
"""

import os
import random

import numpy as np

from two_party_runs import play, share, sides
from vfxgb.errors import TransferError
from vfxgb.two_party import NOT_YOURS, ActiveArgmax, Demand, PassiveArgmax, argmax, plan_argmax
from vfxgb.two_party.wire import OVERHEAD_BYTES

COUNT = int(os.environ.get("VFXGB_FUZZ_FRAMES", "200"))
NODES, CANDIDATES = 3, 5
# Games that one stock of pieces is made for.
GAMES = 100


def test_flights_with_any_contents() -> None:
    rng, drawn = random.Random(f"argmax {COUNT}"), np.random.default_rng(COUNT)
    plan = plan_argmax(9, NODES, CANDIDATES)
    both = sides()
    wrong = 0
    for number in range(COUNT):
        if number % GAMES == 0:
            both.make(Demand(*((GAMES + 1) * count for count in plan.demand)))
        values = drawn.integers(-511, 512, (NODES, CANDIDATES))
        own = drawn.integers(0, 512, NODES)
        x, y = share(values, 9, drawn)
        active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
        changed = rng.randrange(len(active.flights))
        for flight in range(len(active.flights)):
            sender, receiver = (active, passive) if active.sends else (passive, active)
            message = sender.send()
            if flight == changed:
                message = sender._line.seal(flight, rng.randbytes(len(message) - OVERHEAD_BYTES))
            receiver.receive(message)
        assert active.won.shape == (NODES,)
        try:
            assert NOT_YOURS <= passive.won.min() <= passive.won.max() < CANDIDATES
        except TransferError as error:
            wrong += "the other party deviates from the protocol" in str(error)
    assert wrong > 0
    # What was made ahead is where it should be at both: an honest argmax is right.
    x, y = share(values, 9, drawn)
    active, passive = ActiveArgmax(plan, both.active, x, own), PassiveArgmax(plan, both.passive, y)
    play(active, passive)
    wanted = argmax(values, np.ones(NODES, dtype=np.int64), extras=own[:, np.newaxis])
    assert np.where(active.won, CANDIDATES, passive.won).tolist() == wanted.tolist()
