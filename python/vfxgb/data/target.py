"""Where the active party's labels and weights are read from, piece by piece, by any process of that party."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.source import Source
from vfxgb.errors import LabelError

Float32Array = NDArray[np.float32]


@runtime_checkable
class TargetSource(Protocol):
    """Labels, and weights if there are any, of all rows of a run. Can be pickled."""

    @property
    def party(self) -> str:
        """The one that holds them, for messages."""

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """Those of rows first to stop - 1, as read_labels and read_weights of data/labels.py return them."""


@dataclass(frozen=True, eq=False)
class ArrayTarget:
    """Labels and weights in memory."""

    labels: NDArray[Any]
    weights: Float32Array | None
    party: str = ""

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """See TargetSource."""
        return self.labels[first:stop], None if self.weights is None else self.weights[first:stop]

    def write(self, folder: Path) -> "FileTarget":
        """The same in files of a folder, as float32, for processes that see the folder."""
        paths = []
        for name, values in (("labels", self.labels), ("weights", self.weights)):
            path = folder / f"{name}.f32"
            if values is not None:
                path.write_bytes(values.astype(np.float32).tobytes())
            paths.append(str(path) if values is not None else None)
        return FileTarget(str(paths[0]), paths[1], self.party)


@dataclass(frozen=True)
class FileTarget:
    """Labels and weights in files of float32."""

    labels: str
    weights: str | None
    party: str = ""

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """See TargetSource."""
        return _slice(self.labels, first, stop), None if self.weights is None else _slice(self.weights, first, stop)


@dataclass(frozen=True)
class ColumnTarget:
    """Columns of a source. `classes`: the values that stand for 0, 1, ..., None where labels are numbers."""

    source: Source
    label: str
    weight: str | None = None
    classes: tuple[Any, ...] | None = None

    @property
    def party(self) -> str:
        """The one that holds them."""
        return self.source.party

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """See TargetSource."""
        count = stop - first
        labels = read_labels(self.source.values(self.label, first, stop), count, self.party)
        if self.classes is not None:
            labels = _encoded(labels, self.classes, self.party)
        weights = None if self.weight is None else self.source.values(self.weight, first, stop)
        return labels, read_weights(weights, count, self.party)


def distinct(source: Source, column: str, first: int, stop: int, most: int) -> list[Any]:
    """The distinct labels among some rows, ascending; no more than most + 1 of them."""
    labels = read_labels(source.values(column, first, stop), stop - first, source.party)
    found: list[Any] = np.unique(labels).tolist()
    return found[: most + 1]


def _encoded(labels: NDArray[Any], classes: tuple[Any, ...], party: str) -> NDArray[np.float32]:
    known = np.array(classes)
    place = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    if not (known[place] == labels).all():
        found = labels[known[place] != labels][0]
        raise LabelError(f"reading labels of party {party!r}: found the class {found!r}, wanted one of {list(classes)}")
    return place.astype(np.float32)


def _slice(path: str, first: int, stop: int) -> Float32Array:
    return np.fromfile(path, dtype=np.float32, count=stop - first, offset=4 * first)
