"""The columns of a private last stage: those of the active party, and the margins of the joint model beside them.

The stage itself is an ActiveShare of a single party (train/private_stage.py), which `ActiveShare.private_stage` holds.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError

SCORE = "joint score"


def score_names(names: tuple[str, ...], n_outputs: int) -> tuple[str, ...]:
    """The names of the columns that hold the joint model's margins. Raises ColumnNameError if a column has one."""
    scores = (SCORE,) if n_outputs == 1 else tuple(f"{SCORE} {output}" for output in range(n_outputs))
    for name in scores:
        if name in names:
            raise ColumnNameError(
                f"preparing the private last stage: there is a column {name!r} already, which is what the margin of "
                "the joint model is called; rename the column"
            )
    return scores


def with_scores(table: Table, margins: NDArray[np.floating]) -> Table:
    """`table` with a column for each output of the joint margins [n_rows, n_outputs]. Raises ColumnNameError."""
    scores = score_names(table.names, margins.shape[1])
    columns = tuple((np.ascontiguousarray(margins[:, k], dtype=np.float32),) for k in range(margins.shape[1]))
    return replace(
        table,
        names=(*table.names, *scores),
        pieces=(*table.pieces, *columns),
        fills=(*table.fills, *(None,) * len(scores)),
    )
