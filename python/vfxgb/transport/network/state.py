"""What a link tells its owner about its connection: that it is lost, that it is back, that the session has ended."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class LinkState:
    """A change in the state of the connection to `peer`.

    `state`: "lost": the connection is gone or silent, and is waited for or made again; "back": it carries frames again,
    and none is missing; "ended": the session was given up or broken off. An orderly close is not told.
    `seconds_left`: with "lost", how long it takes until the session is given up; else None.
    `reason`: why, in words for people; empty with "back".
    """

    peer: str
    state: Literal["lost", "back", "ended"]
    seconds_left: float | None
    reason: str


StateObserver: TypeAlias = Callable[[LinkState], None]


class StateTeller:
    """Tells observers of every change once, in order: "lost" and "back" by turns, "ended" last.

    Observers are called from the network thread, one at a time, and must be quick. What one of them raises is dropped:
    a line that cannot be shown ends no session.
    """

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self._observers: list[StateObserver] = []
        self._state: LinkState | None = None
        # Held while observers are called, so that no two changes overtake each other; an observer may call `watch`.
        self._lock = threading.RLock()

    def watch(self, observer: StateObserver) -> None:
        """Call `observer` from now on; at once if the connection is lost or the session has ended."""
        with self._lock:
            self._observers.append(observer)
            if self._state is not None and self._state.state != "back":
                self._call(observer, self._state)

    def lost(self, seconds_left: float, reason: str) -> None:
        """The connection is gone or silent. Told once until `back`."""
        self._tell(LinkState(self._peer, "lost", seconds_left, reason), after=(None, "back"))

    def back(self) -> None:
        """The connection carries messages. Told only after `lost`."""
        self._tell(LinkState(self._peer, "back", None, ""), after=("lost",))

    def ended(self, reason: str) -> None:
        """The session is over otherwise than by closing it. Told once."""
        self._tell(LinkState(self._peer, "ended", None, reason), after=(None, "lost", "back"))

    def _tell(self, state: LinkState, after: tuple[str | None, ...]) -> None:
        """Tell of `state` if it follows one of the states `after`; None stands for a link that was never lost."""
        with self._lock:
            before = None if self._state is None else self._state.state
            if before in after:
                self._state = state
                for observer in list(self._observers):
                    self._call(observer, state)

    @staticmethod
    def _call(observer: StateObserver, state: LinkState) -> None:
        with suppress(Exception):
            observer(state)
