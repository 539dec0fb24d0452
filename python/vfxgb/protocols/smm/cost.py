"""What `smm1` and `smm2` take on the wire, before anything is trained. Numbers are float64."""

from vfxgb.contract import Saving, TrainingShape, WireCost
from vfxgb.protocols.batch_he.spec import LAYOUT
from vfxgb.protocols.he.cost import nodes_cost, rows_cost
from vfxgb.protocols.smm.params import SmmParams

NUMBER_BYTES = 8
# Rows of the smaller of two siblings, of those of both, about.
SMALLER_SHARE = 0.4
UNEVEN = 4


def product_cost(params: SmmParams, shape: TrainingShape, numbers: float, least_rows: float) -> WireCost:
    """`numbers` for each row of each built node that has at least `least_rows` rows; others may go through batch_he.

    Of two siblings the smaller one is built. Nodes of a level differ in size: below a mean of UNEVEN times the least
    some are taken to have fewer rows than that, below the least all.
    """
    subtract, total = params.small_nodes == "batch_he", WireCost()
    encrypted = 0
    for level, count in enumerate(shape.open_nodes):
        built = count if level == 0 or not subtract else -(-count // 2)
        rows, mean = shape.sampled * (SMALLER_SHARE if built < count else 1), shape.sampled / count
        if mean > least_rows:
            total += WireCost(tree=NUMBER_BYTES * numbers * rows)
            encrypted += 1 if level and mean <= UNEVEN * least_rows else 0
        else:
            encrypted += built
    if not encrypted or params.small_nodes == "skip":
        return total
    he = params.fallback()
    return total + rows_cost(he, shape, LAYOUT) + nodes_cost(he, shape, LAYOUT, encrypted)


def fewer_vectors(params: SmmParams) -> tuple[Saving, ...]:
    """Half the null-space vectors, of which there must be two."""
    return (Saving({"r": params.r // 2}),) if params.r >= 4 else ()
