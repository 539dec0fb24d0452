"""Parameters of `federboost`."""

import math

import msgspec

from vfxgb.dp import RandomisedResponse


class FederBoostParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `epsilon` and `total_epsilon` must be given.

    `epsilon`: for the value of one row in one feature. `total_epsilon`: for all values of one row at one passive party,
    divided evenly among its features. `unbiased`: correct sums by the inverse of the response matrix.
    """

    epsilon: float | None = None
    total_epsilon: float | None = None
    unbiased: bool = False

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
