"""What `plain` is."""

from vfxgb.described import documented
from vfxgb.secagg.base import AggregatorParams, AggregatorSpec
from vfxgb.secagg.plain.messages import PlainTask, PlainVector
from vfxgb.secagg.plain.server import PlainServer
from vfxgb.secagg.plain.user import PlainUser


@documented()
class PlainParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams."""


SPEC = AggregatorSpec(
    name="plain",
    summary="vectors travel in clear, for simulation and as the reference of all other aggregators",
    params=PlainParams,
    server=PlainServer,
    user=PlainUser,
    messages=(PlainTask, PlainVector),
    security="none",
    attacks=("none needed: the server sees every user's sums",),
)
