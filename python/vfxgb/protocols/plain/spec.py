"""What `plain` is."""

from typing import Any

from vfxgb.contract import ProtocolSpec
from vfxgb.protocols.plain.active import make_active
from vfxgb.protocols.plain.hidden_active import HiddenPlainActive
from vfxgb.protocols.plain.hidden_passive import HiddenPlainPassive
from vfxgb.protocols.plain.messages import PlainGradients, PlainLeft, PlainSlot, PlainSums
from vfxgb.protocols.plain.params import PlainParams, plain_options
from vfxgb.protocols.plain.passive import PlainPassive


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
    row_bytes=lambda params, n_outputs: 16 * n_outputs,  # noqa: ARG005
    attacks=(
        "none needed: a passive party receives every gradient, and the sign of a first-round gradient is the label",
    ),
)
