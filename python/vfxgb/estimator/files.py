"""Tables that stay in their files: X is a mapping from party to Parquet files, and y may name a column among them.

Nothing of them is read but footers, and the labels for their classes, until whoever works on some rows reads those.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.parquet import ENDING, ParquetSource
from vfxgb.data.parties import check_parties
from vfxgb.data.source import Source, StackedSource, read_all
from vfxgb.data.table import Table
from vfxgb.data.target import ArrayTarget, ColumnTarget, StackedTarget, TargetSource
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import LabelError, ParameterError, PartiesError
from vfxgb.estimator.data import Layout, Parties, Slices, eval_triples, is_divided
from vfxgb.estimator.labels import encode_labels, find_classes

# Labels that are looked at together for their classes.
BLOCK_ROWS = 1 << 20


def engine_settings(params: Mapping[str, Any]) -> EngineSettings:
    """Those among an estimator's parameters, checked. Raises EngineError."""
    names = EngineSettings.__struct_fields__
    settings = EngineSettings(**{name: params[name] for name in names if name in params})
    settings.check()
    return settings


def are_files(X: Any) -> bool:
    """Whether X names Parquet files for every party."""
    return is_divided(X) and len(X) > 0 and all(map(_is_parquet, X.values()))


def _is_parquet(given: Any) -> bool:
    if isinstance(given, (str, os.PathLike)):
        return Path(given).is_dir() or str(given).lower().endswith(ENDING)
    if isinstance(given, (list, tuple)):
        return len(given) > 0 and all(isinstance(path, (str, os.PathLike)) and _is_parquet(path) for path in given)
    return isinstance(given, (ParquetSource, StackedSource))


@dataclass(frozen=True)
class FileRows:
    """Rows of all parties in files, and what the labels of these rows are: a column's name, or one for each row."""

    sources: dict[str, Source]
    layout: Layout
    y: Any
    weight: Any

    @classmethod
    def open(
        cls, X: Mapping[str, Any], y: Any, weight: Any, parties: Parties | None, active: str | None, missing: float
    ) -> "FileRows":
        """For training. Raises PartiesError, ParameterError, and what opening files raises."""
        if parties is not None and set(parties) != set(X):
            raise PartiesError(
                f"reading X: found files of {sorted(map(str, X))}, wanted those of each of {sorted(parties)}"
            )
        order = list(X if parties is None else parties)
        holder = order[0] if active is None else active
        special = _columns(y, weight, "y", "sample_weight")
        sources = {}
        for party in order:
            columns = None if parties is None else [str(name) for name in parties[party]]
            sources[party] = _open(X[party], columns, special if party == holder else (), party, missing)
        check_parties(sources, holder)
        named = {party: source.names for party, source in sources.items()}
        names = tuple(name for some in named.values() for name in some)
        return cls(sources, Layout(named, names, holder, True, missing), y, weight)

    def again(self, X: Any, y: Any, weight: Any, what: str) -> "FileRows":
        """Other rows of the same columns, such as an eval set."""
        _columns(y, weight, f"the labels of {what}", f"the weights of {what}")
        return FileRows(open_again(X, self.layout, what), self.layout, y, weight)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.sources[self.layout.active].n_rows

    def classes(self) -> NDArray[Any]:
        """The classes among the labels, ascending. Raises LabelError."""
        active = self.layout.active
        if not isinstance(self.y, str):
            return find_classes(read_labels(self.y, self.n_rows, active), active)
        classes: NDArray[Any] = np.empty(0)
        for first in range(0, self.n_rows, BLOCK_ROWS):
            stop = min(first + BLOCK_ROWS, self.n_rows)
            part = read_labels(self.sources[active].values(self.y, first, stop), stop - first, active)
            try:
                classes = np.unique(np.concatenate([classes, part]) if len(classes) else part)
            except TypeError as error:
                raise LabelError(
                    f"reading labels of party {active!r}: Unknown label type: classes cannot be ordered ({error}); use "
                    "one type"
                ) from error
        return find_classes(classes, active)

    def target(self, classes: NDArray[Any] | None, what: str = "y") -> TargetSource:
        """Labels and weights. `classes`: of training; None where labels are numbers."""
        active = self.layout.active
        if isinstance(self.y, str):
            known = None if classes is None else tuple(classes.tolist())
            return ColumnTarget(self.sources[active], self.y, self.weight, known)
        labels = read_labels(self.y, self.n_rows, active)
        codes = encode_labels(labels, classes, active, what)
        return ArrayTarget(codes, read_weights(self.weight, self.n_rows, active), active)


def stack_files(
    files: FileRows,
    classes: NDArray[Any] | None,
    eval_set: Sequence[Any] | None,
    eval_weights: Sequence[Any] | None,
    in_shards: bool,
) -> tuple[Mapping[str, Table | Source], NDArray[Any] | TargetSource, NDArray[Any] | None, int, Slices]:
    """The training rows followed by those of every eval set, as `stack_tables` has them; read unless `in_shards`."""
    rows, targets, slices = [files], [files.target(classes)], []
    for i, (X, y, weight) in enumerate(eval_triples(eval_set, eval_weights)):
        what = f"eval set {i}"
        start = sum(part.n_rows for part in rows)
        rows.append(files.again(X, y, weight, what))
        targets.append(rows[-1].target(classes, what))
        slices.append((f"validation_{i}", slice(start, start + rows[-1].n_rows)))
    sources, target = files.sources, targets[0]
    if len(rows) > 1:
        sources = {party: StackedSource(tuple(part.sources[party] for part in rows)) for party in sources}
        target = StackedTarget(tuple((target, part.n_rows) for target, part in zip(targets, rows, strict=True)))
    if in_shards:
        return sources, target, None, files.n_rows, slices
    labels, weights = target.read(0, sources[files.layout.active].n_rows)
    return {party: read_all(source) for party, source in sources.items()}, labels, weights, files.n_rows, slices


def open_again(X: Any, layout: Layout, what: str) -> dict[str, Source]:
    """The sources of X with the columns of training. Raises PartiesError, and what opening files raises."""
    if not is_divided(X) or set(X) != set(layout.parties) or not all(map(_is_parquet, X.values())):
        raise PartiesError(
            f"reading {what}: wanted Parquet files of each of {sorted(layout.parties)}, as in training; pass a mapping "
            "from party to files"
        )
    sources = {party: _open(X[party], names, (), party, layout.missing) for party, names in layout.parties.items()}
    check_parties(sources, layout.active)
    return sources


def _open(given: Any, columns: Sequence[str] | None, without: Sequence[str], party: str, missing: float) -> Source:
    if isinstance(given, (ParquetSource, StackedSource)):
        return given
    return ParquetSource.open(given, columns=columns, without=without, party=party, missing=missing)


def _columns(y: Any, weight: Any, what: str, what_weight: str) -> tuple[str, ...]:
    """The columns that are no features. Labels and weights are both columns, or both not."""
    if weight is not None and isinstance(y, str) != isinstance(weight, str):
        raise ParameterError(
            f"reading labels: {what} is {'a column' if isinstance(y, str) else 'one label per row'} and {what_weight} "
            "is not alike; name columns of the files for both, or pass one value per row for both"
        )
    return tuple(name for name in (y, weight) if isinstance(name, str))
