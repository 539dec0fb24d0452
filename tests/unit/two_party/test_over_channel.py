"""An argmax over channels: what a ledger sees of it, and messages that are not those of the point of the talk."""

import threading

import numpy as np
import pytest

from two_party_runs import share, sides
from vfxgb.errors import MessageError, TransferError
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue, Message, pack_bytes
from vfxgb.two_party import ActiveArgmax, PassiveArgmax, argmax, plan_argmax
from vfxgb.two_party.messages import ALL_MESSAGES, ArgmaxFlight, ArgmaxPieces, ArgmaxWinners
from vfxgb.two_party.over_channel import make_pieces, play


def test_an_argmax_over_channels() -> None:
    generator = np.random.default_rng(1)
    plan, both = plan_argmax(12, 6, 11), sides()
    values, own = generator.integers(-900, 901, (6, 11)), generator.integers(0, 901, 6)
    x, y = share(values, 12, generator)
    seen: list[tuple[str, Message]] = []
    ends = memory_channels(
        "bank",
        "shop",
        Catalogue(ALL_MESSAGES),
        bytes(16),
        lambda sender, _, message, __: seen.append((sender, message)),
    )
    won: dict[str, object] = {}

    def shop() -> None:
        make_pieces(ends[1], both.passive, plan.demand)
        party = PassiveArgmax(plan, both.passive, y)
        play(ends[1], party)
        won["shop"] = party.won

    other = threading.Thread(target=shop)
    other.start()
    make_pieces(ends[0], both.active, plan.demand)
    party = ActiveArgmax(plan, both.active, x, own)
    play(ends[0], party)
    other.join(60)
    wanted = argmax(values, np.ones(6, dtype=np.int64), extras=own[:, np.newaxis])
    assert np.where(party.won, 11, won["shop"]).tolist() == wanted.tolist()
    kinds = [type(message) for _, message in seen]
    assert kinds.count(ArgmaxPieces) == 2
    assert kinds.count(ArgmaxWinners) == 2
    assert kinds.count(ArgmaxFlight) == len(plan.flights()) - 2
    assert [message.amount() for _, message in seen if message.amount()] == [6, 6]


def begun() -> tuple[tuple[Channel, Channel], ActiveArgmax]:
    plan, both = plan_argmax(12, 1, 2), sides()
    both.make(plan.demand)
    zeros = np.zeros((1, 2), dtype=np.uint64)
    ends = memory_channels("bank", "shop", Catalogue(ALL_MESSAGES), bytes(16))
    return ends, ActiveArgmax(plan, both.active, zeros, np.ones(1, dtype=np.int64))


def test_another_message_than_the_next_is_refused() -> None:
    ends, party = begun()
    ends[1].send(ArgmaxWinners(1, pack_bytes(b"1234")))  # in place of an answer to the first flight
    with pytest.raises(MessageError, match="argmax-flight"):
        play(ends[0], party)


def test_bytes_that_are_no_flight_are_refused() -> None:
    ends, party = begun()
    ends[1].send(ArgmaxFlight(pack_bytes(b"1234")))
    with pytest.raises(TransferError, match="no flight of version 2"):
        play(ends[0], party)
