"""The exchange of a simulation: what it counts, and replies of another type."""

from typing import Any

import pytest

from secagg_runs import Run
from vfxgb.errors import MessageError
from vfxgb.secagg import aggregator_by_name, simulation
from vfxgb.secagg.base import MASK
from vfxgb.secagg.plain.messages import PlainTask, PlainVector
from vfxgb.secagg.simulation import Loopback
from vfxgb.transport.messages import Catalogue, Message, encode, pack_bytes


class Other(Message, frozen=True, forbid_unknown_fields=True):
    """A reply that nobody asked for."""

    TAG = "other"


def make_exchange(**more: Any) -> Loopback:
    handlers = {user: lambda message: PlainVector(call=message.call, values=message.task) for user in range(3)}
    return Loopback(bytes(16), Catalogue([*aggregator_by_name("plain").messages, Other]), handlers, **more)


def make_request(task: bytes = b"12345678") -> PlainTask:
    return PlainTask(call=1, n_entries=1, task=pack_bytes(task))


def test_replies_come_without_the_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = make_exchange(absent=lambda stage, user: stage == MASK and user == 1)
    written: list[Message] = []
    monkeypatch.setattr(simulation, "encode", lambda message: written.append(message) or encode(message))
    request = make_request()
    replies = dict(exchange.ask(MASK, dict.fromkeys(range(3), request), PlainVector))
    assert sorted(replies) == [0, 2]
    # One request for all is written once.
    assert [message.TAG for message in written].count("sum-task") == 1
    cost = exchange.costs[MASK]
    assert cost.asked == 2
    assert cost.up > 2 * 8


def test_every_user_gets_its_own_request() -> None:
    requests = {user: make_request(bytes([user] * 8)) for user in range(3)}
    replies = dict(make_exchange().ask(MASK, requests, PlainVector))
    assert {user: bytes(reply.values) for user, reply in replies.items()} == {u: bytes([u] * 8) for u in range(3)}


def test_replies_of_another_type() -> None:
    exchange = make_exchange()
    exchange.handlers = {0: lambda _: Other()}
    with pytest.raises(MessageError, match="stage 'mask': user 0 answered with 'other', wanted 'sum-vector'"):
        list(exchange.ask(MASK, {0: make_request()}, PlainVector))


def test_messages_are_observed() -> None:
    seen: list[tuple[str, str, str]] = []
    exchange = make_exchange(observer=lambda sender, receiver, message, _: seen.append((sender, receiver, message.TAG)))
    list(exchange.ask(MASK, {0: make_request()}, PlainVector))
    assert seen == [("server", "users", "sum-task"), ("users", "server", "sum-vector")]


def test_runs_have_numbers_of_their_own() -> None:
    runs = {Run("plain", n_users=2).parties.exchange.run for _ in range(3)}
    assert len(runs) == 3
