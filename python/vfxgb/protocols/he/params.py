"""Parameters that both protocols have."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vfxgb.contract import EngineOptions, PrecisionBits, Subtract
from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS
from vfxgb.described import documented

# Enough rows for the kernels to run full, few enough for the passive party to begin early.
DEFAULT_CHUNK_ROWS = 4096


@documented()
class HeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How gradients are encrypted and summed.

    `joint_buckets`, `pack_sums`, `subtract`, `pool` and `stream` switch single optimisations off, to measure them; the
    model is the same either way.
    """

    scheme: Annotated[
        Literal["paillier", "ou"],
        Meta(description="The cryptosystem: Paillier or Okamoto-Uchiyama (crypto/README.md compares them)."),
    ] = "paillier"
    key_bits: Annotated[int, Meta(ge=64, le=MAX_BITS, multiple_of=2, description="The size of the public modulus.")] = (
        DEFAULT_BITS
    )
    randomness: Annotated[
        Literal["djn", "short"],
        Meta(description="How ciphertexts are randomised. 'short' is faster and rests on one more assumption."),
    ] = "djn"
    precision_bits: PrecisionBits | None = None
    insecure: Annotated[
        bool, Meta(description="Keys below 2048 bits are allowed, for tests and for reproducing papers.")
    ] = False
    chunk_rows: Annotated[int, Meta(ge=1, le=1 << 20, description="The number of rows in a message of gradients.")] = (
        DEFAULT_CHUNK_ROWS
    )
    joint_buckets: Annotated[
        bool, Meta(description="Ciphertexts are first summed into joint buckets of several features.")
    ] = True
    pack_sums: Annotated[bool, Meta(description="A returned ciphertext holds many sums.")] = True
    subtract: Subtract = True
    pool: Annotated[
        bool | None,
        Meta(
            description="Randomness is made in the background, on cores that are otherwise idle. None does so with "
            "Paillier, where encryption becomes one product, and not with Okamoto-Uchiyama."
        ),
    ] = None
    stream: Annotated[bool, Meta(description="Gradients are sent and summed while others are still encrypted.")] = True

    @property
    def pooled(self) -> bool:
        """Whether to make randomness ahead."""
        return self.scheme == "paillier" if self.pool is None else self.pool


def he_options(params: HeParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.subtract)
