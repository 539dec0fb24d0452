"""Parameters of `plain`."""

import msgspec

from vfxgb.contract import EngineOptions, PrecisionBits


class PlainParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`precision_bits`: fractional bits of gradients, None for as many as stay exact."""

    precision_bits: PrecisionBits | None = None


def plain_options(params: PlainParams) -> EngineOptions:
    """What the parameters ask of the common code."""
    return EngineOptions(precision_bits=params.precision_bits)
