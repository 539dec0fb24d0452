"""What `bcp` is."""

from functools import partial

from vfxgb.crypto.bresson import BressonGroup
from vfxgb.secagg.base import AggregatorSpec, Dealt
from vfxgb.secagg.bcp.params import BcpParams
from vfxgb.secagg.bcp.server import BressonServerMasking
from vfxgb.secagg.bcp.user import BressonMasking
from vfxgb.secagg.double_mask.messages import MESSAGES
from vfxgb.secagg.double_mask.server import DoubleMaskServer
from vfxgb.secagg.double_mask.user import DoubleMaskUser


def deal_group(params: BcpParams, users: tuple[int, ...]) -> Dealt:
    """The key centre: it makes the group, forgets the factors of N (ERRATA E7) and hands out nothing secret."""
    del users
    return Dealt(public=BressonGroup.generate(params.key_bits, insecure=params.insecure).to_bytes())


SPEC = AggregatorSpec(
    name="bcp",
    summary="pairwise masks under Bresson's cryptosystem: FEDXGB, corrected and with fresh keys for every call",
    params=BcpParams,
    server=partial(DoubleMaskServer, masking=BressonServerMasking),
    user=partial(DoubleMaskUser, masking=BressonMasking),
    messages=MESSAGES,
    security="active",
    deal=deal_group,
    attacks=(
        "whoever made the group and did not forget its factors can open the encryption; the pairwise masks remain (E7)",
    ),
    quick_params={"key_bits": 256, "insecure": True},
)
