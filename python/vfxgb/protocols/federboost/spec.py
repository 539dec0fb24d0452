"""What `federboost` is."""

from vfxgb.contract import Learned, ProtocolSpec, TrainingShape, WireCost
from vfxgb.protocols.federboost.active import FederBoostActive
from vfxgb.protocols.federboost.messages import Buckets, Usable
from vfxgb.protocols.federboost.params import FederBoostParams
from vfxgb.protocols.federboost.passive import FederBoostPassive

BUCKET_BYTES = 2


def federboost_cost(params: FederBoostParams, shape: TrainingShape) -> WireCost:  # noqa: ARG001
    """Every row's bucket in every feature, once."""
    return WireCost(setup=BUCKET_BYTES * shape.rows * shape.features)


SPEC = ProtocolSpec(
    name="federboost",
    summary="the passive party's buckets are randomised once, and the active party trains on them alone (a baseline)",
    params=FederBoostParams,
    active=FederBoostActive,
    passive=FederBoostPassive,
    messages=(Buckets, Usable),
    learned=Learned(
        active="the bucket of every training row in every column of {others}, with noise on it, and which rows go "
        "left at the splits that {others} won; names of columns and thresholds stay hidden",
        passive="which rows are together in a node of a tree, and which of its own splits won; no label and no "
        "gradient is sent to it",
    ),
    exact=False,
    security="semi-honest",
    attacks=(
        "values are hidden only up to epsilon per feature, and the features of a row add up",
        "joint prediction of training rows tells true comparisons, which no epsilon covers",
    ),
    dp_events=("the buckets of the training rows, once per feature",),
    quick_params={"epsilon": 1000.0},
    shows_sums=False,
    category_splits="none",
    repeatable=False,
    passive_epsilon=FederBoostParams.row_epsilon,
    hides_missing=True,
    wire_cost=federboost_cost,
)
