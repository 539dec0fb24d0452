"""Parameters that both protocols have."""

from typing import Annotated, Literal

import msgspec

from vfxgb.contract import PrecisionBits
from vfxgb.protocols.batch_he.params import BatchHeParams

Rank = Annotated[int, msgspec.Meta(ge=2, le=1 << 14)]
ChunkBytes = Annotated[int, msgspec.Meta(ge=1, le=1 << 29)]

# Sums over real numbers are off by up to a few times 10^-15 of their size. With so many fractional bits that is far
# below half a step for up to some millions of rows, so that rounding gives the exact sum.
DEFAULT_PRECISION_BITS = 30
DEFAULT_RANK = 64
DEFAULT_CHUNK_BYTES = 1 << 25


class SmmParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How products are hidden, and how much that hides is in the READMEs: nothing against the attacks they name.

    `insecure`: must be True. `r`: null-space vectors per node. `precision_bits`: fractional bits of gradients; with
    more of them rounding would no longer be exact. `chunk_bytes`: the size from which an array travels in pieces.
    `small_nodes`: what becomes of a node in which the protocol cannot work: the passive party proposes nothing there,
    or batch_he is used for it. `he`: the parameters of batch_he for that.
    """

    insecure: bool = False
    r: Rank = DEFAULT_RANK
    precision_bits: PrecisionBits = DEFAULT_PRECISION_BITS
    chunk_bytes: ChunkBytes = DEFAULT_CHUNK_BYTES
    small_nodes: Literal["skip", "batch_he"] = "skip"
    he: BatchHeParams = BatchHeParams()

    def __post_init__(self) -> None:
        if self.he.precision_bits is not None or self.he.encoding != "exact":
            raise ValueError("he: precision_bits and encoding cannot be chosen: they are those of the protocol itself")

    def fallback(self) -> BatchHeParams:
        """The parameters of batch_he for small nodes: it sees the same integers, and never the roots alone."""
        return msgspec.structs.replace(self.he, precision_bits=self.precision_bits, stream=False, subtract=False)
