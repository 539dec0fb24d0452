"""Parameters of `bcp`."""

from typing import Annotated

from msgspec import Meta

from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS
from vfxgb.described import documented
from vfxgb.secagg.base import AggregatorParams, AllowSmallKeys, Slots


@documented()
class BcpParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams, with min_users at least 2, and the key."""

    key_bits: Annotated[int, Meta(ge=128, le=MAX_BITS, multiple_of=2, description="The size of the modulus N.")] = (
        DEFAULT_BITS
    )
    insecure: AllowSmallKeys = False
    slots: Slots = None
