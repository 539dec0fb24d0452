"""Quantiles of rows as xgboost takes them: by two neighbours without weights, by the first row with them."""

import math

import numpy as np

from vfxgb.objective.arithmetic import Float32Array


def quantile(values: Float32Array, weights: Float32Array | None, alpha: float) -> float:
    """The quantile 0 < alpha < 1 of at least one value.

    Without weights it lies between the values number floor(alpha (n + 1)) and the next one, counted from 1. With them
    it is the first value up to which the weight is at least alpha of all, in float32.
    """
    n = len(values)
    if weights is not None:
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weights[order], dtype=np.float32)
        place = int(np.searchsorted(reached, np.float32(float(reached[-1]) * alpha), side="left"))
        return float(values[order[min(place, n - 1)]])
    if alpha <= 1.0 / (n + 1):
        return float(values.min())
    if alpha >= n / (n + 1):
        return float(values.max())
    place_below = math.floor(alpha * (n + 1)) - 1
    part = np.partition(values, (place_below, place_below + 1))
    low, high = part[place_below], part[place_below + 1]
    between = alpha * (n + 1) - 1.0 - place_below
    return float(np.float32(float(low) + between * float(np.float32(high - low))))
