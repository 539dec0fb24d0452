"""Parameters of `masks`."""

from vfxgb.secagg.base import AggregatorParams


class MasksParams(AggregatorParams, frozen=True, forbid_unknown_fields=True):
    """Those of AggregatorParams; min_users is at least 2."""
