"""Links that are cut, delayed, throttled, silent; peers that lie, dawdle or die. Nothing hangs, nothing is lost."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import grpc
import numpy as np
import psutil
import pytest

from interrupts import interruptible
from network_runs import CALM, DEADLINE, Town
from processes import wait_until
from proxy import Proxy
from vfxgb.errors import FrameError, PeerError
from vfxgb.transport.link import LinkClosed
from vfxgb.transport.network import Limits, NetworkLink, wire
from vfxgb.transport.network.hello import Call, write_call
from vfxgb.transport.network.limits import CHUNK_BYTES
from vfxgb.transport.network.link import Terms

LIMITS = replace(CALM, window_bytes=4 << 20)


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Town:
    return Town(tmp_path_factory.mktemp("town"))


@contextmanager
def through_proxy(
    town: Town, limits: Limits = LIMITS, theirs: Limits = LIMITS
) -> Iterator[tuple[NetworkLink, NetworkLink, Proxy]]:
    with town.listener("shop", "bank", limits=theirs) as here, Proxy(here.address) as proxy:
        bank = town.dial("bank", "shop", proxy.address, limits)
        try:
            yield bank, here.accept(DEADLINE).link, proxy
        finally:
            proxy.delay = proxy.rate = 0.0
            bank.close()


class Sender(threading.Thread):
    """Puts frames 0, 1, 2, ... of random sizes in a thread of its own."""

    def __init__(self, link: NetworkLink, sizes: "list[int]") -> None:
        super().__init__()
        self.failure: Exception | None = None
        self._link = link
        self._sizes = sizes
        self.start()

    def run(self) -> None:
        try:
            for i, size in enumerate(self._sizes):
                self._link.put((str(i).encode(), bytes([i % 251]) * size))
        except Exception as error:
            self.failure = error

    def done(self) -> None:
        self.join(DEADLINE)
        assert not self.is_alive()
        assert self.failure is None


def expect(link: NetworkLink, sizes: "list[int]") -> None:
    for i, size in enumerate(sizes):
        head, payload = link.get(DEADLINE)
        assert head == str(i).encode()
        assert bytes(payload) == bytes([i % 251]) * size


def sizes_of(seed: int, count: int = 40) -> "list[int]":
    rng = np.random.default_rng(seed)
    return [int(size) for size in np.exp(rng.uniform(0, np.log(3 << 20), count))]


@pytest.mark.parametrize("seed", range(2))
def test_every_frame_arrives_once_and_in_order_whatever_is_cut(town, seed) -> None:
    """Both directions at once, seven connections that end at some byte: of a handshake, a chunk, an acknowledgement."""
    there, back = sizes_of(seed), sizes_of(seed + 100)
    rng = np.random.default_rng(seed)
    with through_proxy(town) as (bank, shop, proxy):
        proxy.cuts = [int(cut) for cut in np.exp(rng.uniform(np.log(300), np.log(1 << 20), 6))]
        proxy.cut()
        senders = [Sender(bank, there), Sender(shop, back)]
        reader = threading.Thread(target=expect, args=(shop, there))
        reader.start()
        expect(bank, back)
        reader.join(DEADLINE)
        assert not reader.is_alive()
        for sender in senders:
            sender.done()
        assert proxy.connections > 2


def test_a_cut_while_the_window_is_full_loses_nothing(town) -> None:
    """The receiver computes and holds more than it acknowledged; then the line is cut, and then it reads."""
    sizes = [CHUNK_BYTES] * 30
    with through_proxy(town) as (bank, shop, proxy):
        sender = Sender(bank, sizes)
        deadline = time.monotonic() + DEADLINE
        outbox, inbox = bank._outbox, shop._inbox
        # Until nothing moves: the receiver has no room, and the window under way has come.
        while (
            inbox._held < LIMITS.window_bytes
            or outbox._under_way < LIMITS.window_bytes
            or outbox.next_sequence > inbox.received
        ):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert inbox.received >= inbox.acknowledgement() + 4
        proxy.cut()
        while (bank.reconnects, shop.reconnects) != (1, 1):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        expect(shop, sizes)
        sender.done()
        # Nothing that had come was sent again: 30 frames and what little stands around them.
        assert shop.wire_received < 31 * CHUNK_BYTES


def test_a_cut_while_nothing_is_sent_goes_unnoticed(town) -> None:
    with through_proxy(town) as (bank, shop, proxy):
        proxy.cut()
        shop.put((b"a", b"1"))
        bank.put((b"b", b"2"))
        assert (bank.get(DEADLINE)[0], shop.get(DEADLINE)[0]) == (b"a", b"b")
        assert bank.reconnects == shop.reconnects == 1


def test_closed_while_it_is_cut_delivers(town) -> None:
    with through_proxy(town) as (bank, shop, proxy):
        proxy.cut()
        bank.put((b"last", b"words"))
        bank.close()
        assert shop.get(DEADLINE)[0] == b"last"
        with pytest.raises(LinkClosed):
            shop.get(DEADLINE)


def test_a_silent_line_is_found_out_and_made_again(town) -> None:
    """Connections that stay open and carry nothing: only the missing heartbeats tell."""
    limits = Limits(connect_seconds=3, heartbeat_seconds=0.2)
    with through_proxy(town, limits, limits) as (bank, shop, proxy):
        proxy.silent = True
        bank.put((b"x", b"y"))
        deadline = time.monotonic() + DEADLINE
        while proxy.connections < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        proxy.cut()
        proxy.silent = False
        assert shop.get(DEADLINE)[0] == b"x"


def test_a_peer_that_computes_for_long_is_not_given_up(town) -> None:
    """It sends no frame, and its heartbeats keep coming, as often as this side asks for."""
    limits = replace(LIMITS, lost_after_seconds=0.4)
    with through_proxy(town, limits, limits) as (bank, shop, _):
        deadline = time.monotonic() + DEADLINE
        before = bank.wire_received
        while bank.wire_received < before + 5 * wire.HEAD.size and time.monotonic() < deadline:
            time.sleep(0.01)
        assert bank.wire_received >= before + 5 * wire.HEAD.size
        shop.put((b"at", b"last"))
        assert bank.get(DEADLINE)[0] == b"at"


def test_given_up_after_reconnect_seconds(town) -> None:
    limits = Limits(reconnect_seconds=0.7, close_seconds=1.0)
    with through_proxy(town, limits, limits) as (bank, shop, proxy):
        proxy.refusing = True
        proxy.cut()
        for link in (bank, shop):
            with pytest.raises(LinkClosed, match=r"the connection was lost and did not come back in 0\.7 seconds"):
                link.get(DEADLINE)
            with pytest.raises(LinkClosed, match="did not come back"):
                link.put((b"x", b""))


def test_a_restarted_listener_does_not_know_the_session(town) -> None:
    limits = Limits(close_seconds=0.3)
    with town.listener("shop", "bank", limits=limits) as first, Proxy(first.address) as proxy:
        bank = town.dial("bank", "shop", proxy.address, LIMITS)
        first.accept(DEADLINE)
        with town.listener("shop", "bank", limits=LIMITS) as second:
            host, _, port = second.address.rpartition(":")
            proxy._target = (host, int(port))
            proxy.cut()
            with pytest.raises(LinkClosed, match=r"shop refused: shop does not know this session.*was it restarted"):
                bank.get(DEADLINE)
        bank.close()


def test_a_line_of_200_milliseconds(town) -> None:
    """Frames follow each other without waiting for answers."""
    with through_proxy(town) as (bank, shop, proxy):
        proxy.delay = 0.2
        for i in range(50):
            bank.put((b"%d" % i, b"x" * 1000))
        for i in range(50):
            assert shop.get(DEADLINE)[0] == b"%d" % i


def test_a_line_of_10_megabits(town) -> None:
    """A megabyte takes 0.8 seconds, and arrives."""
    with through_proxy(town) as (bank, shop, proxy):
        proxy.rate = 10e6 / 8
        payload = np.random.default_rng(0).bytes(1_200_000)
        bank.put((b"large", payload))
        assert bytes(shop.get(DEADLINE)[1]) == payload


class Liar:
    """A client with the bank's certificate that says what it likes."""

    def __init__(self, town: Town, address: str) -> None:
        bank = town.identity("bank")
        secrets = grpc.ssl_channel_credentials(
            town.identity("shop").certificate.read_bytes(), bank.key.read_bytes(), bank.certificate.read_bytes()
        )
        self.channel = grpc.secure_channel(address, secrets, options=[("grpc.ssl_target_name_override", "shop")])

    def __enter__(self) -> "Liar":
        return self

    def __exit__(self, *ignored: object) -> None:
        self.channel.close()

    def say(self, *messages: bytes, **changes: str) -> "tuple[grpc.StatusCode, str, list[bytes]]":
        """What the listener answered to messages after metadata with changed fields."""
        said = write_call(Call("bank", os.urandom(16), False, Terms(0, 8 << 20, False, 1.0)))
        fields = {**dict(said), **{f"vfxgb-{name}": value for name, value in changes.items()}}
        metadata = tuple((name, value) for name, value in fields.items() if value != "absent")
        rpc = self.channel.stream_stream(f"/{wire.SERVICE}/{wire.METHOD}")(
            iter(messages), metadata=metadata, timeout=DEADLINE
        )
        try:
            answers = list(rpc)
        except grpc.RpcError:
            answers = []
        return rpc.code(), rpc.details(), answers


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"version": "1"}, "FAILED_PRECONDITION", "found wire version 1, wanted 3"),
        ({"version": "absent"}, "FAILED_PRECONDITION", "found wire version none"),
        ({"party": "cafe"}, "PERMISSION_DENIED", "knows as that of 'cafe'"),
        ({"party": "absent"}, "INVALID_ARGUMENT", "malformed"),
        ({"session": "00" * 15}, "INVALID_ARGUMENT", "session of 15 bytes"),
        ({"session": "zz"}, "INVALID_ARGUMENT", "malformed"),
        ({"again": "1"}, "NOT_FOUND", "does not know this session"),
        ({"again": "7"}, "INVALID_ARGUMENT", "again is '7'"),
        ({"received": "5"}, "INVALID_ARGUMENT", "the peer has 5 chunks, wanted at least 0"),
        ({"received": "-1"}, "INVALID_ARGUMENT", "received is '-1'"),
        ({"window": "10"}, "INVALID_ARGUMENT", "a window of 10 bytes"),
        ({"window": "9" * 30}, "INVALID_ARGUMENT", "window is"),
        ({"zstd": "absent"}, "INVALID_ARGUMENT", "malformed"),
        ({"beat": "absent"}, "INVALID_ARGUMENT", "malformed"),
        ({"beat": "1"}, "INVALID_ARGUMENT", "a sign of life every 1 milliseconds, wanted at least 20"),
    ],
)
def test_metadata_that_is_refused(town, changes, code, text) -> None:
    with town.listener("shop", "bank", "cafe", limits=LIMITS) as here, Liar(town, here.address) as liar:
        found, details, _ = liar.say(**changes)
        assert found == grpc.StatusCode[code]
        assert text in details


def first_chunk(lengths: "tuple[int, int]", data: bytes, sequence: int = 0) -> bytes:
    return wire.write_chunk(0, sequence, lengths, False, len(data), [data])


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (b"", "message of 0 bytes"),
        (b"\xff" * 9, "message of kind 255"),
        (b"8 bytes.", "message of 8 bytes"),
        (wire.write_short(wire.BEAT, 7), "acknowledgement of 7 chunks"),
        (wire.write_short(wire.DONE, 0), "an end that was never sent"),
        (wire.write_end(0, 3), "an end after 3 chunks, and 0 came"),
        (first_chunk((0, 4), b"abcd", sequence=5), "found chunk 5, wanted 0"),
        (first_chunk((0, 1 << 50), bytes(CHUNK_BYTES)), "bytes announced"),
        (first_chunk((0, 4), b"abc"), "chunk of 3 bytes, wanted 4"),
        (first_chunk((0, 4), b"abcd")[:-1], "3 bytes of data, wanted 4"),
        (first_chunk((0, 4), b"abcd")[:15], "found a chunk of 15 bytes"),
    ],
)
def test_messages_that_are_refused_and_both_sides_know(town, message, text) -> None:
    with town.listener("shop", "bank", limits=LIMITS) as here, Liar(town, here.address) as liar:
        code, _, answers = liar.say(message)
        link = here.accept(DEADLINE).link
        with pytest.raises(FrameError, match=f"receiving from bank: .*{text}"):
            link.get(DEADLINE)
        assert code == grpc.StatusCode.OK
        assert any(wire.read_head(answer)[0] == wire.FAIL and text in wire.read_fail(answer) for answer in answers)


def test_a_message_over_grpcs_cap_is_not_read(town) -> None:
    limits = Limits(reconnect_seconds=0)
    before = psutil.Process().memory_info().rss
    with town.listener("shop", "bank", limits=limits) as here, Liar(town, here.address) as liar:
        code, _, _ = liar.say(bytes(wire.MAX_MESSAGE + 1))
        assert code != grpc.StatusCode.OK
        with pytest.raises(LinkClosed):
            here.accept(DEADLINE).link.get(DEADLINE)
    assert psutil.Process().memory_info().rss - before < 200 << 20


def test_announced_memory_is_not_taken(town) -> None:
    """A gigabyte is announced and a megabyte sent."""
    before = psutil.Process().memory_info().rss
    limits = Limits(reconnect_seconds=0, max_session_bytes=2 << 30)
    with town.listener("shop", "bank", limits=limits) as here, Liar(town, here.address) as liar:
        liar.say(first_chunk((0, 1 << 30), bytes(CHUNK_BYTES)))
        link = here.accept(DEADLINE).link
        assert psutil.Process().memory_info().rss - before < 200 << 20
        with pytest.raises(LinkClosed):
            link.get(DEADLINE)


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02", bytes(range(256))])
def test_a_connection_without_a_handshake_is_dropped(town, first) -> None:
    """Plaintext, half a TLS hello, noise, or nothing at all (slow-loris): gone after connect_seconds, nobody waits."""
    limits = Limits(connect_seconds=0.5)
    with town.listener("shop", "bank", limits=limits) as here:
        host, _, port = here.address.rpartition(":")
        with socket.create_connection((host, int(port)), DEADLINE) as connection:
            connection.sendall(first)
            connection.settimeout(DEADLINE)
            try:
                while connection.recv(4096):
                    pass
            except ConnectionResetError:
                pass
        # And the listener still serves, if the machine lets an honest party keep to this time.
        let_in(town, here.address).close()


def let_in(town: Town, address: str) -> NetworkLink:
    """A session with a listener that drops who is slow: tried again until the handshake was fast enough."""
    links: list[NetworkLink] = []

    def tried() -> bool:
        with suppress(PeerError):
            links.append(town.dial("bank", "shop", address, limits=LIMITS))
        return bool(links)

    wait_until(tried)
    return links[0]


def test_a_connection_without_a_session_is_dropped(town) -> None:
    """The handshake is done, the certificate is right, and then nothing is asked for."""
    with town.listener("shop", "bank", limits=Limits(connect_seconds=0.5)) as here, Liar(town, here.address) as liar:
        dropped = threading.Event()
        ready = threading.Event()

        def watch(state: grpc.ChannelConnectivity) -> None:
            if state is grpc.ChannelConnectivity.READY:
                ready.set()
            elif ready.is_set():
                dropped.set()

        liar.channel.subscribe(watch, try_to_connect=True)
        assert ready.wait(DEADLINE)
        assert dropped.wait(DEADLINE)
        liar.channel.unsubscribe(watch)


def test_a_stranger_cannot_take_a_session_over(town) -> None:
    """The cafe, which is let in, asks for the bank's session."""
    with town.listener("shop", "bank", "cafe", limits=LIMITS) as here, town.dial("bank", "shop", here.address) as bank:
        link = here.accept(DEADLINE).link
        cafe = town.identity("cafe")
        secrets = grpc.ssl_channel_credentials(
            town.identity("shop").certificate.read_bytes(), cafe.key.read_bytes(), cafe.certificate.read_bytes()
        )
        metadata = write_call(Call("cafe", bank.session, True, Terms(0, 8 << 20, False, 1.0)))
        with grpc.secure_channel(here.address, secrets, (("grpc.ssl_target_name_override", "shop"),)) as channel:
            rpc = channel.stream_stream(f"/{wire.SERVICE}/{wire.METHOD}")(iter(()), metadata=metadata, timeout=DEADLINE)
            assert rpc.code() == grpc.StatusCode.NOT_FOUND
        bank.put((b"still", b"here"))
        assert link.get(DEADLINE)[0] == b"still"


CHILD = """
import sys
from pathlib import Path
from vfxgb.transport.network import Identity, Limits, Peer, dial
folder, address, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
limits = Limits(close_seconds=60)
bank = Identity("bank", folder / "bank.pem", folder / "bank.key")
link = dial(bank, Peer("shop", folder / "shop.pem", address), limits)
if what == "last words":
    link.put((b"last", b"words"))
    link.close()
else:
    try:
        link.put((b"here", b"I am"))
        link.get(None)
    except KeyboardInterrupt:
        link.close()
        print("interrupted")
"""


def child(town: Town, address: str, what: str) -> "subprocess.Popen[str]":
    town.identity("bank")
    return subprocess.Popen(
        interruptible("-c", CHILD, str(town.folder), address, what),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_that_ends_after_close_has_delivered(town) -> None:
    with town.listener("shop", "bank", limits=LIMITS) as here:
        process = child(town, here.address, "last words")
        link = here.accept(DEADLINE).link
        assert link.get(DEADLINE)[0] == b"last"
        with pytest.raises(LinkClosed):
            link.get(DEADLINE)
        assert process.communicate(timeout=DEADLINE) == ("", "")
        assert process.returncode == 0


def test_ctrl_c_while_waiting_ends_at_once_and_tells_the_peer(town) -> None:
    with town.listener("shop", "bank", limits=LIMITS) as here:
        process = child(town, here.address, "wait")
        link = here.accept(DEADLINE).link
        link.get(DEADLINE)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=DEADLINE) == ("interrupted\n", "")
        with pytest.raises(LinkClosed):
            link.get(DEADLINE)


def test_a_killed_process_is_noticed(town) -> None:
    limits = Limits(reconnect_seconds=0.5)
    with town.listener("shop", "bank", limits=limits) as here:
        process = child(town, here.address, "wait")
        link = here.accept(DEADLINE).link
        link.get(DEADLINE)
        process.kill()
        process.communicate(timeout=DEADLINE)
        with pytest.raises(LinkClosed, match="did not come back"):
            link.get(DEADLINE)


def test_dialling_has_a_deadline(town) -> None:
    """Through a line that lets connections be made and nothing pass."""
    with town.listener("shop", "bank", limits=LIMITS) as here, Proxy(here.address) as proxy:
        proxy.silent = True
        with pytest.raises(PeerError, match=r"says nothing for 0\.5 seconds"):
            town.dial("bank", "shop", proxy.address, Limits(connect_seconds=0.5))
        proxy.silent = False
