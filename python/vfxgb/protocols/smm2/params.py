"""Parameters of `smm2`."""

from typing import Annotated

import msgspec

from vfxgb.contract import EngineOptions
from vfxgb.protocols.smm.kernel import Cover
from vfxgb.protocols.smm.params import SmmParams

Columns = Annotated[int, msgspec.Meta(ge=0, le=1 << 14)]
Deviation = Annotated[float, msgspec.Meta(gt=0)]


class Smm2Params(SmmParams, frozen=True, forbid_unknown_fields=True):
    """Those of SmmParams, and what covers the splitting matrix.

    `l1`: dummy threshold columns. `l2`: columns of normal numbers. `mu`: their mean. `sigma`: their standard deviation.

    A node of at most l + l1 + l2 + r rows is small, l being the candidates of the passive party.
    """

    l1: Columns = 20
    l2: Columns = 20
    mu: float = 0.0
    sigma: Deviation = 1.0

    @property
    def cover(self) -> Cover:
        """The columns that cover M."""
        return Cover(self.l1, self.l2, self.mu, self.sigma)


def smm2_options(params: Smm2Params) -> EngineOptions:
    """Siblings are derived only where every node has sums: a node that a passive party skips has none."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.small_nodes == "batch_he")
