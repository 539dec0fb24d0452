"""What `smm2` is."""

from vfxgb.contract import Learned, ProtocolSpec, TrainingShape, WireCost
from vfxgb.protocols.he.attack_texts import MESSAGES, QUICK
from vfxgb.protocols.scored.cost import scored_cost
from vfxgb.protocols.scored.messages import SCORED_MESSAGES
from vfxgb.protocols.smm.cost import fewer_vectors, product_cost
from vfxgb.protocols.smm.messages import Smm2Basis, Smm2Products, Smm2Sums
from vfxgb.protocols.smm2.active import Smm2Active
from vfxgb.protocols.smm2.params import Smm2Params, smm2_options
from vfxgb.protocols.smm2.passive import Smm2Passive


def smm2_cost(params: Smm2Params, shape: TrainingShape) -> WireCost:
    """Null-space vectors one way, gradients and hessians back; small nodes have neither."""
    small = shape.candidates + params.l1 + params.l2 + params.r
    return WireCost(round_trips=shape.depth) + scored_cost(shape) + product_cost(params, shape, params.r + 2, small)


SPEC = ProtocolSpec(
    name="smm2",
    summary="FedXGBoost-SMM-2: passive parties send null-space vectors of their covered splitting matrices, get masked "
    "gradients back and score their splits; the masks do not hide the labels",
    params=Smm2Params,
    active=Smm2Active,
    passive=Smm2Passive,
    messages=(*SCORED_MESSAGES, Smm2Basis, Smm2Products, Smm2Sums, *MESSAGES),
    learned=Learned(
        active="vectors from which most candidate splits of {others} can be computed row by row for about a hundred "
        "rows; names of columns and thresholds stay hidden",
        passive="the gradients of single rows up to a small error, and with them the labels",
    ),
    exact=True,
    security="broken",
    attacks=(
        "reading W: the signs of the products are the labels, all of them while r' is at most 5 % of the rows",
        "linear programming on W: of 200 rows, all labels for r' up to nearly half the rows",
        "lattice reduction on U: of up to 100 rows the active party gets the columns of the splitting matrix",
        "accumulation: two or three levels of a tree give every gradient exactly, in any round and for any r",
        "by design: passive parties get the sums of all their candidates, in round one the label rate of each bucket",
    ),
    quick_params={
        "insecure": True,
        "r": 4,
        "l1": 3,
        "l2": 2,
        "precision_bits": 30,
        "chunk_bytes": 1 << 12,
        "small_nodes": "batch_he",
        "he": {**QUICK, "pool": False},
    },
    options=smm2_options,
    wire_cost=smm2_cost,
    savings=fewer_vectors,
)
