"""A party's log: one JSON object per line, appended, readable by its owner only, bounded in size.

    {"time": "2026-05-01T10:00:00.123Z", "level": "info", "event": "refused", "peer": "bank", "run": "5f…", "text": "…"}

`event` is one of a fixed set of words, everything else is a field. What is written are names, counts, run ids and the
texts of errors, which never hold a secret (vfxgb.errors); no id, no key. Much of it comes from other parties, so
characters that a terminal would obey are written as escapes (vfxgb.printable), on the screen and in the file. Several
threads and processes may write.

A log that has grown too large becomes log.jsonl.1, the one before it log.jsonl.2, and so on; the oldest goes. So nobody
fills the disk of a party by asking again and again.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from vfxgb.files import locked
from vfxgb.party.folder import PartyFolder
from vfxgb.printable import printable, printable_lines

if TYPE_CHECKING:
    from vfxgb.party.config import PartyConfig

Level = Literal["info", "warning", "error"]
Field = str | int | float | bool | None | list[str]
# What gets lines for people.
Tell = Callable[[str], None]
# What is told of every line: its level, its event, its fields.
Watch = Callable[[Level, str, Mapping[str, Field]], None]


def say_nothing(line: str) -> None:
    """Take a line that nobody listens to."""


def _clean(value: Field) -> Field:
    if isinstance(value, list):
        return [printable(part) for part in value]
    return printable(value) if isinstance(value, str) else value


@dataclass
class Log:
    """Appends to a file, and shows the same as plain lines on `echo` if there is one.

    A file that would pass `most_bytes` is put aside and a new one begun, unless that is None; `kept` of them stay.
    """

    path: Path | None
    echo: TextIO | None = None
    most_bytes: int | None = None
    kept: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _watchers: list[Watch] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, config: "PartyConfig", echo: TextIO | None = None) -> "Log":
        """Open the log of a party in its folder, which is made. Raises OSError."""
        return cls(PartyFolder(config.folder).make().log_file, echo, config.log_bytes, config.log_files)

    def watch(self, watch: Watch) -> None:
        """Tell `watch` of every line from now on; from any thread, so it must be quick."""
        self._watchers.append(watch)

    def write(self, level: Level, event: str, text: str = "", **fields: Field) -> None:
        """Write one line. A full disk is told on stderr and ends nothing: the run matters more than its log."""
        moment = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03d}Z"
        text = printable_lines(text)
        clean = {name: _clean(value) for name, value in fields.items()}
        for watch in self._watchers:
            watch(level, event, clean)
        line = json.dumps({"time": stamp, "level": level, "event": event, **clean, "text": text})
        with self._lock:
            if self.path is not None:
                try:
                    self._make_room(self.path, len(line) + 1)
                    descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                        file.write(line + "\n")
                except OSError as error:
                    print(f"vfxgb: the log {str(self.path)!r} cannot be written: {error}", file=sys.stderr)
            if self.echo is not None:
                shown = " ".join(f"{name}={value}" for name, value in clean.items() if value not in (None, ""))
                print(" ".join(part for part in (stamp[11:19], event, shown, text) if part), file=self.echo, flush=True)

    def _make_room(self, path: Path, more: int) -> None:
        """Put the file aside if a line of so many bytes would make it too large. Raises OSError."""
        if self.most_bytes is None or not self._too_large(path, more):
            return
        # Other processes of the party write to the same log: one of them puts it aside.
        with locked(path.with_name(f".{path.name}.lock")):
            if self._too_large(path, more):
                self._put_aside(path)

    def _too_large(self, path: Path, more: int) -> bool:
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return False
        return size > 0 and self.most_bytes is not None and size + more > self.most_bytes

    def _put_aside(self, path: Path) -> None:
        for old in path.parent.glob(f"{path.name}.*"):
            ending = old.name.removeprefix(f"{path.name}.")
            if ending.isdecimal() and int(ending) >= self.kept:
                old.unlink(missing_ok=True)
        for number in range(self.kept - 1, 0, -1):
            older = path.with_name(f"{path.name}.{number}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number + 1}"))
        if self.kept:
            path.replace(path.with_name(f"{path.name}.1"))
        else:
            path.unlink()

    def info(self, event: str, text: str = "", **fields: Field) -> None:
        """Write a line of level info."""
        self.write("info", event, text, **fields)

    def warning(self, event: str, text: str = "", **fields: Field) -> None:
        """Write a line of level warning."""
        self.write("warning", event, text, **fields)

    def error(self, event: str, text: str = "", **fields: Field) -> None:
        """Write a line of level error."""
        self.write("error", event, text, **fields)
