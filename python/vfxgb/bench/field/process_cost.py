"""Processor time and memory of a party, which may be several processes: those that carry its mark in their environment.

Children inherit the mark, also those that become daemons, as the workers of some peers do. Only Linux tells this
(/proc); elsewhere nothing is known, and the result says so.
"""

import os
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK_VARIABLE = "VFXGB_FIELD_PARTY"
PROC = Path("/proc")
# Processes are looked at so often; what one used after the last look before its end is not counted.
LOOK_SECONDS = 0.5
# Positions in /proc/<pid>/stat after the name of the program: user and system time, and when it was started.
_UTIME, _STIME, _START = 11, 12, 19


@dataclass(frozen=True)
class Cost:
    """Processor seconds until now, and the sum of the peaks of memory of all processes in bytes."""

    cpu_seconds: float
    peak_bytes: int


@dataclass
class _Seen:
    cpu_seconds: float = 0.0
    peak_bytes: int = 0


class MarkedProcesses:
    """The processes that carry a mark. Use as a context: they are looked at all the while, and ended at the end."""

    def __init__(self, mark: str) -> None:
        self._entry = f"{MARK_VARIABLE}={mark}".encode()
        # A process is known by its number and its start: numbers are used again.
        self._ours: dict[tuple[int, str], _Seen] = {}
        self._others: set[tuple[int, str]] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._looking = threading.Thread(target=self._look_often, daemon=True)

    def __enter__(self) -> "MarkedProcesses":
        self._looking.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._looking.join()
        self.end_all()

    def cost(self) -> Cost | None:
        """Until now; None where the system does not tell."""
        if not PROC.is_dir():
            return None
        with self._lock:
            self._look()
            seen = self._ours.values()
            return Cost(sum(one.cpu_seconds for one in seen), sum(one.peak_bytes for one in seen))

    def end_all(self) -> None:
        """End those that are still there, each by its number."""
        with self._lock:
            for pid in self._look() if PROC.is_dir() else []:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _look_often(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self.cost()

    def _look(self) -> list[int]:
        """Look at all processes; gives the numbers of ours that live."""
        alive = []
        for folder in PROC.iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            # A process may end while it is looked at.
            with suppress(OSError, IndexError, ValueError):
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                name = (int(folder.name), fields[_START])
                if name not in self._ours and not self._is_ours(folder, name):
                    continue
                seen = self._ours[name]
                ticks = int(fields[_UTIME]) + int(fields[_STIME])
                seen.cpu_seconds = ticks / os.sysconf("SC_CLK_TCK")
                seen.peak_bytes = max(seen.peak_bytes, _peak(folder))
                if fields[0] != "Z":
                    alive.append(name[0])
        return alive

    def _is_ours(self, folder: Path, name: tuple[int, str]) -> bool:
        if name in self._others:
            return False
        environment = (folder / "environ").read_bytes()
        if self._entry in environment.split(b"\0"):
            self._ours[name] = _Seen()
            return True
        if environment:  # empty while a process is being made
            self._others.add(name)
        return False


def _peak(folder: Path) -> int:
    for line in (folder / "status").read_text(errors="replace").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0
