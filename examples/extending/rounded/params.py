"""Parameters of `rounded`, and what they ask of the common code."""

from typing import Annotated, Literal

import msgspec
import numpy as np

from vfxgb.contract import EngineOptions
from vfxgb.described import documented


@documented()
class RoundedParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How finely gradients are rounded."""

    width: Annotated[
        Literal[1, 2, 4],
        msgspec.Meta(description="So many bytes hold a gradient, and so many a hessian; fewer round more coarsely."),
    ] = 2

    @property
    def dtype(self) -> type[np.signedinteger]:
        """The integers that travel."""
        return {1: np.int8, 2: np.int16, 4: np.int32}[self.width]


def rounded_options(params: RoundedParams) -> EngineOptions:
    """The common code rounds gradients once, before anything is made of them, so that all parties work with the same.

    With f fractional bits a gradient is an integer from -2**f to 2**f: two bits of a signed integer are not for it.
    """
    return EngineOptions(precision_bits=8 * params.width - 2)
