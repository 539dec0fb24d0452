"""A TCP line with a rate and a delay between ports of the loopback address, in user space: no rights are needed.

Parties dial a route of the shaper in place of each other. Both routes of a line, and all of their connections, share
its two directions, `there` (what the active party sends) and `back`. In each direction bytes leave one after the other
at the line's rate, and arrive half a round trip after they have left:

    free = max(now, free) + bytes / rate        due = free + round trip / 2

What passes is not looked at and not changed, so any protocol over TCP goes through. TCP itself runs on the loopback
address: its windows and lost packets do not show. Sleeping is done by threads, since the clock of an event loop is too
coarse for a tenth of a millisecond.
"""

import multiprocessing
import socket
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Literal

from vfxgb.errors import BenchmarkError

Way = Literal["there", "back"]
WAYS: tuple[Way, Way] = ("there", "back")
HOST = "127.0.0.1"
# A chunk is what the line carries in this time, so that a small message does not wait for a large one of another
# connection, within these sizes.
CHUNK_SECONDS = 0.001
LEAST_CHUNK, MOST_CHUNK = 1460, 1 << 16
# What a connection holds beyond what is under way on the line; more would be a router's buffer that hides the line.
BUFFER_BYTES = 1 << 20
# Entries of the log are at least so far apart.
LOG_SECONDS = 0.001
START_SECONDS = 60.0


@dataclass(frozen=True)
class Line:
    """A line: megabits a second in each direction, and the milliseconds of a round trip, half of them each way."""

    name: str
    mbit: float
    round_trip_ms: float

    @property
    def bytes_per_second(self) -> float:
        """In one direction."""
        return self.mbit * 1e6 / 8

    @property
    def delay_ms(self) -> float:
        """Milliseconds from one end to the other."""
        return self.round_trip_ms / 2

    @property
    def words(self) -> str:
        """The line as people say it."""
        return f"{self.mbit:g} Mbit/s, {self.round_trip_ms:g} ms"


class Direction:
    """When bytes of one direction arrive, and how many were sent until when. For use by several threads."""

    def __init__(self, line: Line) -> None:
        self._rate = line.bytes_per_second
        self._delay = line.delay_ms / 1000
        self._free = 0.0
        self._total = 0
        self._lock = threading.Lock()
        self._log: list[tuple[float, int]] = []

    def due(self, size: int, now: float) -> float:
        """When the last of `size` bytes arrives that are sent now, after everything that was sent before."""
        with self._lock:
            self._free = max(now, self._free) + size / self._rate
            self._total += size
            if self._log and now - self._log[-1][0] < LOG_SECONDS:
                self._log[-1] = (self._log[-1][0], self._total)
            else:
                self._log.append((now, self._total))
            return self._free + self._delay

    def log(self) -> list[tuple[float, int]]:
        """(time, bytes sent until then), by time."""
        with self._lock:
            return list(self._log)


class _Room:
    """How many bytes of a connection may be held; waits where that is exceeded."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._held = 0
        self._changed = threading.Condition()

    def wait(self) -> None:
        """Return when less than the limit is held."""
        with self._changed:
            self._changed.wait_for(lambda: self._held < self._limit)

    def change(self, size: int) -> None:
        """Hold so many bytes more, or fewer where the number is negative."""
        with self._changed:
            self._held += size
            self._changed.notify()


class _Pipe:
    """One direction of one connection: a thread reads at one end, another writes at the other end, late."""

    def __init__(self, source: socket.socket, sink: socket.socket, direction: Direction, line: Line) -> None:
        self._source, self._sink, self._direction = source, sink, direction
        self._chunk = int(min(MOST_CHUNK, max(LEAST_CHUNK, line.bytes_per_second * CHUNK_SECONDS)))
        self._room = _Room(BUFFER_BYTES + line.bytes_per_second * line.delay_ms / 1000)
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._arrived = threading.Semaphore(0)
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def _read(self) -> None:
        data = b"begin"
        while data:
            self._room.wait()
            try:
                data = self._source.recv(self._chunk)
            except OSError:  # a connection that was reset has ended
                data = b""
            self._room.change(len(data))
            self._under_way.append((self._direction.due(len(data), time.monotonic()), data))
            self._arrived.release()

    def _write(self) -> None:
        while True:
            self._arrived.acquire()
            due, data = self._under_way.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            self._room.change(-len(data))
            try:
                if not data:
                    self._sink.shutdown(socket.SHUT_WR)
                    return
                self._sink.sendall(data)
            except OSError:  # nobody reads any more: the other side is told by the end of what it reads
                for end in (self._source, self._sink):
                    with suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
                return


class Shaper:
    """The two directions of a line and the ports that lead through it, in this process."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.directions: dict[Way, Direction] = {way: Direction(line) for way in WAYS}

    def route(self, target: int, way: Way) -> int:
        """A new port that leads to port `target`; what is sent by who dials it goes `way`."""
        listening = socket.create_server((HOST, 0), backlog=64)
        threading.Thread(target=self._accept, args=(listening, target, way), daemon=True).start()
        port: int = listening.getsockname()[1]
        return port

    def _accept(self, listening: socket.socket, target: int, way: Way) -> None:
        back: Way = "back" if way == "there" else "there"
        while True:
            near, _ = listening.accept()
            try:
                far = socket.create_connection((HOST, target))
            except OSError:  # nobody listens there yet: who dialled is refused, as it would be without a line
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Pipe(near, far, self.directions[way], self._line)
            _Pipe(far, near, self.directions[back], self._line)


@dataclass(frozen=True)
class Passed:
    """What went over a line. `logs`: way -> (time, bytes sent until then). `cpu_seconds`: what shaping it took."""

    logs: dict[Way, list[tuple[float, int]]]
    cpu_seconds: float

    def until(self, way: Way, moment: float) -> int:
        """Bytes that were sent one way until a moment of time.monotonic()."""
        log = self.logs[way]
        place = bisect_right(log, moment, key=lambda entry: entry[0])
        return log[place - 1][1] if place else 0

    def total(self, way: Way) -> int:
        """All bytes that were sent one way."""
        return self.until(way, float("inf"))


def _serve(line: Line, targets: Sequence[tuple[int, Way]], connection: Connection) -> None:
    """The shaper's process: gives its ports, then what has passed whenever it is asked, until the pipe is closed."""
    shaper, before = Shaper(line), time.process_time()
    connection.send([shaper.route(target, way) for target, way in targets])
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            connection.recv()
            logs = {way: direction.log() for way, direction in shaper.directions.items()}
            connection.send(Passed(logs, time.process_time() - before))


class ShapedLine:
    """A shaper in a process of its own. Use as a context; leaving it ends the process and all of its connections.

    `targets`: for each route the port that it leads to, and which way goes what its dialler sends. `ports`: those to
    dial instead, in the same order.
    """

    def __init__(self, line: Line, targets: Sequence[tuple[int, Way]]) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._connection, other = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(line, targets, other), daemon=True)
        self._process.start()
        other.close()
        self.ports: list[int] = self._answer()

    def __enter__(self) -> "ShapedLine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.join()

    def passed(self) -> Passed:
        """What has passed until now."""
        self._connection.send("passed")
        answer: Passed = self._answer()
        return answer

    def _answer(self) -> Any:
        if not self._connection.poll(START_SECONDS):
            raise BenchmarkError(f"shaping a line: found no answer of its process within {START_SECONDS:.0f} s")
        try:
            return self._connection.recv()
        except EOFError:
            raise BenchmarkError("shaping a line: its process ended; its words are above") from None
