"""What several commands do with their results."""

import json
import sys
from pathlib import Path
from typing import Any

from vfxgb.files import write_atomically
from vfxgb.party.folder import PartyFolder


def write_json(document: Any, path: str) -> None:
    """A document as JSON into a file, or on stdout for "-". Raises OSError."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if path == "-":
        print(text)
    else:
        write_atomically(Path(path), text.encode() + b"\n")


def warn_of_damage(folder: PartyFolder) -> None:
    """Say on stderr which runs of a party's folder are passed over because their record is damaged."""
    for run, wrong in folder.damaged().items():
        print(f"vfxgb: run {run[:8]} is passed over: {wrong}", file=sys.stderr)
