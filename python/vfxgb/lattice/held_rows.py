"""Encrypted columns of some rows at the active party, and sums over them: all rows of a run, or those of a shard.

Nothing here is secret to the active party, and nothing depends on masks: sums of shards add up, modulo 2^64, to those
of all rows. A shard may begin and end within a block of the ring: it makes the elements of all blocks that it has rows
of, and rows that it lacks have weight 0 there.

In memory the transformed elements of a row take 32 or 40 bytes (rings of 48 or 64 bits), beside 8 for each word of its
columns. Mapped rows are summed in groups; of each group the elements are made again, and what was read of the file is
given back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.lattice.elements import public_elements
from vfxgb.lattice.level import Level, LevelNorms
from vfxgb.lattice.messages import LatticeBlock
from vfxgb.lattice.params import LatticeParams
from vfxgb.threads import resolve_threads

Words = NDArray[np.uint64]
Buffer: TypeAlias = bytes | memoryview | NDArray[np.uint8]

# Bytes of a mapped file that may be in memory before they are given back to the system, and what a row takes beside
# its columns while elements are made.
MAPPED_BYTES = 1 << 28
ELEMENT_BYTES = 72


@dataclass(frozen=True)
class ColumnSetup:
    """A set-up as both parties know it: what was agreed, its name, and how many columns there are."""

    params: LatticeParams
    name: bytes
    columns: int

    @property
    def words(self) -> int:
        """The words of a row that the columns take."""
        return self.params.words(self.columns)


@dataclass(frozen=True, eq=False)
class LevelSums:
    """Sums over a level's nodes, unmasked: for the active party alone. Those of shards add up.

    `w`: u^T A, uint64[nodes, N]; `x`: sums of u C, uint64[nodes, words]; both modulo 2^64.
    """

    w: Words
    x: Words
    norms: LevelNorms

    def __add__(self, other: "LevelSums") -> "LevelSums":
        return LevelSums(self.w + other.w, self.x + other.x, self.norms + other.norms)


class HeldRows:
    """Rows `first` to `stop` - 1 of a set-up. `file`: a new file to map in place of memory.

    Raises LatticeError for rows that are not there, and where there is no room for the columns.
    """

    def __init__(
        self, setup: ColumnSetup, first: int, stop: int, file: Path | None = None, threads: int | None = None
    ) -> None:
        rows = setup.params.rows
        if not 0 <= first <= stop <= rows:
            raise LatticeError(f"keeping encrypted columns: found rows {first} to {stop}, wanted some of {rows}")
        self.first = first
        self.stop = stop
        self._setup = setup
        self._threads = resolve_threads(threads)
        self._mapped = file is not None
        self._elements = None if self._mapped else self._make_elements(first, stop)
        try:
            self._columns = _native.lattice.Columns(
                first, stop - first, setup.words, None if file is None else str(file)
            )
        except (OSError, MemoryError) as error:
            gigabytes = 8e-9 * setup.words * (stop - first)
            raise LatticeError(
                f"keeping encrypted columns: {setup.columns} columns of {stop - first:,} rows take {gigabytes:,.1f} GB,"
                f" which cannot be had ({error}); agree on fewer bins, or use memory_limit with an engine_folder that "
                "has room"
            ) from None
        self._written = 0

    def _make_elements(self, first: int, stop: int) -> _native.lattice.Elements:
        """Those of the blocks that rows `first` to `stop` - 1 are in."""
        ring = self._setup.params.ring
        block = first // ring.degree
        elements = public_elements(self._setup.name, block, -(-stop // ring.degree), ring)
        return _native.lattice.Elements(ring.degree, ring.log_q, block, elements, self._threads)

    @property
    def nbytes(self) -> int:
        """Bytes that the columns take, in memory or in the file."""
        return self._columns.nbytes

    def fill(self, block: LatticeBlock) -> None:
        """Take what is here of a block; other rows of it are left out. Raises LatticeError for damaged words."""
        self.fill_rows(block.first, block.rows, block.words)

    def fill_rows(self, first: int, rows: int, words: Buffer) -> None:
        """The same from the packed words of `rows` rows from `first` on."""
        try:
            self._columns.fill(first, rows, words, self._setup.params.column_bits, self._threads)
        except ValueError as error:
            raise LatticeError(
                f"keeping encrypted columns: {rows} rows from {first} on are malformed: {error}"
            ) from None
        self._written += 8 * self._setup.words * rows
        if self._written >= MAPPED_BYTES:
            self._columns.drop()
            self._written = 0

    def sums(self, level: Level) -> LevelSums:
        """The sums of a level over these rows."""
        own = level if self.first == 0 and self.stop == self._setup.params.rows else level.part(self.first, self.stop)
        if self._elements is not None:
            return LevelSums(*self._sum(own, self._elements), own.norms())
        ring, nodes = self._setup.params.ring, own.count
        w = np.zeros((nodes, ring.degree), dtype=np.uint64)
        x = np.zeros((nodes, self._setup.words), dtype=np.uint64)
        for begin, end in self._groups():
            more_w, more_x = self._sum(own.part(begin, end), self._make_elements(begin, end))
            w += more_w
            x += more_x
            self._columns.drop()
        return LevelSums(w, x, own.norms())

    def _sum(self, level: Level, elements: _native.lattice.Elements) -> tuple[Words, Words]:
        w = elements.correlate(level.offsets, level.rows, level.weights, self._threads)
        return w, self._columns.sums(level.offsets, level.rows, level.weights, self._threads)

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows, whole blocks as far as they are here, that go through memory together."""
        degree = self._setup.params.ring.degree
        row_bytes = 8 * self._setup.words + ELEMENT_BYTES
        size = max(1, MAPPED_BYTES // row_bytes // degree) * degree
        for begin in range(self.first // degree * degree, self.stop, size):
            yield max(begin, self.first), min(begin + size, self.stop)
