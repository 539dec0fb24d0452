"""Parameters of `plain`."""

from typing import Annotated

import msgspec

from vfxgb.contract import EngineOptions, PrecisionBits
from vfxgb.described import documented


@documented()
class PlainParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How gradients are rounded, and whether passive parties know the nodes of trees."""

    precision_bits: PrecisionBits | None = None
    hide_nodes: Annotated[
        bool,
        msgspec.Meta(
            description="Passive parties keep no rows of nodes and are told of no split but their own. Gradients "
            "travel in clear all the same, one vector for each open node: this is a twin for protocols that hide "
            "nodes, and protects nothing."
        ),
    ] = False
    order_seed: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="With score_bits, the seed of the order in which a passive party's candidates are compared; "
            "each party's own. The order decides which of several equally good splits wins.",
        ),
    ] = 0


def plain_options(params: PlainParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits)
