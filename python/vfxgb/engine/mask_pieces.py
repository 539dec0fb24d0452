"""What trees of masks need in shards at either party: files of pieces, states that are read from them, slots in groups.

What trees and masked gradients are made of comes from another party, or from secrets of this party's own process, and
could not be made again if a worker were lost with it. So on a cluster it goes into files of the run's folder first,
one for each shard, from which the shards read it. With an engine in this process it goes into memory-mapped arrays.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.engine.base import Engine, ShardHandle, join_all
from vfxgb.engine.parts import Division
from vfxgb.engine.shard import new_file
from vfxgb.errors import EngineError
from vfxgb.rows.masks import MaskForest
from vfxgb.rows.parts import Nodes

# Bytes of mapped memory that may be in use before it is given back to the system.
MAPPED_BYTES = 1 << 28


class PieceFile:
    """A new file of the run's folder: `head`, then what one shard is made of. `counts`: rows of each piece."""

    def __init__(self, engine: Engine, head: bytes = b"") -> None:
        self.path = new_file(str(engine.folder))
        self.counts: list[int] = []
        self._file = Path(self.path).open("xb")  # noqa: SIM115 - closed in `finish`, or `remove`
        self._file.write(head)

    def add(self, count: int, *data: Any) -> None:
        """Write one piece, of `count` rows: buffers, one after the other."""
        for part in data:
            self._file.write(part)
        self.counts.append(count)

    def finish(self) -> None:
        """Write nothing more: from now on it may be read."""
        self._file.close()

    def remove(self) -> None:
        """Remove the file."""
        self._file.close()
        Path(self.path).unlink(missing_ok=True)


class PieceReader:
    """Reads a finished PieceFile, which is whole. A context manager."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed in `__exit__`

    def __enter__(self) -> "PieceReader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def take(self, size: int) -> NDArray[np.uint8]:
        """The next `size` bytes, at least one."""
        data, read = np.empty(size, dtype=np.uint8), 0
        while read < size:
            count = self._file.readinto(data.data[read:])
            if not count:
                raise EngineError(f"reading {self._file.name} for a shard: found {read} bytes, wanted {size}")
            read += count
        return data


class LoadedState:
    """A state of a shard that `load` made of `args`, a file's name among them: to another process it goes as these."""

    def __init__(self, native: Any, load: Callable[..., "LoadedState"], args: tuple[Any, ...]) -> None:
        self.native = native
        self._load = load
        self._args = args

    def __sizeof__(self) -> int:
        return int(self.native.nbytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._load, self._args


@dataclass
class ShardTrees:
    """The trees of one shard: training rows `first` to `first + count - 1`.

    `file`: what they are read from, None where they are mapped. `trees`: handle of a LoadedState, None at first.
    `written`: mapped bytes since they were given back to the system.
    """

    number: int
    first: int
    count: int
    file: PieceFile | None = None
    trees: ShardHandle = None
    written: int = 0


@dataclass
class TreeShards:
    """The trees of the shards that have training rows, filled piece by piece in the order of rows.

    `make(first, count, path)`: a shard's native trees in a mapped file. `load`: the same from a PieceFile, as
    load(path, counts, forest, first, count, keep_leaves, threads). `head`: what the file begins with.
    """

    engine: Engine
    division: Division
    forest: MaskForest
    keep_leaves: bool
    make: Callable[[int, int, str], Any]
    load: Callable[..., LoadedState]
    head: bytes = b""
    shards: list[ShardTrees] = field(init=False)

    def __post_init__(self) -> None:
        rows = zip(self.division.edges.tolist(), self.division.train_sizes.tolist(), strict=False)
        self.shards = [ShardTrees(number, first, count) for number, (first, count) in enumerate(rows) if count]

    def fill(
        self,
        first: int,
        count: int,
        cut: Callable[[slice], tuple[NDArray[Any], ...]],
        put: Callable[[Any, int, tuple[NDArray[Any], ...]], None],
    ) -> None:
        """The next `count` rows, which begin with row `first`.

        `cut(rows)`: what belongs to some of them. `put(native, row, parts)`: fills mapped trees from their `row` on.
        """
        for shard in self.shards:
            begin, end = max(first, shard.first), min(first + count, shard.first + shard.count)
            if begin < end:
                parts = cut(slice(begin - first, end - first))
                if self.engine.mapped:
                    self._map(shard, begin - shard.first, parts, put)
                else:
                    self._write(shard, end - begin, parts)
                if end == shard.first + shard.count:
                    self._complete(shard)

    def _write(self, shard: ShardTrees, count: int, parts: tuple[NDArray[Any], ...]) -> None:
        if shard.file is None:
            shard.file = PieceFile(self.engine, self.head)
        shard.file.add(count, *parts)

    def _map(
        self,
        shard: ShardTrees,
        row: int,
        parts: tuple[NDArray[Any], ...],
        put: Callable[[Any, int, tuple[NDArray[Any], ...]], None],
    ) -> None:
        engine = self.engine
        if shard.trees is None:
            native = self.make(shard.first, shard.count, new_file(str(engine.folder)))
            shard.trees = engine.keep(shard.number, LoadedState(native, self.load, ()))
        (state,) = engine.get([shard.trees])
        put(state.native, row, parts)
        shard.written += sum(part.nbytes for part in parts)
        if shard.written >= MAPPED_BYTES:
            state.native.drop()
            shard.written = 0

    def _complete(self, shard: ShardTrees) -> None:
        engine = self.engine
        if shard.file is not None:
            shard.file.finish()
            where = (shard.file.path, shard.file.counts, self.forest, shard.first, shard.count)
            shard.trees = engine.run(shard.number, self.load, *where, self.keep_leaves, engine.threads)
            return
        (state,) = engine.get([shard.trees])
        if self.keep_leaves:
            state.native.cache(new_file(str(engine.folder)), engine.threads)
        state.native.drop()

    def close(self) -> None:
        """Forget the trees, and their files."""
        for shard in self.shards:
            if shard.file is not None:
                shard.file.remove()
        self.shards = []


def slot_groups(slots: Nodes, slot_bytes: int, mapped: bool) -> Iterator[slice]:
    """The slots in groups that go through memory together, all at once unless they are `mapped`.

    `slot_bytes`: what one of them takes.
    """
    at_once = max(1, MAPPED_BYTES // max(1, slot_bytes)) if mapped else max(1, len(slots))
    for begin in range(0, len(slots), at_once):
        yield slice(begin, min(begin + at_once, len(slots)))


def add_shares(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Add up, modulo 2^64, arrays of one shape."""
    return np.asarray(sum(parts[1:], parts[0]))


def joined(engine: Engine, parts: Sequence[ShardHandle]) -> NDArray[np.uint64]:
    """The sum of shards' shares, here. At least one part."""
    (total,) = engine.get([join_all(engine, parts, add_shares)])
    shares: NDArray[np.uint64] = total
    return shares
