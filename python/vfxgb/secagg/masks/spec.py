"""What `masks` is."""

from functools import partial

from vfxgb.secagg.base import AggregatorSpec
from vfxgb.secagg.double_mask.messages import MESSAGES
from vfxgb.secagg.double_mask.server import DoubleMaskServer
from vfxgb.secagg.double_mask.user import DoubleMaskUser
from vfxgb.secagg.masks.params import MasksParams
from vfxgb.secagg.masks.server import WordServerMasking
from vfxgb.secagg.masks.user import WordMasking

SPEC = AggregatorSpec(
    name="masks",
    summary="pairwise masks and self-masks modulo 2**64, fresh for every call; survives users that leave",
    params=MasksParams,
    server=partial(DoubleMaskServer, masking=WordServerMasking),
    user=partial(DoubleMaskUser, masking=WordMasking),
    messages=MESSAGES,
    security="active",
)
