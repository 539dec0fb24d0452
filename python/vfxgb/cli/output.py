"""What several commands do with their results."""

import json
from pathlib import Path
from typing import Any

from vfxgb.files import write_atomically


def write_json(document: Any, path: str) -> None:
    """A document as JSON into a file, or on stdout for "-". Raises OSError."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if path == "-":
        print(text)
    else:
        write_atomically(Path(path), text.encode() + b"\n")
