"""Parameters of `ibmhom`."""

from typing import Annotated, Literal

from msgspec import Meta

from vfxgb.crypto.sizes import DEFAULT_BITS, MAX_BITS
from vfxgb.described import documented
from vfxgb.secagg.base import AggregatorParams, AllowSmallKeys, Slots, Threshold


@documented()
class IbmhomParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams, and the key. `threshold` is of all users of the run, who each hold a key share."""

    threshold: Threshold = 0.6
    key_bits: Annotated[int, Meta(ge=66, le=MAX_BITS, multiple_of=2, description="The size of the modulus N.")] = (
        DEFAULT_BITS
    )
    insecure: AllowSmallKeys = False
    slots: Slots = None
    coefficients: Annotated[
        Literal["reduced", "printed"],
        Meta(description="The exponents of the combination: reduced, or as the paper prints them (threshold.py)."),
    ] = "reduced"
    noise_sigma: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 40,
            description="The standard deviation of the Gaussian noise in each sum, in units of the entries; 0 adds "
            "none (noise.py).",
        ),
    ] = 0
