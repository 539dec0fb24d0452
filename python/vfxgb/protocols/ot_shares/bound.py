"""Guessing the masks of a run costs at least what this file computes: the bound of cpp/ot/hash.h in numbers.

Under one key of the hash lie the trees of one block of rows. Of each tree the passive party lacks the hashes on the
path to the leaf of the row's own bin (its levels but one) and one value of that leaf per tree of boosting:

    q = rows of a block * sum over slots of (D - 1 + T),     D levels, T trees of boosting,

slots being those of slots.py: columns that share a tree count once. With lanes of 32 bits (rows/masks.py) two trees of
boosting share a hash, and T could be halved; it is not.

Whoever wants to find a mask needs about 2^127 / q evaluations of AES. T counts all trees that a set-up serves: those of
the run, and with a stored set-up those of the runs before. No set-up serves so many that fewer than 2^100 remain.
"""

import math

from vfxgb.errors import CapacityError
from vfxgb.protocols.ot_shares.params import DEFAULT_SETUP_ROWS, OtSharesParams
from vfxgb.protocols.ot_shares.slots import Slots

# Evaluations of AES, as a power of two, that must remain for who wants to guess a mask.
LEAST_WORK_BITS = 100
_MOST_HIDDEN = 1 << (127 - LEAST_WORK_BITS)


def hidden_hashes(slots: Slots, block_rows: int, trees: int) -> int:
    """q: hashes under one key that a passive party lacks after so many trees of boosting."""
    return block_rows * _hidden_per_row(slots, trees)


def work_bits(slots: Slots, block_rows: int, trees: int) -> float:
    """Evaluations of AES that guessing a mask takes, as a power of two; infinity where there are no slots."""
    hidden = hidden_hashes(slots, block_rows, trees)
    return math.inf if hidden == 0 else 127 - math.log2(hidden)


def most_trees(slots: Slots, block_rows: int) -> int:
    """Trees of boosting that a set-up may serve, all runs together. At least one slot."""
    return (_MOST_HIDDEN // block_rows - (slots.levels - len(slots))) // len(slots)


def choose_block_rows(params: OtSharesParams, slots: Slots, n_rows: int, trees: int, step: str) -> int:
    """Rows per block of a new set-up for `trees` trees: setup_rows, or if that is None what the bound allows.

    Raises CapacityError for a setup_rows that leaves too little; `step` begins the message.
    """
    allowed = _MOST_HIDDEN // max(1, _hidden_per_row(slots, trees))
    wanted = min(n_rows, DEFAULT_SETUP_ROWS if params.setup_rows is None else params.setup_rows)
    if allowed < 1 or (params.setup_rows is not None and wanted > allowed):
        raise CapacityError(
            f"{step}: {trees:,} trees with blocks of {wanted:,} rows and {len(slots):,} slots leave "
            f"2^{work_bits(slots, wanted, trees):.1f} evaluations of AES for who wants to guess a mask, wanted at "
            f"least 2^{LEAST_WORK_BITS}; "
            + (f"set setup_rows to at most {allowed:,}, or leave it out" if allowed else "train fewer trees")
        )
    return min(wanted, allowed)


def bound_text(peer: str, slots: Slots, block_rows: int, trees: int) -> str:
    """The bound for a run, as the ledger says it. `trees`: all that the set-up serves, this run's among them."""
    return (
        f"masks towards {peer}: {len(slots):,} slots in blocks of {block_rows:,} rows, {trees:,} trees; guessing "
        f"one takes about 2^{math.floor(work_bits(slots, block_rows, trees))} evaluations of AES"
    )


def _hidden_per_row(slots: Slots, trees: int) -> int:
    return slots.levels - len(slots) + len(slots) * trees
