"""What the two parties of lattice sums say. The active party opens; blocks go to it, nodes come from it.

Words are packed to the bits that were agreed on (cpp/lattice/word_bits.h): for each column of a block its rows, for
each node N words.
"""

from typing import ClassVar

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class LatticeOpen(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once: what is to be set up, and the commitment to a seed.

    `stored`: the name of the set-up that the active party has kept, empty for none, and `rows_kept` how many of its
    rows have arrived. `precision_bits` and `ring` as in choose_params.
    """

    TAG: ClassVar[str] = "lattice-open"

    rows: int
    precision_bits: float | None
    ring: str
    commitment: bytes
    stored: bytes
    rows_kept: int


class LatticeOffer(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once: its seed, and how many columns there are.

    `stored`: it has the named set-up, too, for the same columns; then the seed is empty, and it goes on after the rows
    that have arrived.
    """

    TAG: ClassVar[str] = "lattice-offer"
    REVEALS: ClassVar[Reveals] = Reveals("how many candidate splits the passive party has, padding included", "numbers")

    columns: int
    seed: bytes
    stored: bool

    def amount(self) -> int:
        """Count one number."""
        return 1


class LatticeSeed(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once, unless a kept set-up is used: the seed that was committed to."""

    TAG: ClassVar[str] = "lattice-seed"

    seed: bytes
    opening: bytes


class LatticeZeros(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once before the blocks: encryptions of zero, one for each column."""

    TAG: ClassVar[str] = "lattice-zeros"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("nothing: encryptions of zero")

    words: Bulk


class LatticeBlock(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: all columns of the rows `first` to `first + rows - 1` of one block, encrypted."""

    TAG: ClassVar[str] = "lattice-block"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("nothing: the passive party's columns are encrypted", "rows")

    first: int
    rows: int
    words: Bulk

    def amount(self) -> int:
        """Count the rows."""
        return self.rows


class LatticeNodes(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the masked nodes of a level, in random order. `level` counts the messages of a run."""

    TAG: ClassVar[str] = "lattice-nodes"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "how many nodes are summed; neither their rows nor their sizes nor gradients, which are masked", "nodes"
    )

    level: int
    nodes: int
    words: Bulk

    def amount(self) -> int:
        """Count the nodes."""
        return self.nodes


LATTICE_MESSAGES: tuple[type[Message], ...] = (
    LatticeOpen,
    LatticeOffer,
    LatticeSeed,
    LatticeZeros,
    LatticeBlock,
    LatticeNodes,
)
