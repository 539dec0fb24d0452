"""Parameters of `batch_he`."""

from typing import Annotated, Literal

from msgspec import Meta

from vfxgb.codec.batchcrypt import BatchCryptCode
from vfxgb.codec.code import PairCode
from vfxgb.codec.shift import ShiftCode
from vfxgb.described import documented
from vfxgb.protocols.he.layout import exact_code
from vfxgb.protocols.he.params import HeParams

Positive = Annotated[int, Meta(ge=1)]


@documented()
class BatchHeParams(HeParams, frozen=True, forbid_unknown_fields=True):
    """Those of HeParams, and how a pair of a gradient and a hessian becomes a plaintext.

    `s`, `s_h`, `alpha`, `alpha_max`, `r` and `padding` matter for encoding='shift' and 'batchcrypt' alone.
    """

    encoding: Annotated[
        Literal["exact", "shift", "batchcrypt"],
        Meta(
            description="How pairs become plaintexts. 'shift' is the paper's way, which is not exact (codec/shift.py). "
            "'batchcrypt' overflows (codec/batchcrypt.py) and needs insecure=True."
        ),
    ] = "exact"
    s: Annotated[float, Meta(description="The shift, which is at most the least gradient.")] = -10.0
    s_h: Annotated[
        float | None,
        Meta(
            description="The shift of hessians, for encoding='shift'; None for that of gradients, as the paper has it."
        ),
    ] = None
    alpha: Annotated[float, Meta(gt=0, description="Shifted gradients are truncated here.")] = 20.0
    alpha_max: Annotated[float, Meta(gt=0, description="The range from 0 to here is quantised.")] = 1e6
    r: Annotated[int, Meta(ge=4, le=40, description="The number of bits of a quantised value.")] = 30
    padding: Annotated[int, Meta(ge=1, le=20, description="The number of overflow bits of a slot.")] = 2
    most_pairs: Annotated[
        Positive | None,
        Meta(
            description="So many outputs may share a ciphertext. None takes as many as fit; fewer mean more "
            "encryptions, and more sums in a returned ciphertext."
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.alpha > self.alpha_max:
            raise ValueError(f"found alpha={self.alpha:g} above alpha_max={self.alpha_max:g}, wanted at most that")
        if self.encoding == "batchcrypt" and not self.insecure:
            raise ValueError("encoding='batchcrypt' gives wrong sums and is here to show it: pass insecure=True")


def batch_code(params: BatchHeParams, n_train: int, hessian_shift: int) -> PairCode:
    """The code that the parameters ask for."""
    slots = (n_train, params.alpha, params.alpha_max, params.r, params.padding)
    if params.encoding == "shift":
        return ShiftCode(*slots, s=params.s, s_h=params.s_h)
    if params.encoding == "batchcrypt":
        return BatchCryptCode(*slots)
    return exact_code(params, n_train, hessian_shift)
