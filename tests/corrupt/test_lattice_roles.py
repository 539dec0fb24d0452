"""Lattice messages with any contents, at any point of the talk: refused with an error of ours, never a crash.

VFXGB_FUZZ_FRAMES: messages for each class and point.
"""

import os
import random

import pytest

from lattice_runs import Parties, Table, draw_level, parties
from mutation import make_message, mutated
from vfxgb.errors import FrameError, VfxgbError
from vfxgb.lattice import LATTICE_MESSAGES, LatticeBlock, LatticeNodes, LatticeOffer, LatticeOpen, LatticeSeed
from vfxgb.lattice.messages import LatticeZeros
from vfxgb.transport.messages import Catalogue, Message, encode

COUNT = int(os.environ.get("VFXGB_FUZZ_FRAMES", "200"))
CATALOGUE = Catalogue(LATTICE_MESSAGES)


def deliver(both: Parties, message: Message) -> None:
    """Give a message to the party that it is for."""
    if isinstance(message, LatticeOpen):
        both.owner.offer(message)
    elif isinstance(message, LatticeOffer):
        both.holder.accept(message)
    elif isinstance(message, LatticeSeed):
        both.owner.accept(message)
    elif isinstance(message, LatticeZeros):
        both.holder.add_zeros(message)
    elif isinstance(message, LatticeBlock):
        both.holder.add(message)
    elif isinstance(message, LatticeNodes):
        both.owner.shares(message)


def is_refused(both: Parties, message: Message) -> bool:
    try:
        deliver(both, message)
    except VfxgbError:
        return True
    return False


def talk(both: Parties) -> list[Message]:
    """All messages of a set-up and a level, delivered."""
    opening = both.holder.open()
    offer = both.owner.offer(opening)
    seed = both.holder.accept(offer)
    assert seed is not None
    both.owner.accept(seed)
    zeros = both.owner.zeros()
    both.holder.add_zeros(zeros)
    blocks = list(both.owner.blocks())
    for block in blocks:
        both.holder.add(block)
    nodes, _ = both.holder.sum(draw_level(both.holder, 2, 1))
    return [opening, offer, seed, zeros, *blocks, nodes]


@pytest.mark.parametrize("kind", LATTICE_MESSAGES, ids=lambda kind: kind.TAG)
def test_any_contents_at_any_point(kind: type[Message]) -> None:
    rng = random.Random(f"lattice {kind.TAG}")
    table = Table.draw(60, 2, 1)
    fresh, opened, ready = (parties(table) for _ in range(3))
    opened.owner.offer(opened.holder.open())
    whole = talk(ready)
    real = [message for message in whole if type(message) is kind]
    refused = 0
    with ready.holder:
        for turn in range(COUNT):
            message: Message = make_message(kind, rng)
            if real and turn % 2:
                try:
                    message = CATALOGUE.decode(kind.TAG, mutated(encode(rng.choice(real)), rng), "peer")
                except FrameError:
                    refused += 1
                    continue
            refused += sum(is_refused(both, message) for both in (fresh, opened, ready))
    assert refused >= COUNT
