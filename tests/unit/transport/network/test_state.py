"""What links tell of their connections: lost, back, ended; in order, each once, and soon enough."""

import queue
import threading
from dataclasses import replace

import pytest

from network_runs import CALM, DEADLINE, Town
from processes import wait_until
from proxy import Proxy
from vfxgb.errors import FrameError
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.network import Limits, LinkState, wire
from vfxgb.transport.network.state import StateTeller

LOST = LinkState("shop", "lost", 7.0, "gone")
BACK = LinkState("shop", "back", None, "")
ENDED = LinkState("shop", "ended", None, "over")
SOON = replace(CALM, lost_after_seconds=0.4)


class Told:
    """An observer that keeps what it was told. `latest`: the last of it."""

    def __init__(self) -> None:
        self.states: queue.SimpleQueue[LinkState] = queue.SimpleQueue()
        self.latest: LinkState | None = None

    def __call__(self, state: LinkState) -> None:
        self.states.put(state)
        self.latest = state

    def next(self) -> LinkState:
        return self.states.get(timeout=DEADLINE)

    def nothing(self) -> bool:
        return self.states.empty()

    def until(self, state: str) -> LinkState:
        """Wait until this is the case; a slow machine may have lost sight of the peer before, for a moment."""
        wait_until(lambda: self.latest is not None and self.latest.state == state)
        assert self.latest is not None
        return self.latest


class TestTeller:
    def test_every_change_is_told_once_and_in_order(self) -> None:
        teller, told = StateTeller("shop"), []
        teller.watch(told.append)
        teller.back()
        for _ in range(2):
            teller.lost(7.0, "gone")
            teller.lost(5.0, "still gone")
            teller.back()
            teller.back()
        teller.lost(7.0, "gone")
        teller.ended("over")
        teller.ended("over again")
        teller.lost(7.0, "gone")
        teller.back()
        assert told == [LOST, BACK, LOST, BACK, LOST, ENDED]

    @pytest.mark.parametrize(("calls", "first"), [((), []), (("lost",), [LOST]), (("lost", "back"), [])])
    def test_who_watches_later_is_told_what_is_the_case(self, calls, first) -> None:
        teller, told = StateTeller("shop"), []
        for call in calls:
            getattr(teller, call)(*((7.0, "gone") if call == "lost" else ()))
        teller.watch(told.append)
        assert told == first
        teller.ended("over")
        assert told == [*first, ENDED]

    def test_an_observer_that_fails_ends_nothing(self) -> None:
        teller, told = StateTeller("shop"), []

        def broken(state: LinkState) -> None:
            raise BrokenPipeError(state.reason)

        teller.watch(broken)
        teller.watch(told.append)
        teller.lost(7.0, "gone")
        assert told == [LOST]


def proxied(town: Town, bank: Limits = CALM, shop: Limits = CALM):
    """(the bank's link, what it told, the shop's link, what the listener told, the proxy between them)."""
    bank_told, shop_told = Told(), Told()
    listener = town.listener("shop", "bank", limits=shop, on_state=shop_told)
    proxy = Proxy(listener.address)
    link = town.dial("bank", "shop", proxy.address, bank, on_state=bank_told)
    return listener, proxy, link, bank_told, listener.accept(DEADLINE).link, shop_told


@pytest.fixture
def ends(town):
    listener, proxy, bank, bank_told, shop, shop_told = proxied(town)
    with listener, proxy, bank:
        yield bank, bank_told, shop, shop_told, proxy


def test_a_cut_connection_is_lost_and_back_at_both_ends(ends) -> None:
    bank, bank_told, shop, shop_told, proxy = ends
    proxy.cut()
    assert bank_told.next() == LinkState("shop", "lost", CALM.reconnect_seconds, "the connection was closed")
    assert shop_told.next() == LinkState("bank", "lost", CALM.reconnect_seconds, "the connection was closed")
    assert (bank_told.next(), shop_told.next()) == (BACK, LinkState("bank", "back", None, ""))
    bank.put((b"h", b"p"))
    assert shop.get(DEADLINE)[0] == b"h"
    bank.close()
    assert bank_told.nothing()
    assert shop_told.nothing()


def test_a_silent_line_is_told_and_ends_nothing(town) -> None:
    """The connection is still the same one when the line carries bytes again."""
    listener, proxy, bank, bank_told, shop, shop_told = proxied(town, SOON, SOON)
    with listener, proxy, bank:
        proxy.silent = True
        for told, peer in ((bank_told, "shop"), (shop_told, "bank")):
            state = told.until("lost")
            assert (state.peer, state.reason) == (peer, "nothing was heard for 0.4 seconds")
            # Three heartbeats less the silence so far, and the time for reconnects.
            assert state.seconds_left is not None
            assert 0 < state.seconds_left - SOON.reconnect_seconds <= 3 * SOON.heartbeat_seconds - 0.4
        proxy.silent = False
        bank_told.until("back")
        shop_told.until("back")
        assert bank.reconnects == shop.reconnects == 0
        shop.put((b"h", b"p"))
        assert bank.get(DEADLINE)[0] == b"h"


def test_default_limits_notice_a_silent_line_within_5_seconds(town) -> None:
    """By what the limits ask for; and what is asked for is sent."""
    limits = Limits()
    assert limits.lost_after_seconds + limits.wanted_beat <= 5
    assert 4 * limits.wanted_beat <= limits.lost_after_seconds
    # The shop's own heartbeat is slow; it sends as many as the bank asks for.
    slow = replace(CALM, heartbeat_seconds=3600, lost_after_seconds=3600)
    listener, proxy, bank, _, shop, _ = proxied(town, SOON, slow)
    with listener, proxy, bank:
        assert shop.their_beat == pytest.approx(0.1)
        before = bank.wire_received
        wait_until(lambda: bank.wire_received >= before + 6 * wire.HEAD.size)


def test_given_up(town) -> None:
    limits = replace(CALM, reconnect_seconds=0.3)
    listener, proxy, bank, bank_told, shop, shop_told = proxied(town, limits, limits)
    with listener, proxy, bank:
        proxy.refusing = True
        proxy.cut()
        for link, told in ((bank, bank_told), (shop, shop_told)):
            assert told.next().state == "lost"
            ended = told.next()
            assert ended.state == "ended"
            assert ended.reason.startswith("the connection was lost and did not come back in 0.3 seconds")
            with pytest.raises(LinkClosed, match="did not come back"):
                link.get(DEADLINE)
            late = Told()
            link.watch(late)
            assert late.next() == ended


def test_a_broken_rule_is_told_as_the_end(ends) -> None:
    bank, bank_told, shop, shop_told, _ = ends
    bank.put((bytes(2000), b""))
    assert shop_told.next().reason.startswith("receiving from bank: found a frame with a header of 2000 bytes")
    ended = bank_told.next()
    assert ended.state == "ended"
    assert ended.reason.startswith("shop gave the session up: found a frame")
    with pytest.raises(FrameError):
        shop.get(DEADLINE)


def test_an_observer_may_use_the_link(town) -> None:
    """It is called without the link's lock."""
    listener, proxy, bank, _, _, _ = proxied(town)
    asked = threading.Event()

    def observer(state: LinkState) -> None:
        bank.ready()
        bank.watch(lambda later: None)
        if state.state == "back":
            asked.set()

    with listener, proxy, bank:
        bank.watch(observer)
        proxy.cut()
        assert asked.wait(DEADLINE)
