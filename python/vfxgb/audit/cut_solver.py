"""Who goes left at a cut, from linear equations: one unknown per row, which is 0 or 1, the same rows of A for all cuts.

Of all solutions the one nearest to a first guess is taken. Where there are fewer equations than rows it is then drawn
to what the unknowns can be: between 0 and 1, and not falling from a cut of a feature to the next one. Both are convex
sets, and going from one to the other and back leads to a point in both, if it leads anywhere.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.opened_sums import Flags, Matrix

# Equations are exact: only so much slack as keeps the factors regular.
RIDGE = 1e-9
STEPS = 12


def left_shares(
    rows: Matrix, sums: Matrix, known: Flags, start: Matrix, ladders: Sequence[NDArray[np.int64]] | None = None
) -> Matrix:
    """float64[n, c]: how far each row goes left at each cut, near 0 or 1 where the equations determine it.

    `rows`: float64[e, n], of length 1 each; `sums`: float64[e, c], rows @ x of every cut x, of which `known` are known.
    `start`: float64[c], the first guess for all rows of a cut. `ladders`: the cuts of each feature, ascending, to draw
    the solution near to what it can be; None for the nearest solution alone.
    """
    n = rows.shape[1]
    shares = np.tile(start, (n, 1))
    # Cuts with the same equations are solved for together; mostly nothing is withheld.
    patterns, group = known[:, :1], np.zeros(known.shape[1], dtype=np.int64)
    if not known.all():
        patterns, group = np.unique(known, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        members = np.flatnonzero(group.ravel() == number)
        used = patterns[:, number]
        if not used.any():
            continue
        project = _Projection(rows[used], sums[used][:, members])
        shares[:, members] = project(shares[:, members])
        if ladders is not None and used.sum() < 2 * n:
            place = {cut: index for index, cut in enumerate(members.tolist())}
            whole = [np.array([place[cut] for cut in cuts]) for cuts in ladders if place.keys() >= set(cuts.tolist())]
            shares[:, members] = _draw_near(shares[:, members], project, whole)
    return shares


class _Projection:
    """Onto the solutions of rows @ x = sums, column by column."""

    def __init__(self, rows: Matrix, sums: Matrix) -> None:
        self._rows, self._sums = rows, sums
        self._wide = rows.shape[0] < rows.shape[1]
        square = rows @ rows.T if self._wide else rows.T @ rows
        square[np.diag_indices_from(square)] += RIDGE
        self._inverse = np.linalg.inv(square)

    def __call__(self, x: Matrix) -> Matrix:
        short = self._sums - self._rows @ x
        if self._wide:
            return x + self._rows.T @ (self._inverse @ short)
        return x + self._inverse @ (self._rows.T @ short)


def _draw_near(x: Matrix, project: _Projection, ladders: Sequence[NDArray[np.int64]]) -> Matrix:
    for _ in range(STEPS):
        possible = np.clip(x, 0.0, 1.0)
        for cuts in ladders:
            # Not the nearest ascending one, but an ascending one near it: the mean of the two that enclose it.
            part = possible[:, cuts]
            above = np.maximum.accumulate(part, axis=1)
            below = np.minimum.accumulate(part[:, ::-1], axis=1)[:, ::-1]
            possible[:, cuts] = (above + below) / 2
        x = project(possible)
    return x


def nearest_bins(x: Matrix, missing: Matrix | None = None) -> NDArray[np.int64]:
    """int64[n]: the bin whose steps are nearest to x float64[n, cuts]; the number after the last bin for "missing".

    `missing`: float64[n], how far each row is one without a value, None for a feature that has none.
    """
    # A row of bin b goes left at the cuts b, b + 1, ...: what it costs to have it right of the first b cuts.
    right = np.concatenate([np.zeros((len(x), 1)), np.cumsum(x**2 - (1.0 - x) ** 2, axis=1)], axis=1)
    if missing is not None:
        absent = right[:, -1] + (1.0 - missing) ** 2
        right = np.concatenate([right + (missing**2)[:, None], absent[:, None]], axis=1)
    bins: NDArray[np.int64] = np.argmin(right, axis=1)
    return bins
