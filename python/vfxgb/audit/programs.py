"""Linear programs of the attacks A1 and A3: a point of a cube in an affine space.

Given w and a mask Z (rows), find x in [0, 1]^n with x = w + c Z for some c. When x is a vertex and Z has fewer than
about n/2 rows in general position, x is the only such point (each row of x cuts off half of the directions), so that
any linear objective finds it; above, a random one finds some other vertex.
"""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MissingPackageError

Matrix = NDArray[np.float64]

# Rows of a node up to which a linear program takes about a second, and how many are solved.
MOST_ROWS = 400
MOST_NODES = 4
MOST_COLUMNS = 10
# Gradients are rounded to fixed point, to 30 bits or so: that must not make the true point infeasible.
SLACK = 1e-7


def by_promise(share: float) -> tuple[bool, float]:
    """A key that sorts nodes by r'/n: the most masked ones that a program can still solve, then the others."""
    return (share >= 0.5, -share if share < 0.5 else share)


def cube_point(origin: Matrix, directions: Matrix, random: np.random.Generator) -> Matrix | None:
    """A vertex of {x in [0, 1]^n: x = origin + c directions}, float64[n], or None if there is none."""
    optimize = _scipy("linear programs")
    weights = directions @ random.standard_normal(directions.shape[1])
    above = np.concatenate([directions.T, -directions.T])
    limits = np.concatenate([1.0 - origin, origin]) + SLACK
    solved: Any = optimize.linprog(weights, A_ub=above, b_ub=limits, bounds=(None, None), method="highs")
    return None if solved.x is None else origin + solved.x @ directions


def assigned(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """For every row of a square matrix a column of its own, with the least sum in all.

    Raises MissingPackageError.
    """
    columns: NDArray[np.int64] = _scipy("assignments").linear_sum_assignment(cost)[1].astype(np.int64)
    return columns


def _scipy(what: str) -> Any:
    """scipy.optimize. Raises MissingPackageError."""
    try:
        return importlib.import_module("scipy.optimize")
    except ImportError:
        raise MissingPackageError(f"attacking by {what}: scipy is not installed; pip install 'vfxgb[audit]'") from None
