"""Parameters of `ibmhom`."""

from typing import Annotated, Literal

import msgspec

from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS
from vfxgb.secagg.base import AggregatorParams

KeyBits = Annotated[int, msgspec.Meta(ge=66, le=MAX_BITS, multiple_of=2)]
Slots = Annotated[int, msgspec.Meta(ge=1)]
Sigma = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class IbmhomParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams, with the paper's threshold of 0.6; of all users of the run, who each hold a key share.

    `key_bits`: size of N. `insecure`: allow less than 2048 bits, for tests and for the paper's 512. `slots`: entries
    in one plaintext, None for as many as fit, 1 for the paper's way. `coefficients`: exponents of the combination,
    "reduced" or as "printed" (threshold.py). `noise_sigma`: standard deviation of the Gaussian noise in each sum, in
    units of the entries, 0 for none (noise.py).
    """

    threshold: int | float | None = 0.6
    key_bits: KeyBits = DEFAULT_BITS
    insecure: bool = False
    slots: Slots | None = None
    coefficients: Literal["reduced", "printed"] = "reduced"
    noise_sigma: Sigma = 0
