"""What a passive party lets the active party win: splits in all, and different columns.

An active party that deviates can make any column win, and takes a bit of each row with it. These limits bound what it
gets in a run. A run that reaches one ends there, before the rows are told.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext
from vfxgb.errors import ConsentError
from vfxgb.protocols.sealed.params import SealedParams


class WinLimits:
    """Counts what was won in this session of a run."""

    def __init__(self, context: PassiveContext, columns: int) -> None:
        params: SealedParams = context.params
        self._party = context.party
        self._most_wins = params.max_wins
        self._share = params.max_won_columns
        self._won = np.zeros(columns, dtype=np.bool_)
        self._wins = 0

    def enter(self, columns: NDArray[np.int64]) -> None:
        """Enter columns that have won a level, before their rows are told. Raises ConsentError beyond a limit."""
        wins = self._wins + len(columns)
        if self._most_wins is not None and wins > self._most_wins:
            raise ConsentError(
                f"{self._party} tells the active party the rows of at most {self._most_wins} winning splits a run "
                f"(max_wins), and {wins} have won; train fewer trees, or agree on a larger number"
            )
        won = self._won.copy()
        won[columns] = True
        count = int(np.count_nonzero(won))
        if self._share < 1 and count > self._share * len(won):
            raise ConsentError(
                f"{self._party} lets at most {self._share:.0%} of its {len(won)} candidate splits win in a run "
                f"(max_won_columns), and {count} different ones have won; train fewer trees or take fewer bins, or "
                "agree on a larger share"
            )
        self._won, self._wins = won, wins
