"""What `masked` is."""

from vfxgb.contract import Learned, ProtocolSpec, Saving, TrainingShape, WireCost
from vfxgb.protocols.masked.active import MaskedActive
from vfxgb.protocols.masked.messages import MASKED_MESSAGES
from vfxgb.protocols.masked.params import MaskedParams, masked_options
from vfxgb.protocols.masked.passive import MaskedPassive
from vfxgb.protocols.masked.release import make_release
from vfxgb.protocols.scored.cost import scored_cost
from vfxgb.protocols.scored.messages import SCORED_MESSAGES

NUMBER_BYTES = 8


def masked_cost(params: MaskedParams, shape: TrainingShape) -> WireCost:
    """On every level, for each candidate and row: W numbers of noise, and masked gradients, and hessians, back."""
    numbers = (params.W + params.order) * shape.candidates * shape.depth * shape.sampled
    return scored_cost(shape) + WireCost(tree=NUMBER_BYTES * numbers, round_trips=shape.depth)


SPEC = ProtocolSpec(
    name="masked",
    summary="MaskedXGBoost: gradients travel with noise that the passive party makes; it cancels in a candidate's sum",
    params=MaskedParams,
    active=MaskedActive,
    passive=MaskedPassive,
    messages=(*SCORED_MESSAGES, *MASKED_MESSAGES),
    learned=Learned(
        active="noise from which, over many trees, it can tell which rows go left at candidate splits of {others}; "
        "names of columns and thresholds stay hidden",
        passive="gradients of single rows under noise that it can take off again, and with them the labels",
    ),
    exact=False,
    security="broken",
    attacks=(
        (
            "a passive party knows the noise it made: two messages give it every gradient to 1e-8 and better, and "
            "with one noise vector a single message is enough; the sign of a first-round gradient is the label"
        ),
        "a passive party that chooses its noise (zeros on some rows) reads those gradients off",
        (
            "the active party finds which rows go left from the correlations of the noise of many trees, unless "
            "sigma1 is small against sigma2"
        ),
    ),
    dp_events=(
        "MaskedXGBoost's claim about the active party's gradients, once a round; it does not hold",
        "MaskedXGBoost's claim about the passive party's candidates, once a round; it holds for single messages only",
        "active_noise='gaussian': the gradients of the sampled rows, once a round",
    ),
    quick_params={"insecure": True, "sigma1": 1.0, "sigma2": 0.0},
    options=masked_options,
    release=make_release,
    shows_sums=False,
    category_splits="none",
    repeatable=False,
    wire_cost=masked_cost,
    savings=lambda params: (Saving({"W": 1}),) if params.W > 1 else (Saving({"order": 1}),) * (params.order > 1),
)
