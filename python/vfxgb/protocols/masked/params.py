"""Parameters of `masked`, and what they ask of the common code."""

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vfxgb.contract import EngineOptions, PrecisionBits
from vfxgb.described import documented
from vfxgb.protocols.ldp.params import START, Order, Positive, PublicWeights


@documented()
class MaskedParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The noise of the protocol, by the paper's symbols; and noise that the active party adds for its labels.

    `calibrate` (calibration.py) finds sigma1, sigma2, C and W from privacy budgets.
    """

    sigma1: Annotated[
        float,
        Meta(ge=0.0, le=1e9, description="The standard deviation of the noise that cancels in the sum of a candidate."),
    ] = 0.18
    sigma2: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1e9,
            description="The standard deviation of the noise that does not cancel. 0 leaves sums as they are and hides "
            "nothing of the candidates.",
        ),
    ] = 1.0
    C: Annotated[
        float, Meta(gt=0.0, le=1e12, description="The squared length of the active party's secret factors.")
    ] = 1.0
    W: Annotated[int, Meta(ge=1, le=4096, description="The number of noise vectors for a candidate.")] = 1
    noise_scale: Annotated[
        Literal["node", "root"],
        Meta(
            description="'node' adapts noise to nodes: in a node with a share s of the training rows the squared "
            "length of the secret factors is s C, which is what theorem 2 asks for a message about these rows. 'root' "
            "takes C, the noise that all rows together need, in every node."
        ),
    ] = "node"
    order: Order = 2
    chunk_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 28,
            description="A message holds so many bytes of noise where W is 1, and at least the noise of a candidate.",
        ),
    ] = 1 << 20
    insecure: Annotated[bool, Meta(description="You agree to a protocol that is broken.")] = False
    precision_bits: PrecisionBits | None = None
    active_noise: Annotated[
        Literal["none", "gaussian"],
        Meta(
            description="'gaussian' adds noise that the active party draws itself, once per tree, so that labels have "
            "(epsilon, delta) for the whole training, against the passive parties too."
        ),
    ] = "none"
    active_epsilon: Annotated[float | None, Meta(description="The epsilon of active_noise.")] = None
    active_delta: Annotated[float | None, Meta(description="The delta of active_noise, well below 1 / rows.")] = None
    clip: Annotated[
        Positive | None,
        Meta(description="For active_noise, gradients are clipped to this size where the loss gives no bound."),
    ] = None
    public_weights: PublicWeights = False
    max_weight: Annotated[
        Positive | None,
        Meta(
            description="No sample weight is above this bound, which was not taken from the data. Sample weights "
            "need it next to active_noise."
        ),
    ] = None

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
