"""The side that is dialled: one port, many sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

from vfxgb.transport.network.identity import Identity, Peer
from vfxgb.transport.network.limits import Limits
from vfxgb.transport.network.link import NetworkLink


@dataclass(frozen=True)
class Arrival:
    """A session that a peer has opened."""

    peer: str
    link: NetworkLink


class Listener:
    """Listens at `address` ("host:port", port 0: the system picks) from construction to `close`.

    Only the parties of `peers`, with exactly the certificates named there, get in; at most `max_sessions` sessions at a
    time, counted until their links are closed. Closing ends all of its links. Raises CertificateError, ConfigError
    (the address cannot be used).
    """

    def __init__(
        self,
        identity: Identity,
        peers: Mapping[str, Peer],
        address: str,
        limits: Limits | None = None,
        max_sessions: int = 64,
    ) -> None:
        raise NotImplementedError

    @property
    def address(self) -> str:
        """The address with the port that is used."""
        raise NotImplementedError

    def accept(self, timeout: float | None) -> Arrival:
        """The next session. Raises LinkTimeout after `timeout` seconds (None: waits), LinkClosed after `close`."""
        raise NotImplementedError

    def close(self) -> None:
        """End all sessions and stop listening. May be called again."""
        raise NotImplementedError

    def __enter__(self) -> "Listener":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
