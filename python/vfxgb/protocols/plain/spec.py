"""What `plain` is."""

from vfxgb.contract import ProtocolSpec
from vfxgb.protocols.plain.active import make_active
from vfxgb.protocols.plain.messages import PlainGradients, PlainSums
from vfxgb.protocols.plain.params import PlainParams, plain_options
from vfxgb.protocols.plain.passive import PlainPassive

SPEC = ProtocolSpec(
    name="plain",
    summary="gradients and sums travel in clear, for simulation and as the reference of all other protocols",
    params=PlainParams,
    active=make_active,
    passive=PlainPassive,
    messages=(PlainGradients, PlainSums),
    exact=True,
    security="none",
    options=plain_options,
    sharded=True,
    row_bytes=lambda params, n_outputs: 16 * n_outputs,  # noqa: ARG005
    attacks=(
        "none needed: a passive party receives every gradient, and the sign of a first-round gradient is the label",
    ),
)
