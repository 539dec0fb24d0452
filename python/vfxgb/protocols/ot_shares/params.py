"""Parameters of `ot_shares`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from vfxgb.checks import bytes_in
from vfxgb.contract import EngineOptions, PrecisionBits, Subtract
from vfxgb.described import documented
from vfxgb.ot.group import DEFAULT_BITS, AllowSmallGroups, GroupBits, refuse_small_group

Rows = Annotated[int, Meta(ge=1, le=1 << 20)]
TransferBits = Annotated[int, Meta(ge=1, le=8)]
Bytes = Annotated[int, Meta(ge=1)]
JointLeaves = Annotated[int, Meta(ge=1, le=4096)]

# With 150,000 rows a masked pair takes 99 bits, which keeps five features below a quarter of the 256 bytes that a row
# costs with Okamoto-Uchiyama, the traffic of the levels included.
DEFAULT_PRECISION_BITS = 31
# Rows per message of masked gradients: enough for the kernels, few enough for the passive party to begin early.
DEFAULT_CHUNK_ROWS = 16_384
# Rows per block of the set-up, each under a key of its own of the hash, unless the bound asks for fewer (bound.py).
DEFAULT_SETUP_ROWS = 4096
# A pair for each row, tree and slot is what travels most. Up to 64 leaves, masking a slot takes less time than sending
# a pair of its own for each column does on a line of some hundred Mbit/s.
DEFAULT_JOINT_LEAVES = 64


@documented()
class OtSharesParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How masks are agreed on and kept. `memory_limit`, `keep_leaves` and `setup_dir` are each party's own."""

    precision_bits: Annotated[
        PrecisionBits | None,
        Meta(
            description="The number of fractional bits of gradients. None takes as many as stay exact. Each of them "
            "costs two bits per row, feature and tree on the wire."
        ),
    ] = DEFAULT_PRECISION_BITS
    chunk_rows: Annotated[Rows, Meta(description="The number of rows in a message of masked gradients.")] = (
        DEFAULT_CHUNK_ROWS
    )
    setup_rows: Annotated[
        Rows | None,
        Meta(
            description="The number of rows in a block of the set-up. None takes 4,096, or fewer where there are so "
            "many features and trees that masks would become easier to guess than with 2^100 evaluations of AES "
            "(bound.py)."
        ),
    ] = None
    joint_leaves: Annotated[
        JointLeaves,
        Meta(
            description="Features with few bins share a tree of masks while it has at most so many leaves, one for "
            "each combination of their bins: that takes fewer bytes per tree, and more AES. With 1 none do."
        ),
    ] = DEFAULT_JOINT_LEAVES
    memory_limit: Annotated[
        Bytes | str | None,
        Meta(
            description="The keys of one party may take so much memory, in bytes or as in '1GB'. A run that needs more "
            "is refused."
        ),
    ] = None
    keep_leaves: Annotated[
        bool | None,
        Meta(
            description="The leaves of all trees are kept within `memory_limit` instead of being grown for each sum. "
            "None keeps them if they fit and the processor has no wide AES, which grows them faster than memory "
            "delivers them."
        ),
    ] = None
    setup_dir: Annotated[
        str | None,
        Meta(
            description="An existing folder where each party keeps its part of the set-up, so that a later run need "
            "not repeat it."
        ),
    ] = None
    group_bits: GroupBits = DEFAULT_BITS
    insecure: AllowSmallGroups = False
    transfer_bits: Annotated[
        TransferBits | None,
        Meta(
            description="The number k of the transfers of the set-up: a level of a tree takes 128 / k bits there, and "
            "2^k / k times the AES of k = 1. None takes what suits the active party's processor and the line if "
            "that is known (network.mbit); 6 on most machines (ot/transfer_bits.py)."
        ),
    ] = None
    checked: Annotated[
        bool,
        Meta(
            description="A passive party proves that its transfers are consistent (ot/README.md). Without the proof a "
            "party that deviates from the protocol can learn every mask."
        ),
    ] = True
    subtract: Subtract = True

    def __post_init__(self) -> None:
        if isinstance(self.memory_limit, str):
            read_size(self.memory_limit)
        refuse_small_group(self.group_bits, self.insecure)
        if self.keep_leaves and self.memory_limit is None:
            raise ValueError("keep_leaves=True needs a memory_limit: leaves take 16 bytes per row, feature and bin")

    @property
    def limit_bytes(self) -> int | None:
        """`memory_limit` in bytes."""
        return read_size(self.memory_limit) if isinstance(self.memory_limit, str) else self.memory_limit


def read_size(text: str) -> int:
    """Bytes of "1GB" (10^9), "512 MiB" (2^29) or "1000". Raises ValueError."""
    size = bytes_in(text)
    if size is None:
        raise ValueError(f"memory_limit={text!r}: wanted a number of bytes, or one with a unit as in '1GB' or '512MiB'")
    return size


def ot_options(params: OtSharesParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.subtract)
