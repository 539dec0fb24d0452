"""The processes of an entrant's parties, seen from the benchmark: started, told to begin, listened to, ended.

A party tells events, each a line of JSON with its time (bench/field/adapter.py): ready, begin, tree, done, failed.
"""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfxgb.bench.field.process_cost import MARK_VARIABLE, MarkedProcesses
from vfxgb.errors import VfxgbError

# Every name under which a library may look for its number of threads.
THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "VFXGB_THREADS"),
    "NUMEXPR_NUM_THREADS",
)
END_SECONDS = 10.0
# The last words of a party that are written down.
LAST_LINES, LONGEST_LINE = 4, 300


class EntrantFailedError(VfxgbError):
    """A party crashed, took too long, or told an error; its message is what is written down."""


@dataclass(frozen=True)
class Event:
    """What a party told. `time`: a reading of time.monotonic(), whose clock all processes of a machine share."""

    role: str
    name: str
    time: float
    more: Mapping[str, Any]


def environment(bench: Path, threads: int, mark: str) -> dict[str, str]:
    """For a process that runs bench/field: its packages, one number of threads for all libraries, and its mark."""
    paths = [str(bench), *filter(None, [os.environ.get("PYTHONPATH")])]
    counts = dict.fromkeys(THREADS, str(threads))
    return {**os.environ, **counts, "PYTHONPATH": os.pathsep.join(paths), MARK_VARIABLE: mark}


class PartyProcess:
    """One party. Use as a context; leaving it ends the party and all processes that it has started."""

    def __init__(
        self, role: str, command: Sequence[str], variables: Mapping[str, str], cores: Sequence[int], events: "Events"
    ) -> None:
        self.role = role
        self.processes = MarkedProcesses(variables[MARK_VARIABLE])
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed at exit
        self._process = subprocess.Popen(  # noqa: S603 - our own scripts
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=dict(variables),
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        if cores and hasattr(os, "sched_setaffinity"):
            with suppress(ProcessLookupError):  # it has ended already, and will say so
                os.sched_setaffinity(self._process.pid, cores)
        self._listening = threading.Thread(target=self._listen, args=(events,), daemon=True)

    def __enter__(self) -> "PartyProcess":
        self.processes.__enter__()
        self._listening.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.let_end()
        try:
            self._process.wait(0 if error[0] else END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.processes.__exit__(*error)
        self._listening.join(END_SECONDS)
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._process.stdout.close()
        self._log.close()

    def go(self) -> None:
        """The other party is ready, too."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(BrokenPipeError):  # a party that has ended is heard of by its events
            print("go", file=self._process.stdin, flush=True)

    def let_end(self) -> None:
        """The party has told all that it has to tell."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def _listen(self, events: "Events") -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            told = json.loads(line)
            events.put(Event(self.role, told.pop("event"), told.pop("time"), told))
        events.put(Event(self.role, "ended", time.monotonic(), {"why": self._how_it_ended()}))

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return f"{self.role} closed its output and goes on"
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        return f"the process of {self.role} ended {how}{last_words(self._log)}"


def last_words(log: Any) -> str:
    """The last lines of a log, to be added to a sentence; nothing where it is empty."""
    with suppress(ValueError):  # closed meanwhile: nobody wants to know any more
        log.seek(0)
        lines = [line.strip()[:LONGEST_LINE] for line in log if line.strip()]
        return f"; the last it said: {' | '.join(lines[-LAST_LINES:])}" if lines else ""
    return ""


class Events:
    """What all parties of a run tell, in the order in which it is heard."""

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def put(self, event: Event) -> None:
        """Add what a party told."""
        self._told.put(event)

    def until(self, name: str, roles: Sequence[str], deadline: float, what: str) -> Iterator[Event]:
        """All events until each of `roles` has told `name`. Raises EntrantFailedError for what cannot go on."""
        missing, allowed = set(roles), max(0.0, deadline - time.monotonic())
        while missing:
            left = deadline - time.monotonic()
            try:
                event = self._told.get(timeout=max(0.0, left))
            except queue.Empty:
                raise EntrantFailedError(f"{what}: no end after the {allowed:.0f} s that it may take") from None
            if event.name in ("failed", "ended"):
                raise EntrantFailedError(f"{event.role}: {event.more['why']}")
            yield event
            if event.name == name:
                missing.discard(event.role)
