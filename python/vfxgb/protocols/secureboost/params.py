"""Parameters of `secureboost`."""

from vfxgb.described import documented
from vfxgb.protocols.he.params import HeParams


@documented()
class SecureBoostParams(HeParams, frozen=True, forbid_unknown_fields=True):
    """Those of HeParams, and no others."""
