"""What a call of predict asks for beside the rows, in xgboost's words."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import LengthMismatchError, ParameterError
from vfxgb.model.shares import ActiveShare


@dataclass(frozen=True)
class Asked:
    """How rows are to be predicted.

    `hidden`: passive parties do not learn which of their splits a row reaches. `iteration_range`: (first round, round
    after the last); None, and 0 for the second, take the rounds that predictions use. `base_margin`: [n] or
    [n, n_outputs], margins from which rows start in place of the model's own.
    """

    hidden: bool = False
    iteration_range: Any = None
    base_margin: Any = None

    def arguments(self, share: ActiveShare, n_rows: int) -> dict[str, Any]:
        """As arguments of predict_margin for so many rows. Raises ParameterError, LengthMismatchError."""
        first, stop = self._rounds(share)
        return {"hidden": self.hidden, "n_rounds": stop, "first_round": first, "start": self._start(share, n_rows)}

    def _rounds(self, share: ActiveShare) -> tuple[int, int | None]:
        given = self.iteration_range
        if given is None:
            return 0, None
        used = share.n_rounds if share.best_iteration is None else share.best_iteration + 1
        pair = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
        if len(pair) == 2 and all(isinstance(end, Integral) for end in pair):
            first, stop = int(pair[0]), int(pair[1]) or used
            if 0 <= first < stop <= share.n_rounds:
                # None also takes a private last stage, which follows all the rounds that predictions use.
                return first, None if (first, pair[1]) == (0, 0) else stop
        raise ParameterError(
            f"predicting: iteration_range={given!r}, wanted (first, stop) with 0 <= first < stop <= {share.n_rounds}, "
            "the rounds of the model; stop 0 means the rounds that predictions use"
        )

    def _start(self, share: ActiveShare, n_rows: int) -> NDArray[np.float64] | None:
        if self.base_margin is None:
            return None
        return read_base_margin(self.base_margin, share.n_outputs, "predicting", n_rows).astype(np.float64)


def read_base_margin(given: Any, n_outputs: int, step: str, n_rows: int) -> NDArray[np.float32]:
    """Margins as float32[n, n_outputs], as xgboost keeps them.

    Raises LengthMismatchError for another shape, ParameterError for what are no finite numbers.
    """
    try:
        margins = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{step}: base_margin holds what is no number ({error}); give margins") from None
    shape = margins.shape
    if margins.ndim == 1:
        margins = margins.reshape(-1, n_outputs) if margins.size % n_outputs == 0 else margins[:, None]
    if margins.ndim != 2 or margins.shape[1] != n_outputs or len(margins) != n_rows:
        raise LengthMismatchError(
            f"{step}: base_margin has shape {shape}, wanted one margin for each row and output: ({n_rows}, {n_outputs})"
        )
    if not np.isfinite(margins).all():
        raise ParameterError(f"{step}: base_margin holds NaN or infinity in float32; give finite margins")
    return margins
