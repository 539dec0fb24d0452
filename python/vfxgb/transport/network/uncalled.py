"""Connections to a listener that end without a call, by their addresses: of strangers, and of other certificates.

TLS refuses a certificate that is pinned for nobody within gRPC, which tells nobody of it: there is no call, and no hook
for handshakes that fail. But gRPC asks for certificates whenever a connection begins, and then the connection stands in
the kernel's table of connections (/proc/net/tcp, /proc/net/tcp6). A connection that was there and is gone, and from
whose address no call came, was turned away. Which certificate it showed cannot be known. On systems without these files
nothing is told.

The kernel hands out its table in pieces, and other connections begin and end between two of them, so that a connection
that goes on can be missing from what was read. One is gone when two readings in a row do not have it.
"""

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from urllib.parse import unquote

# Address and port of the other side.
Remote = tuple[IPv4Address | IPv6Address, int]

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOOK_SECONDS = 0.25
# One host is told about at most this often; how often it came meanwhile is counted.
REPEAT_SECONDS = 60.0
MAX_HOSTS = 1000
# States of the kernel's table that are no connection: what is left of one, and a port that listens.
_NO_CONNECTION = ("06", "0A")
_WORD_ORDER = -1 if sys.byteorder == "little" else 1


class Uncalled:
    """Told of connections that begin (`begun`, from any thread) and of calls (`called`, in the loop).

    `tell` gets the address of a connection that ended without a call, and a sentence about it. It is called in the loop
    and must be quick. `port`: the listener's, set once it is known.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Callable[[str, str], None]) -> None:
        self.port = 0
        self._loop = loop
        self._tell = tell
        self._lock = threading.Lock()
        # Connections that have begun and are not gone; those of them that have not called yet; those of them that the
        # last reading of the table did not have.
        self._known: set[Remote] = set()
        self._waiting: set[Remote] = set()
        self._missing: set[Remote] = set()
        self._looking = False
        # Host -> when it was told last, and how often it came since.
        self._told: dict[object, tuple[float, int]] = {}

    def begun(self) -> None:
        """A connection begins: it is in the table, and was not when another one began before."""
        with self._lock:
            # Read under the lock: an older reading that came later would take who has called meanwhile for new.
            here = connections(self.port)
            self._waiting |= here - self._known
            self._known |= here
            self._missing -= here
            start = bool(self._waiting) and not self._looking
            self._looking |= start
        if start:
            with suppress(RuntimeError):  # the loop has ended, and with it the listener
                self._loop.call_soon_threadsafe(self._loop.call_later, LOOK_SECONDS, self._look)

    def called(self, peer: str) -> str:
        """There is a call from this address, as gRPC writes it; returns it as people do."""
        remote = read_peer(peer)
        if remote is None:
            return ""
        with self._lock:
            self._waiting.discard(remote)
            self._known.add(remote)
        return written(remote)

    def stop(self) -> None:
        """Nobody listens any more: what ends from now on is nobody's fault."""
        self.port = 0
        with self._lock:
            self._waiting.clear()

    def _look(self) -> None:
        with self._lock:
            missing = self._known - connections(self.port)
            gone = missing & self._missing
            uncalled = gone & self._waiting
            self._missing = missing - gone
            self._known -= gone
            self._waiting -= gone
            self._looking = bool(self._waiting)
        for remote in uncalled:
            self._note(remote)
        if self._looking:
            self._loop.call_later(LOOK_SECONDS, self._look)

    def _note(self, remote: Remote) -> None:
        now = self._loop.time()
        last, count = self._told.get(remote[0], (now - REPEAT_SECONDS, 0))
        if now - last < REPEAT_SECONDS:
            self._told[remote[0]] = last, count + 1
            return
        if len(self._told) >= MAX_HOSTS:
            self._told.clear()
        self._told[remote[0]] = now, 0
        more = f" ({count} more from there since the last such line)" if count else ""
        with suppress(Exception):  # a line that cannot be written
            self._tell(
                written(remote),
                f"a connection from {written(remote)} ended before it asked for anything{more}: the certificate that "
                "it showed is pinned for nobody here, or it was no vfxgb; if it was a party, compare fingerprints with "
                "it (vfxgb certs --show)",
            )


def connections(port: int) -> set[Remote]:
    """The other ends of all connections to a local port; none where the system does not tell."""
    found: set[Remote] = set()
    for table in TABLES:
        with suppress(OSError):
            found |= read_table(table.read_text(), port)
    return found


def read_table(text: str, port: int) -> set[Remote]:
    """The other ends of the connections to `port` in a table of the kernel."""
    found: set[Remote] = set()
    for line in text.splitlines()[1:]:
        fields = line.split(maxsplit=4)
        if len(fields) == 5 and fields[3] not in _NO_CONNECTION and int(fields[1].rpartition(":")[2], 16) == port:
            host, _, remote_port = fields[2].rpartition(":")
            # Words of 32 bits, each as the machine keeps it.
            words = bytes.fromhex(host)
            packed = b"".join(words[first : first + 4][::_WORD_ORDER] for first in range(0, len(words), 4))
            found.add((_plain(ip_address(packed)), int(remote_port, 16)))
    return found


def read_peer(peer: str) -> Remote | None:
    """The address of a call: "ipv4:127.0.0.1:5000", "ipv6:%5B::1%5D:5000"; None for anything else."""
    kind, _, address = unquote(peer).partition(":")
    host, _, port = address.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    try:
        return _plain(ip_address(host.strip("[]"))), int(port)
    except ValueError:
        return None


def written(remote: Remote) -> str:
    """host:port, as in configurations."""
    host, port = remote
    return f"[{host}]:{port}" if isinstance(host, IPv6Address) else f"{host}:{port}"


def _plain(host: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address in one that is written as IPv6."""
    return (host.ipv4_mapped or host) if isinstance(host, IPv6Address) else host
