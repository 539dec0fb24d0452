"""One party's answers to "does this row go left at your split?", in this process or where an engine has the rows.

Either way the columns of a block of rows that splits test are read once, and let go of when the next block comes.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.shards import part_ranges
from vfxgb.data.source import Source
from vfxgb.data.table import Float32Array, Table, refuse_other_features
from vfxgb.engine.base import Engine, ShardHandle
from vfxgb.engine.table import source_of
from vfxgb.errors import EngineError
from vfxgb.model.leanings import Leanings, Leans
from vfxgb.model.shares import SplitRecords
from vfxgb.predict.block import (
    Answer,
    Mask,
    Questions,
    Regression,
    answer,
    belong,
    columns_of,
    compare,
    read_block,
    unpack_mask,
)
from vfxgb.predict.routing import Rows, pack_rows

# What a row takes in memory while questions about it are answered: a column as it is read, row numbers, answers.
WORK_BYTES = 32
# Questions and their answers in one call of an engine: more of either would burden what carries them.
CALL_BYTES = 1 << 22


class SplitTester(Protocol):
    """Tests rows of one party's table against its records. Use one thread."""

    def test(
        self, records: Sequence[int], sets: Sequence[Rows | None], first: int, count: int, with_missing: bool
    ) -> list[Answer]:
        """Per question (goes left, value is missing) for the rows first + sets[q], or for all `count` rows from `first`
        on. Rows are ascending. Without `with_missing` the second is None.
        """

    def leans(self, records: Sequence[int], sets: Sequence[Rows], first: int, count: int) -> list[Leans]:
        """Per question the leans of rows whose value is missing, by SplitRecords.leanings; arguments as for `test`."""

    def rows_at_most(self, row_bytes: int) -> int | None:
        """See Engine: for rows of so many bytes that are held here."""


@contextmanager
def split_tester(records: SplitRecords, table: Table | Source, engine: Engine | None) -> Iterator[SplitTester]:
    """What tests the rows of `table`, in this process without an engine. A table in memory may become files meanwhile.

    Raises ColumnNameError when the features are not those of training.
    """
    if isinstance(table, Table):
        aligned = table.align(records.features, "prediction")
        known = (None,) * aligned.n_features if records.categories is None else records.categories.encodings
        aligned = aligned.coded_as(known, "prediction")
        # The model's fills stand in for any that the table brings.
        table = aligned.with_fills((None,) * aligned.n_features) if records.imputed else aligned
    else:
        refuse_other_features(table.names, records.features, "prediction", table.party)
        if records.categories is not None:
            raise EngineError(
                f"predicting: a model of {table.party or 'this party'} has features of categories, which are not read "
                "from where rows lie; leave out engine and memory_limit"
            )
    # Which way rows lean takes all columns of a row: they are read here, a block at a time, wherever they lie. So are
    # categories.
    if engine is None or len(records) == 0 or records.leanings is not None or records.categories is not None:
        yield HereTester(records, table)
        return
    used = list(records.features)
    if records.regressions is None:
        used = [column.name for column in columns_of(records).values()]
    source = source_of(table.select(used), engine) if isinstance(table, Table) else table
    try:
        yield EngineTester(records, source, engine)
    finally:
        if isinstance(table, Table) and isinstance(source, ColumnFiles):
            shutil.rmtree(source.folder, ignore_errors=True)


class HereTester:
    """See SplitTester: in this process, a column of a block when the first question needs it."""

    def __init__(self, records: SplitRecords, source: Source) -> None:
        self._records = records
        self._source = source
        self._wanted = columns_of(records)
        self._block = (0, 0)
        self._columns: dict[int, Float32Array] = {}
        self._strata: dict[int, NDArray[np.intp]] = {}

    def test(
        self, records: Sequence[int], sets: Sequence[Rows | None], first: int, count: int, with_missing: bool
    ) -> list[Answer]:
        """See SplitTester."""
        self._enter(first, count)
        own = self._records
        answers: list[Answer] = []
        for record, rows in zip(records, sets, strict=True):
            column, default_left = self._column(int(own.feature[record])), bool(own.default_left[record])
            right = own.right(record)
            if right is not None:
                answers.append(belong(column, rows, right, default_left, with_missing))
            else:
                answers.append(compare(column, rows, np.float32(own.cut[record]), default_left, with_missing))
        return answers

    def leans(self, records: Sequence[int], sets: Sequence[Rows], first: int, count: int) -> list[Leans]:
        """See SplitTester."""
        self._enter(first, count)
        own = self._records
        assert own.leanings is not None  # noqa: S101 - who asks knows that the records have them
        return [
            own.leanings.of_strata(record, self._classes(own.leanings, int(own.feature[record])).take(rows))
            for record, rows in zip(records, sets, strict=True)
        ]

    def rows_at_most(self, row_bytes: int) -> int | None:  # noqa: ARG002 - no limit is known
        """See SplitTester."""
        return None

    def _enter(self, first: int, count: int) -> None:
        if (first, count) != self._block:
            self._block, self._columns, self._strata = (first, count), {}, {}

    def _classes(self, leanings: Leanings, feature: int) -> NDArray[np.intp]:
        """The classes of the block's rows by what is expected of a feature."""
        strata = self._strata.get(feature)
        if strata is None:
            first, count = self._block
            expected = Regression(feature, self._records.features, leanings.regressions)
            scores = expected.scores(self._source, first, first + count)
            strata = self._strata[feature] = leanings.strata(feature, scores)
        return strata

    def _column(self, feature: int) -> Float32Array:
        values = self._columns.get(feature)
        if values is None:
            first, count = self._block
            values = self._columns[feature] = self._wanted[feature].read(self._source, first, first + count)
        return values


# A question's place in its level, and those of its rows that lie in a shard, None for the whole shard.
_Part: TypeAlias = tuple[int, Rows | None]


@dataclass(frozen=True)
class _Asked:
    """One call: the questions' places in their level, the number of rows of each, the handle of the answers."""

    places: Sequence[int]
    sizes: NDArray[np.int32]
    answers: ShardHandle


class EngineTester:
    """See SplitTester: a block's rows are divided among the shards of an engine; bits come back."""

    def __init__(self, records: SplitRecords, source: Source, engine: Engine) -> None:
        self._records = records
        self._source = source
        self._engine = engine
        self._wanted = columns_of(records)
        self._block = (0, 0)
        # Of the block's shards: where they begin and end in it, and their columns.
        self._edges = np.zeros(1, dtype=np.int32)
        self._held: list[ShardHandle] = []

    def test(
        self, records: Sequence[int], sets: Sequence[Rows | None], first: int, count: int, with_missing: bool
    ) -> list[Answer]:
        """See SplitTester."""
        if (first, count) != self._block:
            self._read(first, count)
        numbers = np.asarray(records, dtype=np.int64)
        asked: list[_Asked] = []
        for shard, parts in enumerate(self._divided(sets, count)):
            size = int(self._edges[shard + 1] - self._edges[shard])
            asked += [self._ask(shard, size, numbers, some, with_missing) for some in _calls(parts, size)]
        return self._joined(asked, len(sets))

    def leans(self, records: Sequence[int], sets: Sequence[Rows], first: int, count: int) -> list[Leans]:
        """See SplitTester: not on shards; split_tester does not choose this class where there are leanings."""
        raise NotImplementedError

    def rows_at_most(self, row_bytes: int) -> int | None:
        """See SplitTester."""
        return self._engine.rows_at_most(row_bytes)

    def _read(self, first: int, count: int) -> None:
        # The block before goes first: there may be room for one only.
        self._held = []
        engine = self._engine
        inner = (edge - first for edge in self._source.parts if first < edge < first + count)
        ranges = part_ranges((0, *inner, count), engine.rows_at_most(WORK_BYTES), engine.shards_for(count))
        self._edges = np.array([0, *(stop for _, stop in ranges)], dtype=np.int32)
        folder = str(engine.folder) if engine.mapped else None
        self._held = [
            engine.run(shard, read_block, self._source, self._wanted, first + low, first + high, folder)
            for shard, (low, high) in enumerate(ranges)
        ]
        self._block = (first, count)

    def _divided(self, sets: Sequence[Rows | None], count: int) -> Iterator[list[_Part]]:
        """Per shard the questions that have rows there, which are counted within it. One shard's rows at a time."""
        # Edges are int32 like the rows: numpy would convert all rows otherwise.
        cuts = [
            None if rows is None or len(rows) == count else np.searchsorted(rows, self._edges).tolist() for rows in sets
        ]
        for shard, start in enumerate(self._edges[:-1]):
            parts: list[_Part] = []
            for place, (rows, cut) in enumerate(zip(sets, cuts, strict=True)):
                if rows is None or cut is None:
                    parts.append((place, None))
                elif cut[shard] < cut[shard + 1]:
                    inside = rows[cut[shard] : cut[shard + 1]]
                    parts.append((place, inside - start if start else inside))
            yield parts

    def _ask(self, shard: int, size: int, numbers: NDArray[np.int64], parts: list[_Part], missing: bool) -> _Asked:
        places, sets = [place for place, _ in parts], [rows for _, rows in parts]
        sizes = np.array([size if rows is None else len(rows) for rows in sets], dtype=np.int32)
        own, chosen = self._records, numbers[places]
        questions = Questions(
            own.feature[chosen],
            own.cut[chosen].astype(np.float32),
            own.default_left[chosen],
            sizes,
            # To other processes they go in few bytes.
            sets if self._engine.mapped else pack_rows(sets, size),
        )
        return _Asked(places, sizes, self._engine.run(shard, answer, self._held[shard], size, questions, missing))

    def _joined(self, asked: Sequence[_Asked], count: int) -> list[Answer]:
        """Answers by question, each in the order of its rows: calls are in the order of their shards."""
        left: list[list[Mask]] = [[] for _ in range(count)]
        missing: list[list[Mask]] = [[] for _ in range(count)]
        for call, bits in zip(asked, self._engine.get([call.answers for call in asked]), strict=True):
            for packed, parts in zip(bits, (left, missing), strict=True):
                if packed is not None:
                    ends = np.cumsum(call.sizes)
                    masks = np.split(unpack_mask(packed, int(ends[-1])), ends[:-1])
                    for place, mask in zip(call.places, masks, strict=True):
                        parts[place].append(mask)
        return [(_join(ways), _join(unknown) if unknown else None) for ways, unknown in zip(left, missing, strict=True)]


def _join(masks: Sequence[Mask]) -> Mask:
    return masks[0] if len(masks) == 1 else np.concatenate(masks)


def _calls(parts: Sequence[_Part], size: int) -> Iterator[list[_Part]]:
    """Questions about a shard of `size` rows, as many together as one call may carry."""
    some: list[_Part] = []
    carried = 0
    for place, rows in parts:
        needed = size // 8 if rows is None else len(rows) // 8 + min(size // 8, rows.nbytes)
        if some and carried + needed > CALL_BYTES:
            yield some
            some, carried = [], 0
        some.append((place, rows))
        carried += needed
    if some:
        yield some
