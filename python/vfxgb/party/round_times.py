"""How fast a run goes."""

import time
from collections.abc import Mapping


class Pace:
    """Seconds and bytes of a run at the end of each round. The clock starts with construction."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._seconds: list[float] = []
        self._bytes: list[float] = []
        self._known = (0.0, 0.0)

    def go_on(self, totals: Mapping[str, list[float]], rounds: int) -> None:
        """The run was begun before: take over its first `rounds` rounds."""
        self._seconds = list(totals.get("seconds", ()))[:rounds]
        self._bytes = list(totals.get("bytes", ()))[:rounds]
        if self._seconds:
            self._known = (self._seconds[-1], self._bytes[-1])

    def note(self, rounds: int, sent_and_received: int) -> None:
        """`rounds` rounds are over, and since the clock started so many bytes have passed.

        Says nothing new for a round that is known, and nothing at all where earlier rounds are not.
        """
        if len(self._seconds) == rounds - 1:
            self._seconds.append(round(self._known[0] + time.perf_counter() - self._start, 6))
            self._bytes.append(self._known[1] + sent_and_received)

    def totals(self) -> dict[str, list[float]]:
        """A copy, as RunRecord.pace holds it."""
        return {"seconds": list(self._seconds), "bytes": list(self._bytes)} if self._seconds else {}
