"""Parameters of `smm2`."""

from typing import Annotated, Literal

from msgspec import Meta

from vfxgb.contract import EngineOptions
from vfxgb.described import documented
from vfxgb.protocols.smm.kernel import Cover
from vfxgb.protocols.smm.params import SmmParams


@documented()
class Smm2Params(SmmParams, frozen=True, forbid_unknown_fields=True):
    """Those of SmmParams, and what covers the splitting matrix.

    A node of at most l + l1 + l2 + r rows is small, l being the candidates of the passive party.
    """

    l1: Annotated[int, Meta(ge=0, le=1 << 14, description="The number of dummy columns.")] = 20
    l2: Annotated[int, Meta(ge=0, le=1 << 14, description="The number of columns of normal numbers.")] = 20
    mu: Annotated[float, Meta(description="The mean of these normal numbers.")] = 0.0
    sigma: Annotated[float, Meta(gt=0, description="Their standard deviation.")] = 1.0

    dummies: Annotated[
        Literal["thresholds", "uniform"],
        Meta(
            description="How dummy columns are made: thresholds of values drawn from real features, or fair bits, as "
            "the paper prints it, which can be told from real columns."
        ),
    ] = "thresholds"

    @property
    def cover(self) -> Cover:
        """The columns that cover M."""
        return Cover(self.l1, self.l2, self.mu, self.sigma, self.dummies == "uniform")


def smm2_options(params: Smm2Params) -> EngineOptions:
    """Siblings are derived only where every node has sums: a node that a passive party skips has none."""
    return EngineOptions(precision_bits=params.precision_bits, subtract=params.small_nodes == "batch_he")
