"""Links over TLS on loopback: what arrives, what is refused and with which words, what is left behind."""

import gc
import socket
import threading
import time
from typing import ClassVar

import grpc
import numpy as np
import psutil
import pytest

from network_runs import CALM, DEADLINE, Town, linked, made_days_ago
from processes import wait_until
from proxy import Proxy
from vfxgb.errors import CertificateError, ConfigError, ConsentError, MessageError, PeerError
from vfxgb.transport.channel import Channel
from vfxgb.transport.link import LinkClosed, LinkTimeout
from vfxgb.transport.messages import Catalogue, Message
from vfxgb.transport.network import Identity, Limits, Listener, Peer, Selector, certificates, dial, dialer
from vfxgb.transport.network.certificates import issue
from vfxgb.transport.network.limits import CHUNK_BYTES


class Never(Message, frozen=True, forbid_unknown_fields=True):
    TAG: ClassVar[str] = "never"


def sockets() -> set[tuple[object, ...]]:
    """The connections of this process, each with what tells it from all others."""
    return {(one.laddr, one.raddr, one.fd) for one in psutil.Process().net_connections()}


def test_frames_both_ways(town) -> None:
    rng = np.random.default_rng(1)
    frames = [(b"head", rng.bytes(size)) for size in (0, 1, 100, CHUNK_BYTES - 4, CHUNK_BYTES - 3, 5 * CHUNK_BYTES)]
    with linked(town) as (bank, shop):
        assert (bank.peer, shop.peer) == ("shop", "bank")
        assert bank.session == shop.session
        assert len(bank.session) == 16
        for here, there in ((bank, shop), (shop, bank)):
            for frame in frames:
                here.put(frame)
            for head, payload in frames:
                found = there.get(DEADLINE)
                assert (found[0], bytes(found[1])) == (head, payload)
        assert bank.wire_sent > sum(len(payload) for _, payload in frames)
        with pytest.raises(LinkTimeout):
            bank.get(0.01)


def test_both_sides_send_at_once_more_than_a_window(town) -> None:
    """And one larger than the window: nothing waits for anything as long as somebody reads."""
    payload = bytes(12 << 20)
    with linked(town) as ends:
        failures = []

        def party(link) -> None:
            try:
                for _ in range(2):
                    link.put((b"h", payload))
                for _ in range(2):
                    assert len(link.get(DEADLINE)[1]) == len(payload)
            except Exception as error:
                failures.append(error)

        running = [threading.Thread(target=party, args=(link,)) for link in ends]
        for one in running:
            one.start()
        for one in running:
            one.join(DEADLINE)
        assert failures == []


def test_a_sender_waits_for_a_reader_and_gives_up(town) -> None:
    limits = Limits(step_seconds=0.6, window_bytes=4 << 20)
    with linked(town, limits, limits) as (bank, shop):
        sent = []

        def send_for_ever() -> None:
            while len(sent) < 100:
                bank.put((b"h", bytes(CHUNK_BYTES)))
                sent.append(1)

        with pytest.raises(LinkClosed, match=r"shop took nothing for 0\.6 seconds"):
            send_for_ever()
        # One window waits at each end, and the frame that did not fit.
        assert 4 <= len(sent) <= 13
        for _ in sent:
            shop.get(DEADLINE)


def test_the_last_frame_arrives_although_the_link_is_closed(town) -> None:
    with linked(town) as (bank, shop):
        bank.put((b"last", bytes(3 * CHUNK_BYTES)))
        bank.close()
        with pytest.raises(LinkClosed):
            bank.put((b"x", b""))
        with pytest.raises(LinkClosed):
            bank.get(0)
        assert len(shop.get(DEADLINE)[1]) == 3 * CHUNK_BYTES
        with pytest.raises(LinkClosed):
            shop.get(DEADLINE)
        with pytest.raises(LinkClosed):
            shop.put((b"x", b""))
        bank.close()


def test_a_link_that_has_failed_without_a_word_is_let_go_at_once(town) -> None:
    """Also where the peer is gone, which would be waited for with a last word: here for an hour."""
    with town.listener("shop", "bank", limits=Limits(close_seconds=3600)) as here:
        bank = town.dial("bank", "shop", here.address, Limits(close_seconds=3600))
        shop = here.accept(DEADLINE).link
        bank.fail(LinkClosed("gone"))
        bank.close()
        shop.fail(LinkClosed("another session took its place"))
        shop.close()
        with pytest.raises(LinkClosed, match="another session took its place"):
            shop.get(DEADLINE)


def test_nothing_is_left_behind(town) -> None:
    threads, connections = set(threading.enumerate()), sockets()
    for _ in range(2):
        with linked(town) as (bank, shop):
            bank.put((b"h", b"p"))
            shop.get(DEADLINE)
    # Which are left, not how many: what an earlier test had may end meanwhile.
    deadline = time.monotonic() + DEADLINE
    while (left := (set(threading.enumerate()) - threads, sockets() - connections)) != (set(), set()):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def test_a_compressed_link_carries_less(town) -> None:
    pytest.importorskip("zstandard")
    limits = Limits(compression=True)
    with linked(town, limits, limits) as (bank, shop):
        bank.put((b"h", bytes(4 << 20)))
        assert bytes(shop.get(DEADLINE)[1]) == bytes(4 << 20)
        assert bank.wire_sent < 1 << 20
    with linked(town, limits, Limits()) as (bank, shop):
        bank.put((b"h", bytes(4 << 20)))
        assert bytes(shop.get(DEADLINE)[1]) == bytes(4 << 20)
        assert bank.wire_sent > 4 << 20


def test_a_frame_over_the_cap_is_refused_and_both_sides_are_told(town) -> None:
    with linked(town, CALM, Limits(max_frame_bytes=5000)) as (bank, shop):
        bank.put((b"h", bytes(5001)))
        with pytest.raises(ValueError, match=r"receiving from bank: found a frame of 5001 bytes announced.*5000"):
            shop.get(DEADLINE)
        with pytest.raises(LinkClosed, match=r"shop gave the session up: found a frame of 5001 bytes"):
            bank.get(DEADLINE)


def test_channels_say_why(town) -> None:
    with linked(town) as (one, other):
        bank = Channel("bank", "shop", one, Catalogue(()), one.session)
        shop = Channel("shop", "bank", other, Catalogue(()), other.session)
        shop.abort(ConsentError("shop refuses: max_trees is 10, asked for 20"))
        deadline = time.monotonic() + DEADLINE
        while not one.ready() and time.monotonic() < deadline:
            time.sleep(0.01)
        # The end is there as soon as the frame before it has been followed by it.
        while one.settled is False and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(ConsentError, match=r"bank sending 'never': shop refuses: max_trees is 10, asked for 20"):
            bank.send(Never())
    with linked(town) as (one, other):
        bank = Channel("bank", "shop", one, Catalogue(()), one.session)
        Channel("shop", "bank", other, Catalogue(()), other.session).abort(MessageError("row 17 holds 42"))
        with pytest.raises(
            PeerError, match=r"stopped the run: shop received something that does not fit.*its log says what$"
        ):
            bank.recv(Never)


def test_selector(town) -> None:
    names = [f"user{i}" for i in range(5)]
    with town.listener("shop", *names) as here:
        dialled = {name: town.dial(name, "shop", here.address) for name in names}
        accepted = {arrival.peer: arrival.link for arrival in (here.accept(DEADLINE) for _ in names)}
        assert sorted(accepted) == names
        selector = Selector(accepted.values())
        assert selector.wait(0.05) == []
        for name in names:
            dialled[name].put((b"", name.encode()))
        heard: dict[str, bytes] = {}
        while len(heard) < 5:
            for link in selector.wait(DEADLINE):
                heard[link.peer] = bytes(link.get(0)[1])
        assert heard == {name: name.encode() for name in names}
        assert selector.wait(0.05) == []
        dialled["user3"].close()
        assert [link.peer for link in selector.wait(DEADLINE)] == ["user3"]
        selector.discard(accepted["user3"])
        assert selector.wait(0.05) == []
        for link in dialled.values():
            link.close()


def test_too_many_sessions(town) -> None:
    with town.listener("shop", "bank", max_sessions=1) as here:
        first = town.dial("bank", "shop", here.address)
        with pytest.raises(PeerError, match=r"bank dialling shop .*refused: shop has 1 sessions, wanted at most 1"):
            town.dial("bank", "shop", here.address)
        first.close()
        here.accept(DEADLINE)
        # The place is free when the listener has heard of the end, too.
        wait_until(lambda: here._sessions.links() == [])
        town.dial("bank", "shop", here.address).close()


def test_accept_has_a_deadline_and_ends(town) -> None:
    with town.listener("shop", "bank") as here, pytest.raises(LinkTimeout):
        here.accept(0.05)
    with pytest.raises(LinkClosed):
        here.accept(0.05)


class TestRefused:
    """Each with its reason, at the side that dials."""

    def test_nobody_listens(self, town) -> None:
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            with pytest.raises(PeerError, match=r"bank dialling shop at 127.0.0.1:\d+: nobody listens there"):
                town.dial("bank", "shop", f"127.0.0.1:{held.getsockname()[1]}", CALM)

    @pytest.mark.parametrize("address", ["nowhere.invalid:7878", "no-port", "host:many", "127.0.0.1:99999"])
    def test_bad_addresses(self, town, address) -> None:
        with pytest.raises(PeerError, match=r"check the address|wanted host:port"):
            town.dial("bank", "shop", address, CALM)

    def test_not_tls(self, town) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            stop = threading.Event()

            def answer() -> None:
                server.settimeout(0.1)
                while not stop.is_set():
                    try:
                        connection, _ = server.accept()
                    except TimeoutError:
                        continue
                    with connection:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

            thread = threading.Thread(target=answer)
            thread.start()
            try:
                with pytest.raises(PeerError, match=r"does not speak TLS|during the TLS handshake"):
                    town.dial("bank", "shop", f"127.0.0.1:{server.getsockname()[1]}", CALM)
            finally:
                stop.set()
                thread.join()

    def test_something_that_says_nothing(self, town) -> None:
        silence = pytest.raises(PeerError, match=r"says nothing for 0\.5 seconds")
        with socket.create_server(("127.0.0.1", 0)) as server, silence:
            town.dial("bank", "shop", f"127.0.0.1:{server.getsockname()[1]}", Limits(connect_seconds=0.5))

    def test_another_party_at_the_address(self, town) -> None:
        with town.listener("cafe", "bank") as here, pytest.raises(PeerError, match="is another party at this address"):
            town.dial("bank", "shop", here.address, CALM)

    def test_a_certificate_the_listener_does_not_know(self, town, tmp_path) -> None:
        """Of the same authority, but not the one that was pinned; and of another authority."""
        other = Town(tmp_path / "other")
        new = issue(town.authority, "bank", (), 30, tmp_path)
        with town.listener("shop", "bank") as here:
            for stranger in (town.identity("cafe"), other.identity("bank"), new):
                with pytest.raises(PeerError, match="shop does not accept this side's certificate"):
                    dial(stranger, town.peer("shop", here.address), CALM)
            with pytest.raises(LinkTimeout):
                here.accept(0.05)

    def test_a_known_certificate_in_another_name(self, town, monkeypatch) -> None:
        with town.listener("shop", "bank", "cafe") as here:
            shown = certificates.credentials(town.identity("cafe"))
            monkeypatch.setattr(dialer, "credentials", lambda identity: shown)
            with pytest.raises(PeerError, match="not the one that shop knows as that of 'bank'"):
                town.dial("bank", "shop", here.address, CALM)

    def test_expired(self, town, tmp_path, monkeypatch) -> None:
        """`dial` refuses both certificates before anything is sent; without that, TLS does."""
        with monkeypatch.context() as then:
            made_days_ago(40, then)
            bank = issue(town.authority, "bank", (), 30, tmp_path)
            shop = issue(town.authority, "shop", (), 30, tmp_path)
        with town.listener("shop", "bank") as here:
            with pytest.raises(CertificateError, match="certificate of bank expired"):
                dial(bank, town.peer("shop", here.address), CALM)
            with pytest.raises(CertificateError, match="certificate of shop expired"):
                dial(town.identity("bank"), Peer("shop", shop.certificate, here.address), CALM)
        monkeypatch.setattr(certificates, "_check_dates", lambda *arguments: None)
        pinned = {"bank": Peer("bank", bank.certificate)}
        refused = pytest.raises(PeerError, match="shop does not accept this side's certificate")
        with Listener(town.identity("shop"), pinned, "127.0.0.1:0") as here, refused:
            dial(bank, town.peer("shop", here.address), CALM)
        refused = pytest.raises(PeerError, match="the certificate of shop expired on")
        with Listener(shop, {"bank": town.peer("bank")}, "127.0.0.1:0") as here, refused:
            dial(town.identity("bank"), Peer("shop", shop.certificate, here.address), CALM)

    def test_another_version(self, town, monkeypatch) -> None:
        with town.listener("shop", "bank") as here:
            monkeypatch.setattr("vfxgb.transport.network.hello.WIRE_VERSION", 9)
            with pytest.raises(PeerError, match="refused: found wire version 9, wanted 3; install the same vfxgb"):
                town.dial("bank", "shop", here.address, CALM)

    def test_a_port_that_is_taken(self, town) -> None:
        with town.listener("shop", "bank") as here, pytest.raises(ConfigError, match="is another program on that port"):
            Listener(town.identity("shop"), {"bank": town.peer("bank")}, here.address)

    def test_files(self, town) -> None:
        with pytest.raises(CertificateError):
            dial(Identity("bank", town.identity("shop").certificate, town.identity("shop").key), town.peer("shop"))
        with pytest.raises(ConfigError, match="listed as 'x'"):
            Listener(town.identity("shop"), {"x": town.peer("bank")}, "127.0.0.1:0")
        with pytest.raises(ConfigError, match="found no peers"):
            Listener(town.identity("shop"), {}, "127.0.0.1:0")


def test_failed_attempts_leave_nothing_that_connects_again(town) -> None:
    """gRPC's channels try again by themselves for as long as anything refers to them, even when they are closed."""

    def objects() -> int:
        return sum(isinstance(one, (grpc.aio.Channel, grpc.aio.Call)) for one in gc.get_objects())

    with town.listener("shop", "bank") as here, Proxy(here.address) as proxy, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with town.dial("bank", "shop", proxy.address) as link:
            gc.collect()
            gc.disable()
            try:
                before = objects()
                for _ in range(3):
                    with pytest.raises(PeerError, match="nobody listens there"):
                        town.dial("bank", "shop", f"127.0.0.1:{nobody.getsockname()[1]}")
                proxy.refusing = True
                proxy.cut()
                # The first connection, and attempts to make it again.
                wait_until(lambda: proxy.connections >= 5)
                proxy.refusing = False
                wait_until(lambda: link.reconnects == 1)
                assert objects() <= before
            finally:
                gc.enable()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connect_seconds", 0),
        ("step_seconds", float("nan")),
        ("heartbeat_seconds", "1"),
        ("window_bytes", 100),
        ("window_bytes", 1e8),
        ("max_frame_bytes", True),
        ("compression", 1),
        ("require_post_quantum", "yes"),
        ("reconnect_seconds", float("inf")),
    ],
)
def test_limits_have_bounds(name, value) -> None:
    with pytest.raises(ConfigError, match=f"network limits: {name} is"):
        Limits(**{name: value})
