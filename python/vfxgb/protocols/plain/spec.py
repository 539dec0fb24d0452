"""What `plain` is."""

from typing import Any

from vfxgb.contract import ProtocolSpec, TrainingShape, WireCost
from vfxgb.protocols.plain.active import make_active
from vfxgb.protocols.plain.hidden_active import HiddenPlainActive
from vfxgb.protocols.plain.hidden_passive import HiddenPlainPassive
from vfxgb.protocols.plain.messages import PlainGradients, PlainLeft, PlainSlot, PlainSums
from vfxgb.protocols.plain.params import PlainParams, plain_options
from vfxgb.protocols.plain.passive import PlainPassive

PAIR_BYTES = 16


def plain_variant(params: PlainParams) -> dict[str, Any]:
    """What is different where nodes are hidden, and which of the messages each way has."""
    if not params.hide_nodes:
        return {"messages": (PlainGradients, PlainSums)}
    return {
        "active": HiddenPlainActive,
        "passive": HiddenPlainPassive,
        "messages": (PlainSlot, PlainSums, PlainLeft),
        "shows_nodes": False,
    }


def plain_cost(params: PlainParams, shape: TrainingShape) -> WireCost:
    """A pair for each row, and for each candidate in each built node; where nodes are hidden, all rows for each node.

    Hidden nodes also take a bit for every row and split of the passive party instead of one for the rows of its node.
    """
    built = shape.built_nodes(subtract=not params.hide_nodes)
    if not params.hide_nodes:
        return WireCost(tree=PAIR_BYTES * (shape.sampled + built * shape.candidates))
    won = shape.features / max(1, shape.features + shape.other_features)
    bits = shape.rows / 8 * (won * built - shape.depth * won)
    return WireCost(tree=PAIR_BYTES * built * (shape.rows + shape.candidates) + bits)


SPEC = ProtocolSpec(
    name="plain",
    summary="gradients and sums travel in clear, for simulation and as the reference of all other protocols",
    params=PlainParams,
    active=make_active,
    passive=PlainPassive,
    messages=(PlainGradients, PlainSlot, PlainSums, PlainLeft),
    variant=plain_variant,
    exact=True,
    security="none",
    options=plain_options,
    sharded=True,
    row_bytes=lambda params, n_outputs: PAIR_BYTES * n_outputs,  # noqa: ARG005
    wire_cost=plain_cost,
    attacks=(
        "none needed: a passive party receives every gradient, and the sign of a first-round gradient is the label",
    ),
)
