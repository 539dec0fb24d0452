"""Whether the passive parties of a model can be reached, and since when: what /health of the endpoint tells."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# Seconds between attempts to reach a party while nobody asks for scores; doubled with each failure.
FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0


@dataclass(frozen=True)
class Partner:
    """The state of one passive party since a Unix time; `error` says why it cannot be reached or does not agree."""

    reachable: bool
    since: float
    error: str


class Partners:
    """Keeps the states of all passive parties of a model, at first unreachable, for any number of threads."""

    def __init__(self, names: Sequence[str], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._states = {name: Partner(False, clock(), "not asked yet") for name in names}
        self._wait = FIRST_WAIT
        self._next = 0.0

    def reached(self, name: str) -> None:
        """Note that a party answers."""
        self._set(name, True, "")

    def refused(self, name: str, text: str) -> None:
        """Note that a party is there and does not agree to the session."""
        self._set(name, True, text)

    def lost(self, name: str, text: str) -> None:
        """Note that a party cannot be reached."""
        self._set(name, False, text)

    def _set(self, name: str, reachable: bool, text: str) -> None:
        with self._lock:
            old = self._states[name]
            same = old.reachable == reachable and bool(old.error) == bool(text)
            self._states[name] = Partner(reachable, old.since if same else self._clock(), text)
            if reachable and not text:
                self._wait, self._next = FIRST_WAIT, 0.0

    def is_time(self) -> bool:
        """Return whether to try again to reach those who could not be; the caller does if so."""
        with self._lock:
            now = self._clock()
            if now < self._next:
                return False
            self._next = now + self._wait
            self._wait = min(2 * self._wait, LONGEST_WAIT)
            return True

    @property
    def status(self) -> str:
        """Say "ok" if all can be reached and agree, else "unreachable" or "refused"."""
        with self._lock:
            states = self._states.values()
            if not all(state.reachable for state in states):
                return "unreachable"
            return "refused" if any(state.error for state in states) else "ok"

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return the states by name, as JSON."""
        with self._lock:
            return {
                name: {
                    "reachable": state.reachable,
                    "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(state.since)),
                    **({"error": state.error} if state.error else {}),
                }
                for name, state in self._states.items()
            }
