"""What a recorded run keeps of what the two parties of `sealed` learn: bits of rows, and the splits that won.

The names of the notes are explained in train/transcript.py.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, PassiveContext, Resolved, WonNodes
from vfxgb.protocols.sealed.routed import entries_of


def note_left(context: ActiveContext, party: str, level: ActiveLevel, won: WonNodes, line: NDArray[np.uint8]) -> None:
    """Active party: note the bits of a tree's rows. `line`: those of all rows, packed."""
    if context.note is None:
        return
    entry = entries_of(level, won).part(0, context.n_train).astype(np.int32)
    left = np.unpackbits(line, count=len(entry), bitorder="little").astype(np.bool_)
    tree = level.trees[won.index].tree
    context.note(f"left-bits:{level.depth}:{party}", level.round, tree, np.where(left, entry, -entry))


def note_won(context: PassiveContext, round_index: int, depth: int, tree: int, splits: Resolved) -> None:
    """Passive party: note which of its splits have won, in the order in which the active party knows them."""
    if context.note is None:
        return
    chosen = np.stack([splits.feature, splits.bin, splits.default_left], axis=1).astype(np.int32)
    context.note(f"won:{depth}", round_index, tree, chosen)
