"""What a passive party lets the active party win: runs, splits in all, and different columns.

An active party that deviates can make any column win, and takes a bit of each row with it. These limits bound what it
gets: in a run, or, where the set-up is kept on disk, in all runs of the set-up. What is won is on disk before the rows
are told; a run that reaches a limit ends there.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext
from vfxgb.errors import ConsentError
from vfxgb.protocols.sealed.columns import CandidateColumns
from vfxgb.protocols.sealed.kept import WinRecord, kept_file, read_wins, write_wins
from vfxgb.protocols.sealed.params import SealedParams


class WinLimits:
    """Counts what was won. Raises ConsentError for a run too many, FormatError for a record that is damaged."""

    def __init__(self, context: PassiveContext, columns: CandidateColumns) -> None:
        params: SealedParams = context.params
        self._params, self._party = params, context.party
        self._path = None if params.setup_dir is None else kept_file(params.setup_dir, context, "wins")
        before = WinRecord() if self._path is None else read_wins(self._path, context.party)
        digest = "" if self._path is None else columns.digest().hex()
        self._won = np.zeros(len(columns), dtype=np.bool_)
        if before.columns == digest and len(before.won) == -(-len(columns) // 8):
            packed = np.frombuffer(before.won, dtype=np.uint8)
            self._won |= np.unpackbits(packed, count=len(columns), bitorder="little").astype(np.bool_)
        # A run that is resumed is the same run.
        run = hashlib.sha256(b"vfxgb sealed run " + context.secret).hexdigest()
        runs = before.runs if run in before.runs else (*before.runs, run)
        if params.max_runs is not None and len(runs) > params.max_runs:
            raise ConsentError(
                f"{self._party} lets its kept set-up serve at most {params.max_runs} runs (max_runs), and this would "
                f"be number {len(runs)}; agree on more runs"
            )
        self._record = WinRecord(runs, before.wins, digest, b"")
        self._keep(before.wins, self._won)

    @property
    def wins(self) -> int:
        """Splits whose rows were told."""
        return self._record.wins

    @property
    def won_columns(self) -> int:
        """Different columns among them."""
        return int(np.count_nonzero(self._won))

    def enter(self, columns: NDArray[np.int64]) -> None:
        """Enter columns that have won a level, before their rows are told. Raises ConsentError beyond a limit."""
        params, where = self._params, "a run" if self._path is None else "all runs of its kept set-up"
        wins = self._record.wins + len(columns)
        if params.max_wins is not None and wins > params.max_wins:
            raise ConsentError(
                f"{self._party} tells the active party the rows of at most {params.max_wins} winning splits in {where} "
                f"(max_wins), and {wins} have won; train fewer trees, or agree on a larger number"
            )
        won = self._won.copy()
        won[columns] = True
        count = int(np.count_nonzero(won))
        if count > params.max_won_columns * len(won):
            raise ConsentError(
                f"{self._party} lets at most {params.max_won_columns:.0%} of its {len(won)} candidate splits win in "
                f"{where} (max_won_columns), and {count} different ones have won; train fewer trees or take fewer "
                "bins, or agree on a larger share"
            )
        self._keep(wins, won)

    def _keep(self, wins: int, won: NDArray[np.bool_]) -> None:
        self._won = won
        packed = np.packbits(won, bitorder="little").tobytes()
        self._record = WinRecord(self._record.runs, wins, self._record.columns, packed)
        if self._path is not None:
            write_wins(self._path, self._record)
