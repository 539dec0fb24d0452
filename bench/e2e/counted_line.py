"""Links within a process whose time is counted instead of waited for, so that other work on the machine does not show.

Each party has a clock: the processor time of its thread, put forward to the arrival of whatever it waits for. A frame
leaves when the line has room, `bytes_per_second` in each direction, and arrives `delay` seconds later. Work of other
threads is not counted, so trainings should use one. A second clock runs along for parties that compute in no time: what
the line alone takes.
"""

import queue
import time
from typing import NamedTuple

from vfxgb.transport.link import Frame, MemoryLink, Screen, memory_links


class Times(NamedTuple):
    """Seconds, and seconds if parties compute in no time."""

    computed: float = 0.0
    line: float = 0.0

    def plus(self, computed: float, line: float) -> "Times":
        """Later by so much."""
        return Times(self.computed + computed, self.line + line)

    def or_later(self, other: "Times") -> "Times":
        """The later one, on either clock."""
        return Times(max(self.computed, other.computed), max(self.line, other.line))


class Clock:
    """The time of one party; used by its thread alone."""

    def __init__(self) -> None:
        self._passed = Times()
        self._mark: float | None = None

    def now(self) -> Times:
        """The time now."""
        used = time.thread_time()
        # The first call tells which thread is the party's.
        self._passed = self._passed.plus(0.0 if self._mark is None else used - self._mark, 0.0)
        self._mark = used
        return self._passed

    def wait_until(self, arrival: Times) -> None:
        """Nothing is done before `arrival`."""
        self._passed = self.now().or_later(arrival)


class Direction:
    """One direction of the line: when it is free, and when what is on its way arrives."""

    def __init__(self, bytes_per_second: float, delay: float) -> None:
        self._rate, self._delay = bytes_per_second, delay
        self._free = Times()
        self.arrivals: queue.SimpleQueue[Times] = queue.SimpleQueue()

    def carry(self, size: int, now: Times) -> None:
        """A frame of `size` bytes leaves."""
        seconds = size / self._rate
        self._free = self._free.or_later(now).plus(seconds, seconds)
        self.arrivals.put(self._free.plus(self._delay, self._delay))


class CountedLink:
    """One end of a line."""

    def __init__(self, link: MemoryLink, clock: Clock, out: Direction, back: Direction) -> None:
        self._link, self._clock, self._out, self._back = link, clock, out, back

    def put(self, frame: Frame) -> None:
        """See Link."""
        self._out.carry(len(frame[0]) + len(frame[1]), self._clock.now())
        self._link.put(frame)

    def get(self, timeout: float | None) -> Frame:
        """See Link."""
        self._clock.now()
        frame = self._link.get(timeout)
        self._clock.wait_until(self._back.arrivals.get())
        return frame

    def screen(self, screen: Screen) -> None:
        """See Link."""
        self._link.screen(screen)

    def close(self) -> None:
        """See Link."""
        self._link.close()


class CountedLine:
    """A line whose `links` take the place of memory_links; `clock` is that of the party with the first of them."""

    def __init__(self, mbit: float, delay: float) -> None:
        self.clock = Clock()
        self._ways = [Direction(mbit * 1e6 / 8, delay) for _ in range(2)]

    def links(self) -> tuple[CountedLink, CountedLink]:
        """Two ends of the line."""
        (one, two), (there, back) = memory_links(), self._ways
        return CountedLink(one, self.clock, there, back), CountedLink(two, Clock(), back, there)
