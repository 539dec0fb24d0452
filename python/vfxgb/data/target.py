"""Where the active party's labels and weights are read from, piece by piece, by any process of that party."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.places import stacked_ranges
from vfxgb.data.source import Source, join_values
from vfxgb.errors import LabelError
from vfxgb.files import naming

Float32Array = NDArray[np.float32]


@runtime_checkable
class TargetSource(Protocol):
    """Labels, and weights if there are any, of all rows of a run. Can be pickled."""

    @property
    def party(self) -> str:
        """The one that holds them, for messages."""

    @property
    def weighted(self) -> bool:
        """Whether there are weights: `read` returns some for all rows, or for none."""

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """Those of rows first to stop - 1, as read_labels and read_weights of data/labels.py return them."""


@dataclass(frozen=True, eq=False)
class ArrayTarget:
    """Labels and weights in memory, or paths of files that hold them as float32."""

    labels: NDArray[Any] | str
    weights: Float32Array | str | None
    party: str = ""

    @property
    def weighted(self) -> bool:
        """See TargetSource."""
        return self.weights is not None

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """See TargetSource."""
        return _slice(self.labels, first, stop), None if self.weights is None else _slice(self.weights, first, stop)

    def write(self, folder: Path) -> "ArrayTarget":
        """The same in files of a folder, for processes that see the folder."""
        paths: dict[str, str] = {}
        for name, values in (("labels", self.labels), ("weights", self.weights)):
            if isinstance(values, np.ndarray):
                path = folder / f"{name}.f32"
                with naming(path):
                    path.write_bytes(values.astype(np.float32).tobytes())
                paths[name] = str(path)
        return ArrayTarget(paths["labels"], paths.get("weights"), self.party)


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

    @property
    def weighted(self) -> bool:
        """See TargetSource."""
        return self.weight is not None

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """See TargetSource."""
        count = stop - first
        labels = read_labels(self.source.values(self.label, first, stop), count, self.party)
        if self.classes is not None:
            labels = _encoded(labels, self.classes, self.party)
        weights = None if self.weight is None else self.source.values(self.weight, first, stop)
        # Only of all rows together must some weight be above 0.
        return labels, read_weights(weights, count, self.party, whole=False)


@dataclass(frozen=True)
class StackedTarget:
    """Those of tables below each other, with the number of rows of each: training rows, then eval sets.

    The first one's party stands for all. Where one has weights and another has none, the other's are 1.
    Raises LabelError when there is none.
    """

    parts: tuple[tuple[TargetSource, int], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise LabelError("stacking labels: found none, wanted those of at least one table")

    @property
    def party(self) -> str:
        """The one that holds them."""
        return self.parts[0][0].party

    @property
    def weighted(self) -> bool:
        """See TargetSource."""
        return any(part.weighted for part, _ in self.parts)

    def read(self, first: int, stop: int) -> tuple[NDArray[Any], Float32Array | None]:
        """See TargetSource. Raises LabelError for rows that are not there."""
        counts = [count for _, count in self.parts]
        if not 0 <= first <= stop <= sum(counts):
            raise LabelError(
                f"reading labels of party {self.party!r}: asked for rows {first} to {stop}, wanted an ascending range "
                f"within 0 to {sum(counts)}"
            )
        labels, weights = [], []
        for place, low, high in stacked_ranges(counts, first, stop):
            part, weight = self.parts[place][0].read(low, high)
            labels.append(part)
            weights.append(np.ones(high - low, dtype=np.float32) if weight is None else weight)
        return join_values(labels), np.concatenate(weights) if self.weighted else None


def _encoded(labels: NDArray[Any], classes: tuple[Any, ...], party: str) -> NDArray[np.float32]:
    known = np.array(classes)
    place = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    if not (known[place] == labels).all():
        unknown = labels[known[place] != labels][0]
        raise LabelError(
            f"reading labels of party {party!r}: found the class {unknown!r}, wanted one of {list(classes)}"
        )
    return place.astype(np.float32)


def _slice(values: NDArray[Any] | str, first: int, stop: int) -> NDArray[Any]:
    if isinstance(values, str):
        return np.fromfile(values, dtype=np.float32, count=stop - first, offset=4 * first)
    return values[first:stop]
