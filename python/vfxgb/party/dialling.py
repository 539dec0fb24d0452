"""Opening sessions with all passive parties, ending them together, and how long to keep trying."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vfxgb.errors import PeerError
from vfxgb.party.session import Network, Session
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.network import StateObserver

FIRST_WAIT = 0.25
LONGEST_WAIT = 15.0
# Kinds of failure at a peer after which it may be there again: it was told to stop, or lost sight of us.
PASSING = frozenset(("", "KeyboardInterrupt", "SystemExit", "PeerError", "ChannelClosedError"))


class Patience:
    """Says how long to wait before each new attempt: twice as long each time, until `seconds` have passed."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._wait = FIRST_WAIT

    def next(self, error: PeerError) -> float | None:
        """Return the seconds to wait after such a failure, or None to give up."""
        left = self._end - self._clock()
        if left <= 0 or error.kind not in PASSING:
            return None
        wait = min(self._wait, left)
        self._wait = min(2 * self._wait, LONGEST_WAIT)
        return wait


@contextmanager
def open_sessions(
    network: Network, ledger: Ledger, on_state: StateObserver | None = None
) -> Iterator[dict[str, Session]]:
    """Open a session with every peer, in the order of the configuration. When the block fails all of them are told.

    `on_state` is told when a peer is lost and when it is back (NetworkLink.watch).
    """
    sessions: dict[str, Session] = {}
    try:
        for name in network.peers:
            sessions[name] = network.dial(name, ledger, on_state)
        yield sessions
    except BaseException as error:
        for session in sessions.values():
            session.channel.abort(error)
        raise
    finally:
        for session in sessions.values():
            session.channel.close()
