"""Parties with certificates, and links between them over real TLS on loopback."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest

from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Catalogue
from vfxgb.transport.network import Identity, Limits, Listener, NetworkLink, Peer, StateObserver, certificates, dial
from vfxgb.transport.network.certificates import Authority, issue, make_authority

# Seconds that no test waits longer than; a machine that is busy with other things keeps everybody waiting.
DEADLINE = 120.0
# Links that nothing but an end of the connection ends, however slow the machine is.
CALM = Limits(
    connect_seconds=DEADLINE,
    reconnect_seconds=DEADLINE,
    step_seconds=DEADLINE,
    heartbeat_seconds=DEADLINE,
    lost_after_seconds=DEADLINE,
    close_seconds=DEADLINE,
    window_bytes=8 << 20,
)


def made_days_ago(days: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is issued from now on is issued so many days ago."""
    then = datetime.now(timezone.utc) - timedelta(days=days)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return then

    monkeypatch.setattr(certificates, "datetime", Clock)


class Town:
    """Parties of one authority, their files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority: Authority = make_authority(folder)
        self._identities: dict[str, Identity] = {}

    def identity(self, party: str) -> Identity:
        """The party's files, made when they are first asked for."""
        if party not in self._identities:
            self._identities[party] = issue(self.authority, party, (), 30, self.folder)
        return self._identities[party]

    def peer(self, party: str, address: str = "") -> Peer:
        return Peer(party, self.identity(party).certificate, address)

    def listener(self, party: str, *peers: str, limits: Limits = CALM, max_sessions: int = 64, **more: Any) -> Listener:
        pinned = {name: self.peer(name) for name in peers}
        return Listener(self.identity(party), pinned, "127.0.0.1:0", limits, max_sessions, **more)

    def dial(
        self, party: str, to: str, address: str, limits: Limits = CALM, on_state: StateObserver | None = None
    ) -> NetworkLink:
        return dial(self.identity(party), self.peer(to, address), limits, on_state)


@contextmanager
def linked(town: Town, limits: Limits = CALM, theirs: Limits = CALM) -> Iterator[tuple[NetworkLink, NetworkLink]]:
    """(the bank's end, the shop's end) of a session that the bank dialled."""
    with town.listener("shop", "bank", limits=theirs) as here, town.dial("bank", "shop", here.address, limits) as bank:
        yield bank, here.accept(DEADLINE).link


class NetworkChannels:
    """A stand-in for `memory_channels` whose channels run over TLS; `close` ends what it opened.

    `links`: the active party's ends.
    """

    def __init__(self, town: Town) -> None:
        self._town = town
        self._stack = ExitStack()
        self.links: list[NetworkLink] = []

    def __call__(
        self,
        active: str,
        passive: str,
        catalogue: Catalogue,
        run: bytes,
        observer: object = None,
        timeout: float | None = DEADLINE,
        taps: tuple[object, object] = (None, None),
    ) -> tuple[Channel, Channel]:
        listener = self._stack.enter_context(self._town.listener(passive, active))
        one = self._town.dial(active, passive, listener.address)
        self._stack.callback(one.close)
        self.links.append(one)
        other = listener.accept(DEADLINE).link
        return (
            Channel(active, passive, one, catalogue, one.session, observer, timeout, tap=taps[0]),
            Channel(passive, active, other, catalogue, other.session, None, timeout, tap=taps[1]),
        )

    def close(self) -> None:
        self._stack.close()
