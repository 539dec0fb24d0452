"""Parameters of `fpe`."""

from typing import Annotated

import msgspec

from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS
from vfxgb.secagg.base import AggregatorParams

KeyBits = Annotated[int, msgspec.Meta(ge=66, le=MAX_BITS, multiple_of=2)]
Slots = Annotated[int, msgspec.Meta(ge=1)]
Prepared = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]


class FpeParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams; all users are needed whatever `threshold` says.

    `key_bits`: size of N. `insecure`: allow less than 2048 bits, for tests and for the paper's 512. `slots`: entries
    in one plaintext, None for as many as fit, 1 for the paper's way. `prepared`: plaintexts of all calls together for
    which the key centre hands out keys.
    """

    key_bits: KeyBits = DEFAULT_BITS
    insecure: bool = False
    slots: Slots | None = None
    prepared: Prepared = 1 << 14
