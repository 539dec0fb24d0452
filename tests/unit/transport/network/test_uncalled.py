"""Connections that end without a call: who is told about, how often, and how addresses are read."""

import queue
import sys
import threading
from collections.abc import Callable
from ipaddress import ip_address

import pytest

from network_runs import CALM, DEADLINE
from vfxgb.errors import PeerError
from vfxgb.transport.network import Refusal, dial, uncalled
from vfxgb.transport.network.uncalled import Uncalled, read_peer, read_table, written

PORT = 7878
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ONE, TWO, OTHER = ("10.0.0.7", 50000), ("10.0.0.7", 50001), ("10.0.0.9", 50000)


def line(host: str, port: int, local: int = PORT, state: str = "01") -> str:
    """A connection as the kernel writes it on this machine."""
    packed = ip_address(host).packed
    words = [packed[first : first + 4] for first in range(0, len(packed), 4)]
    order = -1 if sys.byteorder == "little" else 1
    written = "".join(word[::order].hex().upper() for word in words)
    return (
        f"   7: {'0' * len(written)}:{local:04X} {written}:{port:04X} {state} 00000000:00000000 00:00000000 0 0 0 1\n"
    )


def test_tables_of_the_kernel() -> None:
    text = HEAD + line(*ONE) + line("10.0.0.8", 1, local=80) + line("10.0.0.8", 2, state="0A")
    text += line("10.0.0.8", 3, state="06") + line(*OTHER, state="08") + "half a li"
    assert {written(remote) for remote in read_table(text, PORT)} == {"10.0.0.7:50000", "10.0.0.9:50000"}
    text = HEAD + line("2001:db8::7", 4) + line("::ffff:10.0.0.7", 50000)
    assert {written(remote) for remote in read_table(text, PORT)} == {"[2001:db8::7]:4", "10.0.0.7:50000"}
    assert read_table(HEAD, PORT) == read_table("", PORT) == set()


@pytest.mark.skipif(sys.byteorder != "little", reason="as x86 and ARM write it")
def test_a_line_as_it_was_seen() -> None:
    seen = "   1: 0100007F:1EC6 0100007F:B64B 01 00000000:00000000 03:00000BE6 00000000  0  0 0 3 0000000042500b46\n"
    assert {written(remote) for remote in read_table(HEAD + seen, PORT)} == {"127.0.0.1:46667"}


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:127.0.0.1:5000", "127.0.0.1:5000"),
        ("ipv6:%5B::1%5D:5000", "[::1]:5000"),
        ("ipv6:[::ffff:10.0.0.7]:5000", "10.0.0.7:5000"),
        ("unix:/tmp/socket", ""),
        ("ipv4:nowhere:5000", ""),
        ("ipv4:127.0.0.1:x", ""),
        ("", ""),
    ],
)
def test_addresses_of_calls(peer: str, address: str) -> None:
    remote = read_peer(peer)
    assert ("" if remote is None else written(remote)) == address


class Clock:
    """The parts of an event loop that are used, with a time of its own."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.due: list[Callable[[], None]] = []

    def time(self) -> float:
        return self.now

    def call_soon_threadsafe(self, call, *arguments) -> None:
        call(*arguments)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.due.append(call)

    def look(self) -> None:
        """What was to be called later is called."""
        due, self.due = self.due, []
        for call in due:
            call()


class Watched:
    """An Uncalled over a table that a test writes."""

    def __init__(self, folder, monkeypatch) -> None:
        self._table = folder / "tcp"
        self.table()
        monkeypatch.setattr(uncalled, "TABLES", (self._table, folder / "absent"))
        self.told: list[tuple[str, str]] = []
        self.clock = Clock()
        self.watch = Uncalled(self.clock, lambda address, text: self.told.append((address, text)))
        self.watch.port = PORT

    def table(self, *remotes: tuple[str, int]) -> None:
        self._table.write_text(HEAD + "".join(line(*remote) for remote in remotes))

    def begin(self, *remotes: tuple[str, int]) -> None:
        """The last of these connections begins."""
        self.table(*remotes)
        self.watch.begun()

    def end(self, *left: tuple[str, int]) -> None:
        """All connections but these end, and two readings of the table do not have them."""
        self.table(*left)
        self.clock.look()
        self.clock.look()

    def addresses(self) -> list[str]:
        return [address for address, _ in self.told]


@pytest.fixture
def watched(tmp_path, monkeypatch) -> Watched:
    return Watched(tmp_path, monkeypatch)


def test_who_called_is_not_told_and_who_did_not_is_when_it_is_gone(watched) -> None:
    watched.begin(ONE)
    watched.begin(ONE, OTHER)
    assert watched.watch.called("ipv4:10.0.0.7:50000") == "10.0.0.7:50000"
    watched.clock.look()
    assert watched.told == []
    watched.end(ONE)
    ((address, text),) = watched.told
    assert address == "10.0.0.9:50000"
    assert text.startswith("a connection from 10.0.0.9:50000 ended before it asked for anything: the certificate that")
    # Nobody is waited for, so nobody looks; the one that called may go.
    watched.table()
    assert watched.clock.due == []
    watched.begin(OTHER)
    watched.end()
    assert len(watched.told) == 1


def test_a_reading_that_lacks_a_connection_that_goes_on(watched) -> None:
    """The kernel's table is read in pieces: what one reading lacks is there, unless the next one lacks it, too."""
    watched.begin(ONE)
    watched.table()
    watched.clock.look()
    watched.table(ONE)
    watched.clock.look()
    watched.table()
    watched.clock.look()
    assert watched.told == []
    watched.clock.look()
    assert watched.addresses() == ["10.0.0.7:50000"]


def test_a_connection_that_has_called_and_is_missing_once(watched) -> None:
    """It is not taken for a new one when the next reading has it."""
    watched.begin(ONE)
    watched.watch.called("ipv4:10.0.0.7:50000")
    watched.begin(OTHER)
    watched.clock.look()
    watched.begin(ONE, OTHER, TWO)
    watched.end(OTHER, TWO)
    assert watched.told == []


def test_connections_that_begin_at_once(watched, monkeypatch) -> None:
    """While one of them looks at the table another one begins and calls: the older look must not forget it."""
    looked, threads = uncalled.connections, []

    def begins_and_calls() -> None:
        watched.begin(OTHER, ONE)
        watched.watch.called("ipv4:10.0.0.7:50000")

    def slow(port: int) -> set[uncalled.Remote]:
        seen = looked(port)
        if not threads:
            threads.append(threading.Thread(target=begins_and_calls))
            threads[0].start()
            threads[0].join(0.2)
        return seen

    monkeypatch.setattr(uncalled, "connections", slow)
    watched.begin(OTHER)
    threads[0].join()
    watched.begin(OTHER, ONE, TWO)
    watched.end(OTHER, TWO)
    assert watched.told == []


def test_a_host_is_told_once_a_minute_and_counted(watched) -> None:
    for remote, wait in ((ONE, 0.0), (TWO, 1.0), (ONE, 1.0), (OTHER, 1.0), (TWO, 60.0)):
        watched.clock.now += wait
        watched.begin(remote)
        watched.end()
    assert watched.addresses() == ["10.0.0.7:50000", "10.0.0.9:50000", "10.0.0.7:50001"]
    assert "anything (2 more from there since the last such line): " in watched.told[-1][1]
    assert "more from there" not in watched.told[0][1] + watched.told[1][1]


def test_what_ends_with_the_listener_is_not_told(watched) -> None:
    watched.begin(ONE)
    watched.watch.stop()
    watched.table()
    watched.clock.look()
    assert watched.told == []


def test_what_is_kept_of_hosts_is_bounded(watched, monkeypatch) -> None:
    monkeypatch.setattr(uncalled, "MAX_HOSTS", 2)
    for number in range(5):
        watched.begin((f"10.0.0.{number}", 50000))
        watched.end()
    assert len(watched.told) == 5
    assert len(watched.watch._told) <= 2


def test_a_system_that_tells_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(uncalled, "TABLES", (tmp_path / "absent",))
    clock = Clock()
    watch = Uncalled(clock, lambda address, text: None)
    watch.begun()
    assert clock.due == []


@pytest.mark.skipif(not uncalled.TABLES[0].exists(), reason="the kernel's table is Linux's")
def test_a_certificate_that_nobody_pinned_is_told_by_its_address(town) -> None:
    """And a party that is let in is not, nor one whose call is refused, which is told with its certificate."""
    refusals: queue.SimpleQueue[Refusal] = queue.SimpleQueue()
    with town.listener("shop", "bank", on_refused=refusals.put, max_sessions=1) as here:
        with town.dial("bank", "shop", here.address), pytest.raises(PeerError, match="1 sessions, wanted at most 1"):
            town.dial("bank", "shop", here.address)
        with pytest.raises(PeerError, match="shop does not accept this side's certificate"):
            dial(town.identity("cafe"), town.peer("shop", here.address), CALM)
        call, connection = (refusals.get(timeout=DEADLINE) for _ in range(2))
    assert call.party == "bank"
    assert call.address.startswith("127.0.0.1:")
    assert (connection.party, connection.fingerprint) == ("", "")
    assert connection.address.startswith("127.0.0.1:")
    assert connection.reason.startswith(f"a connection from {connection.address} ended before it asked for anything")
    assert connection.address != call.address
