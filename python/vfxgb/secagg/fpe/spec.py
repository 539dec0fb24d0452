"""What `fpe` is."""

from vfxgb.crypto.bresson import BressonGroup
from vfxgb.secagg.base import AggregatorSpec, Dealt
from vfxgb.secagg.fpe.messages import FunctionalTask, FunctionalVector
from vfxgb.secagg.fpe.params import FpeParams
from vfxgb.secagg.fpe.scheme import Scheme, Seeds
from vfxgb.secagg.fpe.server import FpeServer
from vfxgb.secagg.fpe.user import FpeUser


def deal_keys(params: FpeParams, users: tuple[int, ...]) -> Dealt:
    """The key centre: seeds for the users, and for the server the key that opens sums over all of them."""
    group = BressonGroup.generate(params.key_bits, params.insecure)
    seeds = {user: Seeds.draw() for user in users}
    pads = Scheme(group).pads([seeds[user].pads for user in users], 0, params.prepared, threads=1)
    secret = [seeds[user].keys for user in users] + [pad.to_bytes(group.number_bytes, "little") for pad in pads]
    held = {user: own.to_bytes() for user, own in seeds.items()}
    return Dealt(public=group.to_bytes(), server=b"".join(secret), users=held)


SPEC = AggregatorSpec(
    name="fpe",
    summary="functional encryption of the sum from Paillier; every user must answer (for comparison)",
    params=FpeParams,
    server=FpeServer,
    user=FpeUser,
    messages=(FunctionalTask, FunctionalVector),
    security="active",
    survives_drops=False,
    deal=deal_keys,
    attacks=("whoever dealt the keys and kept the users' seeds can read every vector",),
    quick_params={"key_bits": 256, "insecure": True, "prepared": 8192},
)
