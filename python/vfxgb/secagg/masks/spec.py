"""What `masks` is."""

from vfxgb.secagg.base import AggregatorSpec
from vfxgb.secagg.double_mask.messages import MESSAGES
from vfxgb.secagg.masks.params import MasksParams
from vfxgb.secagg.masks.server import masks_server
from vfxgb.secagg.masks.user import masks_user

SPEC = AggregatorSpec(
    name="masks",
    summary="pairwise masks and self-masks modulo 2**64, fresh for every call; survives users that leave",
    params=MasksParams,
    server=masks_server,
    user=masks_user,
    messages=MESSAGES,
    security="active",
)
