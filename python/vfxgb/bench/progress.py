"""Lines on stderr: what is being done, and how far a step is that takes longer than two seconds."""

import sys
import time

PATIENCE_SECONDS = 2.0


def say(text: str) -> None:
    """A line for who waits."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """Reports how far a step is and how long is left, at most every two seconds; silent for short steps."""

    def __init__(self, step: str, total: int) -> None:
        self._step = step
        self._total = total
        self._start = time.perf_counter()
        self._last = self._start

    def update(self, done: int) -> None:
        """Say that `done` of the total units are done."""
        now = time.perf_counter()
        if now - self._last < PATIENCE_SECONDS or not 0 < done < self._total:
            return
        self._last = now
        left = (now - self._start) * (self._total - done) / done
        say(f"{self._step}: {100 * done // self._total} %, about {left:.0f} s left")
