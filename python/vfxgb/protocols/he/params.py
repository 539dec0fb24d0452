"""Parameters that both protocols have."""

from typing import Annotated, Literal

import msgspec

from vfxgb.contract import EngineOptions, PrecisionBits
from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS

KeyBits = Annotated[int, msgspec.Meta(ge=64, le=MAX_BITS, multiple_of=2)]
ChunkRows = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]

# Enough rows for the kernels to run full, few enough for the passive party to begin early.
DEFAULT_CHUNK_ROWS = 4096


class HeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How gradients are encrypted and summed.

    `scheme`: Paillier or Okamoto-Uchiyama (crypto/README.md). `key_bits`: size of the public modulus. `randomness`: of
    ciphertexts; "short" is faster and rests on one more assumption. `insecure`: allow keys below 2048 bits, for tests
    and for reproducing papers. `precision_bits`: fractional bits of gradients, None for as many as stay exact.
    `chunk_rows`: rows per message of gradients.

    The rest switches single optimisations off, to measure them; the model is the same either way. `joint_buckets`: sum
    into joint buckets of several features first. `pack_sums`: many sums in one returned ciphertext. `subtract`: sums of
    the smaller child only. `pool`: make randomness in the background, on cores that are otherwise idle; None: with
    Paillier, where it turns encryption into one product, not with Okamoto-Uchiyama. `stream`: send and sum while still
    encrypting.
    """

    scheme: Literal["paillier", "ou"] = "paillier"
    key_bits: KeyBits = DEFAULT_BITS
    randomness: Literal["djn", "short"] = "djn"
    precision_bits: PrecisionBits | None = None
    insecure: bool = False
    chunk_rows: ChunkRows = DEFAULT_CHUNK_ROWS
    joint_buckets: bool = True
    pack_sums: bool = True
    subtract: bool = True
    pool: bool | None = None
    stream: bool = True

    @property
    def pooled(self) -> bool:
        """Whether to make randomness ahead."""
        return self.scheme == "paillier" if self.pool is None else self.pool


def he_options(params: HeParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.subtract)
