"""Parameters of `secureboost`."""

from vfxgb.protocols.he.params import HeParams


class SecureBoostParams(HeParams, frozen=True, forbid_unknown_fields=True):
    """Those of HeParams, and no others."""
