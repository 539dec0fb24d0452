"""What `smm1` is."""

from vfxgb.contract import Learned, ProtocolSpec, TrainingShape, WireCost
from vfxgb.protocols.he.attack_texts import MESSAGES, QUICK
from vfxgb.protocols.smm.cost import fewer_vectors, product_cost
from vfxgb.protocols.smm.messages import Smm1Basis, Smm1Products
from vfxgb.protocols.smm1.active import make_active
from vfxgb.protocols.smm1.params import LEAST_ROWS, Smm1Params, smm1_options
from vfxgb.protocols.smm1.passive import Smm1Passive


def smm1_cost(params: Smm1Params, shape: TrainingShape) -> WireCost:
    """Null-space vectors one way, a row of products for each candidate back."""
    return product_cost(params, shape, params.r + shape.candidates, LEAST_ROWS)


SPEC = ProtocolSpec(
    name="smm1",
    summary="FedXGBoost-SMM-1: the active party sends null-space vectors of its gradients and gets a masked splitting "
    "matrix back; the masks do not hide it",
    params=Smm1Params,
    active=make_active,
    passive=Smm1Passive,
    messages=(Smm1Basis, Smm1Products, *MESSAGES),
    learned=Learned(
        active="which rows lie left of each candidate split of {others}; names of columns and thresholds stay hidden",
        passive="vectors from which all labels can be computed for up to a few hundred rows, and which rows are "
        "together in a node of a tree",
    ),
    exact=True,
    security="broken",
    attacks=(
        "reading W: rounded to 0 and 1 it is the splitting matrix, all of it while r' is at most 5 % of the rows",
        "linear programming on W: of 200 rows, every column exactly for r up to nearly half the rows",
        "lattice reduction on U: a passive party gets all labels of the first round, tried on up to 200 rows",
        "accumulation: the same bins over five trees give the whole matrix even at the largest possible r",
    ),
    quick_params={
        "insecure": True,
        "r": 6,
        "precision_bits": 30,
        "chunk_bytes": 1 << 15,
        "small_nodes": "batch_he",
        "he": {**QUICK, "pool": False},
    },
    options=smm1_options,
    wire_cost=smm1_cost,
    savings=fewer_vectors,
)
