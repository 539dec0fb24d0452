"""Pieces that users send each other through the server, in memory and in a file."""

import numpy as np
import pytest

from vfxgb.secagg.double_mask import relay
from vfxgb.secagg.double_mask.relay import Relay, Requests


@pytest.mark.parametrize("memory", [1, 64, 1000, 1 << 20])
def test_every_piece_arrives(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    """In blocks of one piece and of all, with senders that sent fewer than others."""
    monkeypatch.setattr(relay, "MEMORY_BYTES", memory)
    sent = {sender: np.random.default_rng(sender).bytes(7 * (20 - sender)) for sender in (3, 0, 11, 5)}
    pieces = Relay(7)
    for sender, data in sent.items():
        pieces.add(sender, data)
    assert pieces.senders == (0, 3, 5, 11)
    for place in (*range(20), 4, 0):
        for sender, data in sent.items():
            assert pieces.piece(sender, place) == data[7 * place : 7 * place + 7]
    assert {sender: pieces.all_of(sender) for sender in sent} == sent
    pieces.close()


def test_requests_are_made_one_at_a_time() -> None:
    made: list[int] = []
    requests = Requests([4, 2], lambda user: made.append(user) or user + 1)
    assert (list(requests), len(requests), made) == ([4, 2], 2, [])
    for user, request in requests.items():
        assert request == user + 1
        assert made[-1] == user
    assert made == [4, 2]
