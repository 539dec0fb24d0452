"""Parameters of `plain`."""

import msgspec

from vfxgb.contract import EngineOptions, PrecisionBits


class PlainParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`precision_bits`: fractional bits of gradients, None for as many as stay exact.

    `hide_nodes`: passive parties keep no rows of nodes and are told of no split but their own. Gradients travel in
    clear all the same, one vector for each open node: this is a twin for protocols that hide nodes, and protects
    nothing.
    """

    precision_bits: PrecisionBits | None = None
    hide_nodes: bool = False


def plain_options(params: PlainParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits)
