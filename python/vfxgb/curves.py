"""ROC curves and calibration of eval sets: what a report draws of a model's quality, in few numbers.

A ROC is the share of positives found (tpr) against the share of negatives taken along (fpr), from the highest score
down. Calibration compares the mean prediction with the mean label in groups of rows of similar prediction. Weights
count in all of it; rows of weight 0 are left out. Several classes are judged one against the rest.

What these numbers disclose to who reads them: of every group of at least FEW_ROWS rows with neighbouring scores the
mean label, and the area under the whole curve. A ROC with a point per row would be the labels in the order of the
scores, so points are thinned until at least FEW_ROWS rows lie between two of them, and sets of fewer than LEAST_ROWS
rows have no curves at all. No score, threshold or row number is among them. They stay with the party that made them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.metric import METRICS, FloatArray, threshold_weights
from vfxgb.objective import Objective
from vfxgb.runtime.ledger import FEW_ROWS

# Sets with fewer rows have no curves.
LEAST_ROWS = 50
# Steps between the points of a ROC; groups of a calibration.
MOST_POINTS = 100
MOST_GROUPS = 10

Curves = dict[str, dict[str, Any]]


def eval_curves(
    objective: Objective,
    evals: Sequence[tuple[str, slice]],
    margins: NDArray[np.float32],
    labels: NDArray[Any],
    weights: NDArray[np.float32] | None,
) -> Curves:
    """The curves of each eval set, a named slice of the rows of margins [n, K] and labels [n]; plain JSON.

    Two classes: {"roc": {"fpr": [...], "tpr": [...], "auc": x}, "calibration": {"predicted": [...], "observed":
    [...], "rows": [...]}}, without "roc" where there is one class only. K classes: {"classes": {"0": {the same}, ...}}.
    Else: {"calibration": ...} alone. Sets with fewer than LEAST_ROWS rows that count are left out.
    """
    curves: Curves = {}
    for name, rows in evals:
        y = np.asarray(labels[rows], dtype=np.float64)
        p = objective.transform(margins[rows])
        w = np.ones(len(y)) if weights is None else np.asarray(weights[rows], dtype=np.float64)
        counts = w > 0.0
        if not counts.all():
            y, p, w = y[counts], p[counts], w[counts]
        if len(y) < LEAST_ROWS or not np.isfinite(p).all():
            continue
        if p.ndim == 2:
            of_class = {str(k): _binary((y == k).astype(np.float64), p[:, k], w) for k in range(p.shape[1])}
            curves[name] = {"classes": of_class}
        elif objective.spec.labels == "two classes":
            curves[name] = _binary(y, p, w)
        else:
            curves[name] = {"calibration": calibration(y, p, w)}
    return curves


def roc(y: FloatArray, p: FloatArray, w: FloatArray) -> dict[str, Any] | None:
    """A thinned ROC of labels 0 and 1, with both ends and the area under the whole one; None for one class only."""
    true, false = threshold_weights(y, p, w)
    if true[-1] <= 0.0 or false[-1] <= 0.0:
        return None
    places = _thinned(threshold_weights(np.ones_like(y), p, np.ones_like(y))[0], MOST_POINTS)
    return {
        "fpr": _rounded(false[places] / false[-1]),
        "tpr": _rounded(true[places] / true[-1]),
        "auc": METRICS["auc"](y, p, w),
    }


def calibration(y: FloatArray, p: FloatArray, w: FloatArray) -> dict[str, list[float]]:
    """Mean prediction, mean label and number of rows of groups of similar prediction, from the lowest up.

    Groups have about a tenth of the rows each, at least FEW_ROWS; equal predictions stay together.
    """
    order = np.argsort(p, kind="stable")
    y, p, w = y[order], p[order], w[order]
    ends = np.append(np.flatnonzero(p[1:] != p[:-1]) + 1, len(p))
    rows = np.append(0, ends)
    starts = rows[_thinned(rows, MOST_GROUPS)[:-1]]
    weight = np.add.reduceat(w, starts)
    return {
        "predicted": _rounded(np.add.reduceat(w * p, starts) / weight),
        "observed": _rounded(np.add.reduceat(w * y, starts) / weight),
        "rows": np.diff(np.append(starts, len(y))).tolist(),
    }


def _binary(y: FloatArray, p: FloatArray, w: FloatArray) -> dict[str, Any]:
    # What follows sorts by score, too; rows that are in order already cost next to nothing.
    order = np.argsort(-p, kind="stable")
    y, p, w = y[order], p[order], w[order]
    curve = roc(y, p, w)
    shown = {"calibration": calibration(y, p, w)}
    return shown if curve is None else {"roc": curve, **shown}


def _thinned(rows: NDArray[Any], most: int) -> list[int]:
    """Places in `rows`, ascending counts from 0 to all rows: both ends, and `most` - 1 evenly between them or fewer.

    Between any two of them are at least FEW_ROWS rows, if there are that many.
    """
    total = int(rows[-1])
    parts = max(1, min(most, total // FEW_ROWS))
    places = [0]
    for part in range(1, parts):
        place = int(np.searchsorted(rows, total * part / parts, side="left"))
        if rows[place] - rows[places[-1]] >= FEW_ROWS and total - rows[place] >= FEW_ROWS:
            places.append(place)
    return [*places, len(rows) - 1]


def _rounded(values: FloatArray) -> list[float]:
    """Six significant digits: what a picture needs, and a third of the bytes."""
    return [float(f"{value:.6g}") for value in values]
