"""Parameters that both protocols have."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vfxgb.contract import PrecisionBits
from vfxgb.described import documented
from vfxgb.protocols.batch_he.params import BatchHeParams

# Sums over real numbers are off by up to a few times 10^-15 of their size. With so many fractional bits that is far
# below half a step for up to some millions of rows, so that rounding gives the exact sum.
DEFAULT_PRECISION_BITS = 30
DEFAULT_RANK = 64
DEFAULT_CHUNK_BYTES = 1 << 25


@documented()
class SmmParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How products are hidden, and how much that hides is in the READMEs: nothing against the attacks they name."""

    insecure: Annotated[bool, Meta(description="You agree to a protocol that is broken: it must be True.")] = False
    r: Annotated[int, Meta(ge=2, le=1 << 14, description="The number of null-space vectors of a node.")] = DEFAULT_RANK
    precision_bits: Annotated[
        PrecisionBits,
        Meta(
            description="The number of fractional bits of gradients. With more than the default rounding may no longer "
            "be exact."
        ),
    ] = DEFAULT_PRECISION_BITS
    chunk_bytes: Annotated[int, Meta(ge=1, le=1 << 29, description="Larger arrays travel in pieces.")] = (
        DEFAULT_CHUNK_BYTES
    )
    small_nodes: Annotated[
        Literal["skip", "batch_he"],
        Meta(
            description="What becomes of a node that is too small for the protocol: the passive party proposes nothing "
            "there, or batch_he is used for it."
        ),
    ] = "skip"
    he: Annotated[BatchHeParams, Meta(description="The parameters of batch_he for small nodes.")] = BatchHeParams()

    def __post_init__(self) -> None:
        if self.he.precision_bits is not None or self.he.encoding != "exact":
            raise ValueError("he: precision_bits and encoding cannot be chosen: they are those of the protocol itself")

    def fallback(self) -> BatchHeParams:
        """The parameters of batch_he for small nodes: it sees the same integers, and never the roots alone."""
        return msgspec.structs.replace(self.he, precision_bits=self.precision_bits, stream=False, subtract=False)
