"""A party's log: one JSON object per line, appended, readable by its owner only.

    {"time": "2026-05-01T10:00:00.123Z", "level": "info", "event": "refused", "peer": "bank", "run": "5f…", "text": "…"}

`event` is one of a fixed set of words, everything else is a field. What is written are names, counts, run ids and the
texts of errors, which never hold a secret (vfxgb.errors); no id, no key. Much of it comes from other parties, so
characters that a terminal would obey are written as escapes (vfxgb.printable), on the screen and in the file. Several
threads may write.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Literal, TextIO

from vfxgb.printable import printable, printable_lines

Level = Literal["info", "warning", "error"]
Field = str | int | float | bool | None | list[str]


def _clean(value: Field) -> Field:
    if isinstance(value, list):
        return [printable(part) for part in value]
    return printable(value) if isinstance(value, str) else value


class Log:
    """Appends to a file, and shows the same as plain lines on `echo` if there is one."""

    def __init__(self, path: Path | None, echo: TextIO | None = None) -> None:
        self._path = path
        self._echo = echo
        self._lock = threading.Lock()

    def write(self, level: Level, event: str, text: str = "", **fields: Field) -> None:
        """Write one line. A full disk is told on stderr and ends nothing: the run matters more than its log."""
        moment = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03d}Z"
        text = printable_lines(text)
        clean = {name: _clean(value) for name, value in fields.items()}
        line = json.dumps({"time": stamp, "level": level, "event": event, **clean, "text": text})
        with self._lock:
            if self._path is not None:
                try:
                    descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                        file.write(line + "\n")
                except OSError as error:
                    print(f"vfxgb: the log {str(self._path)!r} cannot be written: {error}", file=sys.stderr)
            if self._echo is not None:
                shown = " ".join(f"{name}={value}" for name, value in clean.items() if value not in (None, ""))
                print(
                    " ".join(part for part in (stamp[11:19], event, shown, text) if part), file=self._echo, flush=True
                )

    def info(self, event: str, text: str = "", **fields: Field) -> None:
        """Write a line of level info."""
        self.write("info", event, text, **fields)

    def warning(self, event: str, text: str = "", **fields: Field) -> None:
        """Write a line of level warning."""
        self.write("warning", event, text, **fields)

    def error(self, event: str, text: str = "", **fields: Field) -> None:
        """Write a line of level error."""
        self.write("error", event, text, **fields)
