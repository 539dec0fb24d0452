"""What several commands do with their results, with lines for people, and with signals."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from vfxgb.files import write_atomically
from vfxgb.printable import printable_lines

if TYPE_CHECKING:
    from vfxgb.party.folder import PartyFolder


def write_json(document: Any, path: str | None) -> None:
    """A document as JSON into a file, or on stdout for "-"; nothing for None. Raises OSError."""
    if path is None:
        return
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if path == "-":
        print(text)
    else:
        write_atomically(Path(path), text.encode() + b"\n")


def warn_of_damage(folder: "PartyFolder") -> None:
    """Say on stderr which runs of a party's folder are passed over because their record is damaged."""
    for run, wrong in folder.damaged().items():
        print(f"vfxgb: run {run[:8]} is passed over: {wrong}", file=sys.stderr)


def tell(line: str) -> None:
    """Show a line for people on stderr. Some of it may come from another party."""
    print(printable_lines(line), file=sys.stderr, flush=True)


def teller(quiet: bool) -> Callable[[str], None]:
    """`tell`, or what says nothing."""
    return (lambda line: None) if quiet else tell  # noqa: ARG005 - nobody listens


def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
    """End like ctrl-C, on a signal."""
    raise KeyboardInterrupt
