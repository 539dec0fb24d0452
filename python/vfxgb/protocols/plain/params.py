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


def plain_options(params: PlainParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits)
