"""Parameters of `smm1`."""

from vfxgb.contract import EngineOptions
from vfxgb.described import documented
from vfxgb.protocols.smm.params import SmmParams

# Below this many rows no vector is orthogonal to both gradients and hessians whatever they are.
LEAST_ROWS = 3


@documented()
class Smm1Params(SmmParams, frozen=True, forbid_unknown_fields=True):
    """Those of SmmParams. A node of n rows gets at most n - 2 vectors; one of fewer than three rows is small."""


def smm1_options(params: Smm1Params) -> EngineOptions:
    """Siblings are derived only where every node has sums: a node that a passive party skips has none."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.small_nodes == "batch_he")
