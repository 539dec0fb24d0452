"""Encrypted columns of some rows at the active party, and sums over them: all rows of a run, or those of a shard.

Nothing here is secret to the active party, and nothing depends on masks: sums of shards add up, modulo 2^64, to those
of all rows.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.lattice.elements import public_elements
from vfxgb.lattice.level import Level
from vfxgb.lattice.messages import LatticeBlock
from vfxgb.lattice.params import LatticeParams
from vfxgb.threads import resolve_threads

Words = NDArray[np.uint64]


class HeldRows:
    """Rows `first` to `stop` - 1 of the set-up `name`. `file`: a new file to map in place of memory."""

    def __init__(
        self,
        params: LatticeParams,
        name: bytes,
        columns: int,
        first: int,
        stop: int,
        file: Path | None = None,
        threads: int | None = None,
    ) -> None:
        if not 0 <= first <= stop <= params.rows:
            raise LatticeError(f"keeping encrypted columns: found rows {first} to {stop}, wanted some of {params.rows}")
        degree = params.ring.degree
        self.first = first
        self.stop = stop
        self._params = params
        self._threads = resolve_threads(threads)
        elements = public_elements(name, first // degree, -(-stop // degree), params.ring)
        self._elements = _native.lattice.Elements(degree, params.ring.log_q, first // degree, elements, self._threads)
        self._columns = _native.lattice.Columns(first, stop - first, columns, None if file is None else str(file))

    def fill(self, block: LatticeBlock) -> None:
        """Take what is here of a block; other rows of it are left out. Raises LatticeError for damaged words."""
        try:
            self._columns.fill(block.first, block.rows, block.words, self._params.column_bits, self._threads)
        except ValueError as error:
            raise LatticeError(
                f"keeping encrypted columns: {block.rows} rows from {block.first} on are malformed: {error}"
            ) from None

    def sums(self, level: Level) -> tuple[Words, Words]:
        """(u^T A [nodes, N], sum of u C [nodes, columns]) over these rows, unmasked: for the active party alone."""
        own = level if self.first == 0 and self.stop == self._params.rows else level.part(self.first, self.stop)
        w = self._elements.correlate(own.offsets, own.rows, own.weights, self._threads)
        return w, self._columns.sums(own.offsets, own.rows, own.weights, self._threads)
