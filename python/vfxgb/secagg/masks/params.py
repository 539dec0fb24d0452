"""Parameters of `masks`."""

from vfxgb.described import documented
from vfxgb.secagg.base import AggregatorParams


@documented()
class MasksParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams; min_users is at least 2."""
