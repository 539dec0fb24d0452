"""What both parties know of a level before rows are routed: how many bits the sender has for a row, group by group."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import TransferError

MAX_ENTRIES = 65_535
MAX_PLANES = 2


@dataclass(frozen=True, eq=False)
class Level:
    """The groups of a level. A row takes one entry of each group, or none.

    `entries`: int32[g], the entries of each group, 1 or more. `planes`: bits that come with one choice, 1, or 2 where
    the sender also says whether a value is missing. Lines hold one bit a row, lowest first, on whole bytes; those of a
    group stand together, plane by plane, entry by entry.
    """

    entries: NDArray[np.int32]
    planes: int = 1

    def __post_init__(self) -> None:
        if self.entries.ndim != 1 or self.entries.dtype != np.int32:
            raise TransferError(f"hidden routing: found entries {self.entries.dtype}, wanted int32 of one dimension")
        least, most = int(self.entries.min(initial=1)), int(self.entries.max(initial=1))
        if least < 1 or most > MAX_ENTRIES or not 1 <= self.planes <= MAX_PLANES:
            raise TransferError(
                f"hidden routing: found groups of {least} to {most} splits and {self.planes} bits each, wanted 1 to "
                f"{MAX_ENTRIES} splits and 1 or {MAX_PLANES} bits; train trees of a smaller depth"
            )

    @cached_property
    def transfers(self) -> int:
        """Random transfers that a row takes: ceil(log2(K + 1)) for a group of K."""
        return sum(count.bit_length() for count in self.entries.tolist())

    @cached_property
    def lines(self) -> int:
        """Masked bits that a row takes on the way back."""
        return int(self.entries.sum(dtype=np.int64)) * self.planes

    def __len__(self) -> int:
        """Groups."""
        return len(self.entries)


def line_bytes(rows: int) -> int:
    """Bytes of a line of so many rows."""
    return (rows + 7) // 8
