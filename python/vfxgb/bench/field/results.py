"""The JSON file of a field: what is done stays, so that a run that was broken off goes on where it stood.

    {"version": 1, "settings": ..., "machine": ..., "peers": name -> what it says of itself,
     "probes": entrant -> what it gave on small tables, "cells": key -> what was measured}

A cell has a `state`: measured; wrong (its model is not what it should be: it has no time); failed (`why`); not run
(`why`: it would have taken too long). The first three are done. Every cell has the commit and the load that it saw.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vfxgb.bench.field.axes import Settings, Shape
from vfxgb.bench.field.shaper import Line
from vfxgb.errors import BenchmarkError, FormatError
from vfxgb.files import write_atomically

VERSION = 1
MEASURED, WRONG, FAILED, NOT_RUN = "measured", "wrong", "failed", "not run"
DONE = (MEASURED, WRONG, FAILED)
REMEDY = "remove it, or give another --out"
# Settings that must be the same when a run goes on.
FIXED = ("quick", "trees", "threads")


@dataclass(frozen=True)
class Cell:
    """One training: an entrant on a shape over a line, None for one whose parties are in one process."""

    peer: str
    entrant: str
    shape: Shape
    line: Line | None

    @property
    def name(self) -> str:
        """Peer and entrant."""
        return entrant_name(self.peer, self.entrant)

    @property
    def key(self) -> str:
        """The key of the cell in the file of results."""
        return f"{self.name} {self.shape.name} {self.line.name if self.line else 'no line'}"

    @property
    def words(self) -> str:
        """The cell as progress says it."""
        over = f" over {self.line.words}" if self.line else ", in one process"
        return f"{self.name}, {self.shape.rows:,} x {sum(self.shape.features)}{over}"


def entrant_name(peer: str, entrant: str) -> str:
    """An entrant as tables call it."""
    return f"{peer} {entrant}"


class Results:
    """The document, in memory and in its file."""

    def __init__(self, path: Path, settings: Settings) -> None:
        """What the file holds, or nothing. Raises FormatError, and BenchmarkError for a file of other settings."""
        self.path = path
        self.document: dict[str, Any] = {"version": VERSION, "peers": {}, "probes": {}, "cells": {}}
        if path.is_file():
            self.document = read_document(path)
        now = json.loads(json.dumps(asdict(settings)))
        before = self.document.get("settings", now)
        changed = [name for name in FIXED if before[name] != now[name]]
        if changed and self.document["cells"]:
            found = ", ".join(f"{name}={before[name]}" for name in changed)
            wanted = ", ".join(f"{name}={now[name]}" for name in changed)
            raise BenchmarkError(
                f"bench field: {path} holds cells with {found}, wanted {wanted}; give another --out, or remove the file"
            )
        self.document["settings"] = now

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """Key -> what was measured."""
        found: dict[str, dict[str, Any]] = self.document["cells"]
        return found

    @property
    def probes(self) -> dict[str, list[dict[str, Any]]]:
        """Entrant -> what it gave on the small tables of axes.PROBES, in their order."""
        found: dict[str, list[dict[str, Any]]] = self.document["probes"]
        return found

    def done(self, cell: Cell) -> bool:
        """Whether a cell need not be run again."""
        return self.cells.get(cell.key, {}).get("state") in DONE

    def put(self, cell: Cell, measured: dict[str, Any]) -> None:
        """Keep what a cell gave, and write the file. Raises OSError."""
        line = None if cell.line is None else cell.line.name
        head = {"peer": cell.peer, "entrant": cell.entrant, "shape": cell.shape.name, "line": line}
        self.cells[cell.key] = {**head, **measured}
        self.save()

    def save(self) -> None:
        """Write the file. Raises OSError."""
        write_atomically(self.path, (json.dumps(self.document, indent=1) + "\n").encode())


def read_document(path: Path) -> dict[str, Any]:
    """A file that `save` wrote. Raises FormatError for any other."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version = document["version"]
    except (ValueError, KeyError, TypeError):
        raise FormatError(f"reading {path}: this is no result of vfxgb bench field; {REMEDY}") from None
    if version != VERSION:
        raise FormatError(f"reading {path}: found version {version}, wanted {VERSION}; {REMEDY}")
    found: dict[str, Any] = document
    return found


def cells_of(peer: str, entrants: dict[str, Any], settings: Settings) -> Iterator[Cell]:
    """Every cell of a peer. `entrants`: as it describes them. Those in one process have one for each shape."""
    for name, entrant in entrants.items():
        for shape in settings.shapes:
            for line in (None,) if entrant["alone"] else settings.lines:
                yield Cell(peer, name, shape, line)
