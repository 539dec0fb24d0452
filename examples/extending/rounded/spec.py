"""What `rounded` is."""

from rounded.active import make_active
from rounded.messages import RoundedGradients, RoundedSums
from rounded.params import RoundedParams, rounded_options
from rounded.passive import RoundedPassive
from vfxgb.contract import ProtocolSpec

SPEC = ProtocolSpec(
    name="rounded",
    summary="gradients in clear as integers of one, two or four bytes: as plain, with less to send",
    params=RoundedParams,
    active=make_active,
    passive=RoundedPassive,
    messages=(RoundedGradients, RoundedSums),
    exact=True,
    security="none",
    options=rounded_options,
    attacks=(
        "none needed: a passive party receives every gradient, and the sign of a first-round gradient is the label",
    ),
)
