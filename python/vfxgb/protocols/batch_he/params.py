"""Parameters of `batch_he`."""

from typing import Annotated, Literal

import msgspec

from vfxgb.codec.batchcrypt import BatchCryptCode
from vfxgb.codec.code import PairCode
from vfxgb.codec.shift import ShiftCode
from vfxgb.protocols.he.layout import exact_code
from vfxgb.protocols.he.params import HeParams

Positive = Annotated[float, msgspec.Meta(gt=0)]
ValueBits = Annotated[int, msgspec.Meta(ge=4, le=40)]
Pairs = Annotated[int, msgspec.Meta(ge=1)]
PaddingBits = Annotated[int, msgspec.Meta(ge=1, le=20)]


class BatchHeParams(HeParams, frozen=True, forbid_unknown_fields=True):
    """Those of HeParams, and how a pair becomes a plaintext.

    `encoding`: "exact"; or "shift", the paper's way, which is not exact (codec/shift.py); or "batchcrypt", which
    overflows (codec/batchcrypt.py) and needs insecure=True. `s`: the shift, at most the least gradient. `alpha`: where
    shifted gradients are truncated. `alpha_max`: the end of the range [0, alpha_max] that is quantised. `r`: bits of a
    quantised value. `padding`: overflow bits of a slot. `most_pairs`: how many outputs may
    share a ciphertext, None for as many as fit; fewer mean more encryptions, and more sums in a returned ciphertext.
    """

    encoding: Literal["exact", "shift", "batchcrypt"] = "exact"
    s: float = -10.0
    alpha: Positive = 20.0
    alpha_max: Positive = 1e6
    r: ValueBits = 30
    padding: PaddingBits = 2
    most_pairs: Pairs | None = None

    def __post_init__(self) -> None:
        if self.alpha > self.alpha_max:
            raise ValueError(f"found alpha={self.alpha:g} above alpha_max={self.alpha_max:g}, wanted at most that")
        if self.encoding == "batchcrypt" and not self.insecure:
            raise ValueError("encoding='batchcrypt' gives wrong sums and is here to show it: pass insecure=True")


def batch_code(params: BatchHeParams, n_train: int) -> PairCode:
    """The code that the parameters ask for."""
    slots = (n_train, params.alpha, params.alpha_max, params.r, params.padding)
    if params.encoding == "shift":
        return ShiftCode(*slots, s=params.s)
    if params.encoding == "batchcrypt":
        return BatchCryptCode(*slots)
    return exact_code(params, n_train)
