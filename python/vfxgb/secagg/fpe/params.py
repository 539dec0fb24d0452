"""Parameters of `fpe`."""

from typing import Annotated

from msgspec import Meta

from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS
from vfxgb.described import documented
from vfxgb.secagg.base import AggregatorParams, AllowSmallKeys, Slots


@documented()
class FpeParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams, and the key. All users are needed whatever `threshold` says."""

    key_bits: Annotated[int, Meta(ge=66, le=MAX_BITS, multiple_of=2, description="The size of the modulus N.")] = (
        DEFAULT_BITS
    )
    insecure: AllowSmallKeys = False
    slots: Slots = None
    prepared: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 24,
            description="The key centre hands out keys for so many plaintexts, those of all calls together.",
        ),
    ] = 1 << 14
