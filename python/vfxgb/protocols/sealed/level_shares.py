"""Shares of a level as a tournament takes them: a line for each slot, a place for each candidate of its tree.

Trees that may use some columns only have fewer candidates; what is left over at the end of a line is 0 for both
parties, and so are candidates that a slot may not use. Neither ever wins: of equal values the first does, and that of
the active party's own comes before all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError
from vfxgb.protocols.sealed.messages import SealedColumns, TreePicks
from vfxgb.transport.messages import pack_array, pack_bytes


@dataclass(frozen=True, eq=False)
class Pick:
    """The columns of one tree: numbers, ascending; which of them a slot may not use, bool[slots, columns] or None."""

    tree: int
    slots: int
    columns: NDArray[np.int64]
    withheld: NDArray[np.bool_] | None = None


def candidates_of(picks: Sequence[Pick]) -> int:
    """Places of a line."""
    return max(1, *(len(pick.columns) for pick in picks))


def pick_shares(shares: NDArray[np.uint64], picks: Sequence[Pick]) -> NDArray[np.uint64]:
    """Lines of the tournament from shares uint64[slots of all trees, columns], which are not used again."""
    whole = all(len(pick.columns) == shares.shape[1] and pick.withheld is None for pick in picks)
    if whole:
        return shares
    lines = np.zeros((len(shares), candidates_of(picks)), dtype=np.uint64)
    first = 0
    for pick in picks:
        own = shares[first : first + pick.slots][:, pick.columns]
        if pick.withheld is not None:
            own[pick.withheld] = 0
        lines[first : first + pick.slots, : len(pick.columns)] = own
        first += pick.slots
    return lines


def all_columns(tree: int, slots: int, columns: int) -> Pick:
    """A tree that uses every column."""
    return Pick(tree, slots, np.arange(columns))


def tell_picks(picks: Sequence[Pick], columns: int) -> SealedColumns:
    """The picks of a level, for the active party."""
    trees = []
    for pick in picks:
        used = np.zeros(columns, dtype=np.bool_)
        used[pick.columns] = True
        withheld = b"" if pick.withheld is None else np.packbits(pick.withheld, bitorder="little").tobytes()
        trees.append(TreePicks(pick.tree, pack_array(np.packbits(used, bitorder="little")), pack_bytes(withheld)))
    return SealedColumns(trees)


def read_picks(
    message: SealedColumns, trees: Sequence[int], slots: Sequence[int], columns: int, what: str
) -> list[Pick]:
    """The picks of a level with so many slots in its trees. Raises MessageError for those of another level."""
    if [each.tree for each in message.trees] != list(trees):
        raise MessageError(f"{what}: found trees {[each.tree for each in message.trees]}, wanted {list(trees)}")
    picks = []
    for each, count in zip(message.trees, slots, strict=True):
        used = np.flatnonzero(_bits(each.used, columns, what))
        withheld = None
        if len(each.withheld):
            withheld = _bits(each.withheld, count * len(used), what).reshape(count, len(used))
        picks.append(Pick(each.tree, count, used, withheld))
    return picks


def _bits(data: memoryview, count: int, what: str) -> NDArray[np.bool_]:
    if len(data) != -(-count // 8):
        raise MessageError(f"{what}: found {len(data)} bytes, wanted {-(-count // 8)} for {count} bits")
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=count, bitorder="little").astype(np.bool_)
