"""What joint prediction does where a party's rows lie: columns of some rows, and answers to questions about them.

The functions change nothing and return something new, as functions of shards do (engine/base.py). Rows are counted
within the block.
"""

import mmap
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.column_regressions import ColumnRegressions, Columns
from vfxgb.data.source import Source
from vfxgb.data.table import Float32Array
from vfxgb.errors import EngineError
from vfxgb.model.shares import SplitRecords
from vfxgb.predict.routing import Rows, unpack_rows

Mask = NDArray[np.bool_]
Packed = NDArray[np.uint8]
# (goes left, value is missing) of a question's rows; the second only if asked for.
Answer: TypeAlias = tuple[Mask, Mask | None]


@dataclass(frozen=True)
class Column:
    """A feature that splits test: its `name`, and what stands in for a missing value: a number, or what `regression`
    makes of the row's other values, or nothing.
    """

    name: str
    fill: float | None
    regression: "Regression | None" = None

    def read(self, source: Source, first: int, stop: int) -> Float32Array:
        """Its values in rows first to stop - 1."""
        values = source.column(self.name, first, stop)
        if self.fill is not None:
            values[np.isnan(values)] = self.fill
        if self.regression is not None:
            others = self.regression
            others.regressions.fill(others.feature, values, others.columns(source, first, stop))
        return values


@dataclass(frozen=True)
class Regression:
    """How one feature, by its position, is predicted from the party's others, which have these names."""

    feature: int
    names: tuple[str, ...]
    regressions: ColumnRegressions

    def columns(self, source: Source, first: int, stop: int) -> Columns:
        """The features in rows first to stop - 1, as they are in the source."""
        return lambda other: source.column(self.names[other], first, stop)

    def scores(self, source: Source, first: int, stop: int) -> NDArray[np.float64]:
        """What is expected of the feature in these rows, on the scale of regressions."""
        return self.regressions.scores(self.feature, self.columns(source, first, stop), stop - first)


def columns_of(records: SplitRecords) -> dict[int, Column]:
    """The features that a party's splits test, by position, ascending."""
    fills: Sequence[float | None] = (None,) * len(records.features) if records.fill is None else records.fill
    names, predicted = records.features, records.regressions
    return {
        feature: Column(
            names[feature], fills[feature], None if predicted is None else Regression(feature, names, predicted)
        )
        for feature in np.unique(records.feature).tolist()
    }


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of some rows by feature. `file`: where they lie if not in memory."""

    columns: dict[int, Float32Array]
    file: mmap.mmap | None = None

    def __sizeof__(self) -> int:
        """What Dask asks for when it weighs what a worker holds."""
        return object.__sizeof__(self) + sum(values.nbytes for values in self.columns.values())

    def drop(self) -> None:
        """Let go of the memory that pages of the file take; they are read again when they are used."""
        if self.file is not None:
            self.file.madvise(mmap.MADV_DONTNEED)


def read_block(source: Source, columns: dict[int, Column], first: int, stop: int, folder: str | None) -> Block:
    """The rows first to stop - 1; in a file of `folder` without a name if that is given.

    Raises EngineError when there is no room for the file, and what reading the source raises.
    """
    if folder is None:
        return Block({feature: column.read(source, first, stop) for feature, column in columns.items()})
    size = 4 * len(columns) * (stop - first)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for column in columns.values():
                column.read(source, first, stop).tofile(file)
            file.flush()
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except OSError as error:
        raise EngineError(
            f"predicting: {size} bytes of columns could not be written to {folder!r} ({error.strerror or error}); "
            "name a folder with more room as engine_folder"
        ) from error
    values = np.frombuffer(mapped, dtype=np.float32).reshape(len(columns), stop - first)
    return Block(dict(zip(columns, values, strict=True)), mapped)


@dataclass(frozen=True, eq=False)
class Questions:
    """Does a row go left at a split? Per question a `feature`, a `cut` and the way of missing values (`default_left`).

    int32[q], float32[q], bool[q]. `sizes`: int32[q], rows of each question. `rows`: the sets of rows, None for a whole
    block; or, to travel, as Route carries them (routing.py).
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.float32]
    default_left: Mask
    sizes: NDArray[np.int32]
    rows: Sequence[Rows | None] | bytes

    def sets(self, count: int) -> Sequence[Rows | None]:
        """The rows of each question about a block of `count`."""
        if isinstance(self.rows, bytes):
            return unpack_rows(memoryview(self.rows), self.sizes, count, "predicting")
        return self.rows


def answer(block: Block, count: int, questions: Questions, with_missing: bool) -> tuple[Packed, Packed | None]:
    """The answers of a block of `count` rows, as pack_answers returns them."""
    answers = [
        compare(block.columns[feature], rows, cut, default_left, with_missing)
        for feature, rows, cut, default_left in zip(
            questions.feature.tolist(),
            questions.sets(count),
            questions.cut,
            questions.default_left.tolist(),
            strict=True,
        )
    ]
    block.drop()
    return pack_answers(answers)


def compare(values: Float32Array, rows: Rows | None, cut: np.float32, default_left: bool, with_missing: bool) -> Answer:
    """Compare some rows of a column, None for all, with a cut: a float32 number, so as binning compared them."""
    if rows is not None:
        values = values.take(rows)
    # NaN is neither below a cut nor above it.
    left = ~(values >= cut) if default_left else values < cut
    return left, np.isnan(values) if with_missing else None


def belong(
    codes: Float32Array, rows: Rows | None, right: NDArray[np.int32], default_left: bool, with_missing: bool
) -> Answer:
    """Say of some rows of a column of categories, None for all, whether they are none of those that go right."""
    if rows is not None:
        codes = codes.take(rows)
    missing = np.isnan(codes)
    last = int(codes[~missing].max(initial=right[-1]))
    left = np.ones(last + 2, dtype=np.bool_)
    left[right] = False
    left[-1] = default_left
    return left[np.where(missing, last + 1, codes).astype(np.int32)], missing if with_missing else None


def pack_answers(answers: Sequence[Answer]) -> tuple[Packed, Packed | None]:
    """Answers to several questions, the rows of all of them after each other, as bits, the lowest bit first."""
    missing = [lacks for _, lacks in answers if lacks is not None]
    return _packed([left for left, _ in answers]), _packed(missing) if missing else None


def _packed(masks: Sequence[Mask]) -> Packed:
    return np.packbits(np.concatenate(masks), bitorder="little")


def unpack_mask(packed: Packed, count: int) -> Mask:
    """`count` bits as bool[count]."""
    return np.unpackbits(packed, bitorder="little")[:count].view(np.bool_)
