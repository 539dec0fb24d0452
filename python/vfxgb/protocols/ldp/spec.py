"""What `ldp` is."""

from vfxgb.contract import Learned, ProtocolSpec, Saving, TrainingShape, WireCost
from vfxgb.protocols.ldp.active import make_active
from vfxgb.protocols.ldp.messages import LdpGradients, LdpPrinted
from vfxgb.protocols.ldp.params import LdpParams, ldp_options
from vfxgb.protocols.ldp.passive import make_passive
from vfxgb.protocols.ldp.release import make_release
from vfxgb.protocols.scored.cost import scored_cost
from vfxgb.protocols.scored.messages import SCORED_MESSAGES

NUMBER_BYTES = 8


def ldp_cost(params: LdpParams, shape: TrainingShape) -> WireCost:
    """Noisy gradients, to second order hessians too; as printed new ones on every level."""
    numbers = shape.depth if params.as_printed else 1 if params.first_order else 2
    return scored_cost(shape) + WireCost(tree=NUMBER_BYTES * numbers * shape.sampled)


SPEC = ProtocolSpec(
    name="ldp",
    summary="labels are randomised once, or gradients once per tree, under local differential privacy",
    params=LdpParams,
    active=make_active,
    passive=make_passive,
    messages=(*SCORED_MESSAGES, LdpGradients, LdpPrinted),
    learned=Learned(
        active="the gain of the best split of {others} in each node, and which rows go left at the splits that "
        "{others} won; names of columns and thresholds stay hidden",
        passive="labels or gradients of single rows with noise on them, which rows are together in a node of a tree, "
        "and which of its own splits won",
    ),
    exact=False,
    security="semi-honest",
    attacks=(
        "labels are hidden only up to epsilon: 73 of 100 are sent unchanged at epsilon 1, 98 at epsilon 4",
        "with a budget per tree the epsilons of the trees add up",
        "as_printed=True: noise that is drawn again in every node averages out, and the true sums give the rest",
    ),
    dp_events=(
        "label_rr: the labels of the training rows, once",
        "every other mechanism: the gradients of the sampled rows, once per round",
    ),
    quick_params={"mechanism": "label_rr", "epsilon": 1000.0, "clip": 64.0, "public_weights": True},
    options=ldp_options,
    release=make_release,
    shows_sums=False,
    category_splits="none",
    repeatable=False,
    local_params=("private_stage_trees",),
    wire_cost=ldp_cost,
    savings=lambda params: () if params.first_order else (Saving({"order": 1}),),
)
