"""Parameters of `ot_shares`."""

import re
from typing import Annotated, Literal

import msgspec

from vfxgb.contract import EngineOptions, PrecisionBits

ChunkRows = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
TransferBits = Annotated[int, msgspec.Meta(ge=1, le=8)]
Bytes = Annotated[int, msgspec.Meta(ge=1)]

# With 150,000 rows a masked pair takes 99 bits, which keeps five features below a quarter of the 256 bytes that a row
# costs with Okamoto-Uchiyama, the traffic of the levels included.
DEFAULT_PRECISION_BITS = 31
# Rows per message of masked gradients: enough for the kernels, few enough for the passive party to begin early.
DEFAULT_CHUNK_ROWS = 16_384
# Rows per block of the set-up, each under a key of its own of the hash, unless the bound asks for fewer (bound.py).
DEFAULT_SETUP_ROWS = 4096
_UNITS = "KMGT"
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


class OtSharesParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How masks are agreed on and kept. `memory_limit`, `keep_leaves` and `setup_dir` are each party's own.

    `precision_bits`: fractional bits of gradients, None for as many as stay exact; each costs two bits per row and
    feature and tree on the wire. `chunk_rows`: rows per message of masked gradients. `setup_rows`: rows per block of
    the set-up; None: 4,096, or fewer where there are so many features and trees that masks would become easier to guess
    than with 2^100 evaluations of AES (bound.py). `memory_limit`: what the keys of one party may take, in bytes or as
    in "1GB"; a run that needs more is refused. `keep_leaves`: keep the leaves of all trees within that limit instead of
    growing them for each sum; None: if they fit and the processor has no wide AES, which grows them faster than memory
    delivers them. `setup_dir`: an existing folder where each party keeps its part of the set-up, so that a later run
    need not repeat it. `group_bits`: bits of the prime of the base transfers; below 2048 only with `insecure`.
    `insecure`: allow that, for tests.
    `transfer_bits`: k of the transfers of the set-up, 1 to 8: a level of a tree takes 128 / k bits there, and 2^k / k
    times the AES of k = 1; None: what suits the active party's processor (ot/transfer_bits.py).
    `checked`: a passive party proves that its transfers are consistent (ot/README.md); without the proof one that
    deviates can learn every mask. `subtract`: sums of the smaller child only.
    """

    precision_bits: PrecisionBits | None = DEFAULT_PRECISION_BITS
    chunk_rows: ChunkRows = DEFAULT_CHUNK_ROWS
    setup_rows: ChunkRows | None = None
    memory_limit: Bytes | str | None = None
    keep_leaves: bool | None = None
    setup_dir: str | None = None
    group_bits: Literal[768, 1024, 1536, 2048, 3072, 4096] = 3072
    insecure: bool = False
    transfer_bits: TransferBits | None = None
    checked: bool = True
    subtract: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.memory_limit, str):
            read_size(self.memory_limit)
        if self.group_bits < 2048 and not self.insecure:
            raise ValueError(
                f"group_bits={self.group_bits} is no protection: take at least 2048, or pass insecure=True"
            )
        if self.keep_leaves and self.memory_limit is None:
            raise ValueError("keep_leaves=True needs a memory_limit: leaves take 16 bytes per row, feature and bin")

    @property
    def limit_bytes(self) -> int | None:
        """`memory_limit` in bytes."""
        return read_size(self.memory_limit) if isinstance(self.memory_limit, str) else self.memory_limit


def read_size(text: str) -> int:
    """Bytes of "1GB" (10^9), "512 MiB" (2^29) or "1000". Raises ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"memory_limit={text!r}: wanted a number of bytes, or one with a unit as in '1GB' or '512MiB'")
    number, unit, binary = match.groups()
    power = _UNITS.index(unit.upper()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def ot_options(params: OtSharesParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.subtract)
