"""Parameters of `masked`, and what they ask of the common code."""

import math
from typing import Annotated, Literal

import msgspec

from vfxgb.contract import EngineOptions, PrecisionBits
from vfxgb.protocols.ldp.params import START

Deviation = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]


class MaskedParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The paper's symbols. `calibrate` (calibration.py) finds sigma1, sigma2, C and W from privacy budgets.

    `sigma1`: deviation of the noise that cancels in a candidate's sum. `sigma2`: of the noise that does not; 0 leaves
    sums as they are and hides nothing of the candidates. `C`: squared length of the active party's secret factors.
    `W`: noise vectors per candidate. `order`: 2 scores by gradients and hessians, 1 by gradients alone (remark 2).
    `chunk_bytes`: how much noise travels in a message where W is 1, one candidate's at least.
    `insecure`: agree to a protocol that is broken. `precision_bits`: fractional bits of gradients, None for as many as
    stay exact.

    `active_noise`: "gaussian" adds noise that the active party draws itself, once per tree, so that labels have
    (epsilon, delta) for the whole training, against the passive parties too. `active_epsilon`: that epsilon.
    `active_delta`: that delta, well below 1 / rows. `clip`: bound of
    |gradient| for it, where the loss gives none. `public_weights`: sample weights, scale_pos_weight and base_score were
    not made from labels. `max_weight`: a bound of the sample weights that was not taken from the data, for
    active_noise next to them.
    """

    sigma1: Deviation = 0.18
    sigma2: Deviation = 1.0
    C: Annotated[float, msgspec.Meta(gt=0.0, le=1e12)] = 1.0
    W: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 1
    order: Literal[1, 2] = 2
    chunk_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 28)] = 1 << 20
    insecure: bool = False
    precision_bits: PrecisionBits | None = None
    active_noise: Literal["none", "gaussian"] = "none"
    active_epsilon: float | None = None
    active_delta: float | None = None
    clip: float | None = None
    public_weights: bool = False
    max_weight: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for values that do not go together."""
        given = self.active_epsilon is not None and self.active_delta is not None
        if self.active_noise == "gaussian":
            if not given:
                raise ValueError(
                    "active_noise='gaussian' wants active_epsilon and active_delta, for the whole training"
                )
            if self.precision_bits is not None:
                raise ValueError("active_noise='gaussian' has a lattice of its own: leave precision_bits out")
        elif any(
            setting is not None for setting in (self.active_epsilon, self.active_delta, self.clip, self.max_weight)
        ):
            raise ValueError("active_epsilon, active_delta, clip and max_weight are for active_noise='gaussian'")
        for name in ("clip", "max_weight"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"found {name} {value}, wanted a positive finite number")
        if self.clip is not None and self.max_weight is not None:
            raise ValueError("max_weight is for losses whose gradients need no clip: leave one of the two out")

    @property
    def weight_bound(self) -> float | None:
        """The weight that bounds gradients; None where `clip` does."""
        if self.clip is not None:
            return None
        return 1.0 if self.max_weight is None else self.max_weight


def masked_options(params: MaskedParams) -> EngineOptions:
    """What the parameters ask of the common code.

    Without subtraction of siblings: sums differ by their noise, and a candidate that one child cannot use has none.
    """
    first_order = params.order == 1
    if params.active_noise == "none":
        return EngineOptions(params.precision_bits, subtract=False, first_order=first_order)
    return EngineOptions(
        subtract=False,
        first_order=first_order,
        gradient_bound=params.clip,
        weight_bound=params.weight_bound,
        default_start=START,
    )
