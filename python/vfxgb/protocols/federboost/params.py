"""Parameters of `federboost`."""

import math
from typing import Annotated

import msgspec
from msgspec import Meta

from vfxgb.described import documented
from vfxgb.dp import RandomisedResponse

Positive = Annotated[float, Meta(gt=0)]


@documented()
class FederBoostParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is revealed of the buckets. One of `epsilon` and `total_epsilon` must be given."""

    epsilon: Annotated[Positive | None, Meta(description="The budget for the value of one row in one feature.")] = None
    total_epsilon: Annotated[
        Positive | None,
        Meta(
            description="The budget for all values of one row at one passive party, divided evenly among its features."
        ),
    ] = None
    unbiased: Annotated[bool, Meta(description="Sums are corrected by the inverse of the response matrix.")] = False

    def __post_init__(self) -> None:
        """Raise ValueError for values that do not go together."""
        if (self.epsilon is None) == (self.total_epsilon is None):
            raise ValueError("wanted either epsilon (per feature) or total_epsilon (all features of a party)")
        for name in ("epsilon", "total_epsilon"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"found {name} {value}, wanted a positive finite number")

    def row_epsilon(self, n_features: int) -> float:
        """All values of one row have this epsilon together, at a party with so many features."""
        return float(self.epsilon or 0.0) * n_features if self.total_epsilon is None else self.total_epsilon

    def response(self, buckets: int, n_features: int) -> RandomisedResponse:
        """The randomised response of a feature with so many buckets, of a party with so many features."""
        epsilon = float(self.epsilon or 0.0) if self.total_epsilon is None else self.total_epsilon / n_features
        return RandomisedResponse(epsilon, buckets)
