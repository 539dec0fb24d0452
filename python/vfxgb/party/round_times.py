"""How fast a run goes: seconds and bytes at the end of each round."""

import time
from collections.abc import Mapping


class Pace:
    """Notes seconds and bytes of a run at the end of each round. The clock starts with construction."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._seconds: list[float] = []
        self._bytes: list[float] = []
        self._known = (0.0, 0.0)

    def go_on(self, totals: Mapping[str, list[float]], rounds: int) -> None:
        """Take over the first `rounds` rounds of a run that was begun before."""
        self._seconds = list(totals.get("seconds", ()))[:rounds]
        self._bytes = list(totals.get("bytes", ()))[:rounds]
        if self._seconds:
            self._known = (self._seconds[-1], self._bytes[-1])

    def note(self, rounds: int, sent_and_received: int) -> None:
        """Note that `rounds` rounds are over, and that so many bytes have passed since the clock started.

        It changes nothing for a round that is known, and does nothing where earlier rounds are not.
        """
        if len(self._seconds) == rounds - 1:
            self._seconds.append(round(self._known[0] + time.perf_counter() - self._start, 6))
            self._bytes.append(self._known[1] + sent_and_received)

    def totals(self) -> dict[str, list[float]]:
        """Return a copy, as RunRecord.pace holds it."""
        return {"seconds": list(self._seconds), "bytes": list(self._bytes)} if self._seconds else {}
